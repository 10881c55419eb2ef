//! An interface whose frames are recorded.

use std::fs::File;
use std::io::BufWriter;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant as Clock, SystemTime, UNIX_EPOCH};

use pullnet_capture::{Direction, Writer, WrittenInterface};
use pullnet_netio::{Counters, Error as IoError, PacketIo};
use pullnet_switch::config::CaptureSettings;
use pullnet_units::BitsPerSec;

use crate::error::Error;

/// Records the frames received and sent.
pub(crate) struct Recorder<I> {
    io: I,
    capture: Tape,
}

/// The capture file, with one interface.
struct Tape {
    writer: Writer<BufWriter<File>>,
    start: Clock,
    /// Nanoseconds from 1970 to the start.
    epoch: u64,
    failed: Option<std::io::Error>,
}

impl Tape {
    /// Writes a frame to the capture. A failed write must not stop traffic; it is reported at the end.
    fn put(&mut self, direction: Direction, frame: &[u8]) {
        if self.failed.is_none() {
            let time = self.epoch + times().0.duration_since(self.start).as_nanos() as u64;
            self.failed = self.writer.packet(time, 0, direction, frame).err();
        }
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.failed.take().map_or_else(|| self.writer.flush(), Err)
    }
}

#[expect(clippy::disallowed_methods, reason = "captures carry the time of day")]
fn times() -> (Clock, u64) {
    let day = SystemTime::now().duration_since(UNIX_EPOCH);
    (Clock::now(), day.map_or(0, |time| time.as_nanos() as u64))
}

impl<I: PacketIo> Recorder<I> {
    /// Records the frames that pass `io`, an interface called `name`.
    pub fn new(io: I, name: &str, rate: BitsPerSec, settings: &CaptureSettings) -> Result<Self, Error> {
        let failed = || Error::file(Path::new(&settings.file), "cannot make the capture");
        let out = BufWriter::with_capacity(1 << 20, File::create(&settings.file).map_err(failed())?);
        let (start, epoch) = times();
        let interface = WrittenInterface { name: name.to_owned(), rate: rate.get() };
        let writer = Writer::new(out, &[interface], settings.snap.0 as usize).map_err(failed())?;
        Ok(Self { io, capture: Tape { writer, start, epoch, failed: None } })
    }
}

impl<I: PacketIo> PacketIo for Recorder<I> {
    fn frame_room(&self) -> usize {
        self.io.frame_room()
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, IoError> {
        let capture = &mut self.capture;
        self.io.receive(most, &mut |frame| {
            capture.put(Direction::In, frame);
            each(frame);
        })
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, IoError> {
        let capture = &mut self.capture;
        self.io.send(&mut |room| {
            let long = fill(room);
            if long > 0 {
                capture.put(Direction::Out, &room[..long]);
            }
            long
        })
    }

    fn flush(&mut self) -> Result<(), IoError> {
        self.io.flush()
    }

    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), IoError> {
        self.io.wait(wake, timeout)
    }

    fn is_gone(&self) -> bool {
        self.io.is_gone()
    }

    fn counters(&self) -> Counters {
        self.io.counters()
    }
}

impl<I> Drop for Recorder<I> {
    fn drop(&mut self) {
        if let Err(error) = self.capture.finish() {
            tracing::warn!(%error, "the capture is not complete");
        }
    }
}
