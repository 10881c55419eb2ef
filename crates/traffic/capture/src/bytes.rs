//! Integers read from bytes. Callers check the length; beyond the end an integer reads as 0.

/// Byte order of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let raw = array(bytes, at);
        match self {
            Self::Little => u16::from_le_bytes(raw),
            Self::Big => u16::from_be_bytes(raw),
        }
    }

    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let raw = array(bytes, at);
        match self {
            Self::Little => u32::from_le_bytes(raw),
            Self::Big => u32::from_be_bytes(raw),
        }
    }

    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let raw = array(bytes, at);
        match self {
            Self::Little => u64::from_le_bytes(raw),
            Self::Big => u64::from_be_bytes(raw),
        }
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|slice| slice.try_into().ok()).unwrap_or([0; N])
}
