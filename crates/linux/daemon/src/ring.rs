//! A ring of bytes from one side to the other in shared memory: one writer, one reader, no lock, no system call.
//!
//! Both sides count bytes since the beginning. Each counter stands in a cache line that only its owner writes, beside the
//! owner's flags; each side keeps its own counter in private memory and reads only the other's:
//!
//! | at | line of the writer | line of the reader |
//! |---|---|---|
//! | 0 | bytes written, u64 | bytes read, u64 |
//! | 8 | bytes of room it waits for, u32; 0: none | bytes it waits for, u32; 0: none |
//! | 12 | 1: nothing follows, u32 | |
//!
//! The other side may be hostile. A counter that breaks the rules (goes backwards, or claims more than the ring holds) is
//! reported as [`Broken`]; nothing else depends on it.
//!
//! Going to sleep: a side announces how much it waits for, and checks the counter once more; the other side moves its counter,
//! and then checks for a waiter. With a fence between the two steps on both sides, at least one side sees the other's store.
//!
//! A side that moves many bytes also waits for many, because each wake-up costs several system calls. If nothing more is about to
//! come, the daemon wakes a reader for fewer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use pullnet_host::{Sink, Source};
use thiserror::Error;

use crate::memory::Memory;

/// A side's line of a ring, or any other line with a single writer. Bytes.
pub(crate) const LINE: usize = 64;

const COUNT: usize = 0;
const WAITS: usize = 8;
const ENDED: usize = 12;

/// The other side broke the rules of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the counters of a ring in shared memory are impossible")]
pub(crate) struct Broken;

/// Offsets of a ring in its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// The writer's line.
    pub writer: usize,
    /// The reader's line.
    pub reader: usize,
    /// The bytes.
    pub bytes: usize,
    /// Their number; a power of two.
    pub size: usize,
}

/// State common to both ends.
#[derive(Debug)]
struct End {
    memory: Arc<Memory>,
    layout: Layout,
    /// The own counter.
    own: u64,
    /// The other's counter when last read.
    other: u64,
    own_line: usize,
    other_line: usize,
}

impl End {
    fn new(memory: Arc<Memory>, layout: Layout, own_line: usize, other_line: usize) -> Self {
        assert!(layout.size.is_power_of_two(), "a ring of {} B", layout.size);
        Self { memory, layout, own: 0, other: 0, own_line, other_line }
    }

    fn word(&self, line: usize) -> &AtomicU64 {
        self.memory.word(line + COUNT)
    }

    fn flag(&self, line: usize, at: usize) -> &AtomicU32 {
        self.memory.half(line + at)
    }

    /// Reads the other's counter; it must lie between the last value seen and `limit`.
    fn look(&mut self, limit: u64) -> Result<u64, Broken> {
        let seen = self.word(self.other_line).load(Ordering::Acquire);
        if seen < self.other || seen > limit {
            return Err(Broken);
        }
        self.other = seen;
        Ok(seen)
    }

    /// Moves the own counter.
    fn advance(&mut self, bytes: usize) {
        self.own += bytes as u64;
        self.word(self.own_line).store(self.own, Ordering::Release);
    }

    /// Announces that this side waits for `least` bytes, so that the other side rings; 0: it does not wait.
    fn wait(&self, least: u32) {
        self.flag(self.own_line, WAITS).store(least, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether the other side waits for `there` bytes or fewer. Clears its announcement, so the caller must ring.
    fn other_waits(&self, there: u64) -> bool {
        fence(Ordering::SeqCst);
        let flag = self.flag(self.other_line, WAITS);
        let least = flag.load(Ordering::Relaxed);
        least != 0 && u64::from(least) <= there && flag.swap(0, Ordering::Relaxed) != 0
    }

    /// The `bytes` bytes of the ring from the own counter on, which its end may cut in two.
    fn part(&self, bytes: usize) -> Part<'_> {
        let offset = (self.own % self.layout.size as u64) as usize;
        let first = bytes.min(self.layout.size - offset);
        let stretches = [(self.layout.bytes + offset, first), (self.layout.bytes, bytes - first)];
        Part { memory: &self.memory, stretches }
    }
}

/// Bytes of a ring that its reader may copy. They stay in the ring.
#[derive(Debug)]
pub(crate) struct Ready<'a>(Part<'a>);

