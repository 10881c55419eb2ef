//! The sending half of a connection: the rules of the README, in the same order.

use pullnet_connections::{
    Asking, Departure, Expiry, Limits, Message, Outgoing, Outlook, Pace, link_rate, smoothed,
    transmission_time, transmission_work,
};
use pullnet_transport::{Awaited, CumulativeAck, DataPacket, FailureReason, FlowSpec, HostInfo, RateUnits};
use pullnet_units::{Instant, Picos};

use crate::config::{Late, Parameters};
use crate::header::{Ask, D3Header, Grants, NUMBERS};

/// Round trips without an answer after which a packet counts as lost.
const PATIENCE: u64 = 3;
/// A rate request waits for a data packet for 1 / `LEASE_PART` of the lease, or for a round trip if that is longer.
const LEASE_PART: u64 = 4;
/// The patience with rate requests doubles at most so often while they are not answered.
const MOST_DOUBLINGS: u32 = 10;
/// A flow fails after so many answers in a row that arrive when their grants may no longer be used.
const MOST_LATE: u8 = 8;
const TOO_LONG: &str =
    "answers to rate requests take longer than `lease`: raise it, and the `epoch` of the switches";

/// A rate request that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Request {
    number: u8,
    desired: RateUnits,
    at: Instant,
}

/// The sending half of a connection.
///
/// Long: a rule reads and writes fields of several others, and one connection is one piece of memory; what a single
/// rule keeps is a type of its own.
#[derive(Clone, Debug)]
pub struct Sender {
    outlook: Outlook,
    /// Rate of the host's link.
    uplink: RateUnits,
    /// When the last byte should have arrived, and the time from the opening of the flow until then. `None`: no deadline.
    deadline: Option<(Instant, Picos)>,
    /// The rate at which data may leave, and when that permission ends.
    rate: RateUnits,
    lease: Instant,
    /// Grants to hand back with the next rate request, and the desired rate in the request that obtained them.
    held: Option<(Grants, RateUnits)>,
    asking: Option<Request>,
    /// A data packet that left after the open rate request has been acknowledged.
    overtaken: bool,
    /// Rate requests in a row that were not answered in time, and answers in a row that arrived after their lease.
    unanswered: u32,
    late: u8,
    number: u8,
    /// Earliest times of the next rate request: on a data packet, and as a separate packet.
    ask_at: Instant,
    bare_at: Instant,
    pace: Pace,
    rtt: Option<Picos>,
    /// Reason for which the flow fails, as soon as its rate request is answered or lost.
    failure: Option<FailureReason>,
}

impl Sender {
    fn rtt(&self, rules: &Parameters) -> Picos {
        self.rtt.unwrap_or(rules.initial_rtt)
    }

    fn patience(&self, rules: &Parameters) -> Picos {
        rules.timeout.max(self.rtt(rules).saturating_mul(PATIENCE))
    }

    /// When the open rate request counts as lost. Doubles with every such loss in a row: the first round trip may be longer than
    /// any estimate.
    fn unanswered_at(&self, rules: &Parameters) -> Instant {
        let patience = self.patience(rules).saturating_mul(1 << self.unanswered.min(MOST_DOUBLINGS));
        self.asking.map_or(Instant::NEVER, |asking| asking.at.after(patience))
    }

    /// Rule 7: a rate request is lost. The new grants of the switches are unknown, so nothing is handed back.
    fn ask_again(&mut self, now: Instant) {
        (self.asking, self.rate, self.ask_at) = (None, 0, now);
    }

    fn has_data(&self) -> bool {
        self.failure.is_none() && self.outlook.sent.has_data()
    }

    /// Bytes on the wire not sent yet, including retransmissions.
    fn bytes_left(&self, rules: &Parameters) -> u64 {
        self.outlook.sent.left() * u64::from(rules.mtu + rules.header)
    }

    /// Rule 3: rate that the flow needs; 0: a fair share.
    fn desired(&self, now: Instant, rules: &Parameters) -> RateUnits {
        let Some((deadline, _)) = self.deadline else { return 0 };
        if deadline <= now {
            return 0;
        }
        let left = deadline.since(now).0;
        let reserve = self.rtt(rules).saturating_mul(rules.allowance.into()).0;
        let time = left.saturating_sub(reserve).max(1);
        let needed = transmission_work(self.bytes_left(rules));
        needed.div_ceil(time.into()).min(self.uplink.into()) as RateUnits
    }

    /// Rule 8: the latest time at which the full link rate of the host would still meet the deadline.
    fn must_end(&self, rules: &Parameters) -> Instant {
        let Some((deadline, _)) = self.deadline.filter(|_| self.has_data()) else { return Instant::NEVER };
        let needed = transmission_time(self.bytes_left(rules), self.uplink);
        Instant(deadline.0.saturating_sub(needed.0))
    }

