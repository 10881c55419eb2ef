//! The BPF program that redirects frames to an AF_XDP socket. Written as single instructions, so that no compiler is needed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use crate::{Error, sys};

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
const PROG_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const XDP_HAS_FRAGS: u32 = 1 << 5;
const XDP_PASS: i32 = 2;
const REDIRECT_MAP: i32 = 51;
const PSEUDO_MAP_FD: u8 = 1;
const FLAG_GENERIC: u32 = 1 << 1;
const FLAG_NATIVE: u32 = 1 << 2;
/// Capacity of the map. Queues.
const QUEUES: u32 = 64;

/// One instruction: operation, registers (source in the high nibble), jump or memory offset, constant.
#[derive(Clone, Copy)]
struct Op(u8, u8, i16, i32);

impl Op {
    fn word(self) -> u64 {
        let Self(operation, registers, offset, constant) = self;
        u64::from(operation)
            | u64::from(registers) << 8
            | u64::from(offset as u16) << 16
            | u64::from(constant as u32) << 32
    }
}

// Registers: r1 context, r2 start of the frame, r3 end of the frame, r4 pointer compared with the end, r5 a field.
fn load_context(register: u8, offset: i16) -> Op {
    Op(0x61, 1 << 4 | register, offset, 0)
}
fn load_byte(offset: i16) -> Op {
    Op(0x71, 2 << 4 | 5, offset, 0)
}
fn load_half(offset: i16) -> Op {
    Op(0x69, 2 << 4 | 5, offset, 0)
}
/// Two bytes of a frame in the byte order that a program reads.
fn half(value: u16) -> i32 {
    value.to_be().into()
}

/// A program with jumps to "pass" that are filled in at the end.
#[derive(Default)]
struct Code {
    ops: Vec<Op>,
    to_pass: Vec<usize>,
}

impl Code {
    fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Passes the frame on unless it has at least `bytes` bytes.
    fn needs(&mut self, bytes: i32) {
        self.push(Op(0xbf, 2 << 4 | 4, 0, 0)); // r4 = r2
        self.push(Op(0x07, 4, 0, bytes)); // r4 += bytes
        self.to_pass.push(self.ops.len());
        self.push(Op(0x2d, 3 << 4 | 4, 0, 0)); // if r4 > r3
    }

    /// Passes the frame on unless r5 equals `value`.
    fn expects(&mut self, value: i32) {
        self.to_pass.push(self.ops.len());
        self.push(Op(0x55, 5, 0, value)); // if r5 != value
    }

    fn redirect(&mut self, map: i32) {
        self.push(load_context(2, 16)); // r2 = number of the receive queue
        self.push(Op(0x18, PSEUDO_MAP_FD << 4 | 1, 0, map)); // r1 = map, two words
        self.push(Op(0, 0, 0, 0));
        self.push(Op(0xb7, 3, 0, XDP_PASS)); // r3 = what to do if no socket is there
        self.push(Op(0x85, 0, 0, REDIRECT_MAP)); // call
        self.push(Op(0x95, 0, 0, 0)); // exit
    }

    fn finish(mut self) -> Vec<u64> {
        let pass = self.ops.len();
        self.to_pass.iter().for_each(|at| self.ops[*at].2 = (pass - at - 1) as i16);
        if !self.to_pass.is_empty() {
            self.ops.extend([Op(0xb7, 0, 0, XDP_PASS), Op(0x95, 0, 0, 0)]);
        }
        self.ops.into_iter().map(Op::word).collect()
    }
}

/// Continues for UDP over IPv4 or IPv6 to `port`, else passes the frame on.
fn check_udp(code: &mut Code, port: u16) {
    code.push(load_context(3, 4));
    code.push(load_context(2, 0));
    code.needs(62);
    code.push(load_half(12));
    let to_ipv6 = code.ops.len();
    code.push(Op(0x15, 5, 0, half(0x86dd))); // if r5 == IPv6
    code.expects(half(0x0800));
    code.push(load_byte(14));
    code.expects(0x45);
    code.push(load_byte(23));
    code.expects(17);
    code.push(load_half(36));
    code.expects(half(port));
    let to_redirect = code.ops.len();
    code.push(Op(0x05, 0, 0, 0)); // goto
    let ipv6 = code.ops.len();
    code.push(load_byte(20));
    code.expects(17);
    code.push(load_half(56));
    code.expects(half(port));
    let redirect = code.ops.len();
    code.ops[to_ipv6].2 = (ipv6 - to_ipv6 - 1) as i16;
    code.ops[to_redirect].2 = (redirect - to_redirect - 1) as i16;
}

fn code(filter: Filter, map: i32) -> Vec<u64> {
    let mut code = Code::default();
    if let Filter::Udp(port) = filter {
        check_udp(&mut code, port);
    }
    code.redirect(map);
    code.finish()
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
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
        let program = load(&code, if long_frames { XDP_HAS_FRAGS } else { 0 })?;
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
        let attribute = [pair(self.program.as_raw_fd() as u32, interface), pair(ATTACH_XDP, flags)];
        let what = "cannot attach an XDP program (is another one there?)";
        // A link that was just closed occupies the hook for some milliseconds.
        let link = patiently(|| sys::bpf(LINK_CREATE, &mut attribute.clone(), what))?;
        Ok(Self { _link: Some(link), ..self })
    }
}

/// Retries for a tenth of a second while the resource is busy.
pub(super) fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 0..20 {
        match attempt() {
            Err(error) if error.os_error() == Some(libc::EBUSY) => {
                sys::poll(&[], Duration::from_millis(5))?;
            }
            other => return other,
        }
    }
    attempt()
}

fn load(code: &[u64], flags: u32) -> Result<OwnedFd, Error> {
    let licence = *b"Dual MIT/GPL\0\0\0\0";
    let mut log = vec![0u8; 1 << 16];
    let mut attribute = [
        pair(PROG_TYPE_XDP, code.len() as u32),
        code.as_ptr() as u64,
        licence.as_ptr() as u64,
        pair(1, log.len() as u32),
        log.as_mut_ptr() as u64,
        pair(0, flags),
        0,
        0,
        pair(0, ATTACH_XDP),
    ];
    sys::bpf(PROG_LOAD, &mut attribute, "cannot load an XDP program").map_err(|error| {
        let log = log.split(|byte| *byte == 0).next().unwrap_or(&[]);
        match error.os_error() {
            Some(libc::EPERM) | None => error,
            Some(number) => Error::Program {
                source: io::Error::from_raw_os_error(number),
                log: String::from_utf8_lossy(log).into_owned(),
            },
        }
    })
}
