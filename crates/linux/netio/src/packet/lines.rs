//! Memory whose layout suits the kernel's copies.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// A buffer in which the byte at a chosen offset begins a cache line. The kernel copies aligned bytes about twice as fast.
#[derive(Debug)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    start: usize,
}

impl Lines {
    /// `long` bytes; the one at `offset` begins a line.
    pub fn new(long: usize, offset: usize) -> Self {
        let bytes = vec![0; long + LINE];
        let first = bytes.as_ptr().align_offset(LINE) % LINE;
        let start = (first + LINE - offset % LINE) % LINE;
        Self { bytes, start }
    }
}

impl Deref for Lines {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_byte_begins_a_line() {
        for offset in [0, 1, 42, 63, 64, 116] {
            let memory = Lines::new(200, offset);
            assert_eq!(memory[offset..].as_ptr().align_offset(LINE), 0, "{offset}");
            assert!(memory.len() >= 200);
        }
    }
}
