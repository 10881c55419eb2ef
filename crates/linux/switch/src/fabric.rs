use std::collections::VecDeque;

use pullnet_qdisc::{Discipline, Item, Outcome, Signal, order};
use pullnet_rng::{Seed, SmallRandomStream};
use pullnet_units::{IdVec, Instant, NodeId, PortId};

use crate::codec::Codec;
use crate::counters::PortCounters;
use crate::event::{Dropped, Event, Observer};
use crate::fault::{Fault, Faults};
use crate::forward::{Entry, ForwardingTable, Prefix};
use crate::frame::{FrameId, Frames};
use crate::item::Slot;
use crate::mac::Mac;
use crate::port::{Port, Travelling};
use crate::settings::{Departure, FabricSettings, Held, PortSettings, WrongPort, check_peers};

/// Most frames per port waiting before a paced line: the default queue length of a Linux interface.
const MOST_ARRIVING: usize = 1000;

/// Switches, the lines between them, and their outer ports.
///
/// Simultaneous events are processed in this order: faults begin and end; ports complete frames; queues run that requested a
/// wake-up; frames and returned headers arrive, in the order given by [`order`]; frames depart.
#[derive(Debug)]
pub struct Fabric<Q: Discipline<Slot>, C, O> {
    pub(crate) settings: FabricSettings,
    pub(crate) codec: C,
    pub(crate) observer: O,
    pub(crate) rules: Q::Rules,
    pub(crate) shared: IdVec<NodeId, Q::Shared>,
    pub(crate) tables: IdVec<NodeId, ForwardingTable>,
    pub(crate) ports: IdVec<PortId, Port<Q>>,
    /// Time of the next event at each port.
    pub(crate) due: Vec<Instant>,
    pub(crate) frames: Frames,
    /// Returned headers in time order, each with the port that returned it.
    pub(crate) returning: VecDeque<(Instant, PortId, FrameId)>,
    pub(crate) faults: Faults,
    pub(crate) next_fault: Instant,
    pub(crate) departures: VecDeque<Departure>,
    pub(crate) choices: SmallRandomStream,
    /// Outcomes of the latest queue call; kept to reuse the allocation.
    pub(crate) outcomes: Vec<Outcome<Slot>>,
    /// Pause signals from the latest queue call, with the ingress port of the sender.
    pub(crate) signals: Vec<(u16, Signal)>,
    pub(crate) now: Instant,
}

impl<Q: Discipline<Slot>, C: Codec, O: Observer> Fabric<Q, C, O> {
    /// Creates switches with empty queues and tables.
    pub fn new(
        config: &Q::Config,
        settings: FabricSettings,
        ports: &[PortSettings],
        codec: C,
        observer: O,
    ) -> Result<Self, WrongPort> {
        check_peers(ports)?;
        let rules = Q::rules(config);
        let nodes = ports.iter().map(|port| port.node.get() + 1).max().unwrap_or(0);
        // A port is the end of one cable: frames come by it at the rate at which they leave.
        let shared = |node: u32| {
            let rates = ports.iter().filter(|port| port.node.get() == node).map(|port| port.rate);
            let rates: Vec<_> = rates.collect();
            let mut shared = Q::shared(&rules, rates.len());
            Q::links(&rules, &mut shared, &rates);
            shared
        };
        let seed = Seed(settings.seed);
        let first_of = |node: NodeId| ports.iter().position(|port| port.node == node).unwrap_or(0) as u64;
        let port = |(number, port): (u64, &PortSettings)| {
            let (index, salt) = (number - first_of(port.node), order::salt(settings.seed, port.node.get()));
            Port::new(port, index as u16, salt, Q::new(&rules), seed.small_stream("switch.port", number))
        };
        Ok(Self {
            shared: (0..nodes).map(shared).collect(),
            tables: (0..nodes).map(|_| ForwardingTable::new(settings.ageing, settings.unknown)).collect(),
            ports: (0..).zip(ports).map(port).collect(),
            due: vec![Instant::NEVER; ports.len()],
            frames: Frames::new(settings.most_frames as usize),
            returning: VecDeque::new(),
            faults: Faults::default(),
            next_fault: Instant::NEVER,
            departures: VecDeque::new(),
            choices: seed.small_stream("switch.choice", 0),
            outcomes: Vec::new(),
            signals: Vec::new(),
            now: Instant::ZERO,
            settings,
            codec,
            observer,
            rules,
        })
    }

    /// Adds a fixed entry to the table of a switch. Ports of other switches are removed from the entry.
    pub fn forward(&mut self, node: NodeId, mac: Mac, mut entry: Entry) {
        entry.ports.retain(|port| self.ports.get(*port).is_some_and(|port| port.node == node));
        if !entry.ports.is_empty() && node.get() < self.tables.len() as u32 {
            self.tables[node].fix(mac, entry);
        }
    }

    /// Adds a multicast group to the table of a switch: its frames leave by each of `ports` except their ingress port. Ports
    /// of other switches are removed.
    pub fn group(&mut self, node: NodeId, mac: Mac, mut ports: Vec<PortId>) {
        ports.retain(|port| self.ports.get(*port).is_some_and(|port| port.node == node));
        if !ports.is_empty() && node.get() < self.tables.len() as u32 {
            self.tables[node].group(mac, ports);
        }
    }

