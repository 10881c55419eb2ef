//! The four rings of an AF_XDP socket: one side produces, the other consumes.

use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use super::DESCRIPTOR;
use crate::error::Error;
use crate::memory::Mapping;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RingKind {
    /// Chunks for received frames: we produce.
    Fill,
    /// Chunks of transmitted frames: we consume.
    Completion,
    /// Received frames: we consume.
    Receive,
    /// Frames to send: we produce.
    Send,
}

impl RingKind {
    pub fn option(self) -> i32 {
        match self {
            Self::Fill => libc::XDP_UMEM_FILL_RING,
            Self::Completion => libc::XDP_UMEM_COMPLETION_RING,
            Self::Receive => libc::XDP_RX_RING,
            Self::Send => libc::XDP_TX_RING,
        }
    }

    fn place(self) -> i64 {
        match self {
            Self::Fill => libc::XDP_UMEM_PGOFF_FILL_RING as i64,
            Self::Completion => libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64,
            Self::Receive => libc::XDP_PGOFF_RX_RING,
            Self::Send => libc::XDP_PGOFF_TX_RING,
        }
    }

    fn offsets(self, all: &libc::xdp_mmap_offsets) -> &libc::xdp_ring_offset {
        match self {
            Self::Fill => &all.fr,
            Self::Completion => &all.cr,
            Self::Receive => &all.rx,
            Self::Send => &all.tx,
        }
    }

    fn entry(self) -> usize {
        match self {
            Self::Fill | Self::Completion => 8,
            Self::Receive | Self::Send => DESCRIPTOR,
        }
    }

    fn we_produce(self) -> bool {
        matches!(self, Self::Fill | Self::Send)
    }
}

/// A ring with a private index: entries between it and the shared index are written or read but not yet published.
#[derive(Debug)]
pub(super) struct Ring {
    memory: Mapping,
    kind: RingKind,
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    count: u32,
    ours: u32,
    /// The kernel's index when last read. Reading it again fetches a cache line from the other core.
    seen: u32,
}

impl Ring {
    pub fn map(
        fd: &OwnedFd,
        kind: RingKind,
        all: &libc::xdp_mmap_offsets,
        count: u32,
    ) -> Result<Self, Error> {
        let at = kind.offsets(all);
        let long = at.desc as usize + count as usize * kind.entry();
        let memory = Mapping::of(fd, kind.place(), long, "cannot map a ring of AF_XDP")?;
        Ok(Self {
            memory,
            kind,
            producer: at.producer as usize,
            consumer: at.consumer as usize,
            flags: at.flags as usize,
            entries: at.desc as usize,
            count,
            ours: 0,
            seen: 0,
        })
    }

    /// Reads the index that the kernel writes.
    fn theirs(&mut self) -> u32 {
        let at = if self.kind.we_produce() { self.consumer } else { self.producer };
        self.seen = self.memory.word(at).load(Ordering::Acquire);
        self.seen
    }

    /// Whether an entry can be popped.
    fn has_some(&mut self) -> bool {
        self.ours != self.seen || self.ours != self.theirs()
    }

    fn set_ours(&self) {
        let at = if self.kind.we_produce() { self.producer } else { self.consumer };
        self.memory.word(at).store(self.ours, Ordering::Release);
    }

    fn entry(&self, index: u32) -> usize {
        self.entries + (index & (self.count - 1)) as usize * self.kind.entry()
    }

    /// Makes the pushed entries visible to the kernel.
    pub fn publish(&mut self) {
        self.set_ours();
    }

    /// Returns the popped entries to the kernel.
    pub fn release(&mut self) {
        self.set_ours();
    }

    /// Whether `entries` more entries can be pushed.
    pub fn has_room(&mut self, entries: u32) -> bool {
        let room = |seen| self.count - self.ours.wrapping_sub(seen);
        room(self.seen) >= entries || {
            let seen = self.theirs();
            self.count - self.ours.wrapping_sub(seen) >= entries
        }
    }

    /// Whether the kernel has consumed everything that was published.
    pub fn is_drained(&mut self) -> bool {
        self.ours == self.theirs()
    }

    pub fn needs_wakeup(&self) -> bool {
        self.memory.word(self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    pub fn push_address(&mut self, address: u64) {
        let at = self.entry(self.ours);
        self.memory.bytes_mut(at, 8).copy_from_slice(&address.to_ne_bytes());
        self.ours = self.ours.wrapping_add(1);
    }

    pub fn pop_address(&mut self) -> Option<u64> {
        self.has_some().then(|| {
            let address = self.memory.u64(self.entry(self.ours));
            self.ours = self.ours.wrapping_add(1);
            address
        })
    }

    pub fn push_descriptor(&mut self, address: u64, long: u32, continues: bool) {
        let at = self.entry(self.ours);
        let options = if continues { libc::XDP_PKT_CONTD } else { 0 };
        let bytes = self.memory.bytes_mut(at, DESCRIPTOR);
        bytes[..8].copy_from_slice(&address.to_ne_bytes());
        bytes[8..12].copy_from_slice(&long.to_ne_bytes());
        bytes[12..].copy_from_slice(&options.to_ne_bytes());
        self.ours = self.ours.wrapping_add(1);
    }

    fn descriptor(&self, index: u32) -> libc::xdp_desc {
        let at = self.entry(index);
        libc::xdp_desc {
            addr: self.memory.u64(at + offset_of!(libc::xdp_desc, addr)),
            len: self.memory.u32(at + offset_of!(libc::xdp_desc, len)),
            options: self.memory.u32(at + offset_of!(libc::xdp_desc, options)),
        }
    }

    pub fn pop_descriptor(&mut self) -> Option<libc::xdp_desc> {
        self.has_some().then(|| {
            let descriptor = self.descriptor(self.ours);
            self.ours = self.ours.wrapping_add(1);
            descriptor
        })
    }

    /// Number of descriptors of the oldest frame; `None` if no complete frame is available.
    pub fn pieces(&mut self) -> Option<u32> {
        let found = self.pieces_seen();
        if found.is_some() {
            return found;
        }
        self.theirs();
        self.pieces_seen()
    }

    fn pieces_seen(&self) -> Option<u32> {
        let waiting = self.seen.wrapping_sub(self.ours);
        let last =
            |piece: &u32| self.descriptor(self.ours.wrapping_add(*piece)).options & libc::XDP_PKT_CONTD == 0;
        (0..waiting).find(last).map(|piece| piece + 1)
    }
}