/// Room of a ring that its writer may fill. The reader sees the bytes when the writer's counter moves.
#[derive(Debug)]
pub(crate) struct Room<'a>(Part<'a>);

#[derive(Debug)]
struct Part<'a> {
    memory: &'a Memory,
    stretches: [(usize, usize); 2],
}

impl Part<'_> {
    fn bytes(&self) -> usize {
        self.stretches[0].1 + self.stretches[1].1
    }

    /// Takes out where the next `bytes` bytes are, in stretches that the end of the ring does not cut.
    fn take(&mut self, bytes: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let mut wanted = bytes;
        let taken = self.stretches.each_mut().map(|(at, left)| {
            let long = wanted.min(*left);
            wanted -= long;
            (*at, *left) = (*at + long, *left - long);
            (*at - long, long)
        });
        taken.into_iter().filter(|(_, long)| *long > 0)
    }
}

impl Source for Ready<'_> {
    fn left(&self) -> usize {
        self.0.bytes()
    }

    fn append_to(&mut self, out: &mut Vec<u8>, bytes: usize) {
        for (at, long) in self.0.take(bytes) {
            self.0.memory.append_to(at, long, out);
        }
    }
}

impl Sink for Room<'_> {
    fn room(&self) -> usize {
        self.0.bytes()
    }

    fn put(&mut self, mut bytes: &[u8]) {
        for (at, long) in self.0.take(bytes.len()) {
            let (now, later) = bytes.split_at(long);
            self.0.memory.put(at, now);
            bytes = later;
        }
    }
}

/// The end that writes.
#[derive(Debug)]
pub(crate) struct Writer(End);

impl Writer {
    /// The writer of an empty ring.
    pub fn new(memory: Arc<Memory>, layout: Layout) -> Self {
        Self(End::new(memory, layout, layout.writer, layout.reader))
    }

    /// Number of bytes that can be written now.
    pub fn room(&mut self) -> Result<usize, Broken> {
        let read = self.0.look(self.0.own)?;
        let held = self.0.own - read;
        // Not below zero: `read` never is below an earlier value, for which this held when the own counter moved.
        Ok(self.0.layout.size - held as usize)
    }

    /// Writes as many of `bytes` as there is room for; returns their number.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let mut room = self.fill(bytes.len())?;
        let long = room.room();
        room.put(&bytes[..long]);
        self.filled(long);
        Ok(long)
    }

    /// Room for the next bytes, `most` at most. [`Writer::filled`] hands them over.
    pub fn fill(&mut self, most: usize) -> Result<Room<'_>, Broken> {
        let long = self.room()?.min(most);
        Ok(Room(self.0.part(long)))
    }

    /// Hands over `bytes` bytes that were put into the room.
    pub fn filled(&mut self, bytes: usize) {
        debug_assert!(self.unread() as usize + bytes <= self.0.layout.size, "filled without looking");
        if bytes > 0 {
            self.0.advance(bytes);
        }
    }

    /// Bytes written since the beginning.
    pub fn written(&self) -> u64 {
        self.0.own
    }

    /// Marks the end behind the bytes written so far.
    pub fn end(&self) {
        self.0.flag(self.0.own_line, ENDED).store(1, Ordering::Release);
    }

    /// Announces that this side waits for `least` bytes of room; 0: it does not wait. Check [`Writer::room`] once more before
    /// sleeping.
    pub fn wait(&self, least: u32) {
        self.0.wait(least);
    }

    /// Number of bytes that the reader had not read when the room was last looked at.
    pub fn unread(&self) -> u64 {
        self.0.own - self.0.other
    }

    /// Whether the reader waits for no more bytes than it can read now: then ring.
    pub fn reader_has_enough(&self) -> bool {
        self.0.other_waits(self.unread())
    }

    /// Whether the reader still waits after [`Writer::reader_has_enough`].
    pub fn reader_wants_more(&self) -> bool {
        self.0.flag(self.0.other_line, WAITS).load(Ordering::Relaxed) != 0
    }

    /// Whether the reader waits, for any number of bytes or the end: then ring.
    pub fn reader_waits(&self) -> bool {
        self.0.other_waits(u64::MAX)
    }
}

