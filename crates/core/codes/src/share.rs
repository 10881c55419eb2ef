use core::ops::Range;

use crate::error::CodeError;
use crate::limits::MAX_ENCODING_SYMBOLS;

/// The symbols that a single sender, out of several senders of an object, sends: no two senders ever send the same
/// symbol.
///
/// Sender i of n has a slice of the source symbols of every block, and the repair symbols whose encoding symbol id is i
/// modulo n. Senders that know i and n need no further agreement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    sender: u16,
    of: u16,
}

impl Default for Share {
    /// The only sender.
    fn default() -> Self {
        Self { sender: 0, of: 1 }
    }
}

impl Share {
    /// Sender number `sender` of `of`.
    pub fn new(sender: u16, of: u16) -> Result<Self, CodeError> {
        if sender < of { Ok(Self { sender, of }) } else { Err(CodeError::Sender { sender, of }) }
    }

    /// Number of the sender, from 0.
    pub fn sender(&self) -> u16 {
        self.sender
    }

    /// Number of senders.
    pub fn of(&self) -> u16 {
        self.of
    }

    /// Its source symbols in a block of `symbols`. The slices of all senders cover the block, and their sizes differ by
    /// at most one.
    pub fn source(&self, symbols: u32) -> Range<u32> {
        let bound = |sender: u16| (u64::from(symbols) * u64::from(sender) / u64::from(self.of)) as u32;
        bound(self.sender)..bound(self.sender + 1)
    }

    /// Encoding symbol id of the symbol that it sends as number `index` (from 0) of a block of `symbols`: its source
    /// symbols first, then its repair symbols in ascending order. `None` once all are used up.
    pub fn esi(&self, symbols: u32, index: u32) -> Option<u32> {
        let source = self.source(symbols);
        if index < source.end - source.start {
            return Some(source.start + index);
        }
        let (of, sender) = (u64::from(self.of), u64::from(self.sender));
        let first = u64::from(symbols) + (of + sender - u64::from(symbols) % of) % of;
        let esi = first + u64::from(index - (source.end - source.start)) * of;
        (esi < u64::from(MAX_ENCODING_SYMBOLS)).then_some(esi as u32)
    }
}
