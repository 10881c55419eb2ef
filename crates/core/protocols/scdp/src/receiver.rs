//! The receiving half of a session: effect of an arrival, and the pulls that it earns.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use pullnet_pull::PathSet;
use pullnet_rng::RandomStream;
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::{Instant, Picos, WireLen};

use crate::blocks::{Blocks, Change, Piece};
use crate::config::Rules;
use crate::header::{ScdpHeader, Symbol};
use crate::shape::Cut;

/// Largest number of times that a timeout doubles.
const MAX_DOUBLINGS: u32 = 6;
/// Least number of timeouts before the receiver forgets a silent sender.
const LEAST_TIMEOUTS: u64 = 32;

/// A sender of the session's data.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub peer: HostAddr,
    paths: PathSet,
    /// Symbols that should be in flight.
    expected: u32,
    /// Pulls sent: the number of the last one.
    pulled: u32,
    last_heard: Instant,
    /// With several senders: repair symbols pulled from this sender, by block.
    extra: BTreeMap<u32, u32>,
}

impl Source {
    fn new(
        now: Instant,
        (peer, paths): (HostAddr, u16),
        pushed: u16,
        rules: &Rules,
        chance: &mut RandomStream,
    ) -> Self {
        let paths = PathSet::new(paths, rules.spread, false, chance);
        Self { peer, paths, expected: pushed.into(), pulled: 0, last_heard: now, extra: BTreeMap::new() }
    }

    /// A path for a control packet.
    pub fn path(&mut self, chance: &mut RandomStream) -> u16 {
        self.paths.next(chance)
    }
}

/// Key of a session with several senders, which all know its number.
const ANY: HostAddr = HostAddr(u32::MAX);

/// Key of a session: the address of its sender, or [`ANY`].
pub(crate) fn key(from: HostAddr, symbol: &Symbol) -> HostAddr {
    if symbol.share.of() > 1 { ANY } else { from }
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Key of the session, see [`key`].
    pub key: HostAddr,
    pub conn: ConnId,
    /// The senders heard from, at least one.
    pub sources: Vec<Source>,
    /// Number of senders, those not heard from included.
    of: u16,
    /// With several senders: for each of the `pending` pulls, the number of its sender.
    turns: VecDeque<u16>,
    pub priority: u8,
    blocks: Blocks,
    /// Symbols in the initial window, over all senders.
    window: u32,
    /// Pulls in the host's pull queue.
    pub pending: u32,
    /// Blocks whose repair symbols the next pulls request.
    directed: VecDeque<u32>,
    /// Bytes on the wire of a full symbol, which the pacer assumes for each pull.
    pub wire: WireLen,
    pub bytes: u64,
    pub last_progress: Instant,
    last_heard: Instant,
    /// When a symbol arrived or a pull left.
    last_moved: Instant,
    timeouts: u32,
    /// The pull whose round trip is being measured: its number, its sender, and when it left.
    timed: Option<(u32, usize, Instant)>,
    /// Mean and deviation of round trips of pulls. Unit: ps.
    round_trip: (u64, u64),
    /// When the host has decoded all blocks that lost a symbol.
    decoded_at: Instant,
    /// Time of its latest timer entry.
    pub armed: Instant,
}

/// Effect of an arrival on the host's events and pull queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Arrival {
    /// New payload.
    pub bytes: Option<u32>,
    /// Pulls to add to the pull queue.
    pub add: u32,
    /// Pulls to remove from the pull queue.
    pub remove: u32,
}

