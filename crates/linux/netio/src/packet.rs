//! AF_PACKET with a TPACKET_V2 receive ring, bypassing the queueing discipline: the default backend.
//!
//! TPACKET_V3 is not used because it delivers packets in blocks, after at least a millisecond. There is no transmit ring:
//! the kernel copies outgoing frames at once. From a ring, veth would copy every frame and allocate a page for it, which is
//! slower. Ring format: Linux, `Documentation/networking/packet_mmap.rst` and `include/uapi/linux/if_packet.h`.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::memory::Mapping;
use crate::{Counters, Error, Interface, PacketIo, sys};

type Header = libc::tpacket2_hdr;

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
}

impl Default for PacketOptions {
    fn default() -> Self {
        Self { protocol: Protocol::Ipv4, frames: 1024 }
    }
}

/// Most frames sent by one system call.
const BATCH: usize = 64;
/// Upper limit for the kernel's metadata before a received frame. Bytes.
const FRONT: usize = 128;
/// Offset of the EtherType in a frame.
const ETHERTYPE_AT: u32 = 12;
/// Frames per block of the ring: the slot size is a multiple of 1 KiB, so four slots are a multiple of a page.
const PER_BLOCK: usize = 4;

/// The receive ring: `count` slots of `slot` bytes.
#[derive(Debug)]
struct Ring {
    memory: Mapping,
    slot: usize,
    count: usize,
    next: usize,
}

impl Ring {
    fn at(&self) -> usize {
        self.next * self.slot
    }

    fn status(&self) -> &AtomicU32 {
        self.memory.word(self.at() + offset_of!(Header, tp_status))
    }

    /// Whether the current slot holds a frame.
    fn has_frame(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// The frame in the current slot.
    fn frame(&self) -> &[u8] {
        let at = self.at();
        let start = usize::from(self.memory.u16(at + offset_of!(Header, tp_mac)));
        let long = self.memory.u32(at + offset_of!(Header, tp_snaplen)) as usize;
        let long = long.min(self.slot.saturating_sub(start));
        self.memory.bytes(at + start.min(self.slot), long)
    }

    /// Returns the current slot to the kernel and moves to the next.
    fn advance(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.count;
    }
}

/// Frames for the next flush, one in each of [`BATCH`] slots of `slot` bytes.
#[derive(Debug)]
struct Batch {
    memory: Vec<u8>,
    slot: usize,
    lengths: Vec<usize>,
    /// Index of the first frame that has not been sent.
    first: usize,
}

impl Batch {
    fn new(slot: usize) -> Self {
        Self { memory: vec![0; BATCH * slot], slot, lengths: Vec::with_capacity(BATCH), first: 0 }
    }

    fn is_full(&self) -> bool {
        self.lengths.len() == BATCH
    }

    /// Lets `fill` write a frame; returns its length.
    fn push(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> usize {
        let at = self.lengths.len() * self.slot;
        let long = fill(&mut self.memory[at..at + self.slot]).min(self.slot);
        if long > 0 {
            self.lengths.push(long);
        }
        long
    }

    /// Sends all frames that the kernel accepts. Returns how many it refused.
    fn send(&mut self, fd: &OwnedFd) -> io::Result<u64> {
        let mut refused = 0;
        while self.first < self.lengths.len() {
            let slots = self.memory.chunks(self.slot).skip(self.first);
            match sys::send_frames(fd, slots, &self.lengths[self.first..]) {
                Ok(sent) => self.first += sent,
                Err(error) => match error.raw_os_error() {
                    // The device has no room: this frame is lost, as in a full queue.
                    Some(libc::ENOBUFS) => (self.first, refused) = (self.first + 1, refused + 1),
                    // The socket buffer is full: the remaining frames leave next time.
                    Some(libc::EAGAIN | libc::EINTR) => return Ok(refused),
                    _ => return Err(error),
                },
            }
        }
        self.lengths.clear();
        self.first = 0;
        Ok(refused)
    }
}

/// An AF_PACKET socket on one interface.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    incoming: Ring,
    outgoing: Batch,
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
        let (incoming, outgoing) =
            (Ring { memory, slot, count, next: 0 }, Batch::new(interface.frame_room()));
        Ok(Self { fd, incoming, outgoing, interface, counters: Counters::default() })
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
        for got in 0..most {
            if !self.incoming.has_frame() {
                return Ok(got);
            }
            let frame = self.incoming.frame();
            each(frame);
            self.counters.count_received(frame.len());
            self.incoming.advance();
        }
        Ok(most)
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        if self.outgoing.is_full() {
            self.flush()?;
            if self.outgoing.is_full() {
                self.counters.full += 1;
                return Ok(false);
            }
        }
        let long = self.outgoing.push(fill);
        if long > 0 {
            self.counters.count_sent(long);
        }
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let failed = |source| Error::Kernel { what: "cannot send", on: String::new(), source };
        let sent = self.outgoing.send(&self.fd).map_err(failed);
        self.counters.refused += sent.map_err(|error| error.on_interface(&self.interface.name))?;
        Ok(())
    }

    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        if self.incoming.has_frame() {
            return Ok(());
        }
        match wake {
            Some(wake) => sys::poll(&[self.fd.as_fd(), wake], timeout),
            None => sys::poll(&[self.fd.as_fd()], timeout),
        }
    }

    /// `missed` is the value of the last [`Self::count_missed`].
    fn counters(&self) -> Counters {
        self.counters
    }
}

impl PacketSocket {
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
