//! The sending half of a connection: the rules of the README, in the same order.

use pullnet_connections::{
    Asking, Departure, Expiry, Limits, Message, Outgoing, Outlook, Pace, link_rate, smoothed,
    transmission_time,
};
use pullnet_transport::{
    Awaited, CumulativeAck, DataPacket, FailureReason, FlowSpec, HostAddr, HostInfo, RateUnits,
};
use pullnet_units::{Instant, Picos};

use crate::config::PdqConfig;
use crate::header::{Ask, MOST_DEADLINE, PdqHeader, Reply};

/// Picoseconds of a unit of [`Ask::work`].
const WORK_UNIT: u64 = 10_000;
/// Picoseconds of a unit of [`Ask::deadline`].
const DEADLINE_UNIT: u64 = 1_000_000;
/// Round trips without an answer after which a packet counts as lost.
const PATIENCE: u64 = 3;
/// The interval between probes doubles at most so often while they are not answered.
const MOST_DOUBLINGS: u8 = 10;
/// Earlier questions whose answers still count: far fewer than there are numbers.
const REMEMBERED: u8 = 64;

/// The sending half of a connection.
///
/// Long: its questions, its turn and its packets depend on each other in every rule.
#[derive(Clone, Debug)]
pub struct Sender {
    outlook: Outlook,
    from: HostAddr,
    /// Rate of the host's link.
    uplink: RateUnits,
    deadline: Option<Instant>,
    /// The rate at which data may leave; 0: paused, or not answered yet.
    rate: RateUnits,
    /// Position on the path of the switch that pauses the flow.
    paused_by: Option<u8>,
    /// Interval between probes that the switch demands, in hundredths of a round trip.
    probe_after: u16,
    /// Number of the latest question, and of the oldest one whose answer counts.
    number: u8,
    oldest: u8,
    /// The latest probe and its departure, until its answer has arrived.
    probe: Option<(u8, Instant)>,
    /// Departure of the latest packet that asked; `None` before the first one.
    asked: Option<Instant>,
    /// Probes since the latest answer.
    unanswered: u8,
    /// The flow has to tell earlier switches that a later one has paused it, so that they need not keep its rate.
    tell: bool,
    /// Switches on the path may list the flow.
    listed: bool,
    /// When the switches' latest answer arrived.
    answered: Instant,
    pace: Pace,
    rtt: Option<Picos>,
}

impl Sender {
    fn rtt(&self, config: &PdqConfig) -> Picos {
        self.rtt.unwrap_or(config.initial_rtt)
    }

    fn patience(&self, config: &PdqConfig) -> Picos {
        config.timeout.max(self.rtt(config).saturating_mul(PATIENCE))
    }

    /// Transmission time of what is left, at the rate of the host's link.
    fn work(&self, config: &PdqConfig) -> Picos {
        transmission_time(self.outlook.sent.left() * (config.mtu.0 + config.header.0), self.uplink)
    }

    /// Rule 1: the scheduling header.
    fn ask(&mut self, now: Instant, config: &PdqConfig, ends: bool) -> Ask {
        let work = self.work(config).0;
        let rounds = u128::from(work) * 100 / u128::from(self.rtt(config).0.max(1));
        let deadline = self.deadline.map_or(MOST_DEADLINE, |at| at.0 / DEADLINE_UNIT);
        self.asked = Some(now);
        (self.tell, self.listed) = (false, !ends);
        Ask {
            number: self.number,
            from: self.from,
            offered: self.uplink,
            sending: self.rate,
            paused_by: self.paused_by,
            hops: 0,
            deadline: deadline.min(MOST_DEADLINE),
            work: (work / WORK_UNIT).min(u32::MAX.into()) as u32,
            rounds: rounds.min(u16::MAX.into()) as u16,
            probe_after: 0,
            ends,
        }
    }

    /// Answers to questions asked so far do not count any more. The flow may not send until it has asked again.
    fn stop(&mut self) {
        self.number = self.number.wrapping_add(1);
        (self.oldest, self.probe, self.rate, self.paused_by) = (self.number, None, 0, None);
    }

    /// Earliest departure of the next data packet.
    fn data_at(&self) -> Instant {
        if self.rate == 0 || !self.outlook.sent.has_data() {
            return Instant::NEVER;
        }
        self.pace.next(self.rate)
    }

