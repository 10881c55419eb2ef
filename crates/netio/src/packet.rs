//! AF_PACKET with TPACKET_V2 rings, past the queueing discipline: the default.
//!
//! TPACKET_V3 hands over blocks of packets after at least a millisecond, which is why it is not used. The format of the
//! rings: Linux, `Documentation/networking/packet_mmap.rst` and `include/uapi/linux/if_packet.h`.

use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::memory::Mapping;
use crate::{Counters, Error, Interface, PacketIo, sys};

type Header = libc::tpacket2_hdr;

/// Which frames a socket is given. A protocol of its own costs the kernel less than all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Every frame that arrives: what a switch needs.
    All,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// Another EtherType.
    Other(u16),
}

impl Protocol {
    fn number(self) -> u16 {
        match self {
            Self::All => libc::ETH_P_ALL as u16,
            Self::Ipv4 => libc::ETH_P_IP as u16,
            Self::Ipv6 => libc::ETH_P_IPV6 as u16,
            Self::Other(number) => number,
        }
    }
}

/// What a [`PacketSocket`] is opened with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketOptions {
    /// Which frames it is given.
    pub protocol: Protocol,
    /// Frames that wait in each direction at most; rounded up to whole blocks of four.
    pub frames: usize,
}

impl Default for PacketOptions {
    fn default() -> Self {
        Self { protocol: Protocol::Ipv4, frames: 1024 }
    }
}

/// Where data lies in a frame that is to be sent: behind the header, aligned.
const SEND_AT: usize = size_of::<Header>().next_multiple_of(16);
/// What the kernel puts in front of a frame that has arrived, at most.
const FRONT: usize = 128;
/// Frames in a block of the ring: four times a multiple of 1 KiB is a multiple of a page.
const PER_BLOCK: usize = 4;

/// One direction: `count` slots of `slot` bytes from `start` on.
#[derive(Debug)]
struct Ring {
    start: usize,
    slot: usize,
    count: usize,
    next: usize,
}

impl Ring {
    fn at(&self) -> usize {
        self.start + self.next * self.slot
    }

    fn advance(&mut self) {
        self.next = (self.next + 1) % self.count;
    }
}

/// An AF_PACKET socket on one interface.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    memory: Mapping,
    incoming: Ring,
    outgoing: Ring,
    interface: Interface,
    unsent: bool,
    counters: Counters,
}

fn request(slot: usize, count: usize) -> libc::tpacket_req {
    libc::tpacket_req {
        tp_block_size: (PER_BLOCK * slot) as u32,
        tp_block_nr: (count / PER_BLOCK) as u32,
        tp_frame_size: slot as u32,
        tp_frame_nr: count as u32,
    }
}

/// Sets everything that has to be set before the socket is bound.
fn prepare(fd: &OwnedFd, slot: usize, count: usize) -> Result<(), Error> {
    let set = |name, value: i32, what| sys::set_option(fd, libc::SOL_PACKET, name, &value, what);
    set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32, "cannot choose TPACKET_V2")?;
    set(libc::PACKET_QDISC_BYPASS, 1, "cannot pass by the queueing discipline")?;
    set(libc::PACKET_IGNORE_OUTGOING, 1, "cannot leave out what this host sends")?;
    // A frame that cannot be sent is passed over, not left in the ring for ever.
    set(libc::PACKET_LOSS, 1, "cannot set PACKET_LOSS")?;
    let rings = request(slot, count);
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &rings, "cannot make a receive ring")?;
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_TX_RING, &rings, "cannot make a send ring")
}

fn link_address(interface: &Interface, protocol: Protocol) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.number().to_be(),
        sll_ifindex: interface.index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

impl PacketSocket {
    /// Opens one on the interface `name`.
    ///
    /// # Errors
    /// If there is no such interface, or the process has no `CAP_NET_RAW`.
    pub fn open(name: &str, options: &PacketOptions) -> Result<Self, Error> {
        let interface = Interface::find(name)?;
        Self::with(interface, options).map_err(|error| error.on_interface(name))
    }

