//! Two endpoints and an unreliable channel between them, in virtual time.
//!
//! A [`crate::script::Script`] plays one side word by word. A channel lets both sides talk and treats each packet as
//! the test says: loses, duplicates, delays, trims or returns it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use pullnet_units::{BitsPerSec, HostAddr, Instant, Picos};

use crate::api::{Class, Event, Fate, FlowSpec, FlowStatus, Received, SendCounts, Transmit, Transport};

/// Treatment of one copy of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Delay on the way. Random delays reorder packets.
    pub delay: Picos,
    /// State on arrival. Only data can be trimmed or returned; control packets pass whole.
    pub fate: Fate,
    /// Whether a switch marks it; only packets of an ECN-capable transport can be marked.
    pub ce: bool,
}

impl Passage {
    /// A packet that arrives whole and unmarked after `delay`.
    pub fn whole(delay: Picos) -> Self {
        Self { delay, fate: Fate::Whole, ce: false }
    }
}

/// Record of a channel so far.
#[derive(Clone, Default, Debug)]
pub struct Log {
    /// Virtual time.
    pub now: Instant,
    /// Events of both sides in order of time: time, side, event.
    pub events: Vec<(Instant, usize, Event)>,
    /// Headers that came back to their sender.
    pub returned: u32,
}

type Flight<H> = BTreeMap<(Instant, u64), (usize, Received<H>)>;

/// Side 0 and side 1 with a link each way.
#[derive(Debug)]
pub struct Channel<T: Transport> {
    sides: [Side<T>; 2],
    rate: BitsPerSec,
    paths: u16,
    /// Packets in flight, by time of arrival and order of departure: the receiving side, and the packet.
    flight: Flight<T::Header>,
    departures: u64,
    /// Record of packets and events.
    pub log: Log,
}

#[derive(Debug)]
struct Side<T> {
    addr: HostAddr,
    endpoint: T,
    /// Whether the side may have a packet to send.
    ready: bool,
    /// When its link is free.
    free_at: Instant,
}

/// Next step of the channel.
enum Step {
    Transmit(usize),
    Timeout(usize),
    Arrival,
}

impl<T: Transport> Channel<T> {
    /// Two endpoints with their addresses, links of `rate` and `paths` paths.
    pub fn new(sides: [(HostAddr, T); 2], rate: BitsPerSec, paths: u16) -> Self {
        let side = |(addr, endpoint)| Side { addr, endpoint, ready: false, free_at: Instant::ZERO };
        let (sides, flight) = (sides.map(side), BTreeMap::new());
        Self { sides, rate, paths, flight, departures: 0, log: Log::default() }
    }

    /// The application of `side` offers data.
    pub fn open(&mut self, side: usize, flow: FlowSpec) {
        self.act(side, |endpoint, now| endpoint.open(now, flow));
    }

    /// Applies another action of an application to the endpoint of `side`.
    pub fn act<R>(&mut self, side: usize, act: impl FnOnce(&mut T, Instant) -> R) -> R {
        let result = act(&mut self.sides[side].endpoint, self.log.now);
        self.after_input(side);
        result
    }

    /// Runs until no event is left, at most up to `limit`. `weather` returns the passages of every packet of a side:
    /// none is a loss, two are a duplicate. Returns whether no event is left; if false, the time is `limit` now.
    pub fn run(
        &mut self,
        limit: Instant,
        mut weather: impl FnMut(&Log, usize, &Transmit<T::Header>) -> Vec<Passage>,
    ) -> bool {
        while let Some((at, step)) = self.next() {
            if at > limit {
                self.log.now = self.log.now.max(limit);
                return false;
            }
            self.log.now = self.log.now.max(at);
            match step {
                Step::Transmit(side) => self.transmit(side, &mut weather),
                Step::Timeout(side) => {
                    self.sides[side].endpoint.handle_timeout(self.log.now);
                    self.after_input(side);
                }
                Step::Arrival => self.arrive(),
            }
        }
        true
    }

    /// Runs until no event is left, through a network that loses the packets that `loses` chooses and delays the others by
    /// `delay`. Returns when the first flow completes, and its counts.
    ///
    /// # Panics
    /// If events are left at `limit`, or if no flow completes.
    pub fn completion(
        &mut self,
        limit: Instant,
        delay: Picos,
        mut loses: impl FnMut(&Transmit<T::Header>) -> bool,
    ) -> (Picos, SendCounts) {
        let quiet =
            self.run(
                limit,
                |_, _, packet| {
                    if loses(packet) { Vec::new() } else { Vec::from([Passage::whole(delay)]) }
                },
            );
        assert!(quiet, "events are left at {limit:?}");
        let end = self.log.events.iter().find_map(|(at, _, event)| match event {
            Event::Completed { counts, .. } => Some((at.since(Instant::ZERO), *counts)),
            _ => None,
        });
        end.unwrap_or_else(|| panic!("no flow completes: {:?}", self.log.events.last()))
    }

    fn next(&self) -> Option<(Instant, Step)> {
        let mut next: Option<(Instant, Step)> = None;
        let mut consider = |at: Instant, step: Step| {
            if next.as_ref().is_none_or(|(first, _)| at < *first) {
                next = Some((at, step));
            }
        };
        for (number, side) in self.sides.iter().enumerate() {
            if side.ready {
                consider(side.free_at.max(self.log.now), Step::Transmit(number));
            }
            if let Some(deadline) = side.endpoint.poll_timeout() {
                consider(deadline.at.max(self.log.now), Step::Timeout(number));
            }
        }
        if let Some((at, _)) = self.flight.keys().next() {
            consider(*at, Step::Arrival);
        }
        next
    }

    fn transmit(
        &mut self,
        from: usize,
        weather: &mut impl FnMut(&Log, usize, &Transmit<T::Header>) -> Vec<Passage>,
    ) {
        let Some(packet) = self.sides[from].endpoint.poll_transmit(self.log.now) else {
            self.sides[from].ready = false;
            return;
        };
        let leaves = self.log.now + self.rate.serialization(packet.wire.bytes());
        self.sides[from].free_at = leaves;
        for mut passage in weather(&self.log, from, &packet) {
            if packet.class == Class::Control {
                passage.fate = Fate::Whole;
            }
            self.depart(from, leaves + passage.delay, passage, &packet);
        }
    }

    fn depart(&mut self, from: usize, at: Instant, passage: Passage, packet: &Transmit<T::Header>) {
        let Passage { fate, ce, .. } = passage;
        let to = if fate == Fate::Returned { from } else { 1 - from };
        let Transmit { wire, header, ect, .. } = *packet;
        let other = self.sides[1 - to].addr;
        self.departures += 1;
        let received = Received { from: other, paths: self.paths, wire, fate, ce: ce && ect, header };
        self.flight.insert((at, self.departures), (to, received));
    }

    fn arrive(&mut self) {
        let Some((_, (to, packet))) = self.flight.pop_first() else { return };
        self.log.returned += u32::from(packet.fate == Fate::Returned);
        self.sides[to].endpoint.handle(self.log.now, packet);
        self.after_input(to);
    }

    fn after_input(&mut self, side: usize) {
        self.sides[side].ready = true;
        while let Some(event) = self.sides[side].endpoint.poll_event() {
            self.log.events.push((self.log.now, side, event));
        }
    }

    /// Every flow of `side` that has not ended.
    pub fn open_flows(&self, side: usize) -> Vec<FlowStatus> {
        let mut flows = Vec::new();
        self.sides[side].endpoint.open_flows(&mut |flow| flows.push(flow));
        flows
    }
}
