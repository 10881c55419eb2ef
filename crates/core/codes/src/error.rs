use thiserror::Error;

use crate::limits::{MAX_BLOCKS, MAX_ENCODING_SYMBOLS, MAX_SYMBOLS};

/// Failure of a code. An error leaves the state of a decoder unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CodeError {
    /// An object or a block without bytes.
    #[error("an object of 0 bytes has no symbols; send at least one byte")]
    Empty,
    /// The symbol size is 0 or above 65,535.
    #[error("the symbol size is {0} B; use 1 to 65,535")]
    SymbolSize(u32),
    /// The symbol size is no multiple of the alignment, or the alignment is 0.
    #[error("the symbol size {size} B is no multiple of the alignment {alignment} B; change one of them")]
    Alignment {
        /// Bytes of a symbol.
        size: u32,
        /// Bytes that a sub-symbol is a multiple of.
        alignment: u8,
    },
    /// A source block of too many symbols.
    #[error("a source block of {symbols} symbols is too large; use at most {most}, or more blocks")]
    TooManySymbols {
        /// Source symbols.
        symbols: u64,
        /// The code's limit.
        most: u32,
    },
    /// A source block of too few symbols.
    #[error("a source block of {symbols} symbols is too small; this code needs at least {least}")]
    TooFewSymbols {
        /// Source symbols.
        symbols: u32,
        /// The code's limit.
        least: u32,
    },
    /// Too many source blocks, none, or more than there are symbols.
    #[error(
        "{blocks} source blocks for {symbols} symbols; use 1 to {MAX_BLOCKS}, and no more than there are symbols"
    )]
    Blocks {
        /// Source blocks.
        blocks: u64,
        /// Symbols of the object.
        symbols: u64,
    },
    /// Sub-blocks do not fit the symbol.
    #[error("{sub_blocks} sub-blocks in symbols of {units} aligned units; use 1 to {units}")]
    SubBlocks {
        /// Sub-blocks.
        sub_blocks: u16,
        /// Symbol size over alignment.
        units: u32,
    },
    /// The decoder's memory does not hold the smallest block.
    #[error("a working memory of {memory} B holds no source block; use at least {least} B")]
    WorkingMemory {
        /// Bytes given.
        memory: u64,
        /// Bytes that would do.
        least: u64,
    },
    /// Data of another length than the block's.
    #[error("the source block has {want} B and the data {got} B; pass exactly the block")]
    DataLength {
        /// Bytes passed.
        got: u64,
        /// Bytes of the block.
        want: u64,
    },
    /// An encoding symbol id that does not exist.
    #[error("the encoding symbol id {0} does not exist; ids are below {MAX_ENCODING_SYMBOLS}")]
    Esi(u32),
    /// A source block number that does not exist.
    #[error("there is no source block {sbn}; the object has {blocks}")]
    NoSuchBlock {
        /// The number.
        sbn: u32,
        /// Source blocks.
        blocks: u16,
    },
    /// A symbol of the wrong length.
    #[error("symbol {esi} has {got} B instead of {want} B; drop it")]
    SymbolLength {
        /// Which symbol.
        esi: u32,
        /// Bytes received.
        got: u64,
        /// Bytes of a symbol.
        want: u32,
    },
    /// Sender i of n with i >= n or n = 0.
    #[error("there is no sender {sender} of {of}; senders are numbered from 0")]
    Sender {
        /// Number of the sender.
        sender: u16,
        /// Senders.
        of: u16,
    },
    /// Fewer distinct symbols than source symbols.
    #[error("{have} distinct symbols of at least {need}; wait for more")]
    NeedMore {
        /// Distinct symbols.
        have: u32,
        /// Source symbols.
        need: u32,
    },
    /// The symbols are dependent. It happens about once in 200 with K symbols, and once in millions with K + 2.
    #[error("the {have} symbols do not determine the block; one more symbol almost surely does")]
    Dependent {
        /// Distinct symbols.
        have: u32,
    },
    /// A parameter of a trial or distribution that makes no sense.
    #[error("{what} is {value}; use {use_}")]
    Parameter {
        /// Name of the parameter.
        what: &'static str,
        /// Value as text.
        value: alloc::string::String,
        /// Values that would work.
        use_: &'static str,
    },
}

/// Refuses a block that RaptorQ cannot encode.
pub(crate) fn check_symbols(symbols: u64) -> Result<u32, CodeError> {
    match u32::try_from(symbols) {
        Ok(0) => Err(CodeError::Empty),
        Ok(few) if few <= MAX_SYMBOLS => Ok(few),
        _ => Err(CodeError::TooManySymbols { symbols, most: MAX_SYMBOLS }),
    }
}
