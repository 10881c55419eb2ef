//! The sending half of a connection: the rules of the README, in its order.

use alloc::collections::VecDeque;

use pullnet_connections::FlowPackets;
use pullnet_pull::{ReceivedSet, Standing};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, SendCounts};
use pullnet_units::{Instant, Picos};

use crate::config::{PfabricConfig, RankBy};
use crate::header::PfabricHeader;

/// Fields of an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    pub cumulative: u32,
    pub answers: Option<u32>,
    pub finished: bool,
}

/// Result of an expired timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// No action yet.
    Early,
    /// This packet was not acknowledged in time.
    Timeout(u32),
    /// The receiver is silent.
    GiveUp(u32),
}

/// A packet to send: its header, its payload, and whether it is a retransmission.
pub type Outgoing = (PfabricHeader, u32, bool);

#[derive(Clone, Debug)]
pub struct Sender {
    pub to: HostAddr,
    pub conn: ConnId,
    packets: FlowPackets,
    priority: u8,
    deadline: Option<Instant>,
    opened: u64,
    pub paths: u16,
    pub path: u16,
    acked: ReceivedSet,
    /// The packet that leaves next; acknowledged packets are skipped.
    next: u32,
    /// One past the highest packet that was sent.
    sent_until: u32,
    /// Times of first transmission, from the oldest unacknowledged packet on.
    sent_at: VecDeque<Instant>,
    window: f64,
    threshold: f64,
    timeouts_in_row: u32,
    /// In probe mode: whether a probe is due.
    probing: Option<bool>,
    pub counts: SendCounts,
    pub last_progress: Instant,
    last_heard: Instant,
    /// Deadline of the timer.
    pub due: Instant,
}

/// Slow-start threshold of a new flow: slow start lasts until a timeout (public pHost code).
const NO_THRESHOLD: f64 = 1e9;
const LEAST_THRESHOLD: f64 = 2.0;
/// If the receiver is silent, the timer waits for this part of the silence, if that exceeds the timeout.
const SILENCE: u64 = 64;

impl Sender {
    /// Rule 1: a new flow sends a window at once.
    pub fn open(
        now: Instant,
        config: &PfabricConfig,
        flow: &FlowSpec,
        packets: FlowPackets,
        opened: u64,
        path: u16,
    ) -> Self {
        Self {
            to: flow.to,
            conn: flow.conn,
            packets,
            priority: flow.priority,
            deadline: flow.deadline,
            opened,
            paths: flow.paths,
            path,
            acked: ReceivedSet::default(),
            next: 0,
            sent_until: 0,
            sent_at: VecDeque::new(),
            window: f64::from(config.initial_window.0.min(config.largest_window.0)),
            threshold: NO_THRESHOLD,
            timeouts_in_row: 0,
            probing: None,
            counts: SendCounts::default(),
            last_progress: now,
            last_heard: now,
            due: Instant::NEVER,
        }
    }

    fn left(&self) -> u32 {
        self.packets.number - self.acked.count()
    }

    /// Whether every packet was acknowledged.
    pub fn is_complete(&self) -> bool {
        self.left() == 0
    }

    /// Properties that decide the order of flows on the host's link.
    pub fn standing(&self) -> Standing {
        let (priority, deadline) = (self.priority, self.deadline);
        Standing { priority, left: self.left(), deadline, tenant: 0, opened: self.opened }
    }

    /// Rule 3: rank of a packet at switches, fixed when it leaves. ACKs have rank 0.
    fn rank(&self, by: RankBy) -> u32 {
        match (by, self.deadline) {
            (RankBy::Left, _) => self.left().max(1),
            (RankBy::Deadline, Some(at)) => (at.0 / 1_000_000).clamp(1, u64::from(u32::MAX) - 1) as u32,
            (RankBy::Deadline, None) => u32::MAX,
        }
    }

    /// Rule 2: the window starts at the oldest unacknowledged packet; acknowledged packets take no room in it.
    pub fn can_send(&self) -> bool {
        if let Some(due) = self.probing {
            return due;
        }
        let first = self.acked.cumulative();
        let beyond = self.acked.count() - first;
        let end = first.saturating_add(self.window as u32).saturating_add(beyond).min(self.packets.number);
        self.next < end && self.acked.reaches(self.next)
    }

