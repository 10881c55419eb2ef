//! An interface whose frames are recorded.

use std::fs::File;
use std::io::BufWriter;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant as Clock, SystemTime, UNIX_EPOCH};

use pullnet_netio::{Counters, Error as IoError, PacketIo};
use pullnet_switch::capture::{Capture, Captured};
use pullnet_switch::config::CaptureSettings;
use pullnet_switch::{Event, Observer};
use pullnet_units::{BitsPerSec, Instant, PortId};

use crate::Error;

/// The only interface of the file.
const PORT: PortId = PortId(0);

/// Records what comes in and goes out.
pub(crate) struct Recorder<I> {
    io: I,
    capture: Capture<BufWriter<File>>,
    start: Clock,
}

#[expect(clippy::disallowed_methods, reason = "captures carry the time of day")]
fn times() -> (Clock, u64) {
    let day = SystemTime::now().duration_since(UNIX_EPOCH);
    (Clock::now(), day.map_or(0, |time| time.as_nanos() as u64))
}

impl<I: PacketIo> Recorder<I> {
    /// Records what passes `io`, an interface called `name`.
    pub fn new(io: I, name: &str, rate: BitsPerSec, settings: &CaptureSettings) -> Result<Self, Error> {
        let failed = || Error::file(Path::new(&settings.file), "cannot make the capture");
        let out = BufWriter::with_capacity(1 << 20, File::create(&settings.file).map_err(failed())?);
        let (start, epoch) = times();
        let port = Captured { name: name.to_owned(), rate };
        let capture = Capture::new(out, &[Some(port)], settings.snap.0 as usize, epoch).map_err(failed())?;
        Ok(Self { io, capture, start })
    }

    fn now(start: Clock) -> Instant {
        Instant((times().0.duration_since(start).as_nanos() as u64).saturating_mul(1000))
    }
}

impl<I: PacketIo> PacketIo for Recorder<I> {
    fn frame_room(&self) -> usize {
        self.io.frame_room()
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, IoError> {
        let (capture, start) = (&mut self.capture, self.start);
        self.io.receive(most, &mut |frame| {
            capture.event(Self::now(start), PORT, Event::Arrived, frame);
            each(frame);
        })
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, IoError> {
        let (capture, start) = (&mut self.capture, self.start);
        self.io.send(&mut |room| {
            let long = fill(room);
            if long > 0 {
                capture.event(Self::now(start), PORT, Event::Sent, &room[..long]);
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
