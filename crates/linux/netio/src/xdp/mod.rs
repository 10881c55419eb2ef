//! AF_XDP through direct system calls: copy mode everywhere, zero-copy where the driver supports it.
//!
//! The kernel's side: Linux, `Documentation/networking/af_xdp.rst` and `include/uapi/linux/if_xdp.h`. A frame longer than a
//! chunk of memory takes several descriptors, all but the last with `XDP_PKT_CONTD`.

mod program;
mod ring;

use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::bpf::patiently;
use crate::counters::Counters;
use crate::error::Error;
use crate::interface::Interface;
use crate::memory::Mapping;
use crate::packet_io::PacketIo;
use crate::sys;
use program::Program;

use ring::{Ring, RingKind};

pub use program::{Attach, Filter};

/// Whether the kernel copies frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Copying {
    /// Copy mode: works with every driver.
    #[default]
    Always,
    /// Zero-copy mode: refused by drivers without support (veth is one).
    Never,
    /// Zero-copy if the driver supports it, otherwise copy mode.
    Auto,
}

/// Options of an [`XdpSocket`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XdpOptions {
    /// Receive queue of the interface.
    pub queue: u32,
    /// Hook that the program is attached to.
    pub attach: Attach,
    /// Whether the kernel copies frames.
    pub copying: Copying,
    /// Frames that the socket takes from the kernel; the others continue as usual.
    pub filter: Filter,
    /// Chunks of memory in each direction; a power of two. A frame takes one, a frame of 9000 B three.
    pub chunks: u32,
}

impl Default for XdpOptions {
    fn default() -> Self {
        Self {
            queue: 0,
            attach: Attach::Native,
            copying: Copying::Always,
            filter: Filter::Udp(pullnet_wire::PORT),
            chunks: 2048,
        }
    }
}

/// Size of a chunk: at most a page, unless huge pages are used. Bytes.
const CHUNK: usize = 4096;
/// Space that the kernel reserves in a chunk before a received frame. Bytes.
const HEADROOM: usize = 256;

/// An AF_XDP socket on one queue of an interface, with its program and its memory.
#[derive(Debug)]
pub struct XdpSocket {
    fd: OwnedFd,
    /// Detached on drop.
    _program: Program,
    memory: Mapping,
    fill: Ring,
    completion: Ring,
    incoming: Ring,
    outgoing: Ring,
    /// Chunks without a frame in flight.
    free: Vec<u64>,
    /// A frame that spans several chunks: reassembled, or not yet split.
    scratch: Vec<u8>,
    interface: Interface,
    unsent: bool,
    counters: Counters,
}

fn set<T: sys::Plain>(fd: &OwnedFd, name: i32, value: &T, what: &'static str) -> Result<(), Error> {
    sys::set_option(fd, libc::SOL_XDP, name, value, what)
}

fn register(fd: &OwnedFd, memory: &Mapping) -> Result<(), Error> {
    let region = libc::xdp_umem_reg {
        addr: memory.address(),
        len: memory.len() as u64,
        chunk_size: CHUNK as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    set(fd, libc::XDP_UMEM_REG, &region, "cannot register memory for AF_XDP")
}

fn bind(fd: &OwnedFd, interface: &Interface, options: &XdpOptions, long_frames: bool) -> Result<(), Error> {
    let mut flags = libc::XDP_USE_NEED_WAKEUP;
    flags |= match options.copying {
        Copying::Always => libc::XDP_COPY,
        Copying::Never => libc::XDP_ZEROCOPY,
        Copying::Auto => 0,
    };
    if long_frames {
        flags |= libc::XDP_USE_SG;
    }
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface.index,
        sxdp_queue_id: options.queue,
        sxdp_shared_umem_fd: 0,
    };
    sys::bind(fd, &address, "cannot bind an AF_XDP socket")
}

impl XdpSocket {
    /// Opens a socket on the interface `name`, with a program that redirects frames to it.
    ///
    /// # Errors
    /// If the interface does not exist, the process lacks a privilege, the queue is in use (for some 20 ms also after
    /// another socket was closed), or the driver does not support these options.
    pub fn open(name: &str, options: &XdpOptions) -> Result<Self, Error> {
        let interface = Interface::find(name)?;
        Self::with(interface, options).map_err(|error| error.on_interface(name))
    }

    fn with(interface: Interface, options: &XdpOptions) -> Result<Self, Error> {
        let chunks = options.chunks.max(64).next_power_of_two();
        let fd = sys::socket(libc::AF_XDP, libc::SOCK_RAW, 0, "cannot open an AF_XDP socket")?;
        let memory = Mapping::fresh(2 * chunks as usize * CHUNK)?;
        register(&fd, &memory)?;
        let rings = [RingKind::Fill, RingKind::Completion, RingKind::Receive, RingKind::Send];
        rings.iter().try_for_each(|kind| set(&fd, kind.option(), &chunks, "cannot make a ring of AF_XDP"))?;
        let what = "cannot ask where the rings of AF_XDP are";
        let offsets: libc::xdp_mmap_offsets =
            sys::get_option(&fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, what)?;
        let map = |kind| Ring::map(&fd, kind, &offsets, chunks);
        let [mut fill, completion, incoming, outgoing] =
            [map(rings[0])?, map(rings[1])?, map(rings[2])?, map(rings[3])?];
        (0..chunks).for_each(|chunk| fill.push_address(u64::from(chunk) * CHUNK as u64));
        fill.publish();
        // A frame with its headers either fits into a chunk or spans several.
        let long_frames = interface.frame_room() + HEADROOM > CHUNK;
        let program = Program::load(options.filter, long_frames)?;
        patiently(|| bind(&fd, &interface, options, long_frames))?;
        let _ = set(&fd, MAX_SEND_BUDGET, &chunks.min(4096), "cannot set the send budget");
        program.redirect_to(&fd, options.queue)?;
        let program = program.attach(interface.index, options.attach)?;
        let free = (chunks..2 * chunks).map(|chunk| u64::from(chunk) * CHUNK as u64).collect();
        Ok(Self {
            fd,
            _program: program,
            memory,
            fill,
            completion,
            incoming,
            outgoing,
            free,
            scratch: Vec::new(),
            interface,
            unsent: false,
            counters: Counters::default(),
        })
    }

