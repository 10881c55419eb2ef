use alloc::collections::VecDeque;

use pullnet_connections::FlowPackets;
use pullnet_transport::{ConnId, FlowSpec, HostAddr, SendCounts};
use pullnet_units::Instant;

use crate::config::GoBackNConfig;

/// The sending half of a connection.
pub struct Sender {
    pub conn: ConnId,
    pub to: HostAddr,
    pub priority: u8,
    /// The one path of the flow.
    pub path: u16,
    pub packets: FlowPackets,
    /// The oldest packet that is not acknowledged.
    pub first: u32,
    /// The next packet to leave. A timeout sets it back to `first`.
    next: u32,
    /// When each packet from `first` on was sent for the first time.
    sent_at: VecDeque<Instant>,
    /// When the timer runs out; `NEVER` while nothing is outstanding.
    pub due: Instant,
    /// Timeouts since the last progress.
    pub retries: u32,
    pub last_progress: Instant,
    pub acked_bytes: u64,
    pub counts: SendCounts,
    /// Whether it stands in line for the link.
    pub queued: bool,
}

impl Sender {
    /// A flow that has just been opened.
    pub fn open(now: Instant, flow: &FlowSpec, packets: FlowPackets, path: u16) -> Self {
        Self {
            conn: flow.conn,
            to: flow.to,
            priority: flow.priority,
            path,
            packets,
            first: 0,
            next: 0,
            sent_at: VecDeque::new(),
            due: Instant::NEVER,
            retries: 0,
            last_progress: now,
            acked_bytes: 0,
            counts: SendCounts::default(),
            queued: false,
        }
    }

    /// Whether the window has room and a packet is left.
    pub fn can_send(&self, config: &GoBackNConfig) -> bool {
        self.next < self.packets.number && self.next - self.first < config.window.0
    }

    /// The next packet leaves: its number, its payload, and whether it was sent before.
    pub fn transmit(&mut self, now: Instant, config: &GoBackNConfig) -> (u32, u32, bool) {
        let seq = self.next;
        let again = seq - self.first < self.sent_at.len() as u32;
        if !again {
            self.sent_at.push_back(now);
        }
        if self.due == Instant::NEVER {
            self.due = now.after(config.timeout);
        }
        self.next += 1;
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        (seq, self.packets.payload(seq), again)
    }

    /// Everything below `next` has arrived: visits when each newly acknowledged packet was first sent. An ACK for packets
    /// that were never sent is not for this connection.
    pub fn on_ack(
        &mut self,
        now: Instant,
        config: &GoBackNConfig,
        next: u32,
        mut visit: impl FnMut(Instant),
    ) {
        let newly = next.saturating_sub(self.first);
        if newly == 0 || newly > self.sent_at.len() as u32 {
            return;
        }
        for _ in 0..newly {
            self.sent_at.pop_front().into_iter().for_each(&mut visit);
            self.acked_bytes += u64::from(self.packets.payload(self.first));
            self.first += 1;
        }
        self.next = self.next.max(self.first);
        (self.retries, self.last_progress) = (0, now);
        let outstanding = self.next > self.first;
        self.due = if outstanding { now.after(config.timeout) } else { Instant::NEVER };
    }

    /// The timer has run out: back to the oldest packet. Returns whether to go on. The timer starts again when that packet
    /// leaves.
    pub fn go_back(&mut self, config: &GoBackNConfig) -> bool {
        self.retries += 1;
        self.counts.timeouts += 1;
        (self.next, self.due) = (self.first, Instant::NEVER);
        self.retries <= config.retries
    }

    pub fn is_complete(&self) -> bool {
        self.first == self.packets.number
    }
}
