use pullnet_units::QueueSize;

use crate::fifo::Fifo;

/// The capacity of a queue: counts packets or bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    most: u32,
    in_bytes: bool,
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { most: u32::MAX, in_bytes: false };

    /// Size in the unit of this limit of `packets` that have `bytes` together.
    #[inline]
    fn counts(&self, packets: u32, bytes: u64) -> u64 {
        if self.in_bytes { bytes } else { packets.into() }
    }

    /// Whether `packets` that have `bytes` together fit.
    #[inline]
    pub fn holds(&self, packets: u32, bytes: u64) -> bool {
        self.counts(packets, bytes) <= self.most.into()
    }

    /// Whether one more packet of `size` bytes fits beside the packets held.
    #[inline]
    pub fn admits(&self, held_packets: u32, held_bytes: u64, size: u32) -> bool {
        self.holds(held_packets + 1, held_bytes + u64::from(size))
    }

    /// Whether one more packet of `size` bytes fits beside what a port holds.
    #[inline(always)]
    pub fn has_room(&self, held: &Fifo, size: u32) -> bool {
        self.admits(held.packets(), held.bytes(), size)
    }

    /// The whole limit, in packets or bytes.
    #[inline]
    pub fn most(&self) -> u64 {
        self.most.into()
    }

    /// Share of this limit that a packet of `size` bytes takes, in the unit of the limit.
    #[inline]
    pub fn share(&self, size: u32) -> u64 {
        self.counts(1, size.into())
    }
}

impl From<QueueSize> for Limit {
    fn from(size: QueueSize) -> Self {
        match size {
            QueueSize::Packets(packets) => Self { most: packets.0, in_bytes: false },
            QueueSize::Bytes(bytes) => Self { most: bytes.0.try_into().unwrap_or(u32::MAX), in_bytes: true },
        }
    }
}
