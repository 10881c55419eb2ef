//! Takes frames from an interface, and does what is due.

use pullnet_netio::{Error, PacketIo};
use pullnet_units::{Instant, Picos};

use crate::engine::Engine;

/// Maximum number of frames taken or sent before the other direction has its turn.
pub(super) const BURST: usize = 64;
/// A thread that has paused for longer may find timers due although their answers have arrived.
const PAUSE: Picos = Picos::from_micros(200);
/// Maximum number of frames taken before late timers run, so that they run at last where frames arrive as fast as they are taken.
const MOST_BEFORE_TIMERS: usize = 8192;

/// Takes what has arrived, at most so much that answers leave soon.
#[derive(Debug)]
pub struct Intake {
    /// Maximum number of frames taken before their answers leave.
    taken: usize,
    /// Time of the last call.
    last: Instant,
}

impl Intake {
    /// For an interface with frames of `frame_room` bytes. About 128 kB are taken at once: with a whole first window of long packets,
    /// sender and receiver would work by turns instead of at the same time.
    #[must_use]
    pub fn new(frame_room: usize) -> Self {
        Self { taken: ((128 << 10) / frame_room.max(1)).clamp(8, BURST), last: Instant::ZERO }
    }

    /// Passes arrived frames to `engine`, then does what is due at `now`. Returns the number of frames, and whether something
    /// was due.
    ///
    /// While the thread waited for a processor, answers to its packets may have arrived. Where timers are due after such a pause,
    /// all of these are taken before a timer runs; otherwise a whole window would count as lost.
    ///
    /// # Errors
    /// If the interface is gone, or the kernel reports another error; due work is done first.
    pub fn take(
        &mut self,
        io: &mut dyn PacketIo,
        engine: &mut Engine,
        now: Instant,
    ) -> Result<(usize, bool), Error> {
        let paused = now.since(self.last) > PAUSE;
        self.last = now;
        let late = paused && engine.deadline().is_some_and(|due| due <= now);
        let most = if late { MOST_BEFORE_TIMERS } else { self.taken };
        let received = receive(io, self.taken, most, &mut |frame| engine.receive(now, frame));
        let did = engine.catch_up(now);
        Ok((received?, did))
    }
}

/// Receives `most` frames or all there are, in portions of `portion`. Returns the number of frames.
fn receive(
    io: &mut dyn PacketIo,
    portion: usize,
    most: usize,
    each: &mut dyn FnMut(&[u8]),
) -> Result<usize, Error> {
    let mut all = 0;
    while all < most {
        let got = io.receive(portion, each)?;
        all += got;
        if got < portion {
            break;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_128_kb_are_taken_before_their_answers_leave() {
        let taken = [64, 1518, 9018, 60_018].map(|room| Intake::new(room).taken);
        assert_eq!(taken, [64, 64, 14, 8]);
    }
}
