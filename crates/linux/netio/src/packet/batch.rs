//! Frames that leave together, as bursts where the interface takes them.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;

use pullnet_wire::{BURST_HEADERS, Flow, UdpChecksum};

use super::burst::{IPV4_HEADERS, Offload};
use super::lines::{LINE, Lines};
use crate::counters::Counters;
use crate::sys;

/// Most frames sent by one system call.
const BATCH: usize = 64;
/// Most frames of a burst: the limit of kernels before 6.9. Later ones take 128.
const MOST: usize = 64;
/// Batches without bursts after one that the interface has refused; doubles with each further one.
const PAUSES: (u32, u32) = (16, 1 << 16);

/// Frames that leave in one pass through the kernel.
#[derive(Clone, Copy, Debug)]
struct Departure {
    /// `None`: a frame that leaves alone.
    flow: Option<Flow>,
    /// Bytes behind the headers of the first frame, which no other exceeds.
    size: usize,
    /// The same of all frames.
    carried: usize,
    frames: usize,
    first: usize,
    last: usize,
    /// Whether another frame may follow: none has been shorter than the first.
    open: bool,
    /// The kernel's words and the headers of a burst.
    head: [u8; Offload::LONG + BURST_HEADERS],
}

impl Departure {
    fn takes(&self, carried: usize) -> bool {
        let room = self.flow.is_some_and(|flow| flow.has_room(self.carried + carried));
        self.open && carried <= self.size && self.frames < MOST && room
    }

    fn is_burst(&self) -> bool {
        self.frames > 1
    }

    /// Length of the headers that are taken from `head`, and not from the first frame. Bytes.
    fn headers(&self) -> usize {
        self.flow.filter(|_| self.is_burst()).map_or(0, |flow| flow.headers())
    }

    /// Writes `head`. `long`: length of the first frame. False: it does not fit, which `takes` excludes.
    fn write_head(&mut self, long: usize) -> bool {
        let burst = self.is_burst();
        let (words, headers) = self.head.split_at_mut(Offload::LONG);
        let Some(flow) = self.flow.filter(|_| burst) else {
            words.copy_from_slice(&Offload::of_frame(long));
            return true;
        };
        words.copy_from_slice(&Offload::of_burst(flow.headers() + self.carried, flow.headers(), self.size));
        flow.write(headers, self.carried, UdpChecksum::Begun)
    }
}

/// Frames for the next flush, one in each of [`BATCH`] slots of `slot` bytes.
#[derive(Debug)]
pub(super) struct Batch {
    memory: Lines,
    /// Bytes of the longest frame.
    room: usize,
    slot: usize,
    /// 0: the frame has left.
    lengths: Vec<usize>,
    /// The frame that leaves behind each one in the same burst.
    next: [usize; BATCH],
    departures: Vec<Departure>,
    /// Whether bursts are wanted.
    bursts: bool,
    /// Batches that leave without bursts, and their number after the next refusal.
    pause: (u32, u32),
}

impl Batch {
    pub fn new(room: usize, bursts: bool) -> Self {
        let slot = room.next_multiple_of(LINE);
        Self {
            memory: Lines::new(BATCH * slot, IPV4_HEADERS),
            room,
            slot,
            lengths: Vec::with_capacity(BATCH),
            next: [0; BATCH],
            departures: Vec::with_capacity(BATCH),
            bursts,
            pause: (0, PAUSES.0),
        }
    }

    pub fn is_full(&self) -> bool {
        self.lengths.len() == BATCH
    }