    /// Rule 8: treats a late flow as `late` prescribes. Returns whether the flow is quenched.
    fn is_quenched(&mut self, now: Instant, rules: &Parameters) -> bool {
        if self.must_end(rules) >= now {
            return false;
        }
        match (rules.late, self.deadline) {
            (Some(Late::Quench), _) => return true,
            (Some(Late::Extend), Some((_, span))) if span.0 > 0 => {
                let needed = transmission_time(self.bytes_left(rules), self.uplink);
                self.deadline = Some((now.after(span).after(needed), span));
            }
            _ => self.deadline = None,
        }
        false
    }

    /// Returns whether the remaining data leaves before a rate request could be answered.
    fn ends_soon(&self, rules: &Parameters) -> bool {
        self.rate > 0 && transmission_time(self.bytes_left(rules), self.rate) <= self.rtt(rules)
    }

    /// Earliest departure of the next data packet.
    fn data_at(&self) -> Instant {
        if self.rate == 0 || !self.has_data() {
            return Instant::NEVER;
        }
        self.pace.next(self.rate)
    }

    fn may_ask(&self, rules: &Parameters) -> bool {
        self.asking.is_none() && self.has_data() && !self.ends_soon(rules)
    }

    /// Rule 4: when to send a rate request as a separate packet, because no data packet will carry it soon.
    fn request_at(&self, now: Instant, rules: &Parameters) -> Instant {
        if !self.may_ask(rules) {
            return Instant::NEVER;
        }
        let at = self.ask_at.max(self.bare_at);
        let soon = self.rtt(rules).max(Picos(rules.lease.0 / LEASE_PART));
        let carried = self.data_at() <= now.max(at).after(soon);
        if carried { Instant::NEVER } else { at }
    }

    /// Rule 7: everything is sent, so no later data packet can hand the grants back.
    fn may_end(&self) -> bool {
        !self.has_data() && self.outlook.sent.all_sent() && self.asking.is_none() && self.held.is_some()
    }

    /// Builds a rate request that hands back the grants held.
    fn ask(&mut self, now: Instant, rules: &Parameters, ends: bool) -> Ask {
        self.number = (self.number + 1) % NUMBERS;
        let desired = if ends { 0 } else { self.desired(now, rules) };
        let (grants, before) = self.held.take().unwrap_or_default();
        if ends {
            self.rate = 0;
        } else {
            self.asking = Some(Request { number: self.number, desired, at: now });
            self.overtaken = false;
            self.bare_at = now.after(rules.ask_interval);
        }
        Ask { number: self.number, desired, before, ends, grants: Grants { hops: 0, ..grants } }
    }

    /// Rules 2 and 7: a data packet, with a rate request if one is due, or with the FIN if the packet is the last one.
    fn data(&mut self, now: Instant, rules: &Parameters) -> Outgoing<D3Header> {
        let asks = self.may_ask(rules) && self.ask_at <= now;
        let Departure { seq, last, payload, again } = self.outlook.sent.send(now);
        self.pace.depart(now, self.rate, payload + rules.header, rules.catch_up);
        let ask = if asks && self.has_data() {
            Some(self.ask(now, rules, false))
        } else {
            self.may_end().then(|| self.ask(now, rules, true))
        };
        let data = DataPacket { conn: self.outlook.conn, seq, last };
        Outgoing { header: D3Header::Data { data, ask }, payload, again }
    }
}

impl Asking for Sender {
    type Config = Parameters;
    type Header = D3Header;
    type Question = Ask;
    type Reply = (u8, Grants);

    fn limits(config: &Parameters) -> Limits {
        let Parameters { mtu, header, give_up, time_wait, .. } = *config;
        Limits { mtu, header, give_up, time_wait }
    }

    fn read(header: D3Header) -> Message<Ask, (u8, Grants)> {
        match header {
            D3Header::Data { data, ask } => Message::Data { data, question: ask },
            D3Header::Request { conn, quenched, ask } => {
                Message::Question { conn, given_up: quenched, question: ask }
            }
            D3Header::Ack { ack, reply } => Message::Ack { ack, reply },
        }
    }

    fn ack(ack: CumulativeAck, reply: Option<(u8, Grants)>) -> D3Header {
        D3Header::Ack { ack, reply }
    }

    fn ends(question: &Ask) -> bool {
        question.ends
    }

    /// Rule 5: the receiver returns the grants.
    fn reply(question: &Ask, _host: &HostInfo) -> (u8, Grants) {
        (question.number, question.grants)
    }

    fn open(now: Instant, rules: &Parameters, flow: &FlowSpec, outlook: Outlook, host: &HostInfo) -> Self {
        let deadline = flow.deadline.filter(|_| rules.late.is_some() && flow.size.is_some());
        Self {
            outlook,
            uplink: link_rate(host),
            deadline: deadline.map(|at| (at, at.since(now.min(at)))),
            rate: 0,
            lease: Instant::NEVER,
            held: None,
            asking: None,
            overtaken: false,
            unanswered: 0,
            late: 0,
            number: 0,
            ask_at: now,
            bare_at: now,
            pace: Pace::new(now),
            rtt: None,
            failure: None,
        }
    }

