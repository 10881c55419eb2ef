//! Packets as tests see them.
#![allow(dead_code, reason = "every test uses a part of it")]

use pullnet_qdisc::{Context, Item, Outcome, Rank, Signal};
use pullnet_transport::{Grant, Hop, RateAsk, Turn, TurnAsk};
use pullnet_units::{BitsPerSec, Instant};

/// Kind of a packet, as the queue sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Class {
    /// Carries payload.
    #[default]
    Data,
    /// An ACK, NACK or PULL.
    Control,
    /// Header of trimmed data.
    Header,
    /// The same on its way back to the sender.
    Returned,
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pkt {
    pub id: u64,
    pub len: u32,
    pub class: Class,
    pub ect: bool,
    pub ce: bool,
    pub priority: u8,
    /// The link that it came by.
    pub ingress: u16,
    pub flow: u64,
    pub rank: u32,
    /// What its header asks the port by which it leaves, and what that port has answered.
    pub asks: Option<Asks>,
    pub answer: Option<Answer>,
}

/// Question of a header to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    Rate(RateAsk),
    Turn(TurnAsk),
}

/// Answer to [`Asks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Grant(Grant),
    Turn(Turn),
}

pub const fn packet(id: u64, len: u32, class: Class) -> Pkt {
    let (asks, answer) = (None, None);
    Pkt { id, len, class, ect: false, ce: false, priority: 0, ingress: 0, flow: 0, rank: 0, asks, answer }
}

pub const fn data(id: u64, len: u32) -> Pkt {
    packet(id, len, Class::Data)
}

pub const fn control(id: u64) -> Pkt {
    packet(id, 64, Class::Control)
}

/// Data of an ECN-capable transport.
pub const fn capable(id: u64, len: u32) -> Pkt {
    Pkt { ect: true, ..data(id, len) }
}

/// The surroundings of a port in a test: what chance says, what time it is, and what the port reported.
pub struct Bench<'a> {
    pub now: Instant,
    pub coin: &'a mut dyn FnMut() -> bool,
    pub draw: &'a mut dyn FnMut() -> f64,
    pub outcomes: Vec<Outcome<Pkt>>,
    /// Priorities that the other end has paused.
    pub paused: u8,
    /// Pauses that the queue requested, with the link whose sender they are for.
    pub signals: Vec<(u16, Signal)>,
}

/// Surroundings in which nothing happens but what the queue does.
pub fn idle() -> Bench<'static> {
    let coin = Box::leak(Box::new(|| panic!("no coin is needed")));
    let draw = Box::leak(Box::new(|| panic!("no number is needed")));
    Bench { now: Instant::ZERO, coin, draw, outcomes: Vec::new(), paused: 0, signals: Vec::new() }
}

impl Context<Pkt> for Bench<'_> {
    fn now(&self) -> Instant {
        self.now
    }
    fn rate(&self) -> BitsPerSec {
        "10 Gbps".parse().unwrap()
    }
    fn coin(&mut self) -> bool {
        (self.coin)()
    }
    fn unit(&mut self) -> f64 {
        (self.draw)()
    }
    fn outcome(&mut self, outcome: Outcome<Pkt>) {
        self.outcomes.push(outcome);
    }
    fn rank(&self, packet: &Pkt) -> Rank {
        Rank { flow: packet.flow, rank: packet.rank }
    }
    fn show(&mut self, packet: &mut Pkt, hop: &mut dyn Hop) {
        packet.answer = match packet.asks {
            Some(Asks::Rate(ask)) => hop.allocate(ask).map(Answer::Grant),
            Some(Asks::Turn(ask)) => hop.take_turn(ask).map(Answer::Turn),
            None => None,
        };
    }
    fn wake(&mut self, at: Instant) {
        panic!("no queue here lets the link idle: {at:?}");
    }
    fn paused(&self) -> u8 {
        self.paused
    }
    fn signal(&mut self, ingress: u16, signal: Signal) {
        self.signals.push((ingress, signal));
    }
}

impl Item for Pkt {
    fn is_control(&self) -> bool {
        self.class != Class::Data
    }
    fn wire(&self, _: u32) -> u32 {
        self.len
    }
    fn trim(&mut self, bytes: u32) {
        (self.len, self.class) = (bytes.min(self.len), Class::Header);
    }
    fn returnable(&self) -> bool {
        self.class == Class::Header
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn ect(&self) -> bool {
        self.ect
    }
    fn mark(&mut self) {
        self.ce = true;
    }
    fn ingress(&self) -> u16 {
        self.ingress
    }
}
