//! Conversations on frames: hosts on their sockets, joined by a network that plays the script.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pullnet_ndp::NdpHeader;
use pullnet_ndp::wire::Carriage;
use pullnet_netio::{Counters, Error, PacketIo};
use pullnet_record::RunRecord;
use pullnet_testbed::{Clock, Field, HEADERS, Socket};
use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};
use pullnet_wire::switch::{Lengths, datagram, send_back, trim};
use pullnet_wire::{Arrived, Marks, PORT, TRIM_IPV4, parse};

use crate::conversation::Outline;
use crate::script::{Fate, Player, Which};
use crate::talk::Talk;
use crate::time::Time;

/// Flight time of a frame. A host with work due within this time is not done with its latest packet: frames wait for its
/// line, or pulls for their pacer.
pub const FLIGHT: Picos = Picos::from_micros(1);
/// Number of polls for a frame in flight and duration of each: a minute in total.
const LOOKS: (u32, Duration) = (600_000, Duration::from_micros(100));

/// Parser settings of both hosts.
const CARRIAGE: Carriage = Carriage { home: PORT, header: HEADERS as u16 };

/// The endpoint's header of a packet; `None` for a RESET.
pub fn header(arrived: &Arrived<'_>) -> Option<NdpHeader> {
    CARRIAGE.received(arrived, HostAddr(0), 1).map(|packet| packet.header)
}

/// The hosts of a conversation.
pub trait Hosts {
    /// Receives and sends frames. True when the conversation is over.
    fn turn(&mut self, clock: &impl Clock) -> bool;

    /// Time of the next action that no frame triggers; [`Instant::NEVER`] if none is pending.
    fn next_due(&self) -> Instant;

    /// Starts the next action when nothing is in flight. False if there is none to start now.
    fn begin(&mut self, now: Instant) -> bool;
}

/// Flows start by themselves.
impl Hosts for Field {
    fn turn(&mut self, clock: &impl Clock) -> bool {
        Field::turn(self, clock).expect("frames of ours")
    }

    fn next_due(&self) -> Instant {
        Field::next_due(self)
    }

    fn begin(&mut self, _: Instant) -> bool {
        false
    }
}

/// Observer of the packets that hosts send.
pub trait PacketObserver {
    /// Reports a packet sent by host `from`.
    fn on_packet(&mut self, from: usize, arrived: &Arrived<'_>) -> Which;
}

/// Observer for flows: ignores packets, because the record lists them.
struct Flows;

impl PacketObserver for Flows {
    fn on_packet(&mut self, _: usize, arrived: &Arrived<'_>) -> Which {
        let header = header(arrived).expect("nobody sends a RESET");
        Which::with(&header, header.conn().get())
    }
}

/// Number of frames that a host has sent and received.
#[derive(Default)]
struct Passed {
    sent: AtomicU64,
    taken: AtomicU64,
}

/// A host's socket that delivers one frame per call, so that the host answers each frame before it sees the next.
struct OneByOne {
    io: Socket,
    passed: Arc<Passed>,
}

impl PacketIo for OneByOne {
    fn frame_room(&self) -> usize {
        self.io.frame_room()
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let got = self.io.receive(most.min(1), each)?;
        self.passed.taken.store(self.io.counters().received, Ordering::Relaxed);
        Ok(got)
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        let fits = self.io.send(fill)?;
        self.passed.sent.store(self.io.counters().sent, Ordering::Relaxed);
        Ok(fits)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.io.flush()
    }

    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        self.io.wait(wake, timeout)
    }

    fn is_gone(&self) -> bool {
        self.io.is_gone()
    }

    fn counters(&self) -> Counters {
        self.io.counters()
    }
}

/// The network's end of a host's line.
struct End {
    io: Socket,
    /// Counters of the host at the other end.
    host: Arc<Passed>,
}

impl End {
    /// Whether a frame is on the line.
    fn is_busy(&self) -> bool {
        let Counters { sent, received, .. } = self.io.counters();
        self.host.sent.load(Ordering::Relaxed) > received || self.host.taken.load(Ordering::Relaxed) < sent
    }

    /// Waits briefly for frames on the line.
    fn look(&mut self, looks: &mut u32) {
        *looks += 1;
        assert!(*looks < LOOKS.0, "a frame was lost on a line that loses none");
        self.io.wait(None, LOOKS.1).expect("a line of ours");
    }

    fn send(&mut self, frame: &[u8]) {
        let fill = &mut |room: &mut [u8]| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        };
        assert!(self.io.send(fill).expect("a line of ours"), "no room for a single frame");
        self.io.flush().expect("a line of ours");
    }
}

/// The two lines on which conversations run, one after the other.
pub struct Lines {
    hosts: Vec<Socket>,
    ends: [End; 2],
}

impl Lines {
    /// Lines with these ends: the host's and the network's.
    pub fn new(lines: [[Socket; 2]; 2]) -> Self {
        let mut hosts = Vec::new();
        let ends = lines.map(|[near, far]| {
            let passed = Arc::new(Passed::default());
            hosts.push(Box::new(OneByOne { io: near, passed: Arc::clone(&passed) }) as Socket);
            End { io: far, host: passed }
        });
        Self { hosts, ends }
    }

