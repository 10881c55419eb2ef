//! One host: its connections in both directions. Their subflows are connections of a window-based endpoint. The
//! multipath endpoint drives it: it translates headers, and decides which data a subflow's packets carry.

use alloc::collections::BTreeSet;

use pullnet_connections::{Connections, Finished, SmallQueue};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    ConnId, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, TimerKind, Transmit,
    Transport,
};
use pullnet_units::{Instant, Picos};
use pullnet_window::{Control, Endpoint, Insight, Rules, Segment};

use crate::config::Multipath;
use crate::header::{MAX_RANGES, MultipathHeader, SubflowAck, SubflowData};
use crate::receiver::Receiver;
use crate::sender::Sender;

mod receiving;
mod sending;

/// Bits of a subflow's number within its connection, and most subflows of a connection.
const INDEX_BITS: u32 = 4;
const MOST_SUBFLOWS: u32 = 1 << INDEX_BITS;
/// Bits of a connection's slot, and most connections of a host at a time in each direction.
const SLOT_BITS: u32 = 20;
const MOST_CONNECTIONS: u32 = 1 << SLOT_BITS;

/// A subflow: slot and generation of its connection, and its number there. The window-based endpoint knows it by one number,
/// its name, which is not that on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Subflow {
    slot: u32,
    generation: u8,
    index: usize,
}

impl Subflow {
    fn name(self) -> ConnId {
        let Self { slot, generation, index } = self;
        ConnId::new(u32::from(generation) << (SLOT_BITS + INDEX_BITS) | slot << INDEX_BITS | index as u32)
    }

    fn named(name: ConnId) -> Self {
        Self {
            slot: name.get() >> INDEX_BITS & (MOST_CONNECTIONS - 1),
            generation: (name.get() >> (SLOT_BITS + INDEX_BITS)) as u8,
            index: (name.get() & (MOST_SUBFLOWS - 1)) as usize,
        }
    }
}

/// State of one subflow's congestion control, for tests and probes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SubflowInsight<C> {
    /// Its path.
    pub path: u16,
    /// Its congestion control; `None` before it has joined and after it was given up.
    pub insight: Option<Insight<C>>,
}

/// A multipath transport on one host, with congestion control `C` on each subflow.
pub struct MultipathEndpoint<C: Control> {
    events: SmallQueue<Event>,
    /// ACKs of connections that have ended.
    replies: SmallQueue<Transmit<MultipathHeader>>,
    subflows: Endpoint<C>,
    senders: Connections<Sender>,
    receivers: Connections<Receiver>,
    rules: Rules,
    multipath: Multipath,
    chance: RandomStream,
    /// Ended connections that late packets may not open again.
    received: Finished,
    /// Ended connections whose number may not be used again yet.
    sent: Finished,
    /// When to check for a silent sender, by slot.
    silences: BTreeSet<(Instant, u32)>,
    /// Silence after which a receiver forgets the connection.
    silence: Picos,
    /// Generation of the next connection.
    generation: u8,
    refused: u64,
}

impl<C: Control> MultipathEndpoint<C> {
    /// A host without connections.
    pub fn new(
        rules: Rules,
        multipath: Multipath,
        control: C::Rules,
        host: HostInfo,
        chance: RandomStream,
    ) -> Self {
        let silence = rules.patience().saturating_add(rules.time_wait);
        // Subflows are given up here, where consecutive timeouts are counted, too.
        let patient = Rules { retries: u32::MAX, ..rules.clone() };
        Self {
            events: SmallQueue::new(),
            replies: SmallQueue::new(),
            subflows: Endpoint::new(patient, control, host, chance.clone()),
            senders: Connections::default(),
            receivers: Connections::default(),
            rules,
            multipath,
            chance,
            received: Finished::new(silence),
            // The receiver has forgotten the number by then.
            sent: Finished::new(silence.saturating_add(silence)),
            silences: BTreeSet::new(),
            silence,
            generation: 0,
            refused: 0,
        }
    }

