//! NDP on one host: its connections, its single pull queue, and its timers.

use core::hash::BuildHasher;
use core::mem::offset_of;

use pullnet_connections::{Connections, Finished, RoundRobin, SmallQueue, Timers};
use pullnet_pull::{Pacer, PullQueue};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    ConnId, Deadline, Event, FailureReason, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Origin, Received,
    TimerKind, Transmit, Transport,
};
use pullnet_units::{Instant, WireLen};
use rustc_hash::FxBuildHasher;

use crate::config::{NdpConfig, Rules};
use crate::header::NdpHeader;
use crate::peers::Peers;
use crate::receiver::Receiver;
use crate::sender::Sender;

mod receiving;
mod sending;
mod streaming;

use receiving::Data;

/// A timer of one connection, besides the pacer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    /// Check a sender's packets.
    Retransmission(u32),
    /// Forget a receiver whose sender is silent.
    Silence(HostAddr, ConnId),
}

/// NDP on one host. Fields read for every packet come first, so that the hot part of a large network stays small enough
/// for the caches.
///
/// `S` hashes hosts and connection numbers. Where untrusted peers choose these numbers, `S` must be unpredictable; the
/// default is for simulations.
#[derive(Debug)]
#[repr(C)]
pub struct NdpEndpoint<S = FxBuildHasher> {
    events: SmallQueue<Event>,
    /// When the first of the timers and time-waits is due.
    due: Instant,
    pacer: Pacer,
    pulls: PullQueue,
    /// ACKs, NACKs, pulls and probes that wait for the link.
    control: SmallQueue<Transmit<NdpHeader>>,
    /// Senders that could retransmit a packet or send a new one.
    ready_again: RoundRobin,
    ready_new: RoundRobin,
    chance: RandomStream,
    receivers: Connections<Receiver, S>,
    senders: Connections<Sender, S>,
    rules: Rules,
    /// Ended connections that late packets may not open again.
    received: Finished,
    /// Ended connections whose number may not be used again yet.
    sent: Finished,
    timers: Timers<Timer>,
    host: HostInfo,
    /// Packets refused because no conforming peer can have sent them.
    refused: u64,
    /// Connections that this host dismissed. Late packets may not open them again either.
    dismissed: Finished,
    peers: Peers,
}

impl NdpEndpoint {
    /// NDP on `host`, with a hasher that gives the same results everywhere.
    pub fn new(config: &NdpConfig, host: HostInfo, chance: RandomStream) -> Self {
        Self::with_hashes(config, host, chance)
    }
}

impl<S: BuildHasher + Default> NdpEndpoint<S> {
    /// NDP on `host`, with the hasher `S`.
    pub fn with_hashes(config: &NdpConfig, host: HostInfo, chance: RandomStream) -> Self {
        let rules = Rules::new(config, host.rate);
        Self {
            // The receiver has forgotten the number by then.
            sent: Finished::new(rules.remembered + rules.time_wait),
            received: Finished::new(rules.remembered),
            dismissed: Finished::new(rules.remembered),
            refused: 0,
            peers: Peers::new(rules.give_up),
            rules,
            host,
            chance,
            senders: Connections::default(),
            receivers: Connections::default(),
            control: SmallQueue::new(),
            ready_again: RoundRobin::default(),
            ready_new: RoundRobin::default(),
            pulls: PullQueue::default(),
            pacer: Pacer::default(),
            timers: Timers::default(),
            due: Instant::NEVER,
            events: SmallQueue::new(),
        }
    }

    /// The host that this endpoint runs on.
    pub fn host(&self) -> HostInfo {
        self.host
    }

    /// Packets that were discarded because no conforming peer can have sent them: beyond the largest first window and
    /// everything that was pulled, or beyond the window of [`pullnet_pull::WINDOW`] packets.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Connections that have ended at the receiver and are remembered, so that a late packet opens none of them again.
    pub fn remembered(&self) -> usize {
        self.received.len() + self.dismissed.len()
    }

    /// Whether all data of a connection from `from` has arrived and the connection is still remembered.
    pub fn has_received(&self, from: HostAddr, conn: ConnId) -> bool {
        self.received.contains(from, conn)
    }

    /// Earliest deadline of the timers and time-waits. Not inlined: [`NdpEndpoint::due`] has its time.
    #[inline(never)]
    fn first_timer(&self) -> Deadline {
        let mut first = Deadline { at: self.sent.due(), timer: TimerKind::SenderTimeWait };
        first = first.min_at(self.received.due(), TimerKind::ReceiverTimeWait);
        first = first
            .min_at(self.dismissed.due(), TimerKind::of_protocol(&"time-wait of a dismissed connection"));
        match self.timers.first() {
            Some((at, timer)) if at <= first.at => Deadline { at, timer: name(timer) },
            _ => first,
        }
    }

