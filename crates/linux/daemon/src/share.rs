//! Memory that the daemon shares with an application: a session for all, and a channel for each stream and each listener.
//!
//! A **channel** is memory with two rings, up from the application and down to it, and two doorbells that the daemon rings,
//! one for bytes to read and one for room to write. A listener has a channel too: each byte that comes down is a stream
//! that can be accepted.
//!
//! | line of 64 B | written by | holds |
//! |---|---|---|
//! | 0, 1 | application, daemon | the counters of the ring up |
//! | 2, 3 | daemon, application | the counters of the ring down |
//! | 4 | application | its verdict, u32: 0 open, 1 closed, 2 aborted; and u32: 1 if no other channel may have this memory |
//! | 5 | daemon | why the channel failed, u32: 0 not at all; why writing failed, u32; from byte 8 how much is settled, u64 |
//! | from byte 4096 | both | the bytes of the ring up, then those of the ring down |
//!
//! A **session** is memory with one word, whether the daemon sleeps, and from byte 64 a bit for each channel: the
//! application sets it where it has moved something. It then rings the session's doorbell if the daemon sleeps.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::doorbell::Doorbell;
use crate::error::Error;
use crate::memory::Memory;
use crate::ring::{LINE, Layout, Reader, Writer};
use crate::sys;

const VERDICT: usize = 4 * LINE;
const RETIRED: usize = VERDICT + 4;
const FAILURE: usize = 5 * LINE;
const WRITE_FAILURE: usize = FAILURE + 4;
const SETTLED: usize = FAILURE + 8;
const BYTES: usize = 4096;

/// The application's wish for a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Open,
    /// Bytes written already are still sent; bytes that arrive are refused.
    Closed,
    /// The stream is reset at both ends.
    Aborted,
}

/// The memory of a channel, whose rings have `size` bytes each.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    memory: Arc<Memory>,
    size: usize,
}

impl Channel {
    /// Length of the memory. Bytes.
    pub fn long(size: usize) -> usize {
        BYTES + 2 * size
    }

    /// Maps a descriptor made by [`sys::memory_file`] or received from the daemon.
    pub fn map(fd: &OwnedFd, size: usize) -> Result<Self, Error> {
        Ok(Self { memory: Arc::new(Memory::map(fd, Self::long(size))?), size })
    }

    /// Size of each of its rings. Bytes.
    pub fn ring(&self) -> usize {
        self.size
    }

    fn up(&self) -> Layout {
        Layout { writer: 0, reader: LINE, bytes: BYTES, size: self.size }
    }

    fn down(&self) -> Layout {
        Layout { writer: 2 * LINE, reader: 3 * LINE, bytes: BYTES + self.size, size: self.size }
    }

    /// The application's ends.
    pub fn application(&self) -> (Writer, Reader) {
        (Writer::new(Arc::clone(&self.memory), self.up()), Reader::new(Arc::clone(&self.memory), self.down()))
    }

    /// The daemon's ends.
    pub fn daemon(&self) -> (Reader, Writer) {
        (Reader::new(Arc::clone(&self.memory), self.up()), Writer::new(Arc::clone(&self.memory), self.down()))
    }

    /// Gives its pages back to the system, including pages mapped by other processes.
    pub fn discard(&self) {
        self.memory.discard();
    }

    /// Resets the rings and flags. Only while the other side does not use them.
    pub fn clear(&self) {
        (0..6 * LINE / 8).for_each(|word| self.memory.word(8 * word).store(0, Ordering::Relaxed));
    }

    /// Writes any word, also in violation of the rules.
    #[cfg(any(test, feature = "hostile"))]
    pub fn spoil(&self, at: usize, value: u64) {
        self.memory.word(at).store(value, Ordering::SeqCst);
    }

    pub fn verdict(&self) -> Verdict {
        match self.memory.half(VERDICT).load(Ordering::Acquire) {
            0 => Verdict::Open,
            1 => Verdict::Closed,
            _ => Verdict::Aborted,
        }
    }

    /// Sets the verdict. An abort is final.
    pub fn set_verdict(&self, verdict: Verdict) {
        self.memory.half(VERDICT).fetch_max(verdict as u32, Ordering::AcqRel);
    }

    /// Whether no other channel may have this memory.
    pub fn is_retired(&self) -> bool {
        self.memory.half(RETIRED).load(Ordering::Acquire) != 0
    }

    pub fn retire(&self) {
        self.memory.half(RETIRED).store(1, Ordering::Release);
    }

    /// The reason why the channel failed; 0 if it did not.
    pub fn failure(&self) -> u32 {
        self.memory.half(FAILURE).load(Ordering::Acquire)
    }

    pub fn set_failure(&self, code: u32) {
        self.memory.half(FAILURE).store(code, Ordering::Release);
    }

    /// The reason why bytes that the application writes, or has written, do not arrive; 0 if there is none. Bytes that have
    /// come can still be read.
    pub fn write_failure(&self) -> u32 {
        self.memory.half(WRITE_FAILURE).load(Ordering::Acquire)
    }

    pub fn set_write_failure(&self, code: u32) {
        self.memory.half(WRITE_FAILURE).store(code, Ordering::Release);
    }

    /// Whether the other host has acknowledged the first `bytes` bytes, and with `end` the end behind them.
    pub fn is_settled(&self, bytes: u64, end: bool) -> bool {
        self.memory.word(SETTLED).load(Ordering::Acquire) >= 2 * bytes + u64::from(end)
    }

    pub fn set_settled(&self, bytes: u64, end: bool) {
        self.memory.word(SETTLED).store(2 * bytes + u64::from(end), Ordering::Release);
    }
}

