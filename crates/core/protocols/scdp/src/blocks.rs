//! Which symbols of which blocks a receiver has, and how many more it needs. It does not know where symbols come from:
//! those of several senders count alike.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use pullnet_codes::FailureOdds;

use crate::shape::Cut;

/// Blocks beyond the first incomplete one of which symbols are taken. No sender is further ahead: it goes on to a block only
/// after it has sent the one before.
const WINDOW: u32 = 4_096;

/// A block of which symbols are missing.
#[derive(Clone, Debug)]
struct Block {
    symbols: u32,
    /// Bit i of word w: source symbol 64 w + i is there.
    source: Vec<u64>,
    sources: u32,
    repairs: BTreeSet<u32>,
    /// Uniform in [0, 1): decides, with the odds, how many symbols determine the block.
    draw: f64,
    /// Whether a symbol was lost or trimmed, so that the source symbols alone may not come.
    loss: bool,
    /// Symbols and headers that arrived.
    arrived: u32,
    /// Whether a repair symbol shows that all source symbols were sent.
    closed: bool,
    /// Symbols beyond the source symbols: asked for so far.
    extra: u32,
    /// Payload bytes that were not reported yet.
    unreported: u64,
    decodable: bool,
}

impl Block {
    fn new(symbols: u32, bytes: u64, draw: f64) -> Self {
        Self {
            symbols,
            source: vec![0; symbols.div_ceil(64) as usize],
            sources: 0,
            repairs: BTreeSet::new(),
            draw,
            loss: false,
            arrived: 0,
            closed: false,
            extra: 0,
            unreported: bytes,
            decodable: false,
        }
    }

    fn distinct(&self) -> u32 {
        self.sources + self.repairs.len() as u32
    }

    fn has(&self, esi: u32) -> bool {
        if esi < self.symbols {
            self.source[(esi / 64) as usize] >> (esi % 64) & 1 == 1
        } else {
            self.repairs.contains(&esi)
        }
    }

    fn insert(&mut self, esi: u32) {
        if esi < self.symbols {
            self.source[(esi / 64) as usize] |= 1 << (esi % 64);
            self.sources += 1;
        } else {
            self.repairs.insert(esi);
            (self.loss, self.closed) = (true, true);
        }
    }

    /// Symbols that are still needed: all source symbols or, after a loss, `spare` more than those of the block, and one
    /// more for each time that decoding fails.
    fn needed(&self, spare: u32, odds: FailureOdds) -> u32 {
        if self.decodable || self.sources == self.symbols {
            return 0;
        }
        let (have, want) = (self.distinct(), self.symbols + if self.loss { spare } else { 0 });
        match have.checked_sub(self.symbols) {
            Some(beyond) if have >= want => u32::from(odds.fails(beyond, self.draw)),
            _ => want - have,
        }
    }
}

/// What an arrival changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// The symbol was there before: a copy that nobody asked for.
    Copy,
    /// The block does not need it any more.
    Excess,
    /// It counts.
    Counts {
        /// New payload bytes to report; `None` for a header.
        bytes: Option<u32>,
        /// Pulls that the arrival allows: one, and the spare ones with the first loss of a block.
        allow: u32,
        /// Symbols of the block beyond its source symbols that are to be asked for now.
        extra: u32,
        /// The block became decodable; whether that takes work.
        decoded: Option<bool>,
    },
}

/// The blocks of a session.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    cut: Cut,
    spare: u32,
    odds: FailureOdds,
    /// Number of the first block that is not decodable.
    first: u32,
    /// Blocks from there on; `None` for one of which nothing has arrived.
    open: VecDeque<Option<Block>>,
    /// Symbols that are needed in all.
    needed: u64,
}

impl Blocks {
    pub fn new(cut: Cut, spare: u32, odds: FailureOdds) -> Self {
        let needed = cut.total.map_or(u64::MAX >> 1, u64::from);
        Self { cut, spare, odds, first: 0, open: VecDeque::new(), needed }
    }

    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// The first block that is not decodable.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Symbols that are needed until every block is decodable.
    pub fn needed(&self) -> u64 {
        self.needed
    }

    pub fn complete(&self) -> bool {
        self.first >= self.cut.blocks()
    }