    /// Data packets that were discarded because they lie beyond the receive window of their connection.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// State of subflow `index` of a connection that this host sends on; `None` if there is none.
    pub fn subflow(&mut self, to: HostAddr, conn: ConnId, index: usize) -> Option<SubflowInsight<C>> {
        let slot = self.senders.find(to, conn)?;
        let sender = self.senders.get_mut(slot)?;
        let path = sender.carriers.get(index)?.path;
        let name = Subflow { slot, generation: sender.generation, index }.name();
        Some(SubflowInsight { path, insight: self.subflows.insight(to, name) })
    }

    fn next_generation(&mut self) -> u8 {
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    /// A packet of a subflow in its outgoing form. `None` if its connection has ended.
    fn translate(&mut self, now: Instant, packet: Transmit<Segment>) -> Option<Transmit<MultipathHeader>> {
        let subflow = Subflow::named(packet.header.conn());
        match packet.header {
            Segment::Data { seq, opens, .. } => self.data(now, &packet, subflow, (seq, opens)),
            Segment::Syn { .. } => self.syn(&packet, subflow),
            Segment::SynAck { .. } | Segment::Ack { .. } | Segment::Nack { .. } => {
                self.answer(&packet, subflow)
            }
        }
    }
}

impl<C: Control> Transport for MultipathEndpoint<C> {
    type Header = MultipathHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_flow(now, &flow);
    }

    fn handle(&mut self, now: Instant, packet: Received<MultipathHeader>) {
        match packet.header {
            MultipathHeader::Data(SubflowData { conn, subflow, seq, .. })
                if packet.fate == Fate::Returned =>
            {
                let header = |conn| Segment::Data { conn, seq, opens: false, last: false };
                self.feedback(now, &packet, (conn, subflow), header);
            }
            MultipathHeader::Data(data) => self.handle_data(now, &packet, data),
            _ if packet.fate != Fate::Whole => {}
            MultipathHeader::Syn { conn, subflow } => self.handle_syn(now, &packet, conn, subflow),
            MultipathHeader::SynAck { conn, subflow } => {
                self.feedback(now, &packet, (conn, subflow), |conn| Segment::SynAck { conn });
            }
            MultipathHeader::Nack { conn, subflow, seq, .. } => {
                self.feedback(now, &packet, (conn, subflow), |conn| Segment::Nack { conn, seq });
            }
            MultipathHeader::Ack(SubflowAck { conn, subflow, cumulative, echo, ranges, .. }) => {
                let ack = |conn| Segment::Ack { conn, cumulative, answers: 0, echo, finished: false, ranges };
                self.feedback(now, &packet, (conn, subflow), ack);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.subflows.poll_timeout().is_some_and(|deadline| deadline.at <= now) {
            self.subflows.handle_timeout(now);
            self.take_timeouts(now);
        }
        while let Some((at, slot)) = self.silences.first().copied().filter(|(at, _)| *at <= now) {
            self.silences.remove(&(at, slot));
            self.check_silence(now, slot);
        }
        self.sent.expire(now);
        self.received.expire(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<MultipathHeader>> {
        if let Some(reply) = self.replies.pop() {
            return Some(reply);
        }
        while let Some(packet) = self.subflows.poll_transmit(now) {
            if let Some(packet) = self.translate(now, packet) {
                return Some(packet);
            }
        }
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        let mut first = Deadline { at: self.sent.due(), timer: TimerKind::SenderTimeWait };
        first = first.min_at(self.received.due(), TimerKind::ReceiverTimeWait);
        if let Some((at, _)) = self.silences.first() {
            first = first.min_at(*at, TimerKind::SilentSender);
        }
        if let Some(deadline) = self.subflows.poll_timeout() {
            first = first.min_at(deadline.at, deadline.timer);
        }
        (first.at != Instant::NEVER).then_some(first)
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        self.senders.iter().for_each(|sender| visit(sender.status()));
        self.receivers.iter().for_each(|receiver| visit(receiver.status()));
    }
}
