//! The symbols that a receiver has, by block, and the number that it still needs. Symbols of several senders count alike.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use pullnet_codes::FailureOdds;

use crate::config::Rules;
use crate::shape::Cut;

/// Blocks from the first incomplete one on whose symbols are accepted. No sender is further ahead, because it sends blocks
/// in order.
const WINDOW: u32 = 4_096;

/// A block that may still lack symbols.
#[derive(Clone, Debug)]
struct Block {
    symbols: u32,
    /// Bit i of word w: source symbol 64 w + i has arrived.
    source: Vec<u64>,
    sources: u32,
    repairs: BTreeSet<u32>,
    /// Uniform in [0, 1): decides, with the odds, how many symbols determine the block.
    draw: f64,
    /// Symbols that are known not to determine the block; 0 if a real decoder has not failed.
    dependent: u32,
    /// Whether a symbol was lost or trimmed, so that the source symbols alone may not suffice.
    loss: bool,
    /// Symbols and trimmed headers that arrived.
    arrived: u32,
    /// Whether a repair symbol shows that all source symbols were sent.
    closed: bool,
    /// Repair symbols pulled so far.
    extra: u32,
    /// Payload bytes not reported yet.
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
            dependent: 0,
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

    /// Symbols that are still needed: the source symbols; after a loss, any K + `spare`, and one more for each time that
    /// decoding fails.
    fn needed(&self, spare: u32, odds: FailureOdds) -> u32 {
        if self.decodable || self.sources == self.symbols {
            return 0;
        }
        let (have, want) = (self.distinct(), self.symbols + if self.loss { spare } else { 0 });
        match have.checked_sub(self.symbols) {
            Some(beyond) if have >= want => {
                u32::from(have <= self.dependent || odds.fails(beyond, self.draw))
            }
            _ => want - have,
        }
    }
}

/// A symbol as it arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// Bytes of the symbol when it was sent.
    pub payload: u16,
    /// Whether it arrived whole; otherwise only its header did.
    pub whole: bool,
    /// Whether a real decoder has found that the symbols of the block so far do not determine it.
    pub dependent: bool,
}

/// Effect of an arrival on a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// A duplicate.
    Copy,
    /// The block is already decodable.
    Excess,
    /// A new symbol, or a trimmed one, of a block that is not decodable.
    Counts {
        /// New payload bytes to report; `None` for a header.
        bytes: Option<u32>,
        /// Pulls that the arrival allows: one, plus `spare` at the first loss of a block.
        allow: u32,
        /// Repair symbols of the block to pull now.
        extra: u32,
        /// Set if the block became decodable: whether it needs decoding, because a source symbol is missing.
        decoded: Option<bool>,
    },
}

/// The blocks of a session.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    cut: Cut,
    spare: u32,
    odds: FailureOdds,
    /// Whether equal symbols may come of random ids, so that a second one is a lost one and no copy.
    random: bool,
    /// Number of the first block that is not decodable.
    first: u32,
    /// Blocks from `first` on; `None` if nothing of the block has arrived.
    open: VecDeque<Option<Block>>,
    /// Symbols still needed, over all blocks.
    needed: u64,
}

impl Blocks {
    pub fn new(cut: Cut, rules: &Rules) -> Self {
        let needed = cut.total.map_or(u64::MAX >> 1, u64::from);
        let (spare, odds, random) = (rules.spare, rules.odds, rules.random_repair);
        Self { cut, spare, odds, random, first: 0, open: VecDeque::new(), needed }
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

    /// Whether a symbol of this block can have been sent.
    pub fn reaches(&self, block: u32) -> bool {
        block < self.cut.blocks() && block < self.first.saturating_add(WINDOW)
    }

    /// Handles a symbol, or its header if it was trimmed. `draw` gives the block's random number.
    pub fn arrive(&mut self, block: u32, esi: u32, piece: Piece, draw: impl FnOnce() -> f64) -> Change {
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
        let again = entry.has(esi);
        if again && (!self.random || esi < entry.symbols) {
            return Change::Copy;
        }
        let whole = piece.whole && !again;
        let (before, lost_before) = (entry.needed(spare, odds), entry.loss);
        entry.arrived = entry.arrived.saturating_add(1);
        if whole {
            entry.insert(esi);
            if piece.dependent {
                entry.dependent = entry.distinct();
            }
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
        let bytes = whole.then(|| entry.report(piece.payload));
        self.needed = self.needed + u64::from(after) - u64::from(before);
        self.advance();
        Change::Counts { bytes, allow: 1 + first_loss, extra, decoded }
    }

    /// Drops decodable blocks at the front.
    fn advance(&mut self) {
        while self.open.front().is_some_and(|block| block.as_ref().is_some_and(|block| block.decodable)) {
            self.open.pop_front();
            self.first += 1;
        }
    }

    /// Repair symbols of `block` pulled so far.
    pub fn extra(&self, block: u32) -> u32 {
        let at = block.checked_sub(self.first).map(|at| at as usize);
        at.and_then(|at| self.open.get(at)?.as_ref()).map_or(0, |block| block.extra)
    }

    /// Handles a timeout: nothing is in flight any more, so missing symbols of blocks that were sent in full are lost.
    /// Returns a block number for each repair symbol to pull, at most `most`. `draw` gives random numbers for blocks that
    /// have no symbol yet.
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
            // Symbols pulled earlier that have not arrived are pulled again.
            block.extra =
                block.extra.max(block.arrived.saturating_sub(block.symbols)).saturating_add(needed.min(room));
            asked.extend((0..needed.min(room)).map(|_| number));
        }
        asked
    }
}

impl Block {
    /// Payload bytes to report for a new symbol. The last byte is withheld until the block is decodable, because only then
    /// does the application have the whole block.
    fn report(&mut self, payload: u16) -> u32 {
        let keep = u64::from(!self.decodable);
        let bytes =
            if self.decodable { self.unreported } else { u64::from(payload).min(self.unreported - keep) };
        self.unreported -= bytes;
        bytes as u32
    }
}
