//! The sending half of a connection: RFC 5681, 6298, 6582 and 6675 in the order in which a packet meets them.

use pullnet_connections::SmallQueue;
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, ConnId, Event, FailureReason, FlowSpec, FlowStatus, HostAddr, SendCounts, Transmit,
};
use pullnet_units::{Instant, PacketSeq, Picos, Side, WireLen};

use crate::control::{Acked, Control, Plan};
use crate::round_trip::RoundTrip;
use crate::rules::{Paths, Rules};
use crate::scoreboard::{Scoreboard, Slot};
use crate::segment::{Ranges, Segment};
use crate::subflow::Subflow;

/// New packets that limited transmit allows to leave (RFC 3042).
const LIMITED_TRANSMIT: u32 = 2;

/// Surroundings of a connection: the time, settings and shared state.
pub(crate) struct Context<'a, C: Control> {
    pub now: Instant,
    pub rules: &'a Rules,
    pub control: &'a C::Rules,
    pub chance: &'a mut RandomStream,
    pub events: &'a mut SmallQueue<Event>,
}

/// Fields of an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub cumulative: u32,
    pub echo: bool,
    pub finished: bool,
    pub ranges: Ranges,
}

/// Phase of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No SYN-ACK yet.
    Opening,
    /// No loss is known.
    Open,
    /// Fast recovery, until everything sent before is acknowledged.
    Recovery,
    /// After a timeout, until everything sent before is acknowledged.
    Loss,
}

/// The packet that leaves next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Again(u32),
    Rescue(u32),
    New,
}

/// Consequence of an expired timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    /// Nothing: the deadline has moved.
    Early,
    /// The SYN is retransmitted.
    Syn,
    /// Packets are retransmitted.
    Retransmit,
    /// The flow fails.
    GiveUp(FailureReason),
}

/// One connection as its sender knows it.
///
/// Long: a rule reads and writes fields of several others, and one connection is one piece of memory; what a single
/// rule keeps is a type of its own.
#[derive(Clone, Debug)]
pub(crate) struct Sender<C> {
    pub conn: ConnId,
    pub to: HostAddr,
    pub priority: u8,
    /// Whether it is queued for the link.
    pub queued: bool,
    phase: Phase,
    /// Retransmit the oldest packet even if the window is full.
    eager: bool,
    /// The rescue retransmission of this recovery was used.
    rescued: bool,
    /// A partial ACK was seen in this recovery.
    partial: bool,
    path: u16,
    paths: u16,
    last_payload: u16,
    /// When the last byte should have arrived; `NEVER` without a deadline.
    deadline: Instant,
    /// Number of packets; `u32::MAX` for an endless flow.
    total: u32,
    /// New packets must have numbers below this one: `total`, unless the owner of a subflow sets it.
    limit: u32,
    /// The next new packet when recovery began: its end (`recover` of RFC 6582, RecoveryPoint of RFC 6675).
    recover: u32,
    duplicates: u32,
    /// Packets that limited transmit sent since the first duplicate ACK.
    limited: u32,
    /// Packets that fast recovery without SACK adds to the window.
    inflation: i64,
    /// Most packets outstanding at once since the packet before `peak_until` was sent.
    peak: u32,
    peak_until: u32,
    /// Timeouts since the last progress.
    retries: u32,
    board: Scoreboard,
    control: C,
    round_trip: RoundTrip,
    syn_sent: Instant,
    /// Deadline of the retransmission timer; `NEVER` while it does not run.
    pub due: Instant,
    /// The earliest entry of this connection among the timers.
    pub armed: Instant,
    pub last_progress: Instant,
    pub acked_bytes: u64,
    pub counts: SendCounts,
}

/// Packets that an ACK newly acknowledges.
#[derive(Clone, Copy, Default)]
struct Newly {
    /// Packets, cumulatively.
    cumulative: u32,
    /// Packets, cumulatively and by SACK.
    packets: u32,
    /// Whether one of them was retransmitted.
    repeated: bool,
    /// When the oldest of them was sent.
    oldest: Option<Instant>,
}

impl Newly {
    fn note(&mut self, slot: &Slot) {
        self.packets += 1;
        self.repeated |= slot.repeated;
        if self.oldest.is_none_or(|oldest| slot.first_sent < oldest) {
            self.oldest = Some(slot.first_sent);
        }
    }
}

