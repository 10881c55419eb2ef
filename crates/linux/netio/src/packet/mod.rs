//! AF_PACKET with a TPACKET_V2 receive ring, bypassing the queueing discipline: the default backend.
//!
//! TPACKET_V3 is not used because it delivers packets in blocks, after at least a millisecond. There is no transmit ring:
//! the kernel copies outgoing frames at once. From a ring, veth would copy every frame and allocate a page for it, which is
//! slower. Ring format: Linux, `Documentation/networking/packet_mmap.rst` and `include/uapi/linux/if_packet.h`.
//!
//! Frames of one flow leave as a burst where the interface splits it ("tx-udp-segmentation"): one pass through the kernel for up
//! to 64 of them. Over veth the burst arrives whole at the other side; every socket takes it apart, whether it sends bursts or not.

mod batch;
mod burst;
mod lines;
mod ring;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::counters::Counters;
use crate::error::Error;
use crate::interface::Interface;
use crate::memory::Mapping;
use crate::packet_io::PacketIo;
use crate::sys;
use batch::Batch;
use burst::Burst;
use ring::{Content, Ring};

/// Protocols delivered to a socket.
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
    /// EtherType, if the protocol has one.
    fn number(self) -> Option<u16> {
        match self {
            Self::All => None,
            Self::Ipv4 => Some(libc::ETH_P_IP as u16),
            Self::Ipv6 => Some(libc::ETH_P_IPV6 as u16),
            Self::Other(number) => Some(number),
        }
    }

    /// Restricts a socket to frames of this protocol.
    ///
    /// A socket bound to an EtherType receives a frame after the kernel's own IP stack, which first clones the frame's
    /// descriptor because it is shared. A socket bound to all protocols receives it earlier, and a filter costs less than
    /// the clone.
    fn restrict(self, fd: &OwnedFd) -> Result<(), Error> {
        let Some(number) = self.number() else { return Ok(()) };
        let (load, jump, back) = (libc::BPF_LD | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
        let step = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
        let tagged = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;
        sys::attach_filter(
            fd,
            &mut [
                step(load | libc::BPF_H, ETHERTYPE_AT, 0),
                step(jump, number.into(), 3),
                // The tag of a VLAN frame is in its metadata, not in the frame.
                step(load | libc::BPF_B, tagged, 0),
                step(jump, 0, 1),
                step(back, u32::MAX, 0),
                step(back, 0, 0),
            ],
        )
    }
}

/// Options of a [`PacketSocket`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketOptions {
    /// Protocols to receive.
    pub protocol: Protocol,
    /// Capacity of the receive ring in frames; rounded up to whole blocks of four.
    pub frames: usize,
    /// Whether frames of one flow that leave together may leave as a burst, if the interface takes bursts.
    pub bursts: bool,
}

impl Default for PacketOptions {
    fn default() -> Self {
        Self { protocol: Protocol::Ipv4, frames: 1024, bursts: true }
    }
}

/// Memory for bursts that wait in the kernel. Bytes.
const BURSTS: i32 = 8 << 20;
/// Upper limit for the kernel's metadata before a received frame. Bytes.
const FRONT: usize = 128;
/// Offset of the EtherType in a frame.
const ETHERTYPE_AT: u32 = 12;
/// Frames per block of the ring: the slot size is a multiple of 1 KiB, so four slots are a multiple of a page.
const PER_BLOCK: usize = 4;

/// An AF_PACKET socket on one interface.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    incoming: Ring,
    /// The burst that is being handed out.
    burst: Burst,
    outgoing: Batch,
    /// Whether every protocol is received.
    everything: bool,
    interface: Interface,
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

/// Sets the options that must precede binding.
fn prepare(fd: &OwnedFd, slot: usize, count: usize) -> Result<(), Error> {
    let set = |name, value: i32, what| sys::set_option(fd, libc::SOL_PACKET, name, &value, what);
    set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32, "cannot choose TPACKET_V2")?;
    set(libc::PACKET_QDISC_BYPASS, 1, "cannot pass by the queueing discipline")?;
    set(libc::PACKET_IGNORE_OUTGOING, 1, "cannot leave out what this host sends")?;
    set(libc::PACKET_VNET_HDR, 1, "cannot ask for the lengths of bursts")?;
    // A burst is longer than a slot of the ring: the kernel keeps it beside the ring.
    set(libc::PACKET_COPY_THRESH, 1, "cannot ask for whole bursts")?;
    let room = |name| sys::set_option(fd, libc::SOL_SOCKET, name, &BURSTS, "cannot size a receive buffer");
    // Without CAP_NET_ADMIN the system's limit applies.
    room(libc::SO_RCVBUFFORCE).or_else(|_| room(libc::SO_RCVBUF))?;
    let ring = request(slot, count);
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &ring, "cannot make a receive ring")
}