/// The end that reads.
#[derive(Debug)]
pub(crate) struct Reader {
    end: End,
    /// Number of bytes since the beginning after which reading stops, even if the writer claims more.
    sealed: u64,
}

impl Reader {
    /// The reader of an empty ring.
    pub fn new(memory: Arc<Memory>, layout: Layout) -> Self {
        Self { end: End::new(memory, layout, layout.reader, layout.writer), sealed: u64::MAX }
    }

    /// Stops reading at the current end: bytes written from now on are ignored. With an impossible counter that is what was read so far,
    /// since the other side may mend it.
    pub fn seal(&mut self) -> Result<(), Broken> {
        let ready = self.ready();
        self.sealed = self.end.own + ready.unwrap_or(0) as u64;
        ready.map(|_| ())
    }

    /// Number of bytes that can be read now.
    pub fn ready(&mut self) -> Result<usize, Broken> {
        let written = self.end.look(self.end.own + self.end.layout.size as u64)?;
        Ok((written.min(self.sealed) - self.end.own) as usize)
    }

    /// Whether the writer has marked the end. Check this before [`Reader::ready`]: all bytes before the end are ready then.
    pub fn ended(&self) -> bool {
        self.end.flag(self.end.other_line, ENDED).load(Ordering::Acquire) != 0
    }

