//! One host: all its connections and timers.

use core::hash::BuildHasher;

use pullnet_connections::{Connections, Finished, FlowTimer, RoundRobin, SmallQueue, Timers};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    ConnId, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Origin, Received, TimerKind,
    Transmit, Transport,
};
use pullnet_units::{Instant, Picos, WireLen};
use rustc_hash::FxBuildHasher;

use crate::control::Control;
use crate::receiver::{Data, Receiver};
use crate::rules::Rules;
use crate::segment::Segment;
use crate::sender::{Ack, Sender};

mod receiving;
mod sending;
mod subflows;

/// State of a connection's congestion control, for tests and probes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Insight<C> {
    /// Congestion window, whole packets.
    pub window: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub round_trip: Option<Picos>,
    /// State of congestion control.
    pub control: C,
}

/// A window-based transport on one host.
///
/// `S` hashes hosts and connection numbers. Where untrusted peers choose these numbers, `S` must be unpredictable; the
/// default is for simulations.
#[derive(Debug)]
pub struct Endpoint<C: Control, S = FxBuildHasher> {
    events: SmallQueue<Event>,
    /// SYNs, SYN-ACKs and ACKs that wait for the link.
    replies: SmallQueue<Transmit<Segment>>,
    /// Senders that could send.
    ready: RoundRobin,
    /// When the first timer or time-wait is due.
    due: Instant,
    chance: RandomStream,
    receivers: Connections<Receiver, S>,
    senders: Connections<Sender<C>, S>,
    rules: Rules,
    control: C::Rules,
    /// Ended connections that late packets may not open again.
    received: Finished,
    /// Ended connections whose number may not be used again yet.
    sent: Finished,
    timers: Timers<FlowTimer>,
    /// Silence after which a receiver forgets the connection.
    silence: Picos,
    refused: u64,
}

impl<C: Control> Endpoint<C> {
    /// A host with a hasher that gives the same results everywhere.
    pub fn new(rules: Rules, control: C::Rules, _host: HostInfo, chance: RandomStream) -> Self {
        Self::with_hashes(rules, control, chance)
    }
}

impl<C: Control, S: BuildHasher + Default> Endpoint<C, S> {
    /// A host with the hasher `S`.
    pub fn with_hashes(rules: Rules, control: C::Rules, chance: RandomStream) -> Self {
        let silence = rules.patience().saturating_add(rules.time_wait);
        Self {
            events: SmallQueue::new(),
            replies: SmallQueue::new(),
            ready: RoundRobin::default(),
            due: Instant::NEVER,
            chance,
            receivers: Connections::default(),
            senders: Connections::default(),
            received: Finished::new(silence),
            // The receiver has forgotten the number by then.
            sent: Finished::new(silence.saturating_add(rules.time_wait)),
            timers: Timers::default(),
            silence,
            refused: 0,
            rules,
            control,
        }
    }

    /// Data packets that were discarded because they lie beyond the receive window.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// State of the sender of a connection; `None` if it is not open.
    pub fn insight(&self, to: HostAddr, conn: ConnId) -> Option<Insight<C>> {
        let sender = self.senders.get(to, conn)?;
        let (window, round_trip) = (sender.window(), sender.round_trip());
        Some(Insight { window, round_trip, control: sender.control().clone() })
    }

    fn arm(&mut self, at: Instant, timer: FlowTimer) {
        self.timers.push(at, timer);
        self.due = self.due.min(at);
    }

    fn reply(&mut self, to: HostAddr, path: u16, header: Segment) {
        let (ranges, handshake) = match header {
            Segment::Ack { ranges, .. } => (ranges.len(), false),
            Segment::Nack { .. } => (0, false),
            _ => (0, true),
        };
        let (wire, ect) = (WireLen::new(self.rules.ack_wire(ranges)), handshake && self.rules.ecn_handshake);
        self.replies.push(Transmit { ect, ..Transmit::control(to, path, wire, header) });
    }

    fn first_timer(&self) -> Deadline {
        let mut first = Deadline { at: self.sent.due(), timer: TimerKind::SenderTimeWait };
        first = first.min_at(self.received.due(), TimerKind::ReceiverTimeWait);
        match self.timers.first() {
            Some((at, FlowTimer::Sender(_))) => first.min_at(at, TimerKind::Retransmission),
            Some((at, FlowTimer::Receiver(_))) => first.min_at(at, TimerKind::DelayedAckOrSilentSender),
            None => first,
        }
    }
}

impl<C: Control, S: BuildHasher + Default> Transport for Endpoint<C, S> {
    type Header = Segment;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_flow(now, &flow);
    }

    fn handle(&mut self, now: Instant, packet: Received<Segment>) {
        let Received { from, paths, wire, fate, ce, header } = packet;
        if fate != Fate::Whole {
            // Without NACKs, a packet that lost its payload counts as lost.
            return match header {
                Segment::Data { conn, seq, .. } if self.rules.nack && fate == Fate::Returned => {
                    self.handle_nack(now, from, conn, seq);
                }
                Segment::Data { conn, seq, opens, last } if self.rules.nack => {
                    let data = Data { seq, last, bytes: 0, ce };
                    self.handle_trimmed(now, Origin { peer: from, conn, paths }, opens, data);
                }
                _ => (),
            };
        }
        match header {
            Segment::Ack { conn, cumulative, echo, finished, ranges, .. } => {
                self.handle_ack(now, from, conn, Ack { cumulative, echo, finished, ranges });
            }
            Segment::Data { conn, seq, opens, last } => {
                let bytes = u32::from(wire).saturating_sub(self.rules.header);
                let data = Data { seq, last, bytes, ce };
                self.handle_data(now, Origin { peer: from, conn, paths }, opens, data);
            }
            Segment::Nack { conn, seq } => self.handle_nack(now, from, conn, seq),
            Segment::Syn { conn } => self.handle_syn(now, Origin { peer: from, conn, paths }),
            Segment::SynAck { conn } => self.handle_syn_ack(now, from, conn),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, timer)) = self.timers.pop_due(now) {
            match timer {
                FlowTimer::Sender(slot) => self.check_sender(now, slot, at),
                FlowTimer::Receiver(slot) => self.check_receiver(now, slot, at),
            }
        }
        self.sent.expire(now);
        self.received.expire(now);
        self.due = self.first_timer().at;
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Segment>> {
        self.replies.pop().or_else(|| self.transmit_data(now))
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Deadline> {
        (self.due != Instant::NEVER).then(|| Deadline { at: self.due, timer: self.first_timer().timer })
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        self.senders.iter().for_each(|sender| visit(sender.status()));
        self.receivers.iter().for_each(|receiver| visit(receiver.status()));
    }
}
