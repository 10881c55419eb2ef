use std::ffi::CString;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use pullnet_wire::{ETHERNET, Mac};

use super::beneath::{Beneath, Pace};
use super::{DpdkDevice, DpdkOptions, shim};
use crate::counters::Counters;
use crate::error::Error;
use crate::interface::Interface;
use crate::packet_io::PacketIo;
use crate::sys;

/// Longest IP packet if neither the options nor the device tell it. Bytes.
const USUAL_MTU: usize = 1500;
/// Buffer sizes are multiples of this, which some drivers require for every frame size. Bytes.
const STEP: usize = 2048;
/// Largest buffer that DPDK's 16-bit lengths allow. Bytes.
const MOST_ROOM: usize = 30 * STEP;
/// Largest IP packet, with its Ethernet header and a VLAN tag. Bytes.
const MOST_MTU: usize = MOST_ROOM - ETHERNET - 4;
/// The source address in a frame.
const ETHERNET_FROM: std::ops::Range<usize> = 6..12;
/// Longest single sleep of [`PacketIo::wait`].
const NAP: Duration = Duration::from_micros(50);

/// A DPDK port with one queue in each direction.
#[derive(Debug)]
pub struct DpdkPort {
    port: shim::Port,
    device: DpdkDevice,
    mtu: usize,
    frame_room: usize,
    beneath: Option<Beneath>,
    pace: Pace,
    counters: Counters,
    /// Received frames that exceed [`PacketIo::frame_room`]: drivers cut them off, or hand them over whole.
    too_long: u64,
}

/// The meaning of an error of DPDK for a device.
fn why(device: &DpdkDevice, error: &io::Error) -> String {
    match error.raw_os_error() {
        // Most drivers return -1 for every error.
        Some(libc::EPERM) => "its driver refuses it and says why on the standard error output; net_af_packet needs CAP_NET_RAW, and \
            arguments have to be those that the driver knows"
            .to_owned(),
        Some(libc::EFAULT) => {
            "DPDK has no driver of this name; use for instance net_af_packet, net_af_xdp or net_memif".to_owned()
        }
        Some(libc::ENODEV) if device.is_card() => {
            "there is no such network card, or its driver in the kernel holds it; `dpdk-devbind.py --status` lists them".to_owned()
        }
        Some(libc::EBUSY) => "it is open already; give each port a device of its own".to_owned(),
        Some(libc::ENOMEM) => "DPDK has too little memory for its buffers; give it more".to_owned(),
        _ => error.to_string(),
    }
}

impl DpdkPort {
    pub(super) fn open(device: &DpdkDevice, options: &DpdkOptions) -> Result<Self, Error> {
        let failed = |why| Error::Device { device: device.to_string(), why };
        let interface = device.interface().map(Interface::find).transpose()?;
        let mtu = options.mtu.or(interface.map(|interface| interface.mtu)).unwrap_or(USUAL_MTU);
        if mtu > MOST_MTU {
            return Err(Error::Mtu { name: device.to_string(), mtu, what: "DPDK", most: MOST_MTU });
        }
        let frame_room = mtu + ETHERNET + 4;
        if let Some(arguments) = device.lacks(frame_room) {
            return Err(failed(format!("an MTU of {mtu} B needs the arguments {arguments}")));
        }
        let buffer_room = frame_room.max(device.slot().unwrap_or(0)).next_multiple_of(STEP);
        if buffer_room > MOST_ROOM {
            return Err(failed(format!("its frames may have at most {MOST_ROOM} B; use a smaller framesz")));
        }
        let name = CString::new(device.as_str()).map_err(|error| failed(error.to_string()))?;
        let asked = shim::Asked {
            mtu: mtu as u16,
            frames: options.frames,
            buffer_room: buffer_room as u16,
            promiscuous: options.promiscuous,
        };
        let port = shim::Port::open(&name, &asked).map_err(|error| failed(why(device, &error)))?;
        Ok(Self {
            beneath: port.interface().map(Beneath::of).transpose()?,
            port,
            device: device.clone(),
            mtu,
            frame_room,
            pace: Pace::start(),
            counters: Counters::default(),
            too_long: 0,
        })
    }

    /// Ethernet address of the port.
    #[must_use]
    pub fn mac(&self) -> Mac {
        Mac(self.port.mac())
    }

    /// Longest IP packet. Bytes.
    #[must_use]
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// Whether the other end is reachable; for memif, whether another process has connected. The client comes up shortly
    /// after the server, and frames that the server sends in between are lost.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.port.is_up()
    }

    /// Reads from the driver how many frames found no room and how many could not be sent, as far as it counts them, and
    /// stores both in the counters. Frames longer than [`PacketIo::frame_room`] count as missed. While frames are received, this
    /// happens by itself several times in a second.
    ///
    /// # Errors
    /// If the driver has no statistics.
    pub fn count_missed(&mut self) -> Result<u64, Error> {
        let (missed, unsent) = self.port.counted().map_err(|source| Error::Kernel {
            what: "cannot read the counters of",
            on: format!(" \"{}\"", self.device),
            source,
        })?;
        (self.counters.missed, self.counters.refused) = (missed + self.too_long, unsent);
        Ok(self.counters.missed)
    }

    /// Looks at the interface beneath and at the counters, if it is time.
    fn look(&mut self) -> Result<(), Error> {
        if !self.pace.is_due() {
            return Ok(());
        }
        // A driver without statistics leaves the counters as they are.
        let _ = self.count_missed();
        self.beneath.as_ref().map_or(Ok(()), Beneath::check)
    }
}

impl PacketIo for DpdkPort {
    fn frame_room(&self) -> usize {
        self.frame_room
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let mut got = 0;
        // Drivers also hand over what the kernel itself sends on its interface.
        let own = self.beneath.as_ref().map(|_| self.port.mac());
        while got < most
            && let Some(frame) = self.port.take()
        {
            if frame.len() > self.frame_room {
                self.too_long += 1;
                continue;
            }
            if own.is_some_and(|own| frame.get(ETHERNET_FROM) == Some(&own)) {
                continue;
            }
            self.counters.count_received(frame.len());
            each(frame);
            got += 1;
        }
        if got == 0 {
            self.look()?;
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

    /// DPDK holds a port until it is closed.
    fn is_gone(&self) -> bool {
        false
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
