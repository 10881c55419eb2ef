//! The sending half of a connection: assigns data to subflows.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use pullnet_rng::RandomStream;
use pullnet_transport::{Awaited, ConnId, FailureReason, FlowSpec, FlowStatus, HostAddr, SendCounts, Side};
use pullnet_units::{Instant, Picos};
use pullnet_window::Subflow;

use crate::config::{Coupling, Multipath};
use crate::coupling::{Pace, increase};

/// A packet of the connection without a DATA_ACK so far.
#[derive(Clone, Copy, Debug)]
struct Packet {
    first_sent: Instant,
    /// Subflows on which a copy is outstanding, one bit each.
    carriers: u16,
    /// Whether an ACK of a subflow reports its arrival.
    arrived: bool,
    /// Whether it waits for reinjection.
    queued: bool,
}

/// State of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Not opened yet: it joins when the first one is established.
    Waiting,
    /// Its SYN is on the way.
    Opening,
    /// It carries data.
    Established,
    /// Given up.
    Dead,
}

/// A subflow as its connection knows it.
#[derive(Clone, Debug)]
pub(crate) struct Carrier {
    pub phase: Phase,
    /// Its path, for all packets.
    pub path: u16,
    /// Timeouts since its last progress.
    timeouts: u32,
    /// Number of its oldest unacknowledged packet.
    first: u32,
    /// Data numbers of its packets from `first` on.
    data: VecDeque<u32>,
    /// Its new packets must have lower numbers.
    limit: u32,
    /// Window and round-trip time; `None` until both are known.
    pace: Option<Pace>,
}

impl Carrier {
    fn next(&self) -> u32 {
        self.first + self.data.len() as u32
    }

    fn carries_new(&self) -> bool {
        self.phase == Phase::Established
    }
}

/// A data packet that is about to leave on a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Assigned {
    pub data: u32,
    pub payload: u32,
    pub last: bool,
    /// Whether its payload was sent before, on any subflow.
    pub again: bool,
}

/// Consequence of a timeout of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    /// The subflow goes on.
    GoesOn,
    /// The subflow is given up.
    SubflowDies,
    /// The subflow is given up, and none is left that could carry data.
    Fails(FailureReason),
}

/// One connection as its sender knows it.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub conn: ConnId,
    pub to: HostAddr,
    pub priority: u8,
    pub paths: u16,
    /// Distinguishes the connection from earlier ones in the same slot.
    pub generation: u8,
    mtu: u32,
    last_payload: u32,
    /// Number of packets; `u32::MAX` for an endless flow.
    total: u32,
    /// Packets that the receiver accepts beyond the oldest missing one.
    receive_window: u32,
    /// The oldest packet without a DATA_ACK.
    first: u32,
    packets: VecDeque<Packet>,
    /// Packets that wait for reinjection, each with the subflow that it is stuck on.
    reinject: VecDeque<(u32, usize)>,
    pub carriers: Vec<Carrier>,
    pub last_progress: Instant,
    pub acked_bytes: u64,
    pub counts: SendCounts,
}

impl Sender {
    /// A connection of `total` packets (`u32::MAX`: endless), without an open subflow.
    pub fn open(
        now: Instant,
        flow: &FlowSpec,
        (mtu, total, receive_window): (u32, u32, u32),
        rules: &Multipath,
        chance: &mut RandomStream,
    ) -> Self {
        let last_payload =
            flow.size.map_or(u64::from(mtu), |size| size.0 - (u64::from(total) - 1) * u64::from(mtu));
        let carrier = |path| Carrier {
            phase: Phase::Waiting,
            path,
            timeouts: 0,
            first: 0,
            data: VecDeque::new(),
            limit: u32::MAX,
            pace: None,
        };
        let paths = flow.paths.max(1);
        Self {
            conn: flow.conn,
            to: flow.to,
            priority: flow.priority,
            paths,
            generation: 0,
            mtu,
            last_payload: last_payload as u32,
            total,
            receive_window,
            first: 0,
            packets: VecDeque::new(),
            reinject: VecDeque::new(),
            carriers: rules.paths(paths, chance).into_iter().map(carrier).collect(),
            last_progress: now,
            acked_bytes: 0,
            counts: SendCounts::default(),
        }
    }

    fn next(&self) -> u32 {
        self.first + self.packets.len() as u32
    }

    fn packet(&mut self, data: u32) -> Option<&mut Packet> {
        self.packets.get_mut(data.wrapping_sub(self.first) as usize)
    }

    /// Payload of packet `data`.
    fn payload(&self, data: u32) -> u32 {
        if self.is_last(data) { self.last_payload } else { self.mtu }
    }

    fn is_last(&self, data: u32) -> bool {
        data.checked_add(1) == Some(self.total)
    }

