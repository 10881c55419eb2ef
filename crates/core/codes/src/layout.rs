use crate::error::{CodeError, check_symbols};
use crate::limits::{MAX_BLOCKS, MAX_SYMBOL_BYTES};
use crate::table2::padded_symbols_at_most;

/// `Partition[I, J]` of RFC 6330, section 4.4.1.2: `I` things in `J` parts whose sizes differ by at most one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Size of the first `long_parts` parts.
    pub long: u32,
    /// Size of all other parts.
    pub short: u32,
    /// Parts of size `long`.
    pub long_parts: u32,
    /// Parts of size `short`.
    pub short_parts: u32,
}

impl Partition {
    /// Size of part `index`.
    fn size(self, index: u32) -> u32 {
        if index < self.long_parts { self.long } else { self.short }
    }

    /// Sum of the sizes of the parts before `index`.
    pub fn start(self, index: u32) -> u64 {
        let long = index.min(self.long_parts);
        u64::from(long) * u64::from(self.long) + u64::from(index - long) * u64::from(self.short)
    }
}

/// `Partition[things, parts]`; `None` without parts.
pub fn partition(things: u32, parts: u32) -> Option<Partition> {
    let short = things.checked_div(parts)?;
    let long_parts = things - short * parts;
    Some(Partition { long: things.div_ceil(parts), short, long_parts, short_parts: parts - long_parts })
}

/// How an object is cut into source blocks, symbols and sub-blocks: F, T, Z, N and Al of RFC 6330, section 3.3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    bytes: u64,
    symbol: u16,
    blocks: u16,
    sub_blocks: u16,
    alignment: u8,
    symbols: Partition,
    total: u32,
}

/// A source block of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Where its bytes begin in the object.
    pub offset: u64,
    /// Bytes; the last symbol of the last block is padded with zeros.
    pub bytes: u64,
    /// Source symbols K.
    pub symbols: u32,
    /// Bytes of a symbol.
    pub symbol: u16,
    /// Sizes of the sub-symbols of a symbol, in units of `alignment`.
    pub(crate) sub: Partition,
    /// Unit of `sub`. Unit: bytes.
    pub(crate) alignment: u8,
}

impl Layout {
    /// An object of `bytes` in `blocks` source blocks with symbols of `symbol` bytes, which lie in `sub_blocks`
    /// sub-blocks aligned to `alignment` bytes.
    pub fn new(
        bytes: u64,
        symbol: u32,
        blocks: u32,
        sub_blocks: u16,
        alignment: u8,
    ) -> Result<Self, CodeError> {
        let symbol = match u16::try_from(symbol) {
            Ok(size) if size > 0 => size,
            _ => return Err(CodeError::SymbolSize(symbol)),
        };
        if alignment == 0 || !symbol.is_multiple_of(u16::from(alignment)) {
            return Err(CodeError::Alignment { size: u32::from(symbol), alignment });
        }
        let units = u32::from(symbol) / u32::from(alignment);
        if sub_blocks == 0 || u32::from(sub_blocks) > units {
            return Err(CodeError::SubBlocks { sub_blocks, units });
        }
        if bytes == 0 {
            return Err(CodeError::Empty);
        }
        let total = bytes.div_ceil(u64::from(symbol));
        if blocks == 0 || blocks > MAX_BLOCKS || u64::from(blocks) > total {
            return Err(CodeError::Blocks { blocks: u64::from(blocks), symbols: total });
        }
        check_symbols(total.div_ceil(u64::from(blocks)))?;
        let (total, blocks) = (total as u32, blocks as u16);
        let symbols = partition(total, u32::from(blocks)).ok_or(CodeError::Empty)?;
        Ok(Self { bytes, symbol, blocks, sub_blocks, alignment, symbols, total })
    }

    /// One sub-block per block, and as few blocks of at most `most` symbols as possible, of nearly equal size.
    pub fn with_blocks_of(bytes: u64, symbol: u32, most: u32) -> Result<Self, CodeError> {
        let (symbol, most) = (symbol.max(1), check_symbols(u64::from(most))?);
        let total = bytes.div_ceil(u64::from(symbol));
        let blocks = total.div_ceil(u64::from(most)).max(1);
        let few = u32::try_from(blocks).map_err(|_| CodeError::Blocks { blocks, symbols: total })?;
        Self::new(bytes, symbol, few, 1, 1)
    }