impl Receiver {
    pub fn open(
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        (symbol, cut): (&Symbol, Cut),
        paths: u16,
        rules: &Rules,
        chance: &mut RandomStream,
    ) -> Self {
        Self {
            key: key(peer, symbol),
            conn,
            sources: vec![Source::new(now, (peer, paths), symbol.pushed, rules, chance)],
            of: symbol.share.of(),
            turns: VecDeque::new(),
            priority: symbol.priority,
            blocks: Blocks::new(cut, rules),
            window: symbol.pushed.max(1).into(),
            pending: 0,
            directed: VecDeque::new(),
            wire: WireLen::new(symbol.shape.symbol.saturating_add(rules.header)),
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

    /// Whether the symbol can belong to this session.
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

    /// Number of the sender `from`, which is added if it is new; `None` if all senders are known already.
    fn source(
        &mut self,
        now: Instant,
        (from, paths): (HostAddr, u16),
        pushed: u16,
        rules: &Rules,
        chance: &mut RandomStream,
    ) -> Option<usize> {
        let known = self.sources.iter().position(|source| source.peer == from);
        if known.is_none() && self.sources.len() < self.of.into() {
            self.sources.push(Source::new(now, (from, paths), pushed, rules, chance));
            self.window += u32::from(pushed);
            return Some(self.sources.len() - 1);
        }
        known
    }

    /// Handles a symbol, or its header, that arrives from `peer`. Each earns a pull while more symbols are needed than are
    /// in flight.
    pub fn on_symbol(
        &mut self,
        now: Instant,
        peer: (HostAddr, u16),
        (symbol, piece): (&Symbol, Piece),
        rules: &Rules,
        chance: &mut RandomStream,
    ) -> Arrival {
        let Some(from) = self.source(now, peer, symbol.pushed, rules, chance) else {
            return Arrival::default();
        };
        self.sources[from].last_heard = now;
        (self.last_heard, self.priority) = (now, symbol.priority);
        let change = self.blocks.arrive(symbol.block, symbol.esi, piece, || chance.unit());
        if change == Change::Copy {
            return Arrival::default();
        }
        self.measure(now, symbol, from);
        if !symbol.unasked() {
            self.sources[from].expected = self.sources[from].expected.saturating_sub(1);
            // A probe says nothing about symbols in flight. Probes that come more often than a round trip takes would
            // postpone the timeout for ever, and their sender would give up.
            (self.last_moved, self.timeouts) = (now, 0);
        }
        let Change::Counts { bytes, allow, extra, decoded } = change else {
            return self.settle(1, None, from);
        };
        self.directed.extend((0..extra).map(|_| symbol.block));
        if let Some(new) = bytes {
            self.last_progress = now;
            self.bytes += u64::from(new);
        }
        if decoded == Some(true) {
            // A host decodes one block at a time while further ones arrive.
            let cut = self.blocks.cut();
            let time = rules.decode_time(cut.symbols(symbol.block), cut.shape.symbol);
            self.decoded_at = self.decoded_at.max(now).after(time);
        }
        self.settle(allow, bytes, from)
    }

    /// Symbols that should be in flight, over all senders.
    fn expected(&self) -> u64 {
        self.sources.iter().map(|source| u64::from(source.expected)).sum()
    }

    /// Matches the number of pending pulls to the symbols that are neither in flight nor already requested: adds at most
    /// `allow` pulls to the sender number `from`, or removes those in excess.
    fn settle(&mut self, allow: u32, bytes: Option<u32>, from: usize) -> Arrival {
        let (needed, wanted) = (self.blocks.needed(), self.expected() + u64::from(self.pending));
        let add = u64::from(allow).min(needed.saturating_sub(wanted)) as u32;
        let remove = u64::from(self.pending).min(wanted.saturating_sub(needed)) as u32;
        self.pending = self.pending + add - remove;
        if self.of > 1 {
            self.turns.extend((0..add).map(|_| from as u16));
            self.turns.truncate(self.pending as usize);
        }
        Arrival { bytes, add, remove }
    }

    /// Updates mean and deviation of the round trip, measured on one pull at a time (RFC 6298).
    fn measure(&mut self, now: Instant, symbol: &Symbol, from: usize) {
        let Some((number, asked, left)) = self.timed else { return };
        if asked != from || symbol.served.wrapping_sub(number) > u32::MAX / 2 {
            return;
        }
        self.timed = None;
        let (sample, (mean, deviation)) = (now.since(left).0, self.round_trip);
        self.round_trip = match mean {
            0 => (sample, sample / 2),
            _ => (mean - mean / 8 + sample / 8, deviation - deviation / 4 + mean.abs_diff(sample) / 4),
        };
    }

    /// Returns the pull that leaves now and the number of the sender it goes to.
    pub fn next_pull(&mut self, now: Instant) -> (ScdpHeader, usize) {
        self.pending -= 1;
        let to = self.turns.pop_front().map_or(0, usize::from);
        let source = &mut self.sources[to];
        source.pulled = source.pulled.wrapping_add(1);
        source.expected = source.expected.saturating_add(1);
        self.last_moved = now;
        if self.timed.is_none() {
            self.timed = Some((source.pulled, to, now));
        }
        let first = self.blocks.first();
        let directed = core::iter::from_fn(|| self.directed.pop_front()).find(|block| *block >= first);
        let block = directed.unwrap_or(first);
        if self.of > 1 {
            source.extra = source.extra.split_off(&first);
            *source.extra.entry(block).or_default() += u32::from(directed.is_some());
        }
        (self.pull(to, block), to)
    }

    /// The latest pull to sender number `to`, with the repair symbols of `block` pulled so far.
    fn pull(&self, to: usize, block: u32) -> ScdpHeader {
        let source = &self.sources[to];
        // Pulls to each of several senders count only the repair symbols requested from it.
        let own = || source.extra.get(&block).copied().unwrap_or(0);
        let extra = if self.of > 1 { own() } else { self.blocks.extra(block) };
        let fin = self.pending == 0 && self.expected() >= self.blocks.needed();
        let (first, number) = (self.blocks.first(), source.pulled);
        ScdpHeader::Pull { conn: self.conn, number, first, block, extra, fin }
    }

    /// The latest pull to the sender `peer`, and a path for it.
    pub fn latest_pull(&mut self, peer: HostAddr, chance: &mut RandomStream) -> Option<(ScdpHeader, u16)> {
        let to = self.sources.iter().position(|source| source.peer == peer)?;
        Some((self.pull(to, self.blocks.first()), self.sources[to].path(chance)))
    }

    /// Next deadline: end of decoding, timeout, or the end of a silent session.
    pub fn due(&self, rules: &Rules) -> Instant {
        if self.complete() {
            return self.decoded_at;
        }
        let silence = self.last_heard.after(rules.give_up.saturating_mul(2));
        if self.pending > 0 { silence } else { silence.min(self.stalled_at(rules)) }
    }

    /// When symbols in flight count as lost.
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

    /// Handles the simple timeout: everything in flight counts as lost. Pulls at most an initial window again, from the
    /// senders heard from last. Returns the pulls to add to the pull queue.
    pub fn on_timeout(&mut self, now: Instant, rules: &Rules, chance: &mut RandomStream) -> u32 {
        self.timeouts = self.timeouts.saturating_add(1);
        (self.last_moved, self.timed) = (now, None);
        self.sources.iter_mut().for_each(|source| source.expected = 0);
        self.directed = self.blocks.lost(self.window, || chance.unit()).into();
        // A sender that was silent while others were not may have crashed. From the second timeout on, all get pulls.
        let latest = self.sources.iter().map(|source| source.last_heard).max().unwrap_or(now);
        let alive = |source: &Source| self.timeouts > 1 || latest <= source.last_heard.after(rules.timeout);
        let from: Vec<_> = (0..self.sources.len()).filter(|at| alive(&self.sources[*at])).collect();
        let (mut added, mut window) = (0, self.window);
        while window > 0 {
            for from in &from {
                added += self.settle(window.min(1), None, *from).add;
                window = window.saturating_sub(1);
            }
        }
        added
    }
}