    fn with(interface: Interface, options: &PacketOptions) -> Result<Self, Error> {
        let slot = (interface.frame_room() + FRONT).next_multiple_of(1024);
        let count = options.frames.max(PER_BLOCK).next_multiple_of(PER_BLOCK);
        let fd = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0, "cannot open an AF_PACKET socket")?;
        prepare(&fd, slot, count)?;
        let memory = Mapping::of(&fd, 0, 2 * slot * count, "cannot map the rings of AF_PACKET")?;
        sys::bind(&fd, &link_address(&interface, options.protocol), "cannot bind an AF_PACKET socket")?;
        let ring = |start| Ring { start, slot, count, next: 0 };
        let (incoming, outgoing) = (ring(0), ring(slot * count));
        Ok(Self { fd, memory, incoming, outgoing, interface, unsent: false, counters: Counters::default() })
    }

    /// The interface that it is on.
    #[must_use]
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    fn status(&self, ring: &Ring) -> u32 {
        self.memory.word(ring.at() + offset_of!(Header, tp_status)).load(Ordering::Acquire)
    }

    fn hand_over(&self, ring: &Ring, status: u32) {
        self.memory.word(ring.at() + offset_of!(Header, tp_status)).store(status, Ordering::Release);
    }

    /// The frame in the slot whose turn it is.
    fn frame(&self) -> &[u8] {
        let at = self.incoming.at();
        let start = usize::from(self.memory.u16(at + offset_of!(Header, tp_mac)));
        let long = self.memory.u32(at + offset_of!(Header, tp_snaplen)) as usize;
        let long = long.min(self.incoming.slot.saturating_sub(start));
        self.memory.bytes(at + start.min(self.incoming.slot), long)
    }
}

impl PacketIo for PacketSocket {
    fn frame_room(&self) -> usize {
        self.interface.frame_room()
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        for got in 0..most {
            if self.status(&self.incoming) & libc::TP_STATUS_USER == 0 {
                return Ok(got);
            }
            let long = {
                let frame = self.frame();
                each(frame);
                frame.len()
            };
            self.counters.count_received(long);
            self.hand_over(&self.incoming, libc::TP_STATUS_KERNEL);
            self.incoming.advance();
        }
        Ok(most)
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        if self.status(&self.outgoing) != libc::TP_STATUS_AVAILABLE {
            // What is in the ring may only wait for somebody to say go.
            self.flush()?;
            if self.status(&self.outgoing) != libc::TP_STATUS_AVAILABLE {
                self.counters.full += 1;
                return Ok(false);
            }
        }
        let (at, room) = (self.outgoing.at(), self.frame_room());
        let long = fill(self.memory.bytes_mut(at + SEND_AT, room)).min(room);
        if long > 0 {
            let length = self.memory.bytes_mut(at + offset_of!(Header, tp_len), 4);
            length.copy_from_slice(&(long as u32).to_ne_bytes());
            self.hand_over(&self.outgoing, libc::TP_STATUS_SEND_REQUEST);
            self.outgoing.advance();
            self.unsent = true;
            self.counters.count_sent(long);
        }
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.unsent) {
            return Ok(());
        }
        match sys::kick(&self.fd) {
            Ok(()) => Ok(()),
            Err(source) => match source.raw_os_error() {
                // Nothing is wrong with what was sent: the device has no room, and the rest leaves next time.
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) => {
                    self.unsent = true;
                    Ok(())
                }
                _ => {
                    let error = Error::Kernel { what: "cannot send", on: String::new(), source };
                    Err(error.on_interface(&self.interface.name))
                }
            },
        }
    }

    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        if self.status(&self.incoming) & libc::TP_STATUS_USER != 0 {
            return Ok(());
        }
        match wake {
            Some(wake) => sys::poll(&[self.fd.as_fd(), wake], timeout),
            None => sys::poll(&[self.fd.as_fd()], timeout),
        }
    }

    /// `missed` is what the kernel has counted since the socket was opened.
    fn counters(&self) -> Counters {
        self.counters
    }
}

impl PacketSocket {
    /// Asks the kernel how many frames found no room in the receive ring, and adds them to the counters.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn count_missed(&mut self) -> Result<u64, Error> {
        let what = "cannot ask for the counters of AF_PACKET";
        // Asking sets the kernel's counter to 0.
        let counted: libc::tpacket_stats =
            sys::get_option(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, what)?;
        self.counters.missed += u64::from(counted.tp_drops);
        Ok(self.counters.missed)
    }
}
