use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pullnet_wire::{ETHERNET, Mac};

use super::{Environment, refused, shim, text};
use crate::counters::Counters;
use crate::error::Error;
use crate::packet_io::PacketIo;
use crate::sys;

/// Options of a [`DpdkPort`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DpdkOptions {
    /// Longest IP packet, bytes.
    pub mtu: u16,
    /// Maximum number of frames queued in each direction; the driver may round it.
    pub frames: u16,
}

impl Default for DpdkOptions {
    fn default() -> Self {
        Self { mtu: 1500, frames: 1024 }
    }
}

/// Buffer sizes are multiples of this, which some drivers require for every frame size. Bytes.
const STEP: usize = 2048;
/// Largest IP packet that DPDK's 16-bit lengths allow. Bytes.
const MOST_MTU: usize = 30 * STEP - ETHERNET - 4;
/// Longest single sleep of [`PacketIo::wait`].
const NAP: Duration = Duration::from_micros(50);

/// A DPDK port with one queue in each direction.
#[derive(Debug)]
pub struct DpdkPort {
    port: shim::Port,
    device: String,
    frame_room: usize,
    counters: Counters,
    /// Declared last, so that it is dropped after the port.
    _environment: Arc<Environment>,
}

impl DpdkPort {
    pub(super) fn open(
        running: Arc<Environment>,
        device: &str,
        options: &DpdkOptions,
    ) -> Result<Self, Error> {
        let name = text(device)?;
        let mtu = usize::from(options.mtu);
        if mtu > MOST_MTU {
            return Err(Error::Mtu { name: device.to_string(), mtu, what: "DPDK", most: MOST_MTU });
        }
        let frame_room = mtu + ETHERNET + 4;
        let buffer_room = frame_room.next_multiple_of(STEP) as u16;
        let port = shim::Port::open(&name, options.mtu, options.frames, buffer_room)
            .map_err(|source| refused("DPDK cannot open", format!(" \"{device}\""), source))?;
        Ok(Self {
            port,
            device: device.to_string(),
            frame_room,
            counters: Counters::default(),
            _environment: running,
        })
    }

    /// Ethernet address of the port.
    #[must_use]
    pub fn mac(&self) -> Mac {
        Mac(self.port.mac())
    }

    /// Whether the other end is reachable; for memif, whether another process has connected. The client comes up shortly
    /// after the server, and frames that the server sends in between are lost.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.port.is_up()
    }

    /// Reads from the driver how many frames found no room and how many could not be sent, as far as it counts them, and
    /// stores both in the counters. Frames much longer than [`PacketIo::frame_room`] count as missed.
    ///
    /// # Errors
    /// If the driver has no statistics.
    pub fn count_missed(&mut self) -> Result<u64, Error> {
        let (missed, unsent) = self.port.counted().map_err(|source| {
            refused("cannot ask for the counters of", format!(" \"{}\"", self.device), source)
        })?;
        (self.counters.missed, self.counters.refused) = (missed, unsent);
        Ok(missed)
    }
}

impl PacketIo for DpdkPort {
    fn frame_room(&self) -> usize {
        self.frame_room
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let mut got = 0;
        while got < most
            && let Some(frame) = self.port.take()
        {
            self.counters.count_received(frame.len());
            each(frame);
            got += 1;
        }
        Ok(got)
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        if !self.port.has_room() {
            self.port.transmit();
        }
        let Some(buffer) = self.port.room() else {
            self.counters.full += 1;
            return Ok(false);
        };
        let long = fill(&mut buffer[..self.frame_room]).min(self.frame_room);
        if long > 0 {
            self.port.written(long);
            self.counters.count_sent(long);
        }
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.port.transmit();
        Ok(())
    }

    /// Polls, because DPDK's virtual devices cannot wake a thread: looks for frames, then sleeps for 50 us. `wake` ends the
    /// sleep at once.
    #[expect(clippy::disallowed_methods, reason = "many short sleeps take longer than they say")]
    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        let start = Instant::now();
        while !self.port.has_frame() && start.elapsed() < timeout {
            if sys::is_ready(wake.as_slice(), timeout.min(NAP))? {
                break;
            }
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