    /// Whether all data is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.first == self.total
    }

    fn has_new_data(&self) -> bool {
        self.next() < self.total && (self.packets.len() as u32) < self.receive_window
    }

    /// Assigns data to packet number `seq` of subflow `index`, which leaves. A new packet carries data that is stuck on
    /// other subflows before new data.
    pub fn assign(&mut self, now: Instant, index: usize, seq: u32) -> Option<Assigned> {
        let carrier = self.carriers.get(index)?;
        let known = carrier.data.get(seq.wrapping_sub(carrier.first) as usize).copied();
        let next = self.next();
        let data = match known {
            Some(data) => data,
            None => {
                let data = self.reinjected(index).or_else(|| self.new_data(now)).unwrap_or(self.first);
                if let Some(packet) = self.packet(data) {
                    packet.carriers |= 1 << index;
                }
                self.carriers[index].data.push_back(data);
                data
            }
        };
        let again = data < next;
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        Some(Assigned { data, payload: self.payload(data), last: self.is_last(data), again })
    }

    fn new_data(&mut self, now: Instant) -> Option<u32> {
        if !self.has_new_data() {
            return None;
        }
        self.packets.push_back(Packet { first_sent: now, carriers: 0, arrived: false, queued: false });
        Some(self.next() - 1)
    }

    /// The oldest packet that is stuck on another subflow than `index`.
    fn reinjected(&mut self, index: usize) -> Option<u32> {
        self.prune();
        let at = self.reinject.iter().position(|(_, stuck)| *stuck != index)?;
        let (data, _) = self.reinject.remove(at)?;
        let packet = self.packet(data)?;
        packet.queued = false;
        Some(data)
    }

    /// Removes packets that have arrived from the queue for reinjection.
    fn prune(&mut self) {
        let Self { reinject, packets, first, .. } = self;
        // Packets below `first` are gone, and their distance wraps past the end.
        let packet = |data: u32| packets.get(data.wrapping_sub(*first) as usize);
        reinject.retain(|(data, _)| packet(*data).is_some_and(|packet| !packet.arrived));
    }

    /// Visits the subflows whose limit on new packets changes, with the new limit: no limit while there is new data,
    /// otherwise the number of packets to reinject.
    pub fn update_limits(&mut self, mut visit: impl FnMut(usize, u32)) {
        let new = self.has_new_data();
        if !new {
            self.prune();
        }
        let Self { carriers, reinject, .. } = self;
        for (index, carrier) in carriers.iter_mut().enumerate() {
            let waiting = || reinject.iter().filter(|(_, stuck)| *stuck != index).count() as u32;
            let limit = if new { u32::MAX } else { carrier.next().saturating_add(waiting()) };
            if limit != carrier.limit && !matches!(carrier.phase, Phase::Waiting | Phase::Dead) {
                carrier.limit = limit;
                visit(index, limit);
            }
        }
    }

    /// Updates subflow `index` after an ACK.
    pub fn update(&mut self, index: usize, subflow: &Subflow) {
        let Self { carriers, packets, first, .. } = self;
        let carrier = &mut carriers[index];
        if carrier.first < subflow.first {
            carrier.timeouts = 0;
        }
        while carrier.first < subflow.first {
            let Some(data) = carrier.data.pop_front() else { break };
            carrier.first += 1;
            if let Some(packet) = packets.get_mut(data.wrapping_sub(*first) as usize) {
                (packet.carriers, packet.arrived) = (0, true);
            }
        }
        carrier.pace = subflow
            .round_trip
            .map(|round_trip| Pace { window: subflow.window, round_trip: round_trip.0.max(1) as f64 });
    }

    /// Handles a DATA_ACK. Visits the time since the first transmission of each newly acknowledged packet.
    pub fn acknowledge(&mut self, now: Instant, data_ack: u32, finished: bool, mut visit: impl FnMut(Picos)) {
        let finished = finished && self.next() == self.total;
        let until = if finished { self.total } else { data_ack.min(self.next()) };
        while self.first < until {
            let Some(packet) = self.packets.pop_front() else { break };
            self.acked_bytes += u64::from(self.payload(self.first));
            self.first += 1;
            self.last_progress = now;
            visit(now.since(packet.first_sent));
        }
    }

    /// Whether `data_ack` can belong to this connection.
    pub fn has_sent(&self, data_ack: u32) -> bool {
        data_ack <= self.next()
    }

    /// Limit on the growth of the window of subflow `index`.
    pub fn increase(&self, coupling: Coupling) -> Option<f64> {
        let live = || self.carriers.iter().filter(|carrier| carrier.carries_new());
        match coupling {
            Coupling::Lia => Some(increase(live().filter_map(|carrier| carrier.pace))),
            Coupling::Uncoupled => None,
        }
    }

    /// The timer of subflow `index` has expired for its packet `seq`. Returns the packet's data, and the consequence.
    pub fn on_timeout(&mut self, index: usize, seq: u32, retries: u32) -> (u32, Expiry) {
        self.counts.timeouts += 1;
        let carrier = &mut self.carriers[index];
        let data = carrier.data.get(seq.wrapping_sub(carrier.first) as usize).copied().unwrap_or(0);
        carrier.timeouts += 1;
        if carrier.timeouts <= retries {
            return (data, Expiry::GoesOn);
        }
        let opening = carrier.phase == Phase::Opening;
        carrier.phase = Phase::Dead;
        self.packets.iter_mut().for_each(|packet| packet.carriers &= !(1 << index));
        let alive = |carrier: &Carrier| matches!(carrier.phase, Phase::Opening | Phase::Established);
        let expiry = match self.carriers.iter().any(alive) {
            true => Expiry::SubflowDies,
            false if opening => Expiry::Fails(FailureReason::SynUnanswered),
            false => Expiry::Fails(FailureReason::of_protocol(
                &"the receiver is silent: too many timeouts in a row on every subflow",
            )),
        };
        (data, expiry)
    }

    /// Packet `seq` is stuck on subflow `index`: queues its data for reinjection, unless a subflow that is not stuck
    /// carries it already.
    pub fn stuck(&mut self, index: usize, seq: u32) {
        let carrier = &self.carriers[index];
        let Some(data) = carrier.data.get(seq.wrapping_sub(carrier.first) as usize).copied() else { return };
        let moving = self.moving() & !(1 << index);
        let Some(packet) = self.packet(data) else { return };
        if packet.queued || packet.arrived || packet.carriers & moving != 0 {
            return;
        }
        packet.queued = true;
        self.reinject.push_back((data, index));
    }

    /// Subflows that carry data without a timeout since their last progress, one bit each.
    fn moving(&self) -> u16 {
        let carriers = self.carriers.iter().enumerate();
        carriers
            .filter(|(_, carrier)| carrier.carries_new() && carrier.timeouts == 0)
            .fold(0, |all, (index, _)| all | 1 << index)
    }

    /// Packets outstanding on subflow `index` when it was given up.
    pub fn outstanding(&self, index: usize) -> core::ops::Range<u32> {
        let carrier = &self.carriers[index];
        carrier.first..carrier.next()
    }

    /// Moves subflow `index` to another path, because its SYN was lost.
    pub fn redraw_path(&mut self, index: usize, chance: &mut RandomStream) {
        self.carriers[index].path = chance.below(self.paths.into()) as u16;
    }

    /// State of the flow.
    pub fn status(&self) -> FlowStatus {
        let Self { to: peer, conn, acked_bytes: bytes, last_progress, counts, .. } = *self;
        let waiting_for = self.waiting_for();
        FlowStatus { side: Side::Sender, peer, conn, bytes, last_progress, waiting_for, counts }
    }

    fn waiting_for(&self) -> Awaited {
        let is = |phase: Phase| self.carriers.iter().any(|carrier| carrier.phase == phase);
        let timed_out = self.carriers.iter().any(|carrier| carrier.carries_new() && carrier.timeouts > 0);
        match () {
            () if !is(Phase::Established) => Awaited::SynAck,
            () if timed_out => Awaited::AcksAfterTimeout,
            () => Awaited::Acks,
        }
    }
}