    /// Whether a symbol of this number can have been sent.
    pub fn reaches(&self, block: u32) -> bool {
        block < self.cut.blocks() && block < self.first.saturating_add(WINDOW)
    }

    /// A symbol of `payload` bytes arrives, or its header if it is not `whole`. `draw` gives the block's random number.
    pub fn arrive(
        &mut self,
        block: u32,
        esi: u32,
        payload: u16,
        whole: bool,
        draw: impl FnOnce() -> f64,
    ) -> Change {
        let Some(at) = block.checked_sub(self.first).map(|at| at as usize) else { return Change::Excess };
        if self.open.len() <= at {
            self.open.resize(at + 1, None);
        }
        let (cut, spare, odds) = (self.cut, self.spare, self.odds);
        let entry =
            self.open[at].get_or_insert_with(|| Block::new(cut.symbols(block), cut.bytes(block), draw()));
        if entry.decodable {
            return Change::Excess;
        }
        if entry.has(esi) {
            return Change::Copy;
        }
        let (before, lost_before) = (entry.needed(spare, odds), entry.loss);
        entry.arrived = entry.arrived.saturating_add(1);
        if whole {
            entry.insert(esi);
        } else {
            entry.loss = true;
        }
        let after = entry.needed(spare, odds);
        let first_loss = if !lost_before && entry.loss { spare } else { 0 };
        let failed = whole && after > 0 && entry.loss && entry.distinct() >= entry.symbols + spare;
        let extra = u32::from(!whole || failed) + first_loss;
        entry.extra = entry.extra.saturating_add(extra);
        entry.decodable = after == 0;
        let decoded = entry.decodable.then_some(entry.sources < entry.symbols);
        let bytes = whole.then(|| entry.report(payload));
        self.needed = self.needed + u64::from(after) - u64::from(before);
        self.advance();
        Change::Counts { bytes, allow: 1 + first_loss, extra, decoded }
    }

    /// Lets go of decodable blocks at the front.
    fn advance(&mut self) {
        while self.open.front().is_some_and(|block| block.as_ref().is_some_and(|block| block.decodable)) {
            self.open.pop_front();
            self.first += 1;
        }
    }

    /// What has been asked for of `block` so far beyond its source symbols.
    pub fn extra(&self, block: u32) -> u32 {
        let at = block.checked_sub(self.first).map(|at| at as usize);
        at.and_then(|at| self.open.get(at)?.as_ref()).map_or(0, |block| block.extra)
    }

    /// Nothing is on its way any more: what is missing of blocks that were sent in full was lost. Gives the blocks that
    /// need symbols beyond their source symbols, one entry for each symbol, at most `most`. `draw` gives random numbers for
    /// blocks of which nothing has arrived.
    pub fn lost(&mut self, most: u32, mut draw: impl FnMut() -> f64) -> Vec<u32> {
        let (mut asked, cut, spare, odds) = (Vec::new(), self.cut, self.spare, self.odds);
        let last = self.open.len().saturating_sub(1);
        for (number, entry) in (self.first..).zip(&mut self.open) {
            let passed = number - self.first < last as u32;
            if entry.is_none() && !passed {
                continue;
            }
            let block =
                entry.get_or_insert_with(|| Block::new(cut.symbols(number), cut.bytes(number), draw()));
            let closed = block.closed || passed || block.arrived >= block.symbols;
            let room = most - asked.len() as u32;
            if !closed || block.decodable || room == 0 {
                continue;
            }
            let before = block.needed(spare, odds);
            block.loss = true;
            let needed = block.needed(spare, odds);
            self.needed = self.needed + u64::from(needed) - u64::from(before);
            // What was asked for before and has not arrived is asked for anew.
            block.extra =
                block.extra.max(block.arrived.saturating_sub(block.symbols)).saturating_add(needed.min(room));
            asked.extend((0..needed.min(room)).map(|_| number));
        }
        asked
    }
}

impl Block {
    /// Payload bytes that a new symbol brings. The last byte is kept back until the block is decodable: only then the
    /// application has all of it, whatever symbols it came from.
    fn report(&mut self, payload: u16) -> u32 {
        let keep = u64::from(!self.decodable);
        let bytes =
            if self.decodable { self.unreported } else { u64::from(payload).min(self.unreported - keep) };
        self.unreported -= bytes;
        bytes as u32
    }
}