impl<C: Control> Sender<C> {
    pub fn open(cx: &mut Context<'_, C>, flow: &FlowSpec, total: u32) -> Self {
        let mtu = u64::from(cx.rules.mtu);
        let last_payload = flow.size.map_or(mtu, |size| size.0 - (u64::from(total) - 1) * mtu) as u16;
        let paths = flow.paths.max(1);
        let mut sender = Self {
            conn: flow.conn,
            to: flow.to,
            priority: flow.priority,
            queued: false,
            phase: if cx.rules.handshake { Phase::Opening } else { Phase::Open },
            eager: false,
            rescued: false,
            partial: false,
            path: cx.chance.below(paths.into()) as u16,
            paths,
            last_payload,
            deadline: flow.deadline.filter(|_| flow.size.is_some()).unwrap_or(Instant::NEVER),
            total,
            limit: total,
            recover: 0,
            duplicates: 0,
            limited: 0,
            inflation: 0,
            peak: 0,
            peak_until: 0,
            retries: 0,
            board: Scoreboard::default(),
            control: C::open(cx.control, cx.rules.initial_window),
            round_trip: RoundTrip::default(),
            syn_sent: cx.now,
            due: Instant::NEVER,
            armed: Instant::NEVER,
            last_progress: cx.now,
            acked_bytes: 0,
            counts: SendCounts::default(),
        };
        if cx.rules.handshake {
            sender.start_timer(cx.now, cx.rules);
        }
        sender
    }

    fn start_timer(&mut self, now: Instant, rules: &Rules) {
        self.due = self.round_trip.due(now, &rules.timer);
    }

    /// The path of the next packet.
    pub fn path(&self, rules: &Rules, chance: &mut RandomStream) -> u16 {
        match rules.paths {
            Paths::Single => self.path,
            Paths::Scatter => chance.below(self.paths.into()) as u16,
        }
    }

    /// The handshake is over: its round trip is the first sample unless the SYN was retransmitted (Karn). After a lost SYN
    /// the initial window is one packet (RFC 5681, section 3.1).
    pub fn on_syn_ack(&mut self, cx: &mut Context<'_, C>) {
        if self.phase != Phase::Opening {
            return;
        }
        self.phase = Phase::Open;
        if self.retries == 0 {
            self.round_trip.sample(cx.now.since(self.syn_sent));
        } else {
            self.round_trip.after_lost_syn();
            self.control = C::open(cx.control, 1);
        }
        self.retries = 0;
        self.last_progress = cx.now;
        self.due = Instant::NEVER;
    }

    /// Handles an ACK. Returns whether the flow is complete.
    #[inline]
    pub fn on_ack(&mut self, cx: &mut Context<'_, C>, ack: Ack) -> bool {
        let finished = ack.finished && self.board.next() == self.total;
        let cumulative = if finished { self.total } else { ack.cumulative };
        // Acknowledges packets that were never sent (RFC 9293, section 3.10.7.4), or is older than an earlier ACK.
        if self.phase == Phase::Opening || cumulative > self.board.next() {
            return false;
        }
        let newly = self.take_in(cx, cumulative, &ack.ranges);
        let in_recovery = self.phase == Phase::Recovery;
        if newly.packets > 0 {
            self.retries = 0;
            self.last_progress = cx.now;
            self.sample(cx.now, &newly);
        }
        if newly.cumulative > 0 {
            self.on_advance(cx, &newly);
        } else if self.is_duplicate(cx.rules, cumulative, &newly) {
            self.on_duplicate(cx);
        }
        self.tell_control(cx, &ack, &newly, in_recovery);
        self.board.first() == self.total
    }

    /// Updates the scoreboard and reports every packet once.
    fn take_in(&mut self, cx: &mut Context<'_, C>, cumulative: u32, ranges: &Ranges) -> Newly {
        let (mut newly, before) = (Newly::default(), self.board.first());
        let Self { to, conn, total, last_payload, .. } = *self;
        let (rules, now) = (cx.rules, cx.now);
        let mut bytes = 0;
        let mut visit = |seq: u32, slot: &Slot| {
            newly.note(slot);
            bytes += if seq + 1 == total { u64::from(last_payload) } else { u64::from(rules.mtu) };
            cx.events.push(Event::Acked { to, conn, latency: now.since(slot.first_sent) });
        };
        self.board.acknowledge(cumulative, &mut visit);
        if rules.sack && !ranges.is_empty() {
            ranges.iter().for_each(|range| self.board.sack(range, &mut visit));
            self.board.remember(ranges.iter());
            self.board.mark_lost(rules.threshold(self.paths));
        }
        self.acked_bytes += bytes;
        newly.cumulative = self.board.first() - before;
        newly
    }