    /// Rule 3: when to probe. A flow that sends probes only if its data packets leave less often than once per round trip. The
    /// interval doubles with every probe in a row that is not answered.
    fn probe_at(&self, config: &PdqConfig) -> Instant {
        if !self.outlook.sent.has_data() {
            return Instant::NEVER;
        }
        let Some(asked) = self.asked.filter(|_| !self.tell) else { return Instant::ZERO };
        let rounds = if self.rate > 0 { 100 } else { self.probe_after.max(100) };
        let interval = u128::from(self.rtt(config).0) * u128::from(rounds) / 100;
        let interval = interval << self.unanswered.saturating_sub(1).min(MOST_DOUBLINGS);
        let interval = Picos(interval.min(u64::MAX.into()) as u64).max(config.least_probing);
        let at = asked.after(interval.min(config.most_probing.max(config.least_probing)));
        if self.data_at() <= at { Instant::NEVER } else { at }
    }

    /// Rule 6: from this time on, the flow cannot meet its deadline.
    fn too_late(&self, config: &PdqConfig) -> Instant {
        let deadline = self.deadline.filter(|_| config.early_termination && self.outlook.sent.has_data());
        let Some(deadline) = deadline else { return Instant::NEVER };
        let rtt = if self.paused_by.is_some() { self.rtt(config) } else { Picos(0) };
        let needed = self.work(config).max(rtt);
        Instant(deadline.0.saturating_sub(needed.0).saturating_add(1))
    }

    /// When the switches' answers count as lost.
    fn unanswered_at(&self, config: &PdqConfig) -> Instant {
        if self.rate == 0 || !self.outlook.sent.has_data() {
            return Instant::NEVER;
        }
        self.answered.after(self.patience(config))
    }

    fn sample(&mut self, measured: Picos) {
        self.rtt = Some(smoothed(self.rtt, measured));
    }
}

impl Asking for Sender {
    type Config = PdqConfig;
    type Header = PdqHeader;
    type Question = Ask;
    type Reply = Reply;

    fn limits(config: &PdqConfig) -> Limits {
        Limits::of(config.mtu, config.header, config.give_up, config.time_wait)
    }

    fn read(header: PdqHeader) -> Message<Ask, Reply> {
        match header {
            PdqHeader::Data { data, ask } => Message::Data { data, question: Some(ask) },
            PdqHeader::Probe { conn, given_up, ask } => Message::Question { conn, given_up, question: ask },
            PdqHeader::Ack { ack, reply } => Message::Ack { ack, reply },
        }
    }

    fn ack(ack: CumulativeAck, reply: Option<Reply>) -> PdqHeader {
        PdqHeader::Ack { ack, reply }
    }

    fn ends(question: &Ask) -> bool {
        question.ends
    }

    /// Rule 2: the answers of the switches return to the sender, with a rate that its receiver can take.
    fn reply(question: &Ask, host: &HostInfo) -> Reply {
        let reply = question.reply();
        Reply { rate: reply.rate.min(link_rate(host)), ..reply }
    }

    fn open(now: Instant, _config: &PdqConfig, flow: &FlowSpec, outlook: Outlook, host: &HostInfo) -> Self {
        Self {
            outlook,
            from: host.addr,
            uplink: link_rate(host),
            deadline: flow.deadline.filter(|_| flow.size.is_some()),
            rate: 0,
            paused_by: None,
            probe_after: 0,
            number: 0,
            oldest: 0,
            probe: None,
            asked: None,
            unanswered: 0,
            tell: false,
            listed: false,
            answered: now,
            pace: Pace::new(now),
            rtt: None,
        }
    }

    fn outlook(&self) -> &Outlook {
        &self.outlook
    }

    fn outlook_mut(&mut self) -> &mut Outlook {
        &mut self.outlook
    }

    fn due(&self, _now: Instant, config: &PdqConfig) -> Instant {
        let data = if self.outlook.in_line { Instant::NEVER } else { self.data_at() };
        let overdue = self.outlook.sent.overdue_at(self.patience(config));
        let silence = self.outlook.sent.last_heard.after(config.give_up);
        let wait = data.min(self.probe_at(config)).min(self.unanswered_at(config));
        wait.min(overdue).min(silence).min(self.too_late(config))
    }

