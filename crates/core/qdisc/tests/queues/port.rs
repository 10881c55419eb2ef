//! One port and its rules, as the tests drive it.

use pullnet_qdisc::{Discipline, DropReason, Outcome, Signal, Trim, TrimConfig};
use pullnet_units::Instant;

use crate::common::{Bench, Class, Pkt, packet};

pub const FULL: u32 = 9064;

/// One port and its rules.
pub struct Port<Q: Discipline<Pkt>> {
    pub rules: Q::Rules,
    pub shared: Q::Shared,
    pub queue: Q,
    pub now: Instant,
    /// Pauses that the queue has requested.
    pub signals: Vec<(u16, Signal)>,
}

impl<Q: Discipline<Pkt>> Port<Q> {
    pub fn new(config: &Q::Config) -> Self {
        let rules = Q::rules(config);
        let shared = Q::shared(&rules, 1);
        Self { shared, queue: Q::new(&rules), rules, now: Instant::ZERO, signals: Vec::new() }
    }

    /// Lets the queue do something; `None` where a packet simply waits.
    pub fn with<R>(
        &mut self,
        coin: &mut dyn FnMut() -> bool,
        draw: &mut dyn FnMut() -> f64,
        act: impl FnOnce(&mut Q, &Q::Rules, &mut Q::Shared, &mut Bench<'_>) -> R,
    ) -> (R, Option<Outcome<Pkt>>) {
        let (outcomes, signals) = (Vec::new(), Vec::new());
        let mut bench = Bench { now: self.now, coin, draw, outcomes, paused: 0, signals };
        let result = act(&mut self.queue, &self.rules, &mut self.shared, &mut bench);
        assert!(bench.outcomes.len() < 2, "{:?}", bench.outcomes);
        self.signals.append(&mut bench.signals);
        (result, bench.outcomes.pop())
    }

    /// A packet arrives where no chance is expected.
    pub fn put(&mut self, packet: Pkt) -> Option<Outcome<Pkt>> {
        self.toss(packet, || panic!("no coin is needed"))
    }

    /// A packet arrives; the coin says whether it is the victim itself.
    pub fn toss(&mut self, packet: Pkt, mut coin: impl FnMut() -> bool) -> Option<Outcome<Pkt>> {
        let mut draw = || panic!("no number is needed");
        self.with(&mut coin, &mut draw, |queue, rules, shared, cx| queue.enqueue(rules, shared, packet, cx)).1
    }

    /// A packet arrives where a random number is drawn.
    pub fn draw(&mut self, packet: Pkt, number: f64) -> Option<Outcome<Pkt>> {
        let mut coin = || panic!("no coin is needed");
        self.with(&mut coin, &mut || number, |queue, rules, shared, cx| {
            queue.enqueue(rules, shared, packet, cx)
        })
        .1
    }

    pub fn fill(&mut self, packets: impl IntoIterator<Item = Pkt>) {
        packets.into_iter().for_each(|packet| assert_eq!(self.put(packet), None));
    }

    pub fn start(&mut self) -> Option<Pkt> {
        let (mut coin, mut draw) = (|| panic!("no coin is needed"), || panic!("no number is needed"));
        self.with(&mut coin, &mut draw, |queue, rules, shared, cx| queue.dequeue(rules, shared, cx)).0
    }

    pub fn complete(&mut self) {
        let (mut coin, mut draw) = (|| panic!("no coin is needed"), || panic!("no number is needed"));
        self.with(&mut coin, &mut draw, |queue, rules, shared, cx| queue.complete(rules, shared, cx));
    }

    /// One packet is served.
    pub fn serve(&mut self) -> Option<Pkt> {
        let packet = self.start()?;
        self.complete();
        Some(packet)
    }

    pub fn waiting(&self) -> Vec<Pkt> {
        let mut waiting = Vec::new();
        self.queue.waiting(&mut |packet| waiting.push(*packet));
        waiting
    }

    pub fn waiting_bytes(&self, class: fn(&Pkt) -> bool) -> u64 {
        self.waiting().iter().filter(|packet| class(packet)).map(|packet| u64::from(packet.len)).sum()
    }
}

pub fn trim() -> Port<Trim<Pkt>> {
    Port::new(&TrimConfig::default())
}

pub fn is_data(packet: &Pkt) -> bool {
    packet.class == Class::Data
}

/// A header that goes back; `trimmed` here.
pub fn back(header: Pkt, trimmed: bool) -> Outcome<Pkt> {
    Outcome::Returned { header, trimmed }
}

pub fn gone(packet: Pkt, why: DropReason, trimmed: bool) -> Outcome<Pkt> {
    Outcome::Dropped { packet, why, trimmed }
}

pub fn header(id: u64) -> Pkt {
    packet(id, 64, Class::Header)
}
