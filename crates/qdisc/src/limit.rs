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

    /// How many more packets of at most `largest` bytes fit beside what is held.
    #[inline]
    pub fn room(&self, held_packets: u32, held_bytes: u64, largest: u32) -> u32 {
        let packets = self.packets.saturating_sub(held_packets);
        if self.bytes == u64::MAX {
            return packets;
        }
        let bytes = self.bytes.saturating_sub(held_bytes) / u64::from(largest.max(1));
        packets.min(bytes.try_into().unwrap_or(u32::MAX))
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
            // A port counts its bytes in 32 bits.
            QueueSize::Bytes(bytes) => Self { packets: u32::MAX, bytes: bytes.0.min(u32::MAX.into()) },
        }
    }
}