    /// The next bytes, `most` at most. They stay in the ring.
    pub fn peek(&mut self, most: usize) -> Result<Ready<'_>, Broken> {
        let long = self.ready()?.min(most);
        Ok(Ready(self.end.part(long)))
    }

    /// Takes out `bytes` that were peeked at.
    pub fn consume(&mut self, bytes: usize) {
        debug_assert!(self.end.own + bytes as u64 <= self.end.other, "consumed without looking");
        self.end.advance(bytes);
    }

    /// Bytes taken out since the beginning.
    pub fn taken(&self) -> u64 {
        self.end.own
    }

    /// Moves ready bytes to `out`, as many as fit; returns their number.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, Broken> {
        let Ready(mut ready) = self.peek(out.len())?;
        let long = ready.bytes();
        let mut rest = &mut out[..long];
        for (at, long) in ready.take(long) {
            let (now, later) = rest.split_at_mut(long);
            ready.memory.get(at, now);
            rest = later;
        }
        if long > 0 {
            self.consume(long);
        }
        Ok(long)
    }

    /// Announces that this side waits for `least` bytes; 0: it does not wait. Check [`Reader::ready`] once more before sleeping.
    pub fn wait(&self, least: u32) {
        self.end.wait(least);
    }

    /// Whether the writer waits for no more room than there is now: then ring.
    pub fn writer_has_enough(&self) -> bool {
        self.end.other_waits(self.end.layout.size as u64 - (self.end.other - self.end.own))
    }

    /// Whether the writer waits, for any room: then ring.
    pub fn writer_waits(&self) -> bool {
        self.end.other_waits(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    const LAYOUT: Layout = Layout { writer: 0, reader: LINE, bytes: 4096, size: 64 };

    fn ring() -> (Arc<Memory>, Writer, Reader) {
        let memory = Arc::new(Memory::fresh(8192).unwrap());
        (Arc::clone(&memory), Writer::new(Arc::clone(&memory), LAYOUT), Reader::new(memory, LAYOUT))
    }

    #[derive(Clone, Debug)]
    enum Step {
        Write(usize),
        Read(usize),
        Peek(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..100usize).prop_map(Step::Write),
            (0..100usize).prop_map(Step::Read),
            (0..100usize, 0..100usize).prop_map(|(long, taken)| Step::Peek(long, taken)),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_queue_of_bytes(steps in prop::collection::vec(step(), 0..200)) {
            let (_memory, mut writer, mut reader) = ring();
            let (mut next, mut expected) = (0u8, 0u8);
            let mut held = 0;
            for step in steps {
                let mut out = [0; 100];
                let got = match step {
                    Step::Write(long) => {
                        let bytes: Vec<u8> = (0..long).map(|at| next.wrapping_add(at as u8)).collect();
                        let written = writer.write(&bytes).unwrap();
                        prop_assert_eq!(written, long.min(LAYOUT.size - held));
                        next = next.wrapping_add(written as u8);
                        held += written;
                        0
                    }
                    Step::Read(long) => reader.read(&mut out[..long]).unwrap(),
                    Step::Peek(long, taken) => {
                        let mut ready = reader.peek(long).unwrap();
                        prop_assert_eq!(ready.left(), long.min(held));
                        let taken = taken.min(ready.left());
                        let mut copied = Vec::new();
                        ready.append_to(&mut copied, taken / 2);
                        ready.append_to(&mut copied, taken - taken / 2);
                        out[..taken].copy_from_slice(&copied);
                        reader.consume(taken);
                        taken
                    }
                };
                for byte in &out[..got] {
                    prop_assert_eq!(*byte, expected);
                    expected = expected.wrapping_add(1);
                }
                held -= got;
                prop_assert_eq!((writer.room().unwrap(), reader.ready().unwrap()), (LAYOUT.size - held, held));
            }
        }

        /// Any counter written by the other side gives an answer within the ring, or `Broken`.
        #[test]
        fn hostile_counters_are_told(counters in prop::collection::vec(
            prop_oneof![any::<u64>(), 0..200u64, Just(u64::MAX), Just(1 << 63)], 0..50,
        )) {
            let (memory, mut writer, mut reader) = ring();
            let mut last = 0;
            writer.write(&[7; 40]).unwrap();
            for counter in &counters {
                memory.word(LAYOUT.reader).store(*counter, Ordering::Relaxed);
                let room = writer.write(&[1; 10]);
                prop_assert_eq!(room.is_ok(), *counter >= last && *counter <= writer.0.own - room.unwrap_or(0) as u64);
                prop_assert!(writer.0.own - writer.0.other <= LAYOUT.size as u64);
                last = writer.0.other;
            }
            let mut out = [0; 100];
            for counter in counters {
                memory.word(LAYOUT.writer).store(counter, Ordering::Relaxed);
                let before = reader.end.own;
                match reader.read(&mut out) {
                    Ok(long) => prop_assert!(long <= LAYOUT.size && counter - before == long as u64),
                    Err(Broken) => prop_assert!(counter < reader.end.other || counter - before > LAYOUT.size as u64),
                }
            }
        }
    }

    #[test]
    fn the_end_comes_after_the_last_byte() {
        let (_memory, mut writer, mut reader) = ring();
        writer.write(b"last").unwrap();
        assert!(!reader.ended());
        writer.end();
        assert!(reader.ended());
        assert_eq!(reader.ready(), Ok(4));
    }

    #[test]
    fn nothing_is_read_behind_a_seal() {
        for counter in [10, u64::MAX] {
            let (memory, mut writer, mut reader) = ring();
            writer.write(&[1; 10]).unwrap();
            memory.word(LAYOUT.writer).store(counter, Ordering::Relaxed);
            let sealed = reader.seal();
            writer.write(&[2; 10]).unwrap();
            let expected = if counter == 10 { (Ok(()), 10) } else { (Err(Broken), 0) };
            assert_eq!((sealed, reader.read(&mut [0; 64]).unwrap()), expected);
        }
    }

    #[test]
    fn who_waits_is_rung_for_once() {
        let (_memory, mut writer, mut reader) = ring();
        assert!(!writer.reader_waits());
        reader.wait(1);
        writer.write(b"x").unwrap();
        assert_eq!([writer.reader_waits(), writer.reader_waits()], [true, false]);
        writer.wait(1);
        reader.read(&mut [0; 8]).unwrap();
        assert_eq!([reader.writer_waits(), reader.writer_waits()], [true, false]);
        writer.wait(1);
        writer.wait(0);
        assert!(!reader.writer_waits());
    }

    #[test]
    fn who_waits_for_many_bytes_is_rung_for_when_they_are_there() {
        let (_memory, mut writer, mut reader) = ring();
        reader.wait(10);
        writer.write(&[1; 9]).unwrap();
        assert!(!writer.reader_has_enough());
        writer.write(&[1; 1]).unwrap();
        assert_eq!([writer.reader_has_enough(), writer.reader_has_enough()], [true, false]);
        writer.write(&[1; 54]).unwrap();
        writer.wait(32);
        reader.read(&mut [0; 31]).unwrap();
        assert!(!reader.writer_has_enough());
        reader.read(&mut [0; 1]).unwrap();
        assert_eq!([reader.writer_has_enough(), reader.writer_has_enough()], [true, false]);
        // The other side may announce anything; if that is more than the ring holds, it sleeps until something else wakes it.
        reader.wait(u32::MAX);
        writer.write(&[1; 32]).unwrap();
        assert_eq!([writer.reader_has_enough(), writer.reader_waits()], [false, true]);
    }

    /// Two threads that sleep whenever they can: a lost wake-up would leave both asleep until the watchdog of the park
    /// fires, and the test would see a wait that ended without a ring.
    #[test]
    fn two_threads_lose_no_byte_and_no_wake_up() {
        const TOTAL: usize = 1 << 20;
        let (_memory, mut writer, mut reader) = ring();
        let (to_writer, from_reader) = std::sync::mpsc::channel::<()>();
        let (to_reader, from_writer) = std::sync::mpsc::channel::<()>();
        let watchdog = std::time::Duration::from_secs(300);
        let writing = thread::spawn(move || {
            let bytes: Vec<u8> = (0..=250).collect();
            let mut sent = 0;
            while sent < TOTAL {
                let at = sent % 251;
                let long = (1 + sent % 37).min(TOTAL - sent).min(251 - at);
                let written = writer.write(&bytes[at..at + long]).unwrap();
                sent += written;
                if written > 0 && writer.reader_waits() {
                    to_reader.send(()).unwrap();
                }
                if written == 0 {
                    writer.wait(1);
                    if writer.room().unwrap() == 0 {
                        from_reader.recv_timeout(watchdog).expect("nobody rang for the writer");
                    }
                    writer.wait(0);
                }
            }
            writer.end();
            if writer.reader_waits() {
                to_reader.send(()).unwrap();
            }
            // Kept open: the reader may still ring.
            from_reader
        });
        let (mut got, mut out) = (0usize, [0; 50]);
        loop {
            let ended = reader.ended();
            let long = reader.read(&mut out).unwrap();
            assert!(out[..long].iter().enumerate().all(|(at, byte)| usize::from(*byte) == (got + at) % 251));
            got += long;
            if long > 0 && reader.writer_waits() {
                let _ = to_writer.send(());
            }
            if long == 0 && ended {
                break;
            }
            if long == 0 {
                reader.wait(1);
                if reader.ready().unwrap() == 0 && !reader.ended() {
                    from_writer.recv_timeout(watchdog).expect("nobody rang for the reader");
                }
                reader.wait(0);
            }
        }
        assert_eq!(got, TOTAL);
        drop(writing.join().unwrap());
    }
}
