use pullnet_units::QueueSize;

/// The capacity of a queue: counts packets or bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    packets: u32,
    bytes: u64,
}

impl Limit {
    /// Whether `size` more bytes in one more packet fit beside what is held.
    #[inline]
    pub fn admits(&self, held_packets: u32, held_bytes: u64, size: u32) -> bool {
        self.holds(held_packets + 1, held_bytes + u64::from(size))
    }

    /// Whether `packets` of together `bytes` fit.
    #[inline]
    pub fn holds(&self, packets: u32, bytes: u64) -> bool {
        packets <= self.packets && bytes <= self.bytes
    }
}

impl From<QueueSize> for Limit {
    fn from(size: QueueSize) -> Self {
        match size {
            QueueSize::Packets(packets) => Self { packets: packets.0, bytes: u64::MAX },
            QueueSize::Bytes(bytes) => Self { packets: u32::MAX, bytes: bytes.0 },
        }
    }
}
