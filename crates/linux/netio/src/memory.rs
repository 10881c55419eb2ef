//! Memory that is shared with the kernel.
//!
//! The kernel's rings say by a status word or an index which parts belong to whom. The methods here check bounds and
//! alignment; that a part belongs to us is for the callers (`packet.rs`, `xdp/`) to know, who read and write it only after
//! an acquiring load of the word that says so, and hand it over by a releasing store. A kernel that wrote to our part
//! nevertheless could change bytes under our eyes, which parsers have to stand anyway: nothing is read twice.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use crate::Error;

/// A mapping of so many bytes.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    long: usize,
}

// SAFETY: nobody else has the pointer; sharing goes through `&Mapping`, which gives out atomics, and `&mut Mapping`.
unsafe impl Send for Mapping {}

impl Mapping {
    fn map(fd: i32, offset: i64, long: usize, flags: i32, what: &'static str) -> Result<Self, Error> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses a place that nobody uses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), long, rights, flags, fd, offset) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, long }),
            _ => Err(Error::last(what)),
        }
    }

    /// A part of what a socket shares.
    pub fn of(fd: &OwnedFd, offset: i64, long: usize, what: &'static str) -> Result<Self, Error> {
        Self::map(fd.as_raw_fd(), offset, long, libc::MAP_SHARED | libc::MAP_POPULATE, what)
    }

    /// Fresh memory, zeroed.
    pub fn fresh(long: usize) -> Result<Self, Error> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        Self::map(-1, 0, long, flags, "cannot get memory for packets")
    }

    /// Where it begins, as a number for the kernel.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    pub fn len(&self) -> usize {
        self.long
    }

    fn place(&self, at: usize, long: usize) -> *mut u8 {
        let inside = at.checked_add(long).is_some_and(|end| end <= self.long);
        assert!(inside, "{long} B at {at} of a mapping of {} B", self.long);
        // SAFETY: within the mapping, as was just checked.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// A word that both sides read and write.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4), "a word at {at}");
        // SAFETY: within the mapping (`place`), aligned, and an atomic may change at any time.
        unsafe { AtomicU32::from_ptr(self.place(at, 4).cast()) }
    }

    /// Bytes that are ours at the moment.
    pub fn bytes(&self, at: usize, long: usize) -> &[u8] {
        // SAFETY: within the mapping; ours by the ring's rules (see above), and any bytes are a `u8`.
        unsafe { std::slice::from_raw_parts(self.place(at, long), long) }
    }

    /// Bytes that are ours at the moment, to be written.
    pub fn bytes_mut(&mut self, at: usize, long: usize) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` excludes every other slice of ours.
        unsafe { std::slice::from_raw_parts_mut(self.place(at, long), long) }
    }

    /// A number of two, four or eight bytes that is ours at the moment.
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
        // SAFETY: mapped by us with this length, and nobody can have a part of it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.long) };
    }
}