    fn outlook(&self) -> &Outlook {
        &self.outlook
    }

    fn outlook_mut(&mut self) -> &mut Outlook {
        &mut self.outlook
    }

    /// Earliest departure of the next packet. A flow that is about to be quenched sends nothing more.
    fn ready_at(&self, now: Instant, rules: &Parameters) -> Instant {
        if self.may_end() {
            return now;
        }
        if rules.late == Some(Late::Quench) && self.must_end(rules) < now {
            return Instant::NEVER;
        }
        self.data_at().min(self.request_at(now, rules))
    }

    fn due(&self, now: Instant, rules: &Parameters) -> Instant {
        if self.failure.is_some() && self.asking.is_none() {
            return now;
        }
        let patience = self.patience(rules);
        let asked = self.unanswered_at(rules);
        let flight = self.outlook.sent.overdue_at(patience);
        let lease = if self.rate > 0 && self.has_data() { self.lease } else { Instant::NEVER };
        let ready = if self.outlook.in_line { Instant::NEVER } else { self.ready_at(now, rules) };
        let silence = self.outlook.sent.last_heard.after(rules.give_up);
        let late = Instant(self.must_end(rules).0.saturating_add(1));
        asked.min(flight).min(lease).min(ready).min(silence).min(late)
    }

    /// Rule 7: the final request, which hands all grants back.
    fn farewell(&mut self, now: Instant, rules: &Parameters, quenched: bool) -> Option<D3Header> {
        (quenched || self.held.is_some()).then(|| {
            let ask = self.ask(now, rules, true);
            D3Header::Request { conn: self.outlook.conn, quenched, ask }
        })
    }

    fn transmit(&mut self, now: Instant, rules: &Parameters) -> Option<Outgoing<D3Header>> {
        if self.data_at() <= now {
            return Some(self.data(now, rules));
        }
        let bare = |header| Outgoing { header, payload: 0, again: false };
        if self.may_end() {
            return self.farewell(now, rules, false).map(bare);
        }
        (self.request_at(now, rules) <= now).then(|| {
            let ask = self.ask(now, rules, false);
            bare(D3Header::Request { conn: self.outlook.conn, quenched: false, ask })
        })
    }

    fn acknowledged(&mut self, _now: Instant, departure: Instant) {
        self.overtaken |= self.asking.is_some_and(|asking| asking.at < departure);
    }

    /// Rule 5: applies the grants that answer the latest rate request. ACKs repeat the latest answer that the receiver knows: if
    /// that of a later packet has an earlier answer, the request is lost.
    fn on_reply(&mut self, now: Instant, rules: &Parameters, (number, grants): (u8, Grants)) {
        let Some(asked) = self.asking else { return };
        if asked.number != number {
            if self.overtaken {
                self.ask_again(now);
            }
            return;
        }
        (self.asking, self.unanswered) = (None, 0);
        let measured = now.since(asked.at);
        self.rtt = Some(smoothed(self.rtt, measured));
        if grants.overflows() {
            self.failure =
                Some(FailureReason::of_protocol(&"the path has more than 7 switches that allocate rates"));
        }
        if asked.at.after(rules.lease) <= now {
            self.late += 1;
            let too_long = self.late >= MOST_LATE;
            self.failure = self.failure.take().or(too_long.then(|| FailureReason::of_protocol(&TOO_LONG)));
            return self.ask_again(now);
        }
        self.late = 0;
        if self.rate == 0 {
            self.pace.resume(now);
        }
        self.rate = grants.rate().unwrap_or(self.uplink).min(self.uplink);
        self.lease = asked.at.after(rules.lease);
        self.held = Some((grants, asked.desired));
        self.ask_at = now;
    }

    fn on_timer(&mut self, now: Instant, rules: &Parameters) -> Expiry {
        if now.since(self.outlook.sent.last_heard.min(now)) >= rules.give_up {
            return Expiry::Failed(FailureReason::ReceiverSilent);
        }
        if self.is_quenched(now, rules) {
            self.failure = Some(FailureReason::of_protocol(&"quenched: its deadline cannot be met"));
        }
        if self.unanswered_at(rules) <= now {
            self.unanswered += 1;
            self.ask_again(now);
        }
        if let Some(reason) = self.failure.filter(|_| self.asking.is_none()) {
            return Expiry::Failed(reason);
        }
        if self.rate > 0 && self.lease <= now {
            (self.rate, self.held, self.ask_at) = (0, None, now);
        }
        self.outlook.sent.expire(now, self.patience(rules)).map_or(Expiry::Nothing, Expiry::Timeout)
    }

    fn waiting_for(&self) -> Awaited {
        match (self.asking.is_some(), self.has_data(), self.rate) {
            (true, true, 0) => Awaited::of_protocol(&"the answer to its ask"),
            (_, true, 0) => Awaited::of_protocol(&"its next ask"),
            (_, true, _) => Awaited::Rate,
            _ => Awaited::Acks,
        }
    }
}
