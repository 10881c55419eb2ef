use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder, SourceBlockEncoder,
};

use crate::error::{CodeError, check_symbols};
use crate::layout::Block;
use crate::limits::MAX_ENCODING_SYMBOLS;

/// The library's view of a block: symbols only. Sub-blocks and padding are [`Block`]'s.
fn inner_layout(block: &Block) -> ObjectTransmissionInformation {
    let bytes = u64::from(block.symbols) * u64::from(block.symbol);
    ObjectTransmissionInformation::new(bytes, block.symbol, 1, 1, 1)
}

/// Gives every symbol of a source block.
#[derive(Clone, Debug)]
pub struct BlockEncoder {
    block: Block,
    source: Vec<u8>,
    inner: SourceBlockEncoder,
}

impl BlockEncoder {
    /// Solves for the intermediate symbols of `block`, whose bytes are `data`.
    pub fn new(block: Block, data: &[u8]) -> Result<Self, CodeError> {
        check_symbols(u64::from(block.symbols))?;
        if data.len() as u64 != block.bytes {
            return Err(CodeError::DataLength { got: data.len() as u64, want: block.bytes });
        }
        let source = block.symbols_of(data);
        let inner = SourceBlockEncoder::new(0, &inner_layout(&block), &source);
        Ok(Self { block, source, inner })
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Symbol `esi`: a source symbol below K, a repair symbol above.
    pub fn symbol(&self, esi: u32) -> Result<Vec<u8>, CodeError> {
        if esi >= MAX_ENCODING_SYMBOLS {
            return Err(CodeError::Esi(esi));
        }
        let Some(repair) = esi.checked_sub(self.block.symbols) else {
            let size = usize::from(self.block.symbol);
            return Ok(self.source[esi as usize * size..][..size].to_vec());
        };
        let mut packets = self.inner.repair_packets(repair, 1);
        Ok(packets.pop().map(|packet| packet.split().1).unwrap_or_default())
    }
}

/// How a block was decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// All source symbols had arrived: nothing was computed.
    Source,
    /// Lost source symbols were computed from repair symbols.
    Solved,
}

/// A block that was decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    /// Its bytes, without padding.
    pub data: Vec<u8>,
    /// How the block was obtained.
    pub method: Method,
}

/// Collects symbols of a source block, in any order, from any senders.
#[derive(Clone, Debug)]
pub struct BlockDecoder {
    block: Block,
    source: Vec<u8>,
    present: Vec<bool>,
    sources: u32,
    repairs: BTreeMap<u32, Vec<u8>>,
}

impl BlockDecoder {
    /// A decoder without symbols. It takes the memory of the block.
    pub fn new(block: Block) -> Result<Self, CodeError> {
        let symbols = check_symbols(u64::from(block.symbols))? as usize;
        let source = vec![0; symbols * usize::from(block.symbol)];
        Ok(Self { block, source, present: vec![false; symbols], sources: 0, repairs: BTreeMap::new() })
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Adds symbol `esi`; says whether it is new.
    pub fn add(&mut self, esi: u32, symbol: &[u8]) -> Result<bool, CodeError> {
        if esi >= MAX_ENCODING_SYMBOLS {
            return Err(CodeError::Esi(esi));
        }
        let size = usize::from(self.block.symbol);
        if symbol.len() != size {
            let want = u32::from(self.block.symbol);
            return Err(CodeError::SymbolLength { esi, got: symbol.len() as u64, want });
        }
        let Some(present) = self.present.get_mut(esi as usize) else {
            return Ok(self.repairs.insert(esi, symbol.to_vec()).is_none());
        };
        let new = !core::mem::replace(present, true);
        if new {
            self.sources += 1;
            self.source[esi as usize * size..][..size].copy_from_slice(symbol);
        }
        Ok(new)
    }

    /// Distinct symbols that have arrived.
    pub fn distinct(&self) -> u32 {
        self.sources + self.repairs.len() as u32
    }

    /// Whether all source symbols have arrived: nothing is left to be decoded.
    pub fn complete(&self) -> bool {
        self.sources == self.block.symbols
    }

    /// Decodes the block if the symbols determine it. After [`CodeError::NeedMore`] or [`CodeError::Dependent`], more
    /// symbols can be added to this decoder.
    pub fn decode(&self) -> Result<Decoded, CodeError> {
        if self.complete() {
            return Ok(Decoded { data: self.block.data_of(self.source.clone()), method: Method::Source });
        }
        let (have, need) = (self.distinct(), self.block.symbols);
        if have < need {
            return Err(CodeError::NeedMore { have, need });
        }
        let layout = inner_layout(&self.block);
        let mut inner = SourceBlockDecoder::new(0, &layout, layout.transfer_length());
        let symbols = inner.decode(self.packets()).ok_or(CodeError::Dependent { have })?;
        Ok(Decoded { data: self.block.data_of(symbols), method: Method::Solved })
    }

    fn packets(&self) -> impl Iterator<Item = EncodingPacket> {
        let size = usize::from(self.block.symbol);
        let sources = self.source.chunks_exact(size).zip(&self.present).enumerate();
        let sources = sources.filter(|(_, (_, present))| **present);
        let sources = sources.map(|(esi, (symbol, _))| (esi as u32, symbol.to_vec()));
        let repairs = self.repairs.iter().map(|(esi, symbol)| (*esi, symbol.clone()));
        sources.chain(repairs).map(|(esi, symbol)| EncodingPacket::new(PayloadId::new(0, esi), symbol))
    }
}