    /// Lets `fill` write a frame; returns its length.
    pub fn push(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> usize {
        let at = self.lengths.len() * self.slot;
        let long = fill(&mut self.memory[at..at + self.room]).min(self.room);
        if long > 0 {
            self.lengths.push(long);
        }
        long
    }

    /// Sends all frames that the kernel accepts. A frame that it refuses is lost, as in a full queue, and counted: it must not keep
    /// the others from leaving, nor from being written.
    ///
    /// # Errors
    /// The first refusal that says more than that the device had no room.
    pub fn send(&mut self, fd: &OwnedFd, counters: &mut Counters) -> io::Result<()> {
        if self.lengths.is_empty() {
            return Ok(());
        }
        self.pause.0 = self.pause.0.saturating_sub(1);
        self.plan();
        let (mut done, mut refusal, mut was_down) = (0, None, false);
        while done < self.departures.len() {
            match self.hand_over(fd, done) {
                Ok(sent) => done = self.left(done, sent, counters),
                Err(error) => match error.raw_os_error() {
                    Some(code) if self.departures[done].is_burst() && refuses_bursts(code) => {
                        (self.pause.0, done) = (self.pause.1, 0);
                        self.pause.1 = (2 * self.pause.1).min(PAUSES.1);
                        self.plan();
                    }
                    // The socket buffer is full: the remaining frames leave next time.
                    Some(libc::EAGAIN | libc::EINTR) => return refusal.map_or(Ok(()), Err),
                    // The socket remembers that the interface was down, and says so once although it is up again.
                    Some(libc::ENETDOWN) if !was_down => was_down = true,
                    code => {
                        counters.refused += self.departures[done].frames as u64;
                        self.forget(done);
                        done += 1;
                        if code != Some(libc::ENOBUFS) {
                            refusal.get_or_insert(error);
                        }
                    }
                },
            }
        }
        self.lengths.clear();
        refusal.map_or(Ok(()), Err)
    }

    /// Decides which of the frames that have not left leave together. Frames of one flow keep their order.
    fn plan(&mut self) {
        self.departures.clear();
        let joins = self.bursts && self.pause.0 == 0;
        // The frame before, if it has a flow.
        let mut before: Option<(&[u8], Flow)> = None;
        for frame in 0..self.lengths.len() {
            let long = self.lengths[frame];
            if long == 0 {
                continue;
            }
            let bytes = &self.memory[frame * self.slot..][..long];
            let flow = match before {
                _ if !joins => None,
                // Most frames have the same headers as the frame before; then they belong to the same flow.
                Some((other, flow)) if other.len() == long && bytes.starts_with(&other[..flow.headers()]) => {
                    Some(flow)
                }
                _ => Flow::of(bytes, false),
            };
            before = flow.map(|flow| (bytes, flow));
            let carried = flow.map_or(0, |flow| long - flow.headers());
            let same = flow.and_then(|_| self.departures.iter_mut().rev().find(|one| one.flow == flow));
            if let Some(burst) = same.filter(|burst| burst.takes(carried)) {
                self.next[burst.last] = frame;
                burst.last = frame;
                burst.frames += 1;
                burst.carried += carried;
                burst.open = carried == burst.size;
                continue;
            }
            let head = [0; Offload::LONG + BURST_HEADERS];
            let (first, last, frames, open) = (frame, frame, 1, true);
            self.departures.push(Departure { flow, size: carried, carried, frames, first, last, open, head });
        }
        for departure in &mut self.departures {
            let fits = departure.write_head(self.lengths[departure.first]);
            debug_assert!(fits, "a burst longer than an IP packet");
        }
    }

    /// Numbers of the frames of a departure.
    fn frames(&self, departure: &Departure) -> impl Iterator<Item = usize> + '_ {
        let (first, frames) = (departure.first, departure.frames);
        std::iter::successors(Some(first), |frame| Some(self.next[*frame])).take(frames)
    }

    /// Hands the departures from number `from` on to the kernel. Returns how many it took.
    fn hand_over(&self, fd: &OwnedFd, from: usize) -> io::Result<usize> {
        let rest = &self.departures[from..];
        let mut pieces = Vec::with_capacity(2 * rest.len() + self.lengths.len());
        for departure in rest {
            let headers = departure.headers();
            pieces.push(IoSlice::new(&departure.head[..Offload::LONG + headers]));
            for frame in self.frames(departure) {
                pieces.push(IoSlice::new(&self.memory[frame * self.slot..][headers..self.lengths[frame]]));
            }
        }
        sys::send_messages(fd, &pieces, rest.iter().map(|departure| 1 + departure.frames))
    }

    /// Notes that `sent` departures have left, from number `from` on; returns the number of the next one.
    fn left(&mut self, from: usize, sent: usize, counters: &mut Counters) -> usize {
        for number in from..from + sent {
            if self.departures[number].is_burst() {
                counters.sent_bursts += 1;
                self.pause.1 = PAUSES.0;
            }
            self.forget(number);
        }
        from + sent
    }

    /// Marks the frames of a departure as gone.
    fn forget(&mut self, number: usize) {
        let Departure { first, frames, .. } = self.departures[number];
        let mut frame = first;
        for _ in 0..frames {
            self.lengths[frame] = 0;
            frame = self.next[frame];
        }
    }
}

/// Whether an error says that bursts are not taken: the interface does not split them (which also a full queue would say), or the
/// kernel is older than 6.2.
fn refuses_bursts(code: i32) -> bool {
    matches!(code, libc::ENOBUFS | libc::EINVAL | libc::EMSGSIZE | libc::EOPNOTSUPP | libc::EPROTONOSUPPORT)
}
