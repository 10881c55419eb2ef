//! The sending half of a connection: the rules of the README, in its order.

use pullnet_connections::{Departure, FlowPackets, ScatteredPackets};
use pullnet_pull::{Outbound, Queued, Standing};
use pullnet_transport::{CumulativeAck, DataPacket};
use pullnet_units::{Instant, Picos};

use crate::config::{PfabricConfig, RankBy};
use crate::header::PfabricHeader;

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
    pub flow: Outbound,
    pub packets: ScatteredPackets,
    window: f64,
    threshold: f64,
    timeouts_in_row: u32,
    /// In probe mode: whether a probe is due.
    probing: Option<bool>,
    last_heard: Instant,
    due: Instant,
}

/// Slow-start threshold of a new flow: slow start lasts until a timeout (public pHost code).
const NO_THRESHOLD: f64 = 1e9;
const LEAST_THRESHOLD: f64 = 2.0;
/// If the receiver is silent, the timer waits for this part of the silence, if that exceeds the timeout.
const SILENCE: u64 = 64;

impl Queued for Sender {
    /// Rule 2: a packet leaves if the window has room for it.
    fn can_send(&self) -> bool {
        self.probing.unwrap_or_else(|| self.packets.fits(self.window as u32))
    }

    fn standing(&self) -> Standing {
        self.flow.standing(self.packets.left())
    }

    fn due(&self) -> Instant {
        self.due
    }
}

impl Sender {
    /// Rule 1: a new flow sends a window at once.
    pub fn open(now: Instant, config: &PfabricConfig, flow: Outbound, packets: FlowPackets) -> Self {
        Self {
            flow,
            packets: ScatteredPackets::new(now, packets),
            window: f64::from(config.initial_window.0.min(config.largest_window.0)),
            threshold: NO_THRESHOLD,
            timeouts_in_row: 0,
            probing: None,
            last_heard: now,
            due: Instant::NEVER,
        }
    }

    /// Rule 3: rank of a packet at switches, fixed when it leaves. ACKs have rank 0.
    fn rank(&self, by: RankBy) -> u32 {
        match (by, self.flow.deadline) {
            (RankBy::Left, _) => self.packets.left().max(1),
            (RankBy::Deadline, Some(at)) => (at.0 / 1_000_000).clamp(1, u64::from(u32::MAX) - 1) as u32,
            (RankBy::Deadline, None) => u32::MAX,
        }
    }

    /// The next packet; [`Queued::can_send`] must have returned true.
    pub fn transmit(&mut self, now: Instant, config: &PfabricConfig) -> Outgoing {
        let (conn, rank) = (self.flow.conn, self.rank(config.rank));
        if self.probing.is_some() {
            self.probing = Some(false);
            return (PfabricHeader::Probe { conn, rank }, 0, false);
        }
        let Departure { seq, last, payload, again } = self.packets.send(now);
        if self.due == Instant::NEVER {
            let progress = &mut self.packets.last_progress;
            (self.last_heard, *progress) = (self.last_heard.max(now), now.max(*progress));
            self.due = now.after(config.timeout);
        }
        (PfabricHeader::Data { data: DataPacket { conn, seq, last }, rank }, payload, again)
    }

    /// Rule 4: an ACK names the packet that it answers, and acknowledges all packets below a number. Calls
    /// `acknowledged` with the time of first transmission of each newly acknowledged packet.
    pub fn on_ack(
        &mut self,
        now: Instant,
        config: &PfabricConfig,
        ack: CumulativeAck,
        acknowledged: impl FnMut(Instant),
    ) {
        let advanced = self.packets.on_ack(now, ack, acknowledged);
        self.last_heard = now;
        (self.timeouts_in_row, self.probing) = (0, None);
        if advanced {
            self.grow(config);
        }
        self.due = if self.packets.in_flight() { now.after(config.timeout) } else { Instant::NEVER };
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
        let (first, silence) = (self.packets.first(), now.since(self.last_heard));
        self.packets.counts.timeouts += 1;
        // Answers to probes alone are no progress: a path may pass them and never a whole packet.
        let end = self.packets.last_progress.after(config.give_up);
        if now >= end {
            return Expiry::GiveUp(first);
        }
        self.threshold = (self.window / 2.0).max(LEAST_THRESHOLD);
        self.window = 1.0;
        self.packets.restart();
        self.timeouts_in_row += 1;
        if config.probe_after > 0 && self.timeouts_in_row >= config.probe_after {
            self.probing = Some(true);
        }
        let wait = config.timeout.max(Picos(silence.0 / SILENCE));
        self.due = now.after(wait).min(end).max(now.after(Picos(1)));
        Expiry::Timeout(first)
    }
}
