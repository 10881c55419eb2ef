//! The receiving half of a session: what an arrival is worth, and how many pulls it earns.

use alloc::collections::VecDeque;

use pullnet_pull::PathSet;
use pullnet_rng::Stream;
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::{Instant, Picos};

use crate::blocks::{Blocks, Change};
use crate::config::Rules;
use crate::header::{ScdpHeader, Symbol};
use crate::shape::Cut;

/// A timeout doubles this many times at most.
const MAX_DOUBLINGS: u32 = 6;
/// Timeouts at least before a silent sender is forgotten.
const LEAST_TIMEOUTS: u64 = 32;

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    pub priority: u8,
    blocks: Blocks,
    /// Symbols of the first window.
    window: u32,
    /// Symbols that should be on their way.
    expected: u32,
    /// Pulls that wait in the host's pull queue.
    pub pending: u32,
    /// Blocks that the next pulls ask for symbols of, beyond the source symbols.
    directed: VecDeque<u32>,
    /// Pulls sent: the number of the last one.
    pulled: u32,
    /// Bytes on the wire of a full symbol: what a pull will bring.
    pub wire: u16,
    paths: PathSet,
    pub bytes: u64,
    pub last_progress: Instant,
    last_heard: Instant,
    /// When a symbol arrived or a pull left.
    last_moved: Instant,
    timeouts: u32,
    /// A pull whose round trip is being measured, and when it left.
    timed: Option<(u32, Instant)>,
    /// Mean and deviation of round trips of pulls. Unit: ps.
    round_trip: (u64, u64),
    /// When the host has decoded all blocks that lost a symbol.
    decoded_at: Instant,
    /// When its timer will be looked at.
    pub armed: Instant,
}

/// What an arrival means to the host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Arrival {
    /// New payload.
    pub bytes: Option<u32>,
    /// Pulls to be added to the pull queue.
    pub add: u32,
    /// Pulls to be taken out of it.
    pub remove: u32,
}

impl Receiver {
    pub fn open(
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        (symbol, cut): (&Symbol, Cut),
        paths: u16,
        rules: &Rules,
        chance: &mut Stream,
    ) -> Self {
        Self {
            peer,
            conn,
            priority: symbol.priority,
            blocks: Blocks::new(cut, rules.spare, rules.odds),
            window: symbol.pushed.max(1).into(),
            expected: symbol.pushed.into(),
            pending: 0,
            directed: VecDeque::new(),
            pulled: 0,
            wire: symbol.shape.symbol.saturating_add(rules.header),
            paths: PathSet::new(paths, rules.spread, false, chance),
            bytes: 0,
            last_progress: now,
            last_heard: now,
            last_moved: now,
            timeouts: 0,
            timed: None,
            round_trip: (0, 0),
            decoded_at: now,
            armed: Instant::NEVER,
        }
    }

    /// Whether the symbol can be one of this session.
    pub fn accepts(&self, symbol: &Symbol, payload: u16) -> bool {
        let cut = self.blocks.cut();
        symbol.shape == cut.shape
            && self.blocks.reaches(symbol.block)
            && payload == cut.payload(symbol.block, symbol.esi)
    }

    pub fn complete(&self) -> bool {
        self.blocks.complete()
    }

    /// When the last block is decoded.
    pub fn decoded_at(&self) -> Instant {
        self.decoded_at
    }

    /// A symbol arrives, or its header. Each makes room for a pull while more is needed than is on its way.
    pub fn on_symbol(
        &mut self,
        now: Instant,
        (symbol, payload, whole): (&Symbol, u16, bool),
        rules: &Rules,
        chance: &mut Stream,
    ) -> Arrival {
        (self.last_heard, self.priority) = (now, symbol.priority);
        let change = self.blocks.arrive(symbol.block, symbol.esi, payload, whole, || chance.unit());
        if change == Change::Copy {
            return Arrival::default();
        }
        self.measure(now, symbol);
        if !symbol.unasked() {
            self.expected = self.expected.saturating_sub(1);
        }
        (self.last_moved, self.timeouts) = (now, 0);
        let Change::Counts { bytes, allow, extra, decoded } = change else { return self.settle(1, None) };
        self.directed.extend((0..extra).map(|_| symbol.block));
        if let Some(new) = bytes {
            self.last_progress = now;
            self.bytes += u64::from(new);
        }
        if decoded == Some(true) {
            // A host decodes one block after the other while further ones arrive.
            let cut = self.blocks.cut();
            let time = rules.decode_time(cut.symbols(symbol.block), cut.shape.symbol);
            self.decoded_at = self.decoded_at.max(now).after(time);
        }
        self.settle(allow, bytes)
    }

