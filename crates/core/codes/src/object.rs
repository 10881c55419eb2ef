use alloc::vec::Vec;

use crate::block::{BlockDecoder, Decoded};
use crate::error::CodeError;
use crate::layout::Layout;

/// Collects the symbols of an object's blocks. Each block is returned once, as soon as it can be decoded.
///
/// A decoder exists only from the arrival of a block's first symbol until the block is decoded.
#[derive(Clone, Debug)]
pub struct ObjectDecoder {
    layout: Layout,
    blocks: Vec<Stage>,
    decoded: u32,
}

#[derive(Clone, Debug)]
enum Stage {
    Nothing,
    Some(alloc::boxed::Box<BlockDecoder>),
    Decoded,
}

impl ObjectDecoder {
    /// A decoder without symbols.
    pub fn new(layout: Layout) -> Self {
        let blocks = (0..layout.blocks()).map(|_| Stage::Nothing).collect();
        Self { layout, blocks, decoded: 0 }
    }

    /// Whether every block was decoded.
    pub fn complete(&self) -> bool {
        self.decoded == u32::from(self.layout.blocks())
    }

    /// Adds symbol `esi` of block `sbn`. Gives the block if this symbol completes it; `None` if more are needed, or if the
    /// block was decoded before. The last source symbol never waits for repair symbols, and otherwise the decoder tries
    /// once it has `spare` symbols more than source symbols, and again for each further one.
    pub fn add(
        &mut self,
        sbn: u32,
        esi: u32,
        symbol: &[u8],
        spare: u32,
    ) -> Result<Option<Decoded>, CodeError> {
        let block = self.layout.block(sbn)?;
        let stage = &mut self.blocks[sbn as usize];
        if matches!(stage, Stage::Nothing) {
            *stage = Stage::Some(BlockDecoder::new(block)?.into());
        }
        let Stage::Some(decoder) = stage else { return Ok(None) };
        let new = decoder.add(esi, symbol)?;
        let enough = decoder.complete() || decoder.distinct() >= block.symbols.saturating_add(spare);
        if !new || !enough {
            return Ok(None);
        }
        match decoder.decode() {
            Ok(decoded) => {
                *stage = Stage::Decoded;
                self.decoded += 1;
                Ok(Some(decoded))
            }
            Err(CodeError::Dependent { .. } | CodeError::NeedMore { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
