//! The BPF program that redirects frames to an AF_XDP socket. Written as single instructions, so that no compiler is needed.

use std::os::fd::{AsRawFd, OwnedFd};

use crate::bpf::{self, Code, Context, Hook, Op, check_udp, load_context, pair};
use crate::error::Error;
use crate::sys;

/// Hook that the program is attached to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Attach {
    /// Native: in the driver.
    #[default]
    Native,
    /// Generic: after the driver; works with every driver.
    Generic,
}

/// Frames that the socket takes from the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// UDP over IPv4 without options, or over IPv6 without extensions, for this port.
    Udp(u16),
    /// Every frame.
    Everything,
}

// bpf(2): commands and values, from `include/uapi/linux/bpf.h`.
const MAP_CREATE: i32 = 0;
const MAP_UPDATE: i32 = 2;
const MAP_TYPE_XSKMAP: u32 = 17;
const XDP: Hook = Hook { program: 6, attach: 37 };
const CONTEXT: Context = Context { start: 0, end: 4 };
const XDP_HAS_FRAGS: u32 = 1 << 5;
const XDP_PASS: i32 = 2;
const REDIRECT_MAP: i32 = 51;
const PSEUDO_MAP_FD: u8 = 1;
const FLAG_GENERIC: u32 = 1 << 1;
const FLAG_NATIVE: u32 = 1 << 2;
/// Capacity of the map. Queues.
const QUEUES: u32 = 64;

fn redirect(code: &mut Code, map: i32) {
    code.push(load_context(2, 16)); // r2 = number of the receive queue
    code.push(Op(0x18, PSEUDO_MAP_FD << 4 | 1, 0, map)); // r1 = map, two words
    code.push(Op(0, 0, 0, 0));
    code.push(Op(0xb7, 3, 0, XDP_PASS)); // r3 = what to do if no socket is there
    code.push(Op(0x85, 0, 0, REDIRECT_MAP)); // call
    code.push(Op(0x95, 0, 0, 0)); // exit
}

fn code(filter: Filter, map: i32) -> Vec<u64> {
    let mut code = Code::default();
    if let Filter::Udp(port) = filter {
        check_udp(&mut code, CONTEXT, port);
    }
    redirect(&mut code, map);
    code.finish(XDP_PASS)
}

/// A program, its map, and the link that attaches it.
#[derive(Debug)]
pub(super) struct Program {
    map: OwnedFd,
    program: OwnedFd,
    /// Detaches the program when closed.
    _link: Option<OwnedFd>,
}

impl Program {
    /// Loads the program. `long_frames`: frames may span several buffers.
    pub fn load(filter: Filter, long_frames: bool) -> Result<Self, Error> {
        // Type and key size; value size and number of entries.
        let mut map = [pair(MAP_TYPE_XSKMAP, 4), pair(4, QUEUES)];
        let map = sys::bpf(MAP_CREATE, &mut map, "cannot make an XSKMAP")?;
        let code = code(filter, map.as_raw_fd());
        let program = bpf::load(XDP, &code, if long_frames { XDP_HAS_FRAGS } else { 0 })?;
        Ok(Self { map, program, _link: None })
    }

    /// Redirects frames of `queue` to `socket`.
    pub fn redirect_to(&self, socket: &OwnedFd, queue: u32) -> Result<(), Error> {
        let (key, value) = ([u64::from(queue)], [socket.as_raw_fd() as u64]);
        let map = self.map.as_raw_fd() as u64;
        let mut attribute = [map, key.as_ptr() as u64, value.as_ptr() as u64, 0];
        sys::bpf_update(MAP_UPDATE, &mut attribute, "cannot redirect frames to an AF_XDP socket")
    }

    /// Attaches the program to an interface until it is dropped.
    pub fn attach(self, interface: u32, attach: Attach) -> Result<Self, Error> {
        let flags = if attach == Attach::Native { FLAG_NATIVE } else { FLAG_GENERIC };
        let what = "cannot attach an XDP program (is another one there?)";
        let link = bpf::attach(XDP, (self.program.as_raw_fd() as u32, interface), flags, what)?;
        Ok(Self { _link: Some(link), ..self })
    }
}