/// A channel with the daemon's ends of its doorbells.
#[derive(Debug)]
pub(crate) struct OwnChannel {
    pub channel: Channel,
    pub readable: Doorbell,
    pub writable: Doorbell,
}

impl OwnChannel {
    /// Makes a channel, and the descriptors for the application: the memory, the doorbell for bytes, and the doorbell for room.
    pub fn make(size: usize) -> Result<(Self, [OwnedFd; 3]), Error> {
        let fd = sys::memory_file(Channel::long(size))?;
        let channel = Channel::map(&fd, size)?;
        let ([readable, hears_bytes], [writable, hears_room]) = (Doorbell::pair()?, Doorbell::pair()?);
        Ok((Self { channel, readable, writable }, [fd, hears_bytes.into(), hears_room.into()]))
    }
}

const ASLEEP: usize = 0;
const NEWS: usize = LINE;

/// The memory of a session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    memory: Arc<Memory>,
    words: usize,
}

impl Session {
    /// Length of the memory. Bytes.
    pub fn long(channels: usize) -> usize {
        (NEWS + channels.div_ceil(64) * 8).next_multiple_of(4096)
    }

    /// Maps a descriptor made by [`sys::memory_file`] or received from the daemon.
    pub fn map(fd: &OwnedFd, channels: usize) -> Result<Self, Error> {
        let memory = Memory::map(fd, Self::long(channels))?;
        Ok(Self { memory: Arc::new(memory), words: channels.div_ceil(64) })
    }

    /// Called by the application after it has moved a counter of channel `slot`. Returns whether it must ring.
    pub fn note(&self, slot: usize) -> bool {
        self.memory.word(NEWS + slot / 64 * 8).fetch_or(1 << (slot % 64), Ordering::Release);
        fence(Ordering::SeqCst);
        let asleep = self.memory.half(ASLEEP);
        asleep.load(Ordering::Relaxed) != 0 && asleep.swap(0, Ordering::Relaxed) != 0
    }

    /// Takes the numbers of the channels in which a counter has moved.
    pub fn news(&self, mut each: impl FnMut(usize)) {
        for number in 0..self.words {
            let word = self.memory.word(NEWS + number * 8);
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = word.swap(0, Ordering::Acquire);
            while bits != 0 {
                each(number * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Writes any word, also in violation of the rules.
    #[cfg(any(test, feature = "hostile"))]
    pub fn spoil(&self, at: usize, value: u64) {
        self.memory.word(at).store(value, Ordering::SeqCst);
    }

    /// Called by the daemon when it is about to sleep, and when it is awake. It must check the news once more before it
    /// sleeps.
    pub fn sleep(&self, asleep: bool) {
        self.memory.half(ASLEEP).store(asleep.into(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}

/// A session with the daemon's end of its doorbell.
#[derive(Debug)]
pub(crate) struct OwnSession {
    pub session: Session,
    pub doorbell: Doorbell,
}

impl OwnSession {
    /// Makes a session, and the descriptors for the application: the memory, and the doorbell that it rings.
    pub fn make(channels: usize) -> Result<(Self, [OwnedFd; 2]), Error> {
        let fd = sys::memory_file(Session::long(channels))?;
        let session = Session::map(&fd, channels)?;
        let [doorbell, rings] = Doorbell::pair()?;
        Ok((Self { session, doorbell }, [fd, rings.into()]))
    }
}

impl AsFd for OwnSession {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_channel_see_the_same() {
        let (own, [fd, _, _]) = OwnChannel::make(4096).unwrap();
        let theirs = Channel::map(&fd, 4096).unwrap();
        let ((mut reads, mut writes), (mut up, mut down)) = (own.channel.daemon(), theirs.application());
        assert_eq!((up.write(b"up"), writes.write(b"down")), (Ok(2), Ok(4)));
        let mut out = [0; 8];
        assert_eq!((reads.read(&mut out), &out[..2]), (Ok(2), &b"up"[..]));
        assert_eq!((down.read(&mut out), &out[..4]), (Ok(4), &b"down"[..]));
        theirs.set_verdict(Verdict::Aborted);
        theirs.set_verdict(Verdict::Closed);
        own.channel.set_failure(7);
        assert_eq!((own.channel.verdict(), theirs.failure()), (Verdict::Aborted, 7));
        own.channel.clear();
        assert_eq!((own.channel.verdict(), theirs.failure()), (Verdict::Open, 0));
        assert_eq!(theirs.application().1.ready(), Ok(0));
    }

    #[test]
    fn the_memory_of_a_channel_cannot_be_taken_away() {
        let (_own, [fd, _, _]) = OwnChannel::make(4096).unwrap();
        assert!(sys::is_sealed(&fd, Channel::long(4096)));
        assert!(!sys::is_sealed(&fd, Channel::long(8192)));
        let file = std::fs::File::from(fd);
        assert!(file.set_len(0).is_err() && file.set_len(1 << 20).is_err());
    }

    #[test]
    fn news_come_once_and_wake_who_sleeps() {
        let (own, [fd, _]) = OwnSession::make(130).unwrap();
        let theirs = Session::map(&fd, 130).unwrap();
        let news = || {
            let mut all = Vec::new();
            own.session.news(|slot| all.push(slot));
            all
        };
        assert!(![129, 0, 64, 0].map(|slot| theirs.note(slot)).contains(&true));
        assert_eq!((news(), news()), (vec![0, 64, 129], vec![]));
        own.session.sleep(true);
        assert_eq!([theirs.note(5), theirs.note(6)], [true, false]);
        assert_eq!(news(), [5, 6]);
    }
}
