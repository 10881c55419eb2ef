//! The sending side of a host: its connections take turns on the link.

use core::hash::BuildHasher;

use pullnet_connections::RoundRobin;
use pullnet_transport::{ConnId, Event, FailureReason, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::{Instant, PacketSeq};

use super::{NdpEndpoint, Timer};
use crate::config::Nic;
use crate::header::NdpHeader;
use crate::sender::{Check, Context, Patience, Ready, Sender};

/// Packet numbers have 32 bits; the largest number stands for the end of an endless flow.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

impl<S: BuildHasher + Default> NdpEndpoint<S> {
    /// Adds the sender that `open` makes of `flow`, if the flow's number may be used.
    pub(super) fn add_sender(
        &mut self,
        now: Instant,
        flow: &FlowSpec,
        open: fn(&mut Context<'_>, &FlowSpec) -> Sender,
    ) -> Option<u32> {
        let in_time_wait = self.sent.contains(flow.to, flow.conn);
        if in_time_wait || self.senders.find(flow.to, flow.conn).is_some() {
            self.refuse(flow, FailureReason::NumberInUse);
            return None;
        }
        let mut cx = Context { now, rules: &self.rules, chance: &mut self.chance };
        let mut sender = open(&mut cx, flow);
        sender.patience = Patience::new(self.peers.of(now, flow.to));
        let slot = self.senders.insert(flow.to, flow.conn, sender);
        self.with_sender(now, slot, |_, _| ());
        Some(slot)
    }

    /// Opens a flow whose sender `open` makes, if it is neither empty nor too long.
    pub(super) fn open_by(
        &mut self,
        now: Instant,
        flow: &FlowSpec,
        open: fn(&mut Context<'_>, &FlowSpec) -> Sender,
    ) {
        if flow.size.is_some_and(|size| size.0 == 0) {
            return self.refuse(flow, FailureReason::EmptyFlow);
        }
        if flow.size.is_some_and(|size| size.0.div_ceil(self.rules.mtu.into()) > MOST_PACKETS) {
            return self.refuse(flow, FailureReason::TooManyPackets);
        }
        if let Some(slot) = self.add_sender(now, flow, open) {
            self.arm_check(slot, now + self.rules.timeout);
        }
    }

    pub(super) fn refuse(&mut self, flow: &FlowSpec, reason: FailureReason) {
        let counts = SendCounts::default();
        self.events.push(Event::Failed { to: flow.to, conn: flow.conn, reason, counts });
    }

    /// Applies `input` to the sender in `slot`, and queues the sender for the link if it can send afterwards.
    pub(super) fn with_sender<R>(
        &mut self,
        now: Instant,
        slot: u32,
        input: impl FnOnce(&mut Sender, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let sender = self.senders.get_mut(slot)?;
        let mut cx = Context { now, rules: &self.rules, chance: &mut self.chance };
        let result = input(sender, &mut cx);
        if cx.rules.nic == Nic::Fifo {
            let (again, new) = sender.allowed(cx.rules);
            let queue = |line: &mut RoundRobin, queued: &mut u32, allowed: u32| {
                (*queued..allowed).for_each(|_| line.push(slot, sender.priority));
                *queued = allowed.max(*queued);
            };
            queue(&mut self.ready_again, &mut sender.queued_again, again);
            queue(&mut self.ready_new, &mut sender.queued_new, new);
            return Some(result);
        }
        match sender.ready(cx.rules) {
            Some(Ready::Again) if sender.queued_again == 0 => {
                sender.queued_again = 1;
                self.ready_again.push(slot, sender.priority);
            }
            Some(Ready::New) if sender.queued_new == 0 => {
                sender.queued_new = 1;
                self.ready_new.push(slot, sender.priority);
            }
            _ => {}
        }
        Some(result)
    }

    /// Applies `input`, which came from `peer`, to the sender that it is for.
    #[inline]
    pub(super) fn on_feedback(
        &mut self,
        now: Instant,
        peer: HostAddr,
        conn: ConnId,
        input: impl FnOnce(&mut Sender, &mut Context<'_>),
    ) {
        if let Some(slot) = self.senders.find(peer, conn) {
            self.with_sender(now, slot, input);
        }
    }

    /// An ACK for one of our connections.
    #[inline]
    pub(super) fn handle_ack(
        &mut self,
        now: Instant,
        peer: HostAddr,
        conn: ConnId,
        seq: u32,
        pull: Option<u32>,
    ) {
        let Some(slot) = self.senders.find(peer, conn) else { return };
        let acked = self.with_sender(now, slot, |sender, cx| sender.on_ack(cx, seq, pull));
        if let Some(acked) = acked.flatten() {
            self.events.push(Event::Acked { to: peer, conn, latency: acked.latency });
            if acked.complete {
                let counts = self.close_sender(now, peer, conn, slot);
                self.events.push(Event::Completed { to: peer, conn, counts });
            }
        }
    }

    /// Rule 8, time-wait: the number of a finished connection is not reused for a while.
    #[inline(never)]
    pub(super) fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        self.ready_again.remove(slot);
        self.ready_new.remove(slot);
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
        let Some(sender) = self.senders.remove(to, conn) else { return SendCounts::default() };
        self.peers.note(now, to, sender.patience.known());
        sender.counts
    }

    pub(super) fn check_sender(&mut self, now: Instant, slot: u32, armed_for: Instant) {
        let due = self.with_sender(now, slot, |sender, cx| {
            let current = sender.check_at == armed_for;
            current.then(|| (sender.conn, sender.to, sender.check(cx)))
        });
        let Some(Some((conn, to, check))) = due else { return };
        match check {
            Check::GiveUp(reason) => {
                let counts = self.close_sender(now, to, conn, slot);
                self.events.push(Event::Failed { to, conn, reason, counts });
            }
            Check::Again { at, timed_out, probe } => {
                let events =
                    timed_out.into_iter().map(|seq| Event::TimedOut { to, conn, seq: PacketSeq::new(seq) });
                events.for_each(|event| self.events.push(event));
                probe.into_iter().for_each(|header| self.send_probe(slot, to, header));
                self.arm_check(slot, at);
            }
        }
    }

    fn send_probe(&mut self, slot: u32, to: HostAddr, header: NdpHeader) {
        let Some(sender) = self.senders.get_mut(slot) else { return };
        let path = sender.probe_path(&mut self.chance);
        self.send_control(to, path, header);
    }

    pub(super) fn arm_check(&mut self, slot: u32, at: Instant) {
        if let Some(sender) = self.senders.get_mut(slot) {
            sender.check_at = at;
            if at != Instant::NEVER {
                self.arm(at, Timer::Retransmission(slot));
            }
        }
    }

    /// The next data packet of the connection that has the turn.
    pub(super) fn transmit_data(&mut self, now: Instant) -> Option<Transmit<NdpHeader>> {
        loop {
            let again = self.ready_again.pop();
            let slot = again.or_else(|| self.ready_new.pop())?;
            let packet = self.with_sender(now, slot, |sender, cx| {
                let queued = if again.is_some() { &mut sender.queued_again } else { &mut sender.queued_new };
                *queued -= 1;
                let packet = sender.transmit(cx)?;
                let look = cx.now + cx.rules.timeout;
                Some((packet, (sender.check_at > look).then_some(look)))
            });
            if let Some(Some((packet, look))) = packet {
                look.into_iter().for_each(|at| self.arm_check(slot, at));
                return Some(packet);
            }
        }
    }
}
