//! The receiving half of a connection: reassembly, SACK ranges, delayed ACKs, the ECN echo.

use pullnet_connections::{Noted, ReceivedSet};
use pullnet_rng::RandomStream;
use pullnet_transport::{ConnId, FlowStatus, HostAddr};
use pullnet_units::{Instant, Picos};

use crate::rules::{Paths, Rules};
use crate::segment::{Ranges, Segment};
use crate::subflow::LastAnswer;

/// Packets that may arrive before a delayed ACK must leave (RFC 5681, section 4.2: every second full packet).
const PACKETS_PER_ACK: u32 = 2;

/// A data packet as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub seq: u32,
    pub last: bool,
    /// Payload bytes.
    pub bytes: u32,
    /// Marked by a switch.
    pub ce: bool,
}

/// Consequences of a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// Whether its payload is new.
    pub new: bool,
    /// An ACK for earlier packets, which had another ECN state.
    pub before: Option<Segment>,
    /// The ACK for the packet; `None` if it is delayed.
    pub ack: Option<Segment>,
}

/// One connection as its receiver knows it.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    paths: u16,
    /// The path of its ACKs, if they have one.
    path: u16,
    received: ReceivedSet,
    /// Packets above the cumulative point, most recently changed range first.
    ranges: Ranges,
    /// Number of packets; `None` until the last one was seen.
    total: Option<u32>,
    /// Packets that no ACK has acknowledged yet.
    pending: u32,
    /// DCTCP.CE (RFC 8257, section 3.2): whether the latest packet was marked.
    echo: bool,
    /// The packet that the next ACK answers.
    answers: u32,
    /// When the delayed ACK leaves; `NEVER` if none waits.
    ack_at: Instant,
    pub last_heard: Instant,
    pub last_progress: Instant,
    pub bytes: u64,
    /// The earliest entry of this connection among the timers.
    pub armed: Instant,
}

impl Receiver {
    pub fn open(now: Instant, peer: HostAddr, conn: ConnId, paths: u16, chance: &mut RandomStream) -> Self {
        let paths = paths.max(1);
        Self {
            peer,
            conn,
            paths,
            path: chance.below(paths.into()) as u16,
            received: ReceivedSet::default(),
            ranges: Ranges::default(),
            total: None,
            pending: 0,
            echo: false,
            answers: 0,
            ack_at: Instant::NEVER,
            last_heard: now,
            last_progress: now,
            bytes: 0,
            armed: Instant::NEVER,
        }
    }

    /// Whether a sender that respects the receive window may have sent packet `seq`.
    #[inline]
    pub fn accepts(&self, rules: &Rules, seq: u32) -> bool {
        seq < self.received.cumulative().saturating_add(rules.receive_window)
    }

    /// Stores a packet. Acknowledges it at once if it is out of order, fills a gap, is the last missing one, or is the
    /// second since the last ACK (RFC 5681, section 4.2); otherwise the ACK is delayed.
    #[inline]
    pub fn on_data(&mut self, now: Instant, rules: &Rules, data: Data) -> Arrival {
        let Data { seq, last, bytes, ce } = data;
        self.last_heard = now;
        let before = self.note_mark(rules, ce);
        if last {
            self.total = Some(seq.saturating_add(1));
        }
        let in_order = seq == self.received.cumulative() && self.ranges.is_empty();
        let new = self.received.insert(seq) == Noted::New;
        if new {
            self.last_progress = now;
            self.bytes += u64::from(bytes);
        }
        if !in_order {
            self.update_ranges(seq);
        }
        if self.pending == 0 {
            self.answers = seq;
        }
        self.pending += 1;
        let delay =
            rules.ack_delay.filter(|_| in_order && !self.complete() && self.pending < PACKETS_PER_ACK);
        let ack = match delay {
            None => Some(self.acknowledge(rules)),
            Some(delay) => {
                self.ack_at = self.ack_at.min(now.after(delay));
                None
            }
        };
        Arrival { new, before, ack }
    }