#[cfg(test)]
mod tests {
    use pullnet_rng::Seed;
    use pullnet_units::Bytes;

    use super::*;
    use crate::MptcpConfig;

    #[test]
    fn what_has_arrived_is_not_sent_again_wherever_it_stands_in_the_queue() {
        let chance = &mut Seed(1).stream("test.transport", 1);
        let flow = FlowSpec { size: Some(Bytes(5000)), paths: 8, ..FlowSpec::default() };
        let rules = MptcpConfig { subflows: 2, ..MptcpConfig::default() }.multipath();
        let mut sender = Sender::open(Instant::ZERO, &flow, (1000, 5, 100), &rules, chance);
        sender.carriers.iter_mut().for_each(|carrier| carrier.phase = Phase::Established);
        let next = |sender: &mut Sender, index, seq| sender.assign(Instant::ZERO, index, seq).unwrap().data;
        let sent = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(index, seq)| next(&mut sender, index, seq));
        assert_eq!(sent, [0, 1, 2, 3]);
        // Packet 2 waits for subflow 1, and packet 3 behind it for subflow 0.
        sender.stuck(0, 1);
        sender.carriers[0].timeouts = 1;
        sender.stuck(1, 1);
        let acked = Subflow { first: 2, next: 2, window: 2.0, round_trip: None };
        sender.update(1, &acked);
        assert_eq!(next(&mut sender, 0, 2), 4, "packet 3 has arrived, and packet 2 is stuck here");
        assert_eq!(next(&mut sender, 1, 2), 2);
    }
}
