use pullnet_codes::{MAX_SYMBOLS, Partition, partition};

/// Sizes of a session's data, blocks and symbols. Every symbol carries them, so that any symbol opens the session.
///
/// Blocks are numbered with 32 bits: an object of RFC 6330 has 256 at most, and a longer flow is a sequence of objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Payload bytes in all; `None`: a flow that never ends.
    pub bytes: Option<u64>,
    /// Bytes of a symbol.
    pub symbol: u16,
    /// Largest number of source symbols in a block.
    pub most: u16,
}

/// Partition of the data that a valid [`Shape`] implies: that of RFC 6330, section 4.4.1, with one sub-block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The sizes that it follows from.
    pub shape: Shape,
    /// Symbols in all; `None` without an end.
    pub total: Option<u32>,
    /// Sizes of the blocks; `None` without an end: all blocks then have the largest size.
    sizes: Option<Partition>,
}

impl Cut {
    /// `None` for zero bytes, an invalid symbol or block size, and more than 2^32 - 2 symbols.
    pub fn new(shape: Shape) -> Option<Self> {
        if shape.symbol == 0
            || shape.most == 0
            || u32::from(shape.most) > MAX_SYMBOLS
            || shape.bytes == Some(0)
        {
            return None;
        }
        let Some(bytes) = shape.bytes else { return Some(Self { shape, total: None, sizes: None }) };
        let total =
            u32::try_from(bytes.div_ceil(u64::from(shape.symbol))).ok().filter(|total| *total < u32::MAX)?;
        let sizes = partition(total, total.div_ceil(shape.most.into()))?;
        Some(Self { shape, total: Some(total), sizes: Some(sizes) })
    }

    /// Number of blocks; `u32::MAX` without an end.
    pub fn blocks(&self) -> u32 {
        self.sizes.map_or(u32::MAX, |sizes| sizes.long_parts + sizes.short_parts)
    }

    /// Source symbols of block `number`.
    pub fn symbols(&self, number: u32) -> u32 {
        match self.sizes {
            None => self.shape.most.into(),
            Some(sizes) if number < sizes.long_parts => sizes.long,
            Some(sizes) => sizes.short,
        }
    }

    /// Payload bytes of block `number`: the last one may end with a short symbol.
    pub fn bytes(&self, number: u32) -> u64 {
        let full = u64::from(self.symbols(number)) * u64::from(self.shape.symbol);
        if number + 1 == self.blocks() { full - self.padding() } else { full }
    }

    /// Payload bytes of the blocks before block `number`, which is not beyond the last one.
    pub fn bytes_before(&self, number: u32) -> u64 {
        let all_long = u64::from(number) * u64::from(self.shape.most);
        let symbols = self.sizes.map_or(all_long, |sizes| sizes.start(number));
        symbols * u64::from(self.shape.symbol)
    }

    /// Bytes by which the last source symbol is shorter than the others.
    fn padding(&self) -> u64 {
        let (Some(total), Some(bytes)) = (self.total, self.shape.bytes) else { return 0 };
        u64::from(total) * u64::from(self.shape.symbol) - bytes
    }

    /// Bytes of symbol `esi` of block `number` on the wire: padding is not sent.
    pub fn payload(&self, number: u32, esi: u32) -> u16 {
        let last = number + 1 == self.blocks() && esi + 1 == self.symbols(number);
        self.shape.symbol - if last { self.padding() as u16 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_blocks_add_up() {
        for bytes in [Some(1), Some(99_999), Some(1_234_567), Some(20_000_001), None] {
            let cut = Cut::new(Shape { bytes, symbol: 1000, most: 100 }).unwrap();
            for number in 0..cut.blocks().min(300) {
                let sum: u64 = (0..number).map(|block| cut.bytes(block)).sum();
                assert_eq!(cut.bytes_before(number), sum, "{bytes:?} before {number}");
            }
        }
    }
}