    /// Adds at most `allow` pulls while more is needed than is on its way or asked for, and takes back those beyond it.
    fn settle(&mut self, allow: u32, bytes: Option<u32>) -> Arrival {
        let (needed, wanted) = (self.blocks.needed(), u64::from(self.expected) + u64::from(self.pending));
        let add = u64::from(allow).min(needed.saturating_sub(wanted)) as u32;
        let remove = u64::from(self.pending).min(wanted.saturating_sub(needed)) as u32;
        self.pending = self.pending + add - remove;
        Arrival { bytes, add, remove }
    }

    /// Mean and deviation of the round trip, from one pull at a time (RFC 6298).
    fn measure(&mut self, now: Instant, symbol: &Symbol) {
        let Some((number, left)) = self.timed else { return };
        if symbol.served.wrapping_sub(number) > u32::MAX / 2 {
            return;
        }
        self.timed = None;
        let (sample, (mean, deviation)) = (now.since(left).0, self.round_trip);
        self.round_trip = match mean {
            0 => (sample, sample / 2),
            _ => (mean - mean / 8 + sample / 8, deviation - deviation / 4 + mean.abs_diff(sample) / 4),
        };
    }

    /// The pull that leaves now.
    pub fn next_pull(&mut self, now: Instant) -> ScdpHeader {
        self.pending -= 1;
        self.pulled = self.pulled.wrapping_add(1);
        self.expected = self.expected.saturating_add(1);
        self.last_moved = now;
        if self.timed.is_none() {
            self.timed = Some((self.pulled, now));
        }
        let first = self.blocks.first();
        let directed = core::iter::from_fn(|| self.directed.pop_front()).find(|block| *block >= first);
        let block = directed.unwrap_or(first);
        let fin = self.pending == 0 && u64::from(self.expected) >= self.blocks.needed();
        let extra = self.blocks.extra(block);
        ScdpHeader::Pull { conn: self.conn, number: self.pulled, first, block, extra, fin }
    }

    /// A path for a control packet.
    pub fn control_path(&mut self, chance: &mut Stream) -> u16 {
        self.paths.next(chance)
    }

    /// When something has to happen without an arrival.
    pub fn due(&self, rules: &Rules) -> Instant {
        if self.complete() {
            return self.decoded_at;
        }
        let silence = self.last_heard.after(rules.give_up.saturating_mul(2));
        if self.pending > 0 { silence } else { silence.min(self.stalled_at(rules)) }
    }

    /// When what is on its way must have been lost.
    fn stalled_at(&self, rules: &Rules) -> Instant {
        let (mean, deviation) = self.round_trip;
        let patience = rules.timeout.max(Picos(mean.saturating_add(deviation.saturating_mul(4))));
        let most = patience.max(Picos(rules.give_up.0 / LEAST_TIMEOUTS));
        self.last_moved.after(patience.saturating_mul(1 << self.timeouts.min(MAX_DOUBLINGS)).min(most))
    }

    /// Whether the sender was silent for so long that the session is forgotten.
    pub fn is_silent(&self, now: Instant, rules: &Rules) -> bool {
        now >= self.last_heard.after(rules.give_up.saturating_mul(2))
    }

    /// The simple timeout: everything on its way was lost, and is pulled again, a first window at most. Returns the pulls to
    /// be added to the pull queue.
    pub fn on_timeout(&mut self, now: Instant, chance: &mut Stream) -> u32 {
        self.timeouts = self.timeouts.saturating_add(1);
        (self.expected, self.last_moved, self.timed) = (0, now, None);
        self.directed = self.blocks.lost(self.window, || chance.unit()).into();
        self.settle(self.window, None).add
    }
}
