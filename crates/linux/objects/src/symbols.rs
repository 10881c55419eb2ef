//! Symbols of real bytes: an object's symbols for sending, and its blocks from received ones.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use pullnet_codes::{Block, BlockDecoder, BlockEncoder, CodeError, Layout};
use pullnet_scdp::{Cut, Shape};
use thiserror::Error;

/// Most blocks of an outgoing object in memory. Their symbols leave in order, so that few are needed at a time.
const MOST_BLOCKS: usize = 32;

/// Bytes that can be read at any offset.
pub trait ReadAt {
    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// If the bytes cannot be read, or there are not that many.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

impl ReadAt for File {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|at| self.get(at..)?.get(..out.len()));
        out.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Why there is no symbol.
#[derive(Debug, Error)]
pub enum SymbolError {
    /// The object's bytes cannot be read.
    #[error("the content cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The code refuses a block or symbol.
    #[error(transparent)]
    Code(#[from] CodeError),
}

/// Block `number` of an object in the form that the code takes. The number is no input of the code.
fn block(cut: &Cut, number: u32) -> Result<Block, CodeError> {
    Layout::new(cut.bytes(number), cut.shape.symbol.into(), 1, 1, 1)?.block(0)
}

/// A block of an outgoing object.
struct Loaded {
    number: u32,
    bytes: Vec<u8>,
    /// Made for the first repair symbol: source symbols need none.
    encoder: Option<BlockEncoder>,
}

/// An object that is sent.
pub struct Content {
    cut: Cut,
    bytes: Box<dyn ReadAt>,
    /// Blocks in memory, the latest used last.
    loaded: Vec<Loaded>,
}

impl Content {
    /// `None` if the object cannot be cut as `shape` says.
    pub fn new(shape: Shape, bytes: Box<dyn ReadAt>) -> Option<Self> {
        Some(Self { cut: Cut::new(shape)?, bytes, loaded: Vec::new() })
    }

    /// Symbol `esi` of a block as it is sent: the padding of the last source symbol is left out.
    ///
    /// # Errors
    /// If the bytes of the object cannot be read.
    pub fn symbol(&mut self, number: u32, esi: u32) -> Result<Vec<u8>, SymbolError> {
        let (cut, symbols) = (self.cut, self.cut.symbols(number));
        let loaded = self.load(number)?;
        if esi < symbols {
            let size = usize::from(cut.shape.symbol);
            let start = esi as usize * size;
            return Ok(loaded.bytes[start..(start + size).min(loaded.bytes.len())].to_vec());
        }
        if loaded.encoder.is_none() {
            loaded.encoder = Some(BlockEncoder::new(block(&cut, number)?, &loaded.bytes)?);
        }
        Ok(loaded.encoder.as_ref().map(|encoder| encoder.symbol(esi)).transpose()?.unwrap_or_default())
    }

    fn load(&mut self, number: u32) -> Result<&mut Loaded, SymbolError> {
        let known = self.loaded.iter().position(|loaded| loaded.number == number);
        let latest = match known {
            Some(at) => self.loaded.remove(at),
            None => {
                if self.loaded.len() >= MOST_BLOCKS {
                    self.loaded.remove(0);
                }
                let mut bytes = vec![0; self.cut.bytes(number) as usize];
                self.bytes.read_at(self.cut.bytes_before(number), &mut bytes)?;
                Loaded { number, bytes, encoder: None }
            }
        };
        self.loaded.push(latest);
        let last = self.loaded.len() - 1;
        Ok(&mut self.loaded[last])
    }
}

/// Effect of a symbol on a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The block needs more symbols, or was decoded before.
    Nothing,
    /// As many symbols as usually suffice do not determine the block.
    Insufficient,
    /// The block is decoded: its offset in the object, and its bytes.
    Block(u64, Vec<u8>),
}

/// The symbols of an object that is received.
pub struct Collector {
    cut: Cut,
    /// Symbols beyond those of a block with which decoding is tried.
    spare: u32,
    open: BTreeMap<u32, BlockDecoder>,
    decoded: Vec<bool>,
    missing: u32,
}

impl Collector {
    /// `None` if the object cannot be cut as `shape` says, or has no end.
    pub fn new(shape: Shape, spare: u32) -> Option<Self> {
        shape.bytes?;
        let cut = Cut::new(shape)?;
        let blocks = cut.blocks();
        Some(Self {
            cut,
            spare,
            open: BTreeMap::new(),
            decoded: vec![false; blocks as usize],
            missing: blocks,
        })
    }