    /// Karn's rule (RFC 6298, section 3): an ACK that covers a retransmitted packet measures nothing.
    fn sample(&mut self, now: Instant, newly: &Newly) {
        if let Some(sent) = newly.oldest.filter(|_| !newly.repeated) {
            self.round_trip.sample(now.since(sent));
        }
    }

    /// RFC 5681, section 2. With SACK, a duplicate reports packets that were not reported before (RFC 6675, section 2).
    fn is_duplicate(&self, rules: &Rules, cumulative: u32, newly: &Newly) -> bool {
        let repeats = cumulative == self.board.first() && self.board.flight() > 0;
        repeats && (!rules.sack || newly.packets > 0)
    }

    /// Advances the cumulative point.
    fn on_advance(&mut self, cx: &mut Context<'_, C>, newly: &Newly) {
        self.duplicates = 0;
        self.limited = 0;
        let whole = self.board.first() >= self.recover;
        let mut restart = true;
        match self.phase {
            Phase::Recovery if whole => {
                // RFC 6582, section 3.2, step 3, full ACK, option 2; RFC 6675, section 5, step A.
                self.phase = Phase::Open;
                self.eager = false;
            }
            Phase::Recovery => {
                // RFC 6582 step 3 (partial ACK) and step 4: the timer restarts on the first partial ACK only.
                restart = cx.rules.sack || !self.partial;
                self.partial = true;
                if !cx.rules.sack {
                    self.inflation += 1 - i64::from(newly.cumulative);
                    self.board.lose(self.board.first());
                    self.eager = true;
                }
            }
            Phase::Loss if whole => self.phase = Phase::Open,
            _ => {}
        }
        if self.phase == Phase::Open && cx.rules.sack && self.board.first_is_lost() && whole {
            self.enter_recovery(cx);
        }
        if self.board.pipe() == 0 {
            // No packet is in the network: the timer starts when the next one leaves.
            self.due = Instant::NEVER;
        } else if restart {
            self.start_timer(cx.now, cx.rules);
        }
    }

    /// A duplicate ACK: RFC 5681, section 3.2, with the guards of RFC 6582 (step 1) and RFC 6675 (section 5).
    fn on_duplicate(&mut self, cx: &mut Context<'_, C>) {
        match self.phase {
            Phase::Open => {
                self.duplicates += 1;
                let enough = self.duplicates >= cx.rules.threshold(self.paths);
                let lost = enough || (cx.rules.sack && self.board.first_is_lost());
                let first = self.board.first();
                // An ACK that covers exactly what a timeout resent may be followed by duplicates of the resent packets.
                let beyond =
                    first > self.recover || self.recover == 0 || (cx.rules.sack && first == self.recover);
                if lost && beyond {
                    self.enter_recovery(cx);
                }
            }
            Phase::Recovery => self.inflation += 1,
            Phase::Opening | Phase::Loss => {}
        }
    }

    /// Fast retransmit of the oldest packet.
    fn enter_recovery(&mut self, cx: &mut Context<'_, C>) {
        self.reduce(cx);
        self.board.lose(self.board.first());
    }

    /// A packet arrived without payload, or was returned to this host. It is retransmitted as the window allows. The
    /// first such report in a window of data reduces the window as a fast retransmit does; reports of later copies only
    /// cause another retransmission.
    pub fn on_nack(&mut self, cx: &mut Context<'_, C>, seq: u32) {
        if self.phase == Phase::Opening || !self.board.nack(seq) {
            return;
        }
        match self.phase {
            Phase::Open => self.reduce(cx),
            // As for a duplicate ACK: a packet has left the network.
            Phase::Recovery => self.inflation += 1,
            Phase::Opening | Phase::Loss => {}
        }
        if self.board.pipe() == 0 {
            self.due = Instant::NEVER;
        } else {
            self.start_timer(cx.now, cx.rules);
        }
    }

