//! Frames between two ends within one process, for virtual time.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::counters::Counters;
use crate::error::Error;
use crate::packet_io::PacketIo;

/// Options of a pair of [`Rings`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingOptions {
    /// Capacity of each direction. Frames.
    pub frames: usize,
    /// Longest frame, Ethernet header included. Bytes.
    pub frame_room: usize,
}

impl Default for RingOptions {
    fn default() -> Self {
        Self { frames: 1024, frame_room: 9018 }
    }
}

#[derive(Default, Debug)]
struct Ring {
    frames: VecDeque<Vec<u8>>,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

/// One end of a pair of rings, one per direction. Nothing is lost, and a sent frame is available at once.
#[derive(Debug)]
pub struct Rings {
    options: RingOptions,
    incoming: Arc<Mutex<Ring>>,
    outgoing: Arc<Mutex<Ring>>,
    counters: Counters,
}

fn locked(ring: &Mutex<Ring>) -> MutexGuard<'_, Ring> {
    // Frames are pushed and popped whole, so a panic elsewhere leaves the ring consistent.
    ring.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rings {
    /// Creates both ends.
    #[must_use]
    pub fn pair(options: RingOptions) -> (Self, Self) {
        let (there, back) = (Arc::<Mutex<Ring>>::default(), Arc::<Mutex<Ring>>::default());
        let end = |incoming: &Arc<_>, outgoing: &Arc<_>| Self {
            options,
            incoming: Arc::clone(incoming),
            outgoing: Arc::clone(outgoing),
            counters: Counters::default(),
        };
        (end(&back, &there), end(&there, &back))
    }
}

impl PacketIo for Rings {
    fn frame_room(&self) -> usize {
        self.options.frame_room
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        for got in 0..most {
            let Some(frame) = locked(&self.incoming).frames.pop_front() else { return Ok(got) };
            self.counters.count_received(frame.len());
            each(&frame);
            locked(&self.incoming).spare.push(frame);
        }
        Ok(most)
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        let mut buffer = {
            let mut ring = locked(&self.outgoing);
            if ring.frames.len() >= self.options.frames {
                self.counters.full += 1;
                return Ok(false);
            }
            ring.spare.pop().unwrap_or_default()
        };
        buffer.resize(self.options.frame_room, 0);
        let long = fill(&mut buffer);
        buffer.truncate(long);
        if !buffer.is_empty() {
            self.counters.count_sent(buffer.len());
            locked(&self.outgoing).frames.push_back(buffer);
        }
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns at once: the owner of both ends decides what happens next.
    fn wait(&mut self, _wake: Option<BorrowedFd<'_>>, _timeout: Duration) -> Result<(), Error> {
        Ok(())
    }

    /// Both ends live in this process.
    fn is_gone(&self) -> bool {
        false
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(io: &mut Rings) -> Vec<Vec<u8>> {
        let mut seen = Vec::new();
        io.receive(64, &mut |frame| seen.push(frame.to_vec())).unwrap();
        seen
    }

    fn put(io: &mut Rings, frame: &[u8]) -> bool {
        let fill = &mut |room: &mut [u8]| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        };
        io.send(fill).unwrap()
    }

    #[test]
    fn frames_arrive_in_order_at_the_other_end() {
        let (mut a, mut b) = Rings::pair(RingOptions::default());
        assert!(put(&mut a, b"one") && put(&mut a, b"two") && put(&mut b, b"back"));
        assert_eq!(frames(&mut b), [b"one".to_vec(), b"two".to_vec()]);
        assert_eq!(frames(&mut a), [b"back".to_vec()]);
        assert!(put(&mut a, b"x"));
        assert_eq!(frames(&mut b), [b"x".to_vec()]);
        assert_eq!((a.counters().sent, a.counters().sent_bytes, b.counters().received_bytes), (3, 7, 7));
    }

    #[test]
    fn a_full_ring_takes_no_more_and_says_so() {
        let (mut a, mut b) = Rings::pair(RingOptions { frames: 1, frame_room: 64 });
        assert!(put(&mut a, b"one") && !put(&mut a, b"two"));
        assert_eq!(a.counters().full, 1);
        assert_eq!(frames(&mut b).len(), 1);
        assert!(put(&mut a, b"two"));
    }

    #[test]
    fn a_frame_of_no_bytes_is_none() {
        let (mut a, mut b) = Rings::pair(RingOptions::default());
        assert!(put(&mut a, b""));
        assert_eq!(frames(&mut b).len(), 0);
    }
}
