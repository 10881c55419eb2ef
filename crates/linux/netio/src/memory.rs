//! Memory that is shared with the kernel.
//!
//! A status word or an index in the kernel's rings says which side owns each part. The methods here check bounds and
//! alignment. Their callers (`packet.rs`, `xdp/`) guarantee ownership: they access a part only after an acquiring load of
//! the word that grants it, and hand the part over with a releasing store. A faulty kernel that wrote to our part could
//! change bytes while we read them. Parsers must withstand that anyway, so every byte is read only once.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use crate::error::Error;

/// A memory mapping of `long` bytes.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    long: usize,
}

// SAFETY: the pointer is not shared outside this type; access goes through `&Mapping`, which gives out atomics, and `&mut
// Mapping`.
unsafe impl Send for Mapping {}

impl Mapping {
    fn map(fd: i32, offset: i64, long: usize, flags: i32, what: &'static str) -> Result<Self, Error> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses an unused address range.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), long, rights, flags, fd, offset) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, long }),
            _ => Err(Error::last(what)),
        }
    }

    /// Maps a part of the memory that a socket shares.
    pub fn of(fd: &OwnedFd, offset: i64, long: usize, what: &'static str) -> Result<Self, Error> {
        Self::map(fd.as_raw_fd(), offset, long, libc::MAP_SHARED | libc::MAP_POPULATE, what)
    }

    /// Maps fresh, zeroed memory.
    pub fn fresh(long: usize) -> Result<Self, Error> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        Self::map(-1, 0, long, flags, "cannot get memory for packets")
    }

    /// Start address, as a number for the kernel.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    pub fn len(&self) -> usize {
        self.long
    }

    fn place(&self, at: usize, long: usize) -> *mut u8 {
        let inside = at.checked_add(long).is_some_and(|end| end <= self.long);
        assert!(inside, "{long} B at {at} of a mapping of {} B", self.long);
        // SAFETY: within the mapping, as checked above.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// A word that both the kernel and this process read and write.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4), "a word at {at}");
        // SAFETY: within the mapping (`place`), aligned, and an atomic may change at any time.
        unsafe { AtomicU32::from_ptr(self.place(at, 4).cast()) }
    }

    /// Bytes owned by this process at the moment.
    pub fn bytes(&self, at: usize, long: usize) -> &[u8] {
        // SAFETY: within the mapping; ours by the ring's protocol (see the module), and every bit pattern is a valid `u8`.
        unsafe { std::slice::from_raw_parts(self.place(at, long), long) }
    }

    /// Bytes owned by this process at the moment, for writing.
    pub fn bytes_mut(&mut self, at: usize, long: usize) -> &mut [u8] {
        // SAFETY: as above; `&mut self` excludes every other slice of the mapping.
        unsafe { std::slice::from_raw_parts_mut(self.place(at, long), long) }
    }

    /// A number of two, four or eight bytes owned by this process at the moment.
    pub fn u16(&self, at: usize) -> u16 {
        self.bytes(at, 2).try_into().map_or(0, u16::from_ne_bytes)
    }

    pub fn u32(&self, at: usize) -> u32 {
        self.bytes(at, 4).try_into().map_or(0, u32::from_ne_bytes)
    }

    pub fn u64(&self, at: usize) -> u64 {
        self.bytes(at, 8).try_into().map_or(0, u64::from_ne_bytes)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length; no borrow of the mapping can be alive any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.long) };
    }
}
