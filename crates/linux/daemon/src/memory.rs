//! Memory that this process shares with another one, which may be hostile.
//!
//! Nothing here is a reference to shared bytes: words are atomics, and bytes are moved by relaxed atomic loads and stores
//! into and out of memory of our own. Concurrent writes of the other side cause wrong bytes at worst.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::error::Error;

/// A mapping of shared memory.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    long: usize,
}

// SAFETY: the memory is reached by atomics alone, so that any number of threads may do so.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps the first `long` bytes of `fd`, which must be sealed against shrinking: access beyond the end of the file would
    /// kill the process.
    pub fn map(fd: impl AsFd, long: usize) -> Result<Self, Error> {
        Self::of(fd.as_fd().as_raw_fd(), long, libc::MAP_SHARED)
    }

    /// Memory shared only between threads of this process.
    #[cfg(test)]
    pub fn fresh(long: usize) -> Result<Self, Error> {
        Self::of(-1, long, libc::MAP_SHARED | libc::MAP_ANONYMOUS)
    }

    fn of(fd: i32, long: usize, flags: i32) -> Result<Self, Error> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses a free address range.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), long, rights, flags, fd, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, long }),
            _ => Err(Error::last("cannot map shared memory")),
        }
    }

    /// Gives the pages back to the system, including pages mapped by another process; they read as zeros afterwards.
    pub fn discard(&self) {
        // SAFETY: the whole mapping, which only atomics access. If the kernel refuses, the pages stay.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.long, libc::MADV_REMOVE) };
    }

    fn place(&self, at: usize, long: usize) -> *mut u8 {
        let inside = at.checked_add(long).is_some_and(|end| end <= self.long);
        assert!(inside, "{long} B at {at} of a mapping of {} B", self.long);
        // SAFETY: within the mapping, as was just checked.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// The 64-bit word at `at`.
    pub fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8), "a word at {at}");
        // SAFETY: within the mapping (`place`), aligned since mappings begin at a page, and an atomic may change.
        unsafe { AtomicU64::from_ptr(self.place(at, 8).cast()) }
    }

    /// The 32-bit word at `at`.
    pub fn half(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4), "a word at {at}");
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.place(at, 4).cast()) }
    }

    /// `count` words from `at` on. Their bounds are checked once: checks at each word took a third of the processor time of a bulk
    /// transfer through two daemons.
    fn words(&self, at: usize, count: usize) -> &[AtomicU64] {
        if count == 0 {
            return &[];
        }
        assert!(at.is_multiple_of(8), "words at {at}");
        // SAFETY: within the mapping (`place`), aligned since mappings begin at a page, and atomics may change.
        unsafe { std::slice::from_raw_parts(self.place(at, 8 * count).cast(), count) }
    }

    /// `count` bytes from `at` on.
    fn bytes(&self, at: usize, count: usize) -> &[AtomicU8] {
        // SAFETY: within the mapping (`place`), and atomics may change.
        unsafe { std::slice::from_raw_parts(self.place(at, count).cast(), count) }
    }

    /// Copies `bytes` to `at`.
    pub fn put(&self, at: usize, bytes: &[u8]) {
        let (front, middle) = bytes.split_at(before_word(at).min(bytes.len()));
        self.put_bytes(at, front);
        let (words, back) = middle.as_chunks::<8>();
        let at = at + front.len();
        for (there, word) in self.words(at, words.len()).iter().zip(words) {
            there.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        self.put_bytes(at + 8 * words.len(), back);
    }

    fn put_bytes(&self, at: usize, bytes: &[u8]) {
        for (there, byte) in self.bytes(at, bytes.len()).iter().zip(bytes) {
            there.store(*byte, Ordering::Relaxed);
        }
    }

    /// Copies what is at `at` to `out`.
    pub fn get(&self, at: usize, out: &mut [u8]) {
        // SAFETY: bytes of the same place and number, to which only initialised ones are written.
        let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) };
        self.fill(at, out);
    }

    /// Copies what is at `at` to all of `out`.
    fn fill(&self, at: usize, out: &mut [MaybeUninit<u8>]) {
        let (front, middle) = out.split_at_mut(before_word(at).min(out.len()));
        self.fill_bytes(at, front);
        let at = at + front.len();
        let (words, back) = middle.as_chunks_mut::<8>();
        for (there, word) in self.words(at, words.len()).iter().zip(words.iter_mut()) {
            *word = there.load(Ordering::Relaxed).to_ne_bytes().map(MaybeUninit::new);
        }
        self.fill_bytes(at + 8 * words.len(), back);
    }

    /// Copies `long` bytes from `at` on to the end of `out`.
    pub fn append_to(&self, at: usize, long: usize, out: &mut Vec<u8>) {
        out.reserve(long);
        self.fill(at, &mut out.spare_capacity_mut()[..long]);
        // SAFETY: that many bytes behind the end were just written.
        unsafe { out.set_len(out.len() + long) };
    }

    fn fill_bytes(&self, at: usize, out: &mut [MaybeUninit<u8>]) {
        for (there, byte) in self.bytes(at, out.len()).iter().zip(out.iter_mut()) {
            byte.write(there.load(Ordering::Relaxed));
        }
    }
}

/// Bytes from `at` to the next whole word.
fn before_word(at: usize) -> usize {
    at.next_multiple_of(8) - at
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length; no reference into it is left, since references borrow `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.long) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_anywhere_is_got_again() {
        let memory = Memory::fresh(4096).unwrap();
        let bytes: Vec<u8> = (1..=100).collect();
        for (at, long) in (0..20).flat_map(|at| (0..40).map(move |long| (at, long))) {
            memory.put(at, &[0; 120]);
            memory.put(at, &bytes[..long]);
            let mut out = [0; 41];
            memory.get(at, &mut out[..long + 1]);
            assert_eq!((&out[..long], out[long]), (&bytes[..long], 0), "{long} B at {at}");
            let mut more = b"before".to_vec();
            memory.append_to(at, long, &mut more);
            assert_eq!(more, [b"before", &bytes[..long]].concat(), "{long} B at {at}");
        }
    }

    #[test]
    #[should_panic(expected = "16 B at 4090 of a mapping of 4096 B")]
    fn nothing_is_beyond_the_end() {
        let memory = Memory::fresh(4096).unwrap();
        memory.place(4090, 16);
    }
}