    /// Runs a conversation of flows as number `number`; returns its record, and the script's packets that never came.
    pub fn play(&mut self, talk: &Talk, number: u32, time: &impl Time) -> (RunRecord, Vec<Which>) {
        let mut field = Field::new(&talk.scenario(), self.lend(), number).expect("a scenario of ours");
        let unplayed = self.hold(&mut field, &talk.outline, &mut Flows, time);
        let (record, sockets) = field.finish(&[]);
        self.take_back(sockets);
        (record, unplayed)
    }

    /// The sockets of the hosts.
    pub fn lend(&mut self) -> Vec<Socket> {
        std::mem::take(&mut self.hosts)
    }

    /// Takes the sockets back after a conversation.
    pub fn take_back(&mut self, sockets: Vec<Socket>) {
        self.hosts = sockets;
        self.clear();
    }

    /// Runs the hosts on these lines until they are done; returns the script's packets that never came.
    pub fn hold(
        &mut self,
        hosts: &mut impl Hosts,
        outline: &Outline,
        observer: &mut impl PacketObserver,
        time: &impl Time,
    ) -> Vec<Which> {
        let middle = Middle::new(outline, observer);
        let mut network = FrameChannel { middle, ends: &mut self.ends, under_way: VecDeque::new(), looks: 0 };
        while !hosts.turn(time) {
            network.collect();
            let (due, soon) = (hosts.next_due(), time.now() + FLIGHT);
            if due <= soon {
                time.rest(due);
            } else if network.moves() {
                time.rest(soon);
            } else if !hosts.begin(time.now()) {
                time.rest(due);
            }
        }
        network.middle.player.unplayed()
    }

    /// Discards frames still in flight.
    fn clear(&mut self) {
        let mut looks = 0;
        loop {
            for io in self.hosts.iter_mut().chain(self.ends.iter_mut().map(|end| &mut end.io)) {
                while io.receive(usize::MAX, &mut |_| ()).expect("a line of ours") > 0 {}
            }
            let Some(end) = self.ends.iter_mut().find(|end| end.is_busy()) else { return };
            end.look(&mut looks);
        }
    }
}

/// Applies the script to frames between the hosts.
pub struct Middle<'a, E> {
    pub player: Player<Vec<u8>>,
    observer: &'a mut E,
    marks: Marks,
}

impl<'a, E: PacketObserver> Middle<'a, E> {
    /// A network at the start of its script, with an observer.
    pub fn new(outline: &Outline, observer: &'a mut E) -> Self {
        Self { player: outline.player(), observer, marks: Marks::default() }
    }

    /// Processes a frame sent by host `from`; returns the resulting frames, each with its destination.
    pub fn pass(&mut self, from: usize, frame: &Vec<u8>) -> Vec<(usize, Vec<u8>)> {
        let (route, _) = datagram(frame).expect("a frame of ours");
        let arrived = parse(frame, &self.marks, route.to_port).expect("a packet of ours");
        let which = self.observer.on_packet(from, &arrived);
        let leaving = self.player.pass(which, frame).into_iter().map(|(frame, fate)| {
            let to = if fate == Fate::Returned { from } else { 1 - from };
            (to, self.changed(frame, fate))
        });
        leaving.collect()
    }

    fn changed(&self, mut frame: Vec<u8>, fate: Fate) -> Vec<u8> {
        match fate {
            Fate::Whole => {}
            Fate::Damaged => *frame.last_mut().expect("a frame has bytes") ^= 0xff,
            Fate::Trimmed | Fate::Returned => {
                let long = trim(&mut frame, TRIM_IPV4, Lengths::Corrected, &self.marks);
                frame.truncate(long.expect("data to trim"));
            }
        }
        if fate == Fate::Returned {
            assert!(send_back(&mut frame, &self.marks));
        }
        frame
    }
}

/// The lines and the network between them.
struct FrameChannel<'a, E> {
    middle: Middle<'a, E>,
    ends: &'a mut [End; 2],
    /// Frames in flight with the end that they go to, in the order of arrival.
    under_way: VecDeque<(usize, Vec<u8>)>,
    looks: u32,
}

impl<E: PacketObserver> FrameChannel<'_, E> {
    /// Collects the hosts' frames and applies the script.
    fn collect(&mut self) {
        for from in 0..2 {
            let mut frames = Vec::new();
            let got = self.ends[from].io.receive(usize::MAX, &mut |frame| frames.push(frame.to_vec()));
            got.expect("a line of ours");
            for frame in frames {
                let leaving = self.middle.pass(from, &frame);
                self.under_way.extend(leaving);
            }
        }
    }

    /// Delivers the next frame once its predecessor has been received. False if there is none.
    fn moves(&mut self) -> bool {
        if let Some(end) = self.ends.iter_mut().find(|end| end.is_busy()) {
            end.look(&mut self.looks);
            return true;
        }
        self.looks = 0;
        let next = self.under_way.pop_front();
        next.is_some_and(|(to, frame)| {
            self.ends[to].send(&frame);
            true
        })
    }
}
