//! Bytes on their way between an application and its streams: from a slice, or from memory that cannot be borrowed as one.

/// Bytes that an application gives to a stream, in order.
pub trait Source {
    /// Number of bytes that are left.
    fn left(&self) -> usize;

    /// Moves the next `bytes` bytes to the end of `out`. `bytes` is at most [`Source::left`].
    fn append_to(&mut self, out: &mut Vec<u8>, bytes: usize);
}

/// Room for bytes that a stream has received, in order.
pub trait Sink {
    /// Number of bytes for which there is room.
    fn room(&self) -> usize;

    /// Takes the next bytes. There are at most [`Sink::room`] of them.
    fn put(&mut self, bytes: &[u8]);
}

impl Source for &[u8] {
    fn left(&self) -> usize {
        self.len()
    }

    fn append_to(&mut self, out: &mut Vec<u8>, bytes: usize) {
        let (now, later) = self.split_at(bytes);
        out.extend_from_slice(now);
        *self = later;
    }
}

impl Sink for &mut [u8] {
    fn room(&self) -> usize {
        self.len()
    }

    fn put(&mut self, bytes: &[u8]) {
        let (now, later) = std::mem::take(self).split_at_mut(bytes.len());
        now.copy_from_slice(bytes);
        *self = later;
    }
}