    /// RFC 5681, section 3.2, steps 2 and 3; RFC 6675, section 5, step 4. The first retransmission leaves even if the
    /// window is full.
    fn reduce(&mut self, cx: &mut Context<'_, C>) {
        self.control.on_loss(cx.control, self.board.flight() - self.limited.min(self.board.flight()));
        self.phase = Phase::Recovery;
        self.recover = self.board.next();
        self.inflation = self.duplicates.into();
        (self.eager, self.rescued, self.partial) = (true, false, false);
    }

    /// Congestion control grows the window outside of fast recovery only, and is told of every mark.
    fn tell_control(&mut self, cx: &mut Context<'_, C>, ack: &Ack, newly: &Newly, in_recovery: bool) {
        let acked = Acked {
            now: cx.now,
            packets: newly.packets,
            echo: ack.echo,
            first: self.board.first(),
            next: self.board.next(),
            peak: self.peak,
            grows: newly.cumulative > 0 && !in_recovery && self.phase != Phase::Recovery,
        };
        if ack.echo && self.deadline != Instant::NEVER {
            self.tell_plan(cx);
        }
        if ack.echo {
            self.control.on_mark(cx.control, &acked);
        }
        if newly.packets > 0 {
            self.control.on_ack(cx.control, &acked);
        }
    }

    #[cold]
    fn tell_plan(&mut self, cx: &mut Context<'_, C>) {
        let (now, deadline) = (cx.now, self.deadline);
        if let Some(round_trip) = self.round_trip.smoothed() {
            let left = self.total.saturating_sub(self.board.first());
            self.control.plan(cx.control, &Plan { now, deadline, left, round_trip });
        }
    }