    /// The probe that is due, if any.
    fn urgent(&mut self, now: Instant, config: &PdqConfig) -> Option<PdqHeader> {
        if self.probe_at(config) > now || self.too_late(config) <= now {
            return None;
        }
        self.number = self.number.wrapping_add(1);
        if self.number.wrapping_sub(self.oldest) > REMEMBERED {
            self.oldest = self.number.wrapping_sub(REMEMBERED);
        }
        self.probe = Some((self.number, now));
        self.unanswered = self.unanswered.saturating_add(1);
        let ask = self.ask(now, config, false);
        Some(PdqHeader::Probe { conn: self.outlook.conn, given_up: false, ask })
    }

    /// Rule 5: the end of a flow that switches may still list.
    fn farewell(&mut self, now: Instant, config: &PdqConfig, given_up: bool) -> Option<PdqHeader> {
        (given_up || self.listed).then(|| {
            let ask = self.ask(now, config, true);
            PdqHeader::Probe { conn: self.outlook.conn, given_up, ask }
        })
    }

    fn ready_at(&self, _now: Instant, _config: &PdqConfig) -> Instant {
        self.data_at()
    }

    /// Rules 1 and 5: the next data packet. The last one takes the flow off the lists of the switches.
    fn transmit(&mut self, now: Instant, config: &PdqConfig) -> Option<Outgoing<PdqHeader>> {
        if self.data_at() > now || self.too_late(config) <= now {
            return None;
        }
        let Departure { seq, last, payload, again } = self.outlook.sent.send(now);
        let catch_up = config.catch_up.unwrap_or(Picos::ZERO);
        self.pace.depart(now, self.rate, payload + config.header.0 as u32, catch_up);
        let ends = !self.outlook.sent.has_data() && self.outlook.sent.all_sent();
        let ask = self.ask(now, config, ends);
        if ends {
            self.stop();
        }
        let data = DataPacket { conn: self.outlook.conn, seq, last };
        let header = PdqHeader::Data { data, ask };
        Some(Outgoing { header, payload, again })
    }

    fn acknowledged(&mut self, now: Instant, departure: Instant) {
        self.sample(now.since(departure));
    }

    /// Rule 2: the flow sends at the rate that the switches answered, or pauses.
    fn on_reply(&mut self, now: Instant, _config: &PdqConfig, reply: Reply) {
        let current = self.number.wrapping_sub(self.oldest);
        if reply.number.wrapping_sub(self.oldest) > current {
            return;
        }
        if let Some((_, at)) = self.probe.take_if(|(number, _)| *number == reply.number) {
            self.sample(now.since(at));
        }
        let before = self.paused_by;
        self.unanswered = 0;
        (self.answered, self.paused_by, self.probe_after) = (now, reply.paused_by, reply.probe_after);
        if self.rate == 0 {
            self.pace.resume(now);
        }
        self.rate = reply.rate.min(self.uplink);
        // Rule 4: the first switch has none before it.
        self.tell |= self.paused_by.is_some_and(|switch| switch > 0 && before != Some(switch));
    }

    fn on_timer(&mut self, now: Instant, config: &PdqConfig) -> Expiry {
        if now.since(self.outlook.sent.last_heard.min(now)) >= config.give_up {
            return Expiry::Failed(FailureReason::ReceiverSilent);
        }
        if self.too_late(config) <= now {
            return Expiry::Failed(FailureReason::of_protocol(
                &"terminated early: its deadline cannot be met",
            ));
        }
        if self.unanswered_at(config) <= now {
            self.stop();
        }
        self.outlook.sent.expire(now, self.patience(config)).map_or(Expiry::Nothing, Expiry::Timeout)
    }

    fn waiting_for(&self) -> Awaited {
        match (self.outlook.sent.has_data(), self.rate, self.paused_by) {
            (false, ..) => Awaited::Acks,
            (_, 0, Some(_)) => Awaited::of_protocol(&"its turn"),
            (_, 0, None) => Awaited::of_protocol(&"the answer to its probe"),
            _ => Awaited::Rate,
        }
    }
}