    /// Handles a data packet without its payload. Returns the delayed ACK, if any, and the NACK; or only an ACK if the
    /// payload had arrived before. The ACK leaves first, so that the sender hears of both in their order.
    pub fn on_trimmed(&mut self, now: Instant, rules: &Rules, data: Data) -> [Option<Segment>; 2] {
        self.last_heard = now;
        if self.received.contains(data.seq) {
            self.answers = data.seq;
            return [Some(self.acknowledge(rules)), None];
        }
        let before = (self.pending > 0).then(|| self.acknowledge(rules));
        [before, Some(Segment::Nack { conn: self.conn, seq: data.seq })]
    }

    /// RFC 8257, section 3.2, figure 1: where the ECN state changes, the packets of the old state are acknowledged at
    /// once, so that each ACK echoes the state of all packets that it acknowledges.
    #[inline]
    fn note_mark(&mut self, rules: &Rules, ce: bool) -> Option<Segment> {
        let ce = ce && rules.ecn;
        if ce == self.echo {
            return None;
        }
        let before = (self.pending > 0).then(|| self.acknowledge(rules));
        self.echo = ce;
        before
    }

    /// RFC 2018, section 4: the first range is the one around the latest packet; then come ranges reported before, most
    /// recent first.
    #[inline(never)]
    fn update_ranges(&mut self, seq: u32) {
        let cumulative = self.received.cumulative();
        let latest = if seq >= cumulative { self.received.run_around(seq) } else { (0, 0) };
        let apart =
            |(start, end): &(u32, u32)| *start >= cumulative && (*end <= latest.0 || *start >= latest.1);
        let others = self.ranges;
        self.ranges = core::iter::once(latest).chain(others.iter().filter(apart)).collect();
    }

    /// The ACK for all packets received so far.
    fn acknowledge(&mut self, rules: &Rules) -> Segment {
        (self.pending, self.ack_at) = (0, Instant::NEVER);
        Segment::Ack {
            conn: self.conn,
            cumulative: self.received.cumulative(),
            answers: self.answers,
            echo: self.echo,
            finished: self.complete(),
            ranges: if rules.sack { self.ranges } else { Ranges::default() },
        }
    }

    /// The delayed ACK, if it is due.
    pub fn on_timeout(&mut self, now: Instant, rules: &Rules) -> Option<Segment> {
        (self.ack_at <= now).then(|| self.acknowledge(rules))
    }

    /// The latest ACK, or a delayed ACK if one waits.
    pub fn last_answer(&self) -> LastAnswer {
        LastAnswer { seq: self.answers, delayed: self.pending > 0 }
    }

    /// When to check the connection again: for its delayed ACK, or for a silent sender. The check for silence comes
    /// after a time-wait, or after as long as the sender has been silent if that is longer. Timers that outlived their
    /// connections by all of `silence`, a quarter of an hour, would cost memory for every flow of a run.
    #[inline]
    pub fn due(&self, now: Instant, rules: &Rules, silence: Picos) -> Instant {
        let step = rules.time_wait.max(now.since(self.last_heard));
        self.ack_at.min(self.last_heard.after(silence).min(now.after(step)))
    }

    /// Whether the sender was silent for so long that the connection is forgotten.
    pub fn is_silent(&self, now: Instant, silence: Picos) -> bool {
        self.last_heard.after(silence) <= now
    }

    /// Whether all packets up to the last one have arrived.
    #[inline]
    pub fn complete(&self) -> bool {
        self.total.is_some_and(|total| self.received.cumulative() >= total)
    }

    /// The path of the next ACK.
    #[inline]
    pub fn path(&self, rules: &Rules, chance: &mut RandomStream) -> u16 {
        match rules.paths {
            Paths::Single => self.path,
            Paths::Scatter => chance.below(self.paths.into()) as u16,
        }
    }

    /// State of the flow.
    pub fn status(&self) -> FlowStatus {
        FlowStatus::of_receiver(self.peer, self.conn, self.bytes, self.last_progress)
    }
}