    fn pass_over_acknowledged(&mut self) {
        if self.acked.contains(self.next) {
            self.next = self.acked.run_around(self.next).1;
        }
    }

    /// The next packet; [`Sender::can_send`] must have returned true.
    pub fn transmit(&mut self, now: Instant, config: &PfabricConfig) -> Outgoing {
        let (conn, rank) = (self.conn, self.rank(config.rank));
        if self.probing.is_some() {
            self.probing = Some(false);
            return (PfabricHeader::Probe { conn, rank }, 0, false);
        }
        let seq = self.next;
        let again = seq < self.sent_until;
        if !again {
            self.sent_until = seq + 1;
            self.sent_at.push_back(now);
        }
        self.next = seq + 1;
        self.pass_over_acknowledged();
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        if self.due == Instant::NEVER {
            (self.last_heard, self.last_progress) = (self.last_heard.max(now), self.last_progress.max(now));
            self.due = now.after(config.timeout);
        }
        let (last, payload) = (self.packets.is_last(seq), self.packets.payload(seq));
        (PfabricHeader::Data { conn, seq, rank, last }, payload, again)
    }

    /// Rule 4: an ACK names the packet that it answers, and acknowledges all packets below a number. Calls
    /// `acknowledged` with the time of first transmission of each newly acknowledged packet.
    pub fn on_ack(
        &mut self,
        now: Instant,
        config: &PfabricConfig,
        ack: Ack,
        mut acknowledged: impl FnMut(Instant),
    ) {
        let before = (self.acked.cumulative(), self.acked.count());
        let cumulative = if ack.finished { self.packets.number } else { ack.cumulative };
        let answered = ack.answers.into_iter().chain(before.0..cumulative.min(self.sent_until));
        for seq in answered.filter(|seq| *seq < self.sent_until) {
            if !self.acked.contains(seq) {
                acknowledged(self.sent_at[(seq - before.0) as usize]);
                self.acked.insert(seq);
            }
        }
        let first = self.acked.cumulative();
        self.sent_at.drain(..(first - before.0) as usize);
        self.last_heard = now;
        (self.timeouts_in_row, self.probing) = (0, None);
        if first > before.0 {
            self.grow(config);
        }
        if self.acked.count() > before.1 {
            self.last_progress = now;
        }
        self.next = self.next.max(first);
        self.pass_over_acknowledged();
        self.due = if self.sent_until > first { now.after(config.timeout) } else { Instant::NEVER };
    }

    /// Rule 5: grows the window: slow start, after a timeout up to half the window before it, then one packet per
    /// window.
    fn grow(&mut self, config: &PfabricConfig) {
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        self.window = self.window.min(f64::from(config.largest_window.0));
    }

    /// Rules 6 and 7: after a timeout the flow restarts at the oldest unacknowledged packet with a window of one. After
    /// several timeouts in a row it only probes.
    pub fn on_timeout(&mut self, now: Instant, config: &PfabricConfig) -> Expiry {
        if now < self.due {
            return Expiry::Early;
        }
        let (first, silence) = (self.acked.cumulative(), now.since(self.last_heard));
        self.counts.timeouts += 1;
        // Answers to probes alone are no progress: a path may pass them and never a whole packet.
        if now >= self.last_progress.after(config.give_up) {
            return Expiry::GiveUp(first);
        }
        self.threshold = (self.window / 2.0).max(LEAST_THRESHOLD);
        (self.window, self.next) = (1.0, first);
        self.timeouts_in_row += 1;
        if config.probe_after > 0 && self.timeouts_in_row >= config.probe_after {
            self.probing = Some(true);
        }
        let wait = config.timeout.max(Picos(silence.0 / SILENCE));
        self.due = now.after(wait).min(self.last_progress.after(config.give_up)).max(now.after(Picos(1)));
        Expiry::Timeout(first)
    }

    /// Payload bytes acknowledged.
    pub fn acknowledged(&self, config: &PfabricConfig) -> u64 {
        u64::from(self.acked.count()) * config.mtu.0
    }
}