    /// The socket's interface.
    #[must_use]
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Reads from the kernel how many frames found no room, and adds them to the counters.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn count_missed(&mut self) -> Result<u64, Error> {
        let what = "cannot ask for the counters of AF_XDP";
        let counted: libc::xdp_statistics =
            sys::get_option(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS, what)?;
        self.counters.missed = counted.rx_dropped + counted.rx_ring_full + counted.rx_fill_ring_empty_descs;
        self.counters.refused = counted.tx_invalid_descs;
        Ok(self.counters.missed)
    }

    /// Frees the chunks whose frames have left.
    fn reclaim(&mut self) {
        while let Some(address) = self.completion.pop_address() {
            self.free.push(address & !(CHUNK as u64 - 1));
        }
        self.completion.release();
    }

    /// Receives one frame of one or more descriptors. False if no complete frame is available.
    fn receive_one(&mut self, each: &mut dyn FnMut(&[u8])) -> bool {
        let Some(pieces) = self.incoming.pieces() else { return false };
        let mut long = 0;
        self.scratch.clear();
        for piece in 0..pieces {
            let Some(descriptor) = self.incoming.pop_descriptor() else { break };
            let part = self.memory.bytes(descriptor.addr as usize, descriptor.len as usize);
            long += part.len();
            if pieces == 1 {
                each(part);
            } else {
                self.scratch.extend_from_slice(part);
                if piece + 1 == pieces {
                    each(&self.scratch);
                }
            }
            self.fill.push_address(descriptor.addr & !(CHUNK as u64 - 1));
        }
        self.counters.count_received(long);
        true
    }

    /// Copies the frame in `scratch` into as many chunks as needed.
    fn send_scratch(&mut self, long: usize) {
        let pieces = long.div_ceil(CHUNK);
        for piece in 0..pieces {
            let Some(address) = self.free.pop() else { return };
            let part = &self.scratch[piece * CHUNK..long.min((piece + 1) * CHUNK)];
            self.memory.bytes_mut(address as usize, part.len()).copy_from_slice(part);
            self.outgoing.push_descriptor(address, part.len() as u32, piece + 1 < pieces);
        }
    }

    fn has_room(&mut self) -> bool {
        let needed = self.frame_room().div_ceil(CHUNK);
        if self.free.len() < needed {
            self.reclaim();
        }
        self.free.len() >= needed && self.outgoing.has_room(needed as u32)
    }
}

impl PacketIo for XdpSocket {
    fn frame_room(&self) -> usize {
        self.interface.frame_room()
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let got = (0..most).take_while(|_| self.receive_one(each)).count();
        if got > 0 {
            self.incoming.release();
            self.fill.publish();
            if self.fill.needs_wakeup() {
                sys::kick_receive(&self.fd);
            }
        }
        Ok(got)
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        if !self.has_room() {
            self.flush()?;
            if !self.has_room() {
                self.counters.full += 1;
                return Ok(false);
            }
        }
        let room = self.frame_room();
        let long = if room <= CHUNK {
            let Some(address) = self.free.pop() else { return Ok(false) };
            let long = fill(self.memory.bytes_mut(address as usize, room)).min(room);
            match long {
                0 => self.free.push(address),
                _ => self.outgoing.push_descriptor(address, long as u32, false),
            }
            long
        } else {
            self.scratch.resize(room, 0);
            let long = fill(&mut self.scratch).min(room);
            self.send_scratch(long);
            long
        };
        if long > 0 {
            self.unsent = true;
            self.counters.count_sent(long);
        }
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.unsent) {
            return Ok(());
        }
        self.outgoing.publish();
        // Drivers in copy mode send only after a system call, even if the ring's need-wakeup flag is clear.
        while let Err(source) = sys::kick(&self.fd) {
            match source.raw_os_error() {
                // The kernel sends only a few frames per call.
                Some(libc::EAGAIN | libc::EINTR) if !self.outgoing.is_drained() => {}
                Some(libc::EAGAIN | libc::EINTR) => break,
                Some(libc::EBUSY | libc::ENOBUFS) => {
                    self.unsent = true;
                    break;
                }
                _ => {
                    let error = Error::Kernel { what: "cannot send", on: String::new(), source };
                    return Err(error.on_interface(&self.interface.name));
                }
            }
        }
        self.reclaim();
        Ok(())
    }

    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        if self.incoming.pieces().is_some() {
            return Ok(());
        }
        sys::poll_or_wake(self.fd.as_fd(), wake, timeout)
    }

    fn is_gone(&self) -> bool {
        !sys::interface_exists(&self.fd, self.interface.index)
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

/// Limit of frames that the kernel sends per call: 32 by default. Since Linux 6.17; without it there are more calls.
const MAX_SEND_BUDGET: i32 = 9;

/// Size of a descriptor. Bytes.
const DESCRIPTOR: usize = size_of::<libc::xdp_desc>();