    /// Whether all blocks are decoded.
    pub fn complete(&self) -> bool {
        self.missing == 0
    }

    /// Adds a symbol that has arrived whole. Symbols that the object does not have are ignored.
    pub fn take(&mut self, number: u32, esi: u32, payload: &[u8]) -> Taken {
        let there = self.decoded.get(number as usize);
        if there != Some(&false) || payload.len() != usize::from(self.cut.payload(number, esi)) {
            return Taken::Nothing;
        }
        if !self.open.contains_key(&number) {
            let Ok(decoder) = block(&self.cut, number).and_then(BlockDecoder::new) else {
                return Taken::Nothing;
            };
            self.open.insert(number, decoder);
        }
        let (size, spare) = (usize::from(self.cut.shape.symbol), self.spare);
        let Some(decoder) = self.open.get_mut(&number) else { return Taken::Nothing };
        let added = if payload.len() == size {
            decoder.add(esi, payload)
        } else {
            let mut padded = payload.to_vec();
            padded.resize(size, 0);
            decoder.add(esi, &padded)
        };
        let enough =
            decoder.complete() || decoder.distinct() >= decoder.block().symbols.saturating_add(spare);
        if added.is_err() || !enough {
            return Taken::Nothing;
        }
        match decoder.decode() {
            Ok(decoded) => {
                self.open.remove(&number);
                self.decoded[number as usize] = true;
                self.missing -= 1;
                Taken::Block(self.cut.bytes_before(number), decoded.data)
            }
            Err(_) => Taken::Insufficient,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(long: usize) -> Vec<u8> {
        (0..long).map(|at| (at ^ (at >> 7) ^ (at >> 13)) as u8).collect()
    }

    proptest! {
        /// The object is decoded from repair symbols for any set of lost source symbols.
        #[test]
        fn any_symbols_give_the_object_back(
            long in 1usize..30_000, size in 20u16..200, most in 1u16..20, lost in prop::collection::vec(any::<bool>(), 64),
        ) {
            let shape = Shape { bytes: Some(long as u64), symbol: size, most };
            let (object, cut) = (bytes(long), Cut::new(shape).unwrap());
            let mut content = Content::new(shape, Box::new(object.clone())).unwrap();
            let (mut collector, mut back) = (Collector::new(shape, 2).unwrap(), vec![0; long]);
            for number in 0..cut.blocks() {
                let mut esi = 0;
                while !collector.decoded[number as usize] {
                    prop_assert!(esi < 2 * cut.symbols(number) + 200, "it is never decoded");
                    if esi >= cut.symbols(number) || !lost[(esi as usize + number as usize) % lost.len()] {
                        let symbol = content.symbol(number, esi).unwrap();
                        if let Taken::Block(offset, data) = collector.take(number, esi, &symbol) {
                            back[offset as usize..offset as usize + data.len()].copy_from_slice(&data);
                        }
                    }
                    esi += 1;
                }
            }
            prop_assert!(collector.complete() && back == object);
        }
    }

    #[test]
    fn symbols_that_an_object_does_not_have_are_ignored() {
        let shape = Shape { bytes: Some(1000), symbol: 100, most: 4 };
        let mut collector = Collector::new(shape, 2).unwrap();
        for (block, esi, long) in [(3, 0, 100), (9, 0, 100), (0, 0, 99), (0, 1 << 24, 100)] {
            assert_eq!(collector.take(block, esi, &vec![0; long]), Taken::Nothing);
        }
        assert!(Collector::new(Shape { bytes: None, ..shape }, 2).is_none(), "an endless flow");
        assert!(Collector::new(Shape { symbol: 0, ..shape }, 2).is_none());
    }

    #[test]
    fn content_that_has_become_shorter_is_an_error() {
        let shape = Shape { bytes: Some(1000), symbol: 100, most: 4 };
        let mut content = Content::new(shape, Box::new(bytes(500))).unwrap();
        assert!(content.symbol(0, 0).is_ok());
        assert!(matches!(content.symbol(2, 0), Err(SymbolError::Read(_))));
    }
}
