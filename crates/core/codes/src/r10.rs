//! R10 (RFC 5053), the predecessor of RaptorQ over GF(2): a reference for the comparison of codes.

use alloc::string::ToString;
use alloc::vec::Vec;

use raptor_code::{SourceBlockDecoder, SourceBlockEncoder};

use crate::error::CodeError;

/// Source symbols of a block at least: the systematic indices begin here (RFC 5053, section 5.7).
pub const MIN_SYMBOLS: u32 = 4;
/// Source symbols of a block at most (RFC 5053, section 5.7).
pub const MAX_SYMBOLS: u32 = 8_192;
/// Encoding symbols of a block: the ESI has 16 bits (RFC 5053, section 3.1).
pub const MAX_ENCODING_SYMBOLS: u32 = 1 << 16;
/// Bytes of a symbol at most: the symbol length T has 16 bits (RFC 5053, section 3.2.2).
pub const MAX_SYMBOL_BYTES: u32 = 65_535;
/// Source blocks of an object at most: the source block number has 16 bits (RFC 5053, section 3.1).
pub const MAX_BLOCKS: u32 = 1 << 16;

fn check(symbols: u32, size: usize) -> Result<(), CodeError> {
    if symbols < MIN_SYMBOLS {
        return Err(CodeError::TooFewSymbols { symbols, least: MIN_SYMBOLS });
    }
    if symbols > MAX_SYMBOLS {
        return Err(CodeError::TooManySymbols { symbols: u64::from(symbols), most: MAX_SYMBOLS });
    }
    if size == 0 || size > MAX_SYMBOL_BYTES as usize {
        return Err(CodeError::SymbolSize(u32::try_from(size).unwrap_or(u32::MAX)));
    }
    Ok(())
}

fn check_esi(esi: u32) -> Result<u32, CodeError> {
    if esi < MAX_ENCODING_SYMBOLS { Ok(esi) } else { Err(CodeError::Esi(esi)) }
}

/// Gives every symbol of a source block.
pub struct Encoder(SourceBlockEncoder);

impl Encoder {
    /// Solves for the intermediate symbols of a block of `symbols`; `data` is a whole number of bytes per symbol.
    pub fn new(data: &[u8], symbols: u32) -> Result<Self, CodeError> {
        let size = data.len().checked_div(symbols as usize).unwrap_or(0);
        check(symbols, size)?;
        if size * symbols as usize != data.len() {
            let want = size as u64 * u64::from(symbols);
            return Err(CodeError::DataLength { got: data.len() as u64, want });
        }
        let encoder = SourceBlockEncoder::new(data, symbols as usize);
        encoder.map(Self).map_err(|why| CodeError::Parameter {
            what: "the R10 block",
            value: why.to_string(),
            use_: "another number of symbols",
        })
    }

    /// Symbol `esi`: a source symbol below K, a repair symbol above.
    pub fn symbol(&mut self, esi: u32) -> Result<Vec<u8>, CodeError> {
        check_esi(esi).map(|esi| self.0.fountain(esi))
    }
}

/// Collects symbols of a source block.
pub struct Decoder {
    inner: SourceBlockDecoder,
    symbols: u32,
    size: usize,
    seen: alloc::collections::BTreeSet<u32>,
}

impl Decoder {
    /// A decoder of a block of `symbols` of `size` bytes without symbols.
    pub fn new(symbols: u32, size: usize) -> Result<Self, CodeError> {
        check(symbols, size)?;
        let inner = SourceBlockDecoder::new(symbols as usize);
        Ok(Self { inner, symbols, size, seen: alloc::collections::BTreeSet::new() })
    }

    /// Adds symbol `esi`; says whether it is new.
    pub fn add(&mut self, esi: u32, symbol: &[u8]) -> Result<bool, CodeError> {
        check_esi(esi)?;
        if symbol.len() != self.size {
            let want = self.size as u32;
            return Err(CodeError::SymbolLength { esi, got: symbol.len() as u64, want });
        }
        let new = self.seen.insert(esi);
        if new {
            self.inner.push_encoding_symbol(symbol, esi);
        }
        Ok(new)
    }

    /// The block, if the symbols determine it.
    pub fn decode(&mut self) -> Result<Vec<u8>, CodeError> {
        let (have, need) = (self.seen.len() as u32, self.symbols);
        if have < need {
            return Err(CodeError::NeedMore { have, need });
        }
        if !self.inner.fully_specified() {
            return Err(CodeError::Dependent { have });
        }
        self.inner.decode(self.size * need as usize).ok_or(CodeError::Dependent { have })
    }
}
