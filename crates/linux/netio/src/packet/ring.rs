//! The receive ring.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};

use super::burst::{Begun, Offload};
use crate::memory::Mapping;

type Header = libc::tpacket2_hdr;

/// The receive ring: `count` slots of `slot` bytes.
#[derive(Debug)]
pub(super) struct Ring {
    memory: Mapping,
    slot: usize,
    count: usize,
    next: usize,
}

/// Content of a slot.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// A frame, and its checksum if the sender's kernel has not finished it.
    Frame(&'a [u8], Option<Begun>),
    /// UDP frames of one flow, with `size` bytes behind the UDP header of each; `start` is as much of it as fits into the slot.
    Burst { size: usize, start: &'a [u8] },
    /// Segments of something else that the sender's kernel has not taken apart, as it does not over veth.
    Segments,
    /// A frame that is longer than the interface carries.
    Long,
}

/// A slot that the kernel has filled.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    pub content: Content<'a>,
    /// Length of the frame or of the burst; the slot may hold less of a burst. Bytes.
    pub long: usize,
    /// Whether the kernel has kept all of it beside the ring.
    pub beside: bool,
}

impl Ring {
    pub fn new(memory: Mapping, slot: usize, count: usize) -> Self {
        Self { memory, slot, count, next: 0 }
    }

    fn at(&self) -> usize {
        self.next * self.slot
    }

    fn status(&self) -> &AtomicU32 {
        self.memory.word(self.at() + offset_of!(Header, tp_status))
    }

    /// Whether the current slot is filled.
    pub fn has_frame(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// The current slot, if it is filled.
    pub fn first(&self) -> Option<Slot<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let at = self.at();
        let start = usize::from(self.memory.u16(at + offset_of!(Header, tp_mac))).min(self.slot);
        let kept = self.memory.u32(at + offset_of!(Header, tp_snaplen)) as usize;
        let frame = self.memory.bytes(at + start, kept.min(self.slot - start));
        let long = self.memory.u32(at + offset_of!(Header, tp_len)) as usize;
        // In front of the frame.
        let before = start.saturating_sub(Offload::LONG);
        let offload = Offload::read(self.memory.bytes(at + before, Offload::LONG));
        let content = match offload.burst_size() {
            Some(size) => Content::Burst { size, start: frame },
            None if offload.is_single() && kept == long => Content::Frame(frame, offload.begun()),
            None if offload.is_single() => Content::Long,
            None => Content::Segments,
        };
        Some(Slot { content, long, beside: status & libc::TP_STATUS_COPY != 0 })
    }

    /// Returns the current slot to the kernel and moves to the next.
    pub fn advance(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.count;
    }
}