    /// Handles timers and time-waits that have expired.
    #[inline(never)]
    fn handle_timers(&mut self, now: Instant) {
        while let Some((at, timer)) = self.timers.pop_due(now) {
            match timer {
                Timer::Retransmission(slot) => self.check_sender(now, slot, at),
                Timer::Silence(peer, conn) => self.check_silence(now, peer, conn),
            }
        }
        self.sent.expire(now);
        self.received.expire(now);
        self.dismissed.expire(now);
        self.due = self.first_timer().at;
    }

    fn arm(&mut self, at: Instant, timer: Timer) {
        self.timers.push(at, timer);
        self.due = self.due.min(at);
    }

    fn send_control(&mut self, to: HostAddr, path: u16, header: NdpHeader) {
        let wire = WireLen::of(self.rules.header);
        self.control.push(Transmit::control(to, path, wire, header));
    }
}

impl<S: BuildHasher + Default> Transport for NdpEndpoint<S> {
    type Header = NdpHeader;
    const HOT_BYTES: usize = offset_of!(Self, rules) + Rules::HOT_BYTES;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_by(now, &flow, Sender::open);
    }

    fn open_relay(&mut self, now: Instant, flow: FlowSpec) {
        self.open_by(now, &flow, Sender::open_relay);
    }

    fn supply(&mut self, now: Instant, to: HostAddr, conn: ConnId, bytes: u64) {
        if let Some(slot) = self.senders.find(to, conn) {
            self.with_sender(now, slot, |sender, cx| sender.supply(cx, bytes));
        }
    }

    fn cut_off(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        if self.with_sender(now, slot, |sender, _| sender.lacks_data()) == Some(true) {
            let reason = FailureReason::of_protocol(&"the host that passes it on gets no more");
            let counts = self.close_sender(now, to, conn, slot);
            self.events.push(Event::Failed { to, conn, reason, counts });
        }
    }

    fn handle(&mut self, now: Instant, packet: Received<NdpHeader>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        match header {
            NdpHeader::Data { conn, seq, .. } if fate == Fate::Returned => {
                self.on_feedback(now, from, conn, |sender, cx| sender.on_return(cx, seq));
            }
            NdpHeader::Data { conn, seq, syn, last, pulled, priority } => {
                let data = Data { seq, syn, last, pulled, priority, wire, whole: fate == Fate::Whole };
                self.handle_data(now, Origin { peer: from, conn, paths }, data);
            }
            // A control packet that a switch sent back says nothing about the connection.
            _ if fate == Fate::Returned => {}
            NdpHeader::Ack { conn, seq, pull } => self.handle_ack(now, from, conn, seq, pull),
            NdpHeader::Nack { conn, seq, pull } => {
                self.on_feedback(now, from, conn, |sender, cx| sender.on_nack(cx, seq, pull));
            }
            NdpHeader::Pull { conn, number } => {
                self.on_feedback(now, from, conn, |sender, cx| sender.on_pull(cx, number));
            }
            NdpHeader::Probe { conn, seq } => {
                self.handle_probe(now, Origin { peer: from, conn, paths }, seq);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if !self.pulls.is_empty() && self.pacer.free_at() <= now {
            self.release_pull(now);
        }
        // The deadline was nearly always the pacer's; the state of the other timers is in cold memory.
        if self.due <= now {
            self.handle_timers(now);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<NdpHeader>> {
        self.control.pop().or_else(|| self.transmit_data(now))
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Deadline> {
        let pull = if self.pulls.is_empty() { Instant::NEVER } else { self.pacer.free_at() };
        let at = pull.min(self.due);
        let timer = if pull <= self.due { TimerKind::PullPacer } else { self.first_timer().timer };
        (at != Instant::NEVER).then_some(Deadline { at, timer })
    }

    fn prefetch_targets(&self, step: u8, visit: &mut impl FnMut(*const u8)) {
        if step == 0 {
            visit(self.control.place());
            self.senders.prefetch_targets().chain(self.receivers.prefetch_targets()).for_each(visit);
        } else {
            // In most visits the receiver answers and pulls first, then the sender sends what was pulled.
            let chance = &mut self.chance.clone();
            self.receivers.latest().into_iter().for_each(|receiver| receiver.prefetch_targets(chance, visit));
            self.senders.latest().into_iter().for_each(|sender| sender.prefetch_targets(chance, visit));
        }
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        self.senders.iter().for_each(|sender| visit(sender.status()));
        self.receivers.iter().for_each(|receiver| visit(receiver.status()));
    }
}

fn name(timer: Timer) -> TimerKind {
    match timer {
        Timer::Retransmission(_) => TimerKind::Retransmission,
        Timer::Silence(..) => TimerKind::SilentSender,
    }
}
