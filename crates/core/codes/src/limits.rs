/// Source symbols of a RaptorQ block at most (RFC 6330, section 5.1.2).
pub const MAX_SYMBOLS: u32 = 56_403;
/// Encoding symbols of a RaptorQ block: the ESI has 24 bits (RFC 6330, section 3.2).
pub const MAX_ENCODING_SYMBOLS: u32 = 1 << 24;
/// Bytes of a symbol at most: the symbol size T has 16 bits (RFC 6330, section 3.3.2).
pub const MAX_SYMBOL_BYTES: u32 = 65_535;
/// Source blocks of an object at most: the source block number has 8 bits (RFC 6330, section 3.2).
pub const MAX_BLOCKS: u32 = 256;