    /// Checks the retransmission timer: RFC 6298, rules 5.4 to 5.6; RFC 5681, section 3.1; RFC 6582, section 3.2, step
    /// 4.
    pub fn on_timeout(&mut self, cx: &mut Context<'_, C>) -> Expiry {
        if self.due > cx.now {
            return Expiry::Early;
        }
        self.retries += 1;
        self.counts.timeouts += 1;
        let (to, conn, seq) = (self.to, self.conn, self.board.first());
        cx.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) });
        if self.retries > cx.rules.retries {
            let opening = self.phase == Phase::Opening;
            return Expiry::GiveUp(if opening {
                FailureReason::SynUnanswered
            } else {
                FailureReason::TimeoutsInARow
            });
        }
        self.round_trip.back_off();
        if self.phase == Phase::Opening {
            self.start_timer(cx.now, cx.rules);
            return Expiry::Syn;
        }
        self.control.on_timeout(cx.control, self.board.flight(), self.retries > 1);
        self.phase = Phase::Loss;
        self.recover = self.board.next();
        (self.duplicates, self.limited, self.inflation, self.eager) = (0, 0, 0, false);
        self.board.lose_all();
        // The timer starts when the packet leaves: other connections may be using the link.
        self.due = Instant::NEVER;
        Expiry::Retransmit
    }

    /// Whether the window has room for another packet.
    fn has_room(&self, rules: &Rules) -> bool {
        let window = i64::from(self.control.window().min(rules.receive_window));
        let flight = i64::from(self.board.flight());
        let used = match self.phase {
            Phase::Open if rules.sack && rules.limited_transmit => self.board.pipe().into(),
            Phase::Open if rules.limited_transmit => {
                flight - i64::from(self.duplicates.min(LIMITED_TRANSMIT))
            }
            Phase::Open => flight,
            // A partial ACK may take more from the window than duplicates have added; one packet is always allowed.
            Phase::Recovery if !rules.sack => return flight < (window + self.inflation).max(1),
            _ => self.board.pipe().into(),
        };
        used < window
    }

    /// NextSeg (RFC 6675, section 4), with its rules 3 and 4 in fast recovery only.
    #[inline]
    fn next_packet(&mut self, rules: &Rules) -> Option<Next> {
        if self.phase == Phase::Opening || (!self.eager && !self.has_room(rules)) {
            return None;
        }
        if let Some(seq) = self.board.next_lost() {
            return Some(Next::Again(seq));
        }
        if self.board.next() < self.limit
            && self.board.flight() < rules.receive_window
            && self.has_room(rules)
        {
            return Some(Next::New);
        }
        if self.phase == Phase::Recovery && rules.sack { self.next_doubtful() } else { None }
    }

    #[inline(never)]
    fn next_doubtful(&mut self) -> Option<Next> {
        if let Some(seq) = self.board.next_doubtful() {
            return Some(Next::Again(seq));
        }
        if self.rescued {
            return None;
        }
        let rescue = self.board.highest_untried();
        self.rescued = rescue.is_none();
        rescue.map(Next::Rescue)
    }

    /// Whether a packet could leave.
    #[inline]
    pub fn ready(&mut self, rules: &Rules) -> bool {
        self.next_packet(rules).is_some()
    }

    /// The next data packet.
    pub fn transmit(&mut self, cx: &mut Context<'_, C>) -> Option<Transmit<Segment>> {
        let next = self.next_packet(cx.rules)?;
        let (seq, again) = match next {
            Next::New => {
                self.limited += u32::from(self.phase == Phase::Open && self.duplicates > 0);
                (self.leave_new(cx.now), false)
            }
            Next::Again(seq) | Next::Rescue(seq) => {
                self.eager = false;
                self.rescued |= matches!(next, Next::Rescue(_));
                self.board.retransmit(seq);
                (seq, true)
            }
        };
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        if self.due == Instant::NEVER {
            // RFC 6298, rule 5.1.
            self.start_timer(cx.now, cx.rules);
        }
        Some(self.packet(cx, seq, again))
    }

    #[inline]
    fn leave_new(&mut self, now: Instant) -> u32 {
        let seq = self.board.push(now);
        if self.board.flight() > self.peak || self.board.first() >= self.peak_until {
            (self.peak, self.peak_until) = (self.board.flight(), self.board.next());
        }
        seq
    }

    /// Starts the timer if packets are outstanding, none can leave, and the timer is not running. No connection waits
    /// without a timer.
    #[inline]
    pub fn guard(&mut self, now: Instant, rules: &Rules) {
        if self.due == Instant::NEVER && !self.queued && self.board.flight() > 0 {
            self.start_timer(now, rules);
        }
    }

    fn packet(&self, cx: &mut Context<'_, C>, seq: u32, again: bool) -> Transmit<Segment> {
        let rules = cx.rules;
        let last = seq.checked_add(1) == Some(self.total);
        let payload = if last { u32::from(self.last_payload) } else { rules.mtu };
        let opens = !rules.handshake && self.board.first() == 0;
        let (path, wire) = (self.path(rules, cx.chance), WireLen::of(payload + rules.header));
        let header = Segment::Data { conn: self.conn, seq, opens, last };
        Transmit { ect: rules.ecn, again, ..Transmit::data(self.to, path, wire, header) }
    }

    /// State of the flow.
    pub fn status(&self) -> FlowStatus {
        FlowStatus {
            side: Side::Sender,
            peer: self.to,
            conn: self.conn,
            bytes: self.acked_bytes,
            last_progress: self.last_progress,
            waiting_for: self.waiting_for(),
            counts: self.counts,
        }
    }

    fn waiting_for(&self) -> Awaited {
        match self.phase {
            Phase::Opening => Awaited::SynAck,
            _ if self.queued => Awaited::LinkTurn,
            Phase::Open => Awaited::Acks,
            Phase::Recovery => Awaited::of_protocol(&"ACKs of retransmitted packets"),
            Phase::Loss => Awaited::AcksAfterTimeout,
        }
    }

    /// The congestion window, in whole packets.
    pub fn window(&self) -> u32 {
        self.control.window()
    }

    /// State of the sender, for the owner of several subflows.
    pub fn subflow(&self) -> Subflow {
        Subflow {
            first: self.board.first(),
            next: self.board.next(),
            window: self.control.cwnd(),
            round_trip: self.round_trip(),
        }
    }

    /// Sets the limit on the numbers of new packets: they stay below `limit`.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = limit.min(self.total);
    }

    /// See [`Control::limit_growth`].
    pub fn limit_growth(&mut self, step: f64) {
        self.control.limit_growth(step);
    }

    /// Visits the packets that have left and were neither acknowledged nor SACKed.
    pub fn unacknowledged(&self, visit: &mut impl FnMut(u32)) {
        self.board.unacknowledged(visit);
    }

    /// State of congestion control.
    pub fn control(&self) -> &C {
        &self.control
    }

    /// Smoothed round-trip time.
    pub fn round_trip(&self) -> Option<Picos> {
        self.round_trip.smoothed()
    }
}
