//! The sending half of a connection: the rules S1 to S7 of the README in its order.

use core::ops::Range;

use pullnet_connections::{Departure, FlowPackets, ScatteredPackets};
use pullnet_pull::{Outbound, Queued, Standing};
use pullnet_transport::{Awaited, CumulativeAck, DataPacket};
use pullnet_units::{Instant, Picos};

use crate::config::Parameters;
use crate::header::{Demand, FastpassHeader};

/// Result of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// It is too early.
    Early,
    /// The arbiter has not answered: the request is repeated.
    Repeat,
    /// Packets are missing, and a new request covers them. The number is that of the packet that was not acknowledged in time;
    /// `None`: the slots for the oldest missing packet have not come.
    Anew(Option<u32>),
    /// Packets are missing and there is no arbiter: they leave without a request. The number is that of [`Check::Anew`].
    Timeout(Option<u32>),
    /// The receiver is silent.
    GiveUp(u32),
}

/// A packet to be sent: its header, its payload, and whether that was sent before.
pub type Outgoing = (FastpassHeader, u32, bool);

/// A request and what has come of it.
#[derive(Clone, Debug)]
struct Request {
    round: u32,
    /// Slots that are still to come.
    outstanding: u32,
    /// Slots that have come and were not used yet.
    unused: u32,
    /// When it was made, and when the arbiter last spoke of it.
    made: Instant,
    last_word: Instant,
    /// From the lowest to the highest packet that has left since, or since the last timeout without an arbiter; empty if none has.
    sent: Range<u32>,
}

impl Request {
    /// The request of `round` for `outstanding` slots; `unused` ones are left of those before.
    fn new(now: Instant, round: u32, outstanding: u32, unused: u32) -> Self {
        Self { round, outstanding, unused, made: now, last_word: now, sent: 0..0 }
    }

    fn note_sent(&mut self, seq: u32) {
        let Range { start, end } = self.sent;
        self.sent = if self.sent.is_empty() { seq..seq + 1 } else { start.min(seq)..end.max(seq + 1) };
    }
}

#[derive(Clone, Debug)]
pub struct Sender {
    pub flow: Outbound,
    pub packets: ScatteredPackets,
    request: Request,
    /// Window while no arbiter answers.
    fallback: Option<u32>,
    /// Since when data has been sent without any answer.
    unanswered: Option<Instant>,
    due: Instant,
}

/// A request that was answered is repeated when this part of the time that it has waited has passed, at the earliest.
const PATIENCE: u64 = 8;
/// Least number of repetitions within `give_up`: neither the arbiter nor the destination forgets a flow that waits for slots.
const LEAST_ASKS: u64 = 32;
/// Towards a silent receiver timers wait for this part of its silence, if that is more than they would.
const SILENCE: u64 = 16;

impl Queued for Sender {
    /// Whether a packet may leave without a slot.
    fn can_send(&self) -> bool {
        self.fallback.is_some_and(|window| self.packets.fits(window))
    }

    fn standing(&self) -> Standing {
        self.flow.standing(self.packets.left())
    }

    fn due(&self) -> Instant {
        self.due
    }
}

impl Sender {
    pub fn open(now: Instant, flow: Outbound, packets: FlowPackets) -> Self {
        Self {
            flow,
            packets: ScatteredPackets::new(now, packets),
            request: Request::new(now, 0, 0, 0),
            fallback: None,
            unanswered: None,
            due: Instant::NEVER,
        }
    }

    /// For how long data has been sent without any answer.
    fn silence(&self, now: Instant) -> Picos {
        self.unanswered.map_or(Picos(0), |since| now.since(since))
    }

    /// Parameters S1 and S5: requests a slot for each packet that is not acknowledged; for one only, if nothing has answered the data
    /// that was sent before.
    pub fn ask(&mut self, now: Instant, rules: &Parameters, handle: u32, round: u32) -> FastpassHeader {
        let outstanding = if self.silence(now) > rules.resend { 1 } else { self.packets.left() };
        let unused = self.request.unused;
        self.request = Request::new(now, round, outstanding, unused);
        self.fallback = None;
        self.due = now.after(rules.request_timeout);
        self.request(handle)
    }

    /// The request, for what is still to come of it.
    pub fn request(&self, handle: u32) -> FastpassHeader {
        let demand = Demand {
            to: self.flow.to,
            packets: self.request.outstanding,
            paths: self.flow.paths.0,
            priority: self.flow.priority,
            deadline: self.flow.deadline,
        };
        FastpassHeader::Request { handle, round: self.request.round, demand }
    }

    /// Rule S2: the arbiter has given a slot.
    pub fn on_slot(&mut self, now: Instant, rules: &Parameters) {
        let request = &mut self.request;
        request.outstanding = request.outstanding.saturating_sub(1);
        request.unused += 1;
        request.last_word = now;
        if self.fallback.is_none() {
            self.due = now.after(rules.request_timeout);
        }
    }

