/// Reusable buffers of full packets.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Payload of a full packet. Bytes.
    room: usize,
    spare: Vec<Vec<u8>>,
}

/// Maximum number of spare buffers.
const MOST: usize = 4096;

impl Pool {
    pub fn new(room: usize) -> Self {
        Self { room, spare: Vec::new() }
    }

    /// Payload of a full packet. Bytes.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Returns an empty buffer for `bytes` bytes. A short packet gets a short buffer, so that a peer that sends many of them
    /// cannot make them take the memory of full ones.
    pub fn take(&mut self, bytes: usize) -> Vec<u8> {
        if 2 * bytes < self.room {
            return Vec::with_capacity(bytes);
        }
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(self.room))
    }

    /// Takes a buffer back for reuse.
    pub fn give(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() >= self.room && self.spare.len() < MOST {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