fn link_address(interface: &Interface) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: interface.index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

impl PacketSocket {
    /// Opens a socket on the interface `name`.
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
        let memory = Mapping::of(&fd, 0, slot * count, "cannot map the ring of AF_PACKET")?;
        options.protocol.restrict(&fd)?;
        sys::bind(&fd, &link_address(&interface), "cannot bind an AF_PACKET socket")?;
        let everything = options.protocol == Protocol::All;
        Ok(Self {
            fd,
            incoming: Ring::new(memory, slot, count),
            burst: Burst::new(everything),
            outgoing: Batch::new(interface.frame_room(), options.bursts),
            everything,
            interface,
            counters: Counters::default(),
        })
    }

    /// The socket's interface.
    #[must_use]
    pub fn interface(&self) -> &Interface {
        &self.interface
    }
}

impl PacketIo for PacketSocket {
    fn frame_room(&self) -> usize {
        self.interface.frame_room()
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let mut got = 0;
        for _ in 0..most {
            if self.burst.is_over() && !self.take_slot(&mut got, each) {
                break;
            }
            if let Some(part) = self.burst.part() {
                each(part);
                self.counters.count_received(part.len());
                got += 1;
            }
        }
        Ok(got)
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        let mut flushed = Ok(());
        if self.outgoing.is_full() {
            flushed = self.flush();
            if self.outgoing.is_full() {
                self.counters.full += 1;
                return flushed.map(|()| false);
            }
        }
        let long = self.outgoing.push(fill);
        if long > 0 {
            self.counters.count_sent(long);
        }
        flushed.map(|()| true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let failed = |source| Error::Kernel { what: "cannot send", on: String::new(), source };
        let sent = self.outgoing.send(&self.fd, &mut self.counters).map_err(failed);
        sent.map_err(|error| error.on_interface(&self.interface.name))
    }

    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        if !self.burst.is_over() || self.incoming.has_frame() {
            return Ok(());
        }
        if sys::poll_with_error(self.fd.as_fd(), wake, timeout)? {
            let failed = |source| Error::Kernel { what: "cannot receive", on: String::new(), source };
            sys::pending_error(&self.fd)
                .map_err(|source| failed(source).on_interface(&self.interface.name))?;
        }
        Ok(())
    }

    fn is_gone(&self) -> bool {
        !sys::interface_exists(&self.fd, self.interface.index)
    }

    /// `missed` is the value of the last [`Self::count_missed`].
    fn counters(&self) -> Counters {
        self.counters
    }
}

impl PacketSocket {
    /// Takes the next slot of the ring: hands its frame to `each`, or begins its burst. False: there is none.
    fn take_slot(&mut self, got: &mut usize, each: &mut dyn FnMut(&[u8])) -> bool {
        let Some(slot) = self.incoming.first() else { return false };
        let discard = |beside: bool| {
            if beside {
                sys::discard_datagram(&self.fd);
            }
        };
        match slot.content {
            Content::Frame(frame, begun) => {
                // A switch hands a frame on as it was on the line. Hosts of ours do not look at checksums of UDP.
                match begun.filter(|_| self.everything) {
                    Some(begun) => each(self.burst.finished(frame, begun)),
                    None => each(frame),
                }
                self.counters.count_received(frame.len());
                *got += 1;
            }
            Content::Burst { size, start } => {
                let long = if slot.beside { self.burst.fetch(&self.fd) } else { self.burst.copy(start) };
                let lost = self.burst.begin(long, slot.long, size);
                self.counters.received_bursts += 1;
                self.counters.missed += lost;
            }
            // Only a socket for everything is meant to have these.
            Content::Segments => {
                discard(slot.beside);
                self.counters.joined += u64::from(self.everything);
            }
            Content::Long => {
                discard(slot.beside);
                self.counters.missed += u64::from(self.everything);
            }
        }
        self.incoming.advance();
        true
    }

    /// Makes the interface deliver frames to every multicast group, as long as this socket lives.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn receive_groups(&mut self) -> Result<(), Error> {
        let request = libc::packet_mreq {
            mr_ifindex: self.interface.index as i32,
            mr_type: libc::PACKET_MR_ALLMULTI as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        let what = "cannot receive multicast";
        sys::set_option(&self.fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request, what)
            .map_err(|error| error.on_interface(&self.interface.name))
    }

    /// Reads from the kernel how many frames found no room in the receive ring, and adds them to the counters.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn count_missed(&mut self) -> Result<u64, Error> {
        let what = "cannot ask for the counters of AF_PACKET";
        // Reading resets the kernel's counter.
        let counted: libc::tpacket_stats =
            sys::get_option(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, what)?;
        self.counters.missed += u64::from(counted.tp_drops);
        Ok(self.counters.missed)
    }
}