    /// Rule S4: the arbiter says what is still to come of a request.
    pub fn on_status(&mut self, now: Instant, rules: &Parameters, round: u32, left: u32) {
        if round != self.request.round || self.fallback.is_some() {
            return;
        }
        self.request.last_word = now;
        // An allocation that has not arrived is lost or late; late slots are used all the same.
        self.request.outstanding = self.request.outstanding.min(left);
        self.due = now.after(self.patience(rules));
        self.settle(now, rules);
    }

    /// Rule S5: with the last slot the wait for ACKs begins.
    fn settle(&mut self, now: Instant, rules: &Parameters) {
        if self.request.outstanding == 0 && self.request.unused == 0 && self.fallback.is_none() {
            self.due = now.after(rules.resend.max(Picos(self.silence(now).0 / SILENCE)));
        }
    }

    /// An arbiter that answers, but has no slots, is asked at growing intervals.
    fn patience(&self, rules: &Parameters) -> Picos {
        let waited = self.request.last_word.since(self.request.made);
        let growing = (waited.0 / PATIENCE).min(rules.limits.give_up.0 / LEAST_ASKS);
        rules.request_timeout.max(Picos(growing))
    }

    /// Whether the destination, which has heard of the flow, may soon forget it.
    pub fn may_be_forgotten(&self, now: Instant, rules: &Parameters) -> bool {
        self.packets.counts.sent > 0 && now.since(self.request.made) >= rules.limits.give_up
    }

    /// Rule S3: a slot has come, and a packet leaves: the next one that is not acknowledged, behind the last one the first.
    pub fn use_slot(&mut self, now: Instant, rules: &Parameters) -> Option<Outgoing> {
        self.request.unused = self.request.unused.saturating_sub(1);
        let packet = self.packets.send_any(now).map(|packet| self.outgoing(now, packet));
        self.settle(now, rules);
        packet
    }

    /// Rule S7: without an arbiter a small window has to do.
    pub fn fall_back(&mut self, now: Instant, rules: &Parameters) {
        self.fallback = Some(rules.fallback_window);
        self.request.outstanding = 0;
        self.due = now.after(rules.fallback_timeout);
    }

    /// A packet without a slot; [`Queued::can_send`] has said that there is one.
    pub fn send_unscheduled(&mut self, now: Instant, rules: &Parameters) -> Outgoing {
        if self.due == Instant::NEVER {
            self.due = now.after(rules.fallback_timeout);
        }
        let packet = self.packets.send(now);
        self.outgoing(now, packet)
    }

    fn outgoing(&mut self, now: Instant, packet: Departure) -> Outgoing {
        self.unanswered = self.unanswered.or(Some(now));
        let Departure { seq, last, payload, again } = packet;
        self.request.note_sent(seq);
        (FastpassHeader::Data(DataPacket { conn: self.flow.conn, seq, last }), payload, again)
    }

    /// Rule S6: an ACK names the packet that it answers, and all packets up to a point. `acknowledged` is told when each one was
    /// first sent.
    pub fn on_ack(
        &mut self,
        now: Instant,
        rules: &Parameters,
        ack: CumulativeAck,
        acknowledged: impl FnMut(Instant),
    ) {
        let advanced = self.packets.on_ack(now, ack, acknowledged);
        self.unanswered = None;
        if let Some(window) = self.fallback {
            let grown = window + u32::from(advanced);
            self.fallback = Some(grown.min(rules.fallback_window));
            let in_flight = self.packets.in_flight();
            self.due = if in_flight { now.after(rules.fallback_timeout) } else { Instant::NEVER };
        }
    }

    pub fn check(&mut self, now: Instant, rules: &Parameters) -> Check {
        if now < self.due {
            return Check::Early;
        }
        let waits_for_arbiter = self.fallback.is_none() && self.request.outstanding > 0;
        if waits_for_arbiter {
            // Only an answer lets the interval grow: one lost answer must not make the arbiter look dead.
            self.due = now.after(rules.request_timeout);
            return Check::Repeat;
        }
        if self.fallback.is_none() && self.request.unused > 0 {
            self.due = now.after(rules.request_timeout);
            return Check::Early;
        }
        let (first, silence) = (self.packets.first(), self.silence(now));
        let gives_up = silence >= rules.limits.give_up;
        // Where the packet has not left, its slot was lost or it waits for the link: this is no timeout of data.
        let missed = (gives_up || self.request.sent.contains(&first)).then_some(first);
        self.packets.counts.timeouts += u32::from(missed.is_some());
        if gives_up {
            return Check::GiveUp(first);
        }
        if self.fallback.is_none() {
            return Check::Anew(missed);
        }
        self.fallback = Some(1);
        self.request.sent = 0..0;
        self.packets.restart();
        self.due = now.after(rules.fallback_timeout.max(Picos(silence.0 / SILENCE)));
        Check::Timeout(missed)
    }

    /// The event that it waits for, in words.
    pub fn waiting_for(&self) -> Awaited {
        match self.fallback {
            Some(_) if self.can_send() => Awaited::LinkTurn,
            None if self.request.outstanding > 0 => Awaited::of_protocol(&"the arbiter"),
            None if self.request.unused > 0 => Awaited::of_protocol(&"its timeslot"),
            _ => Awaited::Acks,
        }
    }
}
