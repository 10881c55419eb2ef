//! Packet input and output of a host or a switch, behind one trait.
//!
//! | backend | needs | for |
//! |---|---|---|
//! | [`Rings`] | nothing | tests in virtual time, several stacks in one process |
//! | [`PacketSocket`] | `CAP_NET_RAW` | the default: AF_PACKET with TPACKET_V2 rings, bypassing the qdisc |
//! | [`XdpSocket`] | `CAP_NET_RAW`, `CAP_BPF`, `CAP_NET_ADMIN` | AF_XDP; zero-copy where the driver has it |
//! | [`UdpSockets`] | nothing | no privilege: the kernel's own UDP |
//! | `DpdkPort` | the feature `dpdk`, libdpdk 22.11 | DPDK: its network cards, and memif between processes |
//!
//! Every backend exchanges whole Ethernet frames; [`UdpSockets`] adds and removes the headers that the kernel hides from it.
//!
//! Unsafe code is confined to `sys.rs` (system calls), `memory.rs` (memory shared with the kernel), and `dpdk/shim.rs`
//! (calls of C).
#![deny(unsafe_code)]

mod bpf;
mod dpdk;
mod error;
mod ingress;
mod interface;
#[expect(unsafe_code, reason = "memory that is shared with the kernel")]
mod memory;
mod namespace;
mod netlink;
mod packet;
mod rings;
#[expect(unsafe_code, reason = "system calls")]
mod sys;
mod udp;
mod waker;
mod xdp;

use std::os::fd::BorrowedFd;
use std::time::Duration;

pub use dpdk::{Dpdk, DpdkDevice, DpdkOptions, DpdkPort, EalOptions};
pub use error::Error;
pub use ingress::PortGuard;
pub use interface::Interface;
pub use namespace::in_namespace;
pub use netlink::{Neighbour, Netlink};
pub use packet::{PacketOptions, PacketSocket, Protocol};
pub use rings::{RingOptions, Rings};
pub use udp::{UdpOptions, UdpSockets};
pub use waker::Waker;
pub use xdp::{Attach, Copying, Filter, XdpOptions, XdpSocket};

/// Frames and bytes sent, received and lost.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Frames received.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Frames handed to the kernel or to the other side.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Received frames that found no room, as far as the backend can tell.
    pub missed: u64,
    /// Calls of [`PacketIo::send`] that found no room.
    pub full: u64,
    /// Frames that the kernel refused to send.
    pub refused: u64,
    /// Bursts among what was sent: several frames that the kernel took as one.
    pub sent_bursts: u64,
    /// Bursts among what was received.
    pub received_bursts: u64,
}

/// Frames in and out.
pub trait PacketIo {
    /// Longest frame, Ethernet header included and frame check sequence not. Bytes.
    fn frame_room(&self) -> usize;

    /// Passes up to `most` received frames to `each`, oldest first. Never waits. Returns the number of frames.
    ///
    /// # Errors
    /// If the interface is gone, or the kernel reports another error.
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error>;

    /// Lets `fill` write a frame into a buffer of [`PacketIo::frame_room`] bytes and return its length; 0 sends nothing. The
    /// frame leaves at the next [`PacketIo::flush`] at the latest. Returns false, without a call of `fill`, if there is no
    /// room at the moment.
    ///
    /// # Errors
    /// If the interface is gone, or the kernel reports another error.
    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error>;

    /// Transmits all frames queued by `send`. Cheap if there are none.
    ///
    /// # Errors
    /// If the interface is gone, or the kernel reports another error.
    fn flush(&mut self) -> Result<(), Error>;

    /// Waits until a frame may have arrived, `wake` is readable, or `timeout` has passed.
    ///
    /// # Errors
    /// If the kernel reports an error.
    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error>;

    /// Totals since the backend was opened.
    fn counters(&self) -> Counters;
}

impl<T: PacketIo + ?Sized> PacketIo for Box<T> {
    fn frame_room(&self) -> usize {
        (**self).frame_room()
    }
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        (**self).receive(most, each)
    }
    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        (**self).send(fill)
    }
    fn flush(&mut self) -> Result<(), Error> {
        (**self).flush()
    }
    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        (**self).wait(wake, timeout)
    }
    fn counters(&self) -> Counters {
        (**self).counters()
    }
}

impl Counters {
    fn count_received(&mut self, bytes: usize) {
        self.received += 1;
        self.received_bytes += bytes as u64;
    }

    fn count_sent(&mut self, bytes: usize) {
        self.sent += 1;
        self.sent_bytes += bytes as u64;
    }
}