    /// The derivation of RFC 6330, section 4.3: an object of `bytes`, packets with `payload` bytes, `alignment` Al,
    /// sub-symbols of at least `sub_symbol` aligned units (SS) where that is possible, and a receiver that decodes a
    /// sub-block in `memory` bytes (WS).
    pub fn derive(
        bytes: u64,
        payload: u32,
        alignment: u8,
        sub_symbol: u32,
        memory: u64,
    ) -> Result<Self, CodeError> {
        let unit = u32::from(alignment).max(1);
        let symbol = payload.min(MAX_SYMBOL_BYTES) / unit * unit;
        if symbol == 0 || payload > MAX_SYMBOL_BYTES || alignment == 0 {
            return Err(CodeError::SymbolSize(payload));
        }
        let most_sub_blocks = (symbol / sub_symbol.max(1).saturating_mul(unit)).max(1);
        // KL(n): the largest block whose sub-blocks fit into the memory.
        let fits = |sub_blocks: u32| {
            let sub = u64::from(unit) * u64::from(symbol.div_ceil(unit * sub_blocks));
            padded_symbols_at_most(memory / sub)
        };
        let Some(largest) = fits(most_sub_blocks) else {
            let least = 10 * u64::from(unit) * u64::from(symbol.div_ceil(unit * most_sub_blocks));
            return Err(CodeError::WorkingMemory { memory, least });
        };
        let total = bytes.div_ceil(u64::from(symbol));
        let blocks = total.div_ceil(u64::from(largest)).max(1);
        if blocks > u64::from(MAX_BLOCKS) {
            return Err(CodeError::Blocks { blocks, symbols: total });
        }
        let block = total.div_ceil(blocks);
        let enough = |n: &u32| fits(*n).is_some_and(|most| block <= u64::from(most));
        let sub_blocks = (1..=most_sub_blocks).find(enough).unwrap_or(most_sub_blocks);
        Self::new(bytes, symbol, blocks as u32, sub_blocks as u16, alignment)
    }

    /// Bytes of the object (F).
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of a symbol (T).
    pub fn symbol(&self) -> u16 {
        self.symbol
    }

    /// Source blocks (Z).
    pub fn blocks(&self) -> u16 {
        self.blocks
    }

    /// Sub-blocks of a source block (N).
    pub fn sub_blocks(&self) -> u16 {
        self.sub_blocks
    }

    /// Source symbols of all blocks (Kt).
    pub fn total_symbols(&self) -> u32 {
        self.total
    }

    /// Sizes of the blocks: `Partition[Kt, Z]`.
    pub fn block_sizes(&self) -> Partition {
        self.symbols
    }

    /// Sizes of sub-symbols in aligned units: `Partition[T/Al, N]`.
    pub fn sub_symbol_sizes(&self) -> Partition {
        let units = u32::from(self.symbol) / u32::from(self.alignment);
        let parts = u32::from(self.sub_blocks);
        partition(units, parts).unwrap_or(Partition {
            long: units,
            short: units,
            long_parts: 0,
            short_parts: 1,
        })
    }

    /// Source block number `sbn`.
    pub fn block(&self, sbn: u32) -> Result<Block, CodeError> {
        if sbn >= u32::from(self.blocks) {
            return Err(CodeError::NoSuchBlock { sbn, blocks: self.blocks });
        }
        let symbols = self.symbols.size(sbn);
        let offset = self.symbols.start(sbn) * u64::from(self.symbol);
        let bytes = (u64::from(symbols) * u64::from(self.symbol)).min(self.bytes - offset);
        let (sub, alignment) = (self.sub_symbol_sizes(), self.alignment);
        Ok(Block { offset, bytes, symbols, symbol: self.symbol, sub, alignment })
    }
}

impl Block {
    /// Visits the pieces of the block as (where in the symbols, where in the block, bytes): sub-symbols of a symbol are
    /// neighbours in the symbol, and sub-symbols of a sub-block are neighbours in the block (section 4.4.1.2).
    #[cfg(feature = "codec")]
    fn pieces(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let (symbols, symbol) = (self.symbols as usize, usize::from(self.symbol));
        let (mut in_symbol, mut in_block) = (0, 0);
        for sub_block in 0..self.sub.long_parts + self.sub.short_parts {
            let size = self.sub.size(sub_block) as usize * usize::from(self.alignment);
            for index in 0..symbols {
                visit(index * symbol + in_symbol, in_block + index * size, size);
            }
            in_symbol += size;
            in_block += size * symbols;
        }
    }

    /// The symbols of a block, one after the other.
    #[cfg(feature = "codec")]
    pub(crate) fn symbols_of(&self, data: &[u8]) -> alloc::vec::Vec<u8> {
        let mut padded = data.to_vec();
        padded.resize(self.symbols as usize * usize::from(self.symbol), 0);
        if self.sub.long_parts + self.sub.short_parts == 1 {
            return padded;
        }
        let mut symbols = alloc::vec![0; padded.len()];
        self.pieces(|to, from, size| symbols[to..to + size].copy_from_slice(&padded[from..from + size]));
        symbols
    }

    /// The block of its symbols.
    #[cfg(feature = "codec")]
    pub(crate) fn data_of(&self, mut symbols: alloc::vec::Vec<u8>) -> alloc::vec::Vec<u8> {
        if self.sub.long_parts + self.sub.short_parts > 1 {
            let mut data = alloc::vec![0; symbols.len()];
            self.pieces(|from, to, size| data[to..to + size].copy_from_slice(&symbols[from..from + size]));
            symbols = data;
        }
        symbols.truncate(self.bytes as usize);
        symbols
    }
}