    /// Adds an IPv4 prefix route to the table of a switch. Prefix routes precede Ethernet addresses; routing changes no byte
    /// of a frame. Ports of other switches are removed from the entry.
    pub fn route_prefix(&mut self, node: NodeId, prefix: Prefix, mut entry: Entry) {
        entry.ports.retain(|port| self.ports.get(*port).is_some_and(|port| port.node == node));
        if !entry.ports.is_empty() && node.get() < self.tables.len() as u32 {
            self.tables[node].route(prefix, entry);
        }
    }

    /// Adds a fault that begins now or later.
    pub fn fault(&mut self, fault: Fault) {
        self.faults.add(fault);
        self.change_lines();
    }

    /// Removes all faults of a port.
    pub fn clear_faults(&mut self, port: PortId) {
        self.faults.clear(port);
        self.change_lines();
    }

    /// The current virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The observer.
    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Completes the frame in service at a port now, at any length. For replays without a clock.
    pub fn finish(&mut self, port: PortId) {
        if let Some(serving) = &mut self.ports[port].serving {
            serving.until = self.now;
        }
        self.settle(port);
    }

    /// Whether the coin from [`Fabric::next_coin`] is still unused.
    pub fn coin_waits(&self, port: PortId) -> bool {
        self.ports[port].coin.is_some()
    }

    /// The frame in service at a port, and the time at which it completes.
    pub fn serving(&self, port: PortId) -> Option<(Slot, Instant)> {
        self.ports[port].serving.map(|serving| (serving.slot, serving.until))
    }

    /// Counters of a port.
    pub fn counters(&self, port: PortId) -> &PortCounters {
        &self.ports[port].counters
    }

    /// Queue occupancy of a port.
    pub fn held(&self, port: PortId) -> Held {
        let Port { queue, serving, .. } = &self.ports[port];
        let mut held =
            Held { data_packets: queue.data_held(), control_packets: queue.queued(true), ..Held::default() };
        let mut add = |slot: &Slot| {
            let bytes = if slot.is_control() { &mut held.control_bytes } else { &mut held.data_bytes };
            *bytes += u64::from(slot.wire(0));
        };
        queue.waiting(&mut add);
        serving.iter().map(|serving| &serving.slot).filter(|slot| !slot.is_control()).for_each(add);
        held
    }

    /// Stops a port from starting further frames until it is resumed.
    pub fn pause(&mut self, port: PortId) {
        self.ports[port].stopped = true;
    }

    /// Resumes a paused port.
    pub fn resume(&mut self, port: PortId) {
        self.ports[port].stopped = false;
        self.serve(port);
        self.settle(port);
    }

    /// Fixes the next coin of a port: `true` selects the arriving packet. For replays of another switch's decisions.
    pub fn next_coin(&mut self, port: PortId, coin: bool) {
        self.ports[port].coin = Some(coin);
    }

    /// Delivers the oldest returned header now, regardless of its time. For replays without a clock. False if there was
    /// none.
    pub fn come_round(&mut self) -> bool {
        let waits = !self.returning.is_empty();
        self.comes_round();
        waits
    }

    /// Fixes the next random number of a port to `draw`, from 0 to 1; see [`Fabric::next_coin`].
    pub fn next_draw(&mut self, port: PortId, draw: f64) {
        self.ports[port].draw = Some(draw);
    }

    /// The latest pause signal sent to the neighbour of a port.
    pub fn asked(&self, port: PortId) -> Signal {
        self.ports[port].pauses.told
    }

    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Number of frames held.
    pub fn frames_held(&self) -> usize {
        self.frames.held()
    }

    /// The bytes of a frame.
    #[inline]
    pub fn frame(&self, frame: FrameId) -> &[u8] {
        self.frames.bytes(frame)
    }

    /// Frees a frame that has departed.
    #[inline]
    pub fn release(&mut self, frame: FrameId) {
        self.frames.release(frame);
    }

    /// Time of the next event.
    #[inline]
    pub fn next_event(&self) -> Instant {
        let returning = self.returning.front().map_or(Instant::NEVER, |(at, ..)| *at);
        let ports = self.due.iter().copied().min().unwrap_or(Instant::NEVER);
        ports.min(returning).min(self.next_fault)
    }

    /// Injects a frame at a port at time `at`, or now if `at` is in the past.
    pub fn arrive(&mut self, port: PortId, at: Instant, bytes: &[u8]) {
        let wire = self.settings.counting.wire(bytes.len().try_into().unwrap_or(u32::MAX));
        let here = &mut self.ports[port];
        let (since, at) = here.line_times(at.max(self.now), wire);
        let room = here.arriving.len() < MOST_ARRIVING;
        let refused = if bytes.len() < 14 {
            here.counters.if_in_errors += 1;
            Dropped::TooShort
        } else if let Some(frame) = room.then(|| self.frames.put(bytes)).flatten() {
            here.arriving.push_back(Travelling { frame, since, at });
            self.due[port.get() as usize] = here.due();
            return;
        } else {
            here.counters.if_in_discards += 1;
            Dropped::NoBuffer
        };
        self.observer.event(self.now, port, Event::Dropped(refused), bytes);
    }

    /// The next frame that has reached the outer end of a line.
    #[inline]
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// Processes all events up to and including `until`.
    pub fn advance(&mut self, until: Instant) {
        loop {
            let at = self.next_event();
            if at > until {
                break;
            }
            self.now = at;
            self.step(at);
        }
        self.now = self.now.max(until);
    }
}
