//! Programs for the kernel's virtual machine (BPF), written as single instructions, so that no compiler is needed.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::error::Error;
use crate::sys;

// bpf(2): commands and values, from `include/uapi/linux/bpf.h`.
const PROG_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;

/// One instruction: operation, registers (source in the high nibble), jump or memory offset, constant.
#[derive(Clone, Copy)]
pub(crate) struct Op(pub u8, pub u8, pub i16, pub i32);

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
pub(crate) fn load_context(register: u8, offset: i16) -> Op {
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

/// Offsets in a program's context of the start and of the end of the frame.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub start: i16,
    pub end: i16,
}

/// A program with jumps to "pass" that are filled in at the end.
#[derive(Default)]
pub(crate) struct Code {
    ops: Vec<Op>,
    to_pass: Vec<usize>,
}

impl Code {
    pub fn push(&mut self, op: Op) {
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

    /// Passes the frame on unless the four bytes at `offset` are `value`.
    fn expects_word(&mut self, offset: i16, value: [u8; 4]) {
        self.push(Op(0x61, 2 << 4 | 5, offset, 0)); // r5 = four bytes
        self.to_pass.push(self.ops.len());
        self.push(Op(0x56, 5, 0, i32::from_ne_bytes(value))); // if the low half of r5 != value
    }

    /// The words of the program. `pass` is its result for frames that it passes on.
    pub fn finish(mut self, pass: i32) -> Vec<u64> {
        let end = self.ops.len();
        self.to_pass.iter().for_each(|at| self.ops[*at].2 = (end - at - 1) as i16);
        if !self.to_pass.is_empty() {
            self.ops.extend([Op(0xb7, 0, 0, pass), Op(0x95, 0, 0, 0)]);
        }
        self.ops.into_iter().map(Op::word).collect()
    }
}

/// Continues for UDP over IPv4 without options, or over IPv6 without extensions, to `port`, else passes the frame on.
pub(crate) fn check_udp(code: &mut Code, context: Context, port: u16) {
    code.push(load_context(3, context.end));
    code.push(load_context(2, context.start));
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
    let to_end = code.ops.len();
    code.push(Op(0x05, 0, 0, 0)); // goto
    let ipv6 = code.ops.len();
    code.push(load_byte(20));
    code.expects(17);
    code.push(load_half(56));
    code.expects(half(port));
    let end = code.ops.len();
    code.ops[to_ipv6].2 = (ipv6 - to_ipv6 - 1) as i16;
    code.ops[to_end].2 = (end - to_end - 1) as i16;
}

/// Continues for UDP to `port` of `address`, as [`check_udp`], else passes the frame on.
pub(crate) fn check_udp_to(code: &mut Code, context: Context, address: IpAddr, port: u16) {
    let (ethertype, at, bytes): (u16, i16, &[u8]) = match &address {
        IpAddr::V4(address) => (0x0800, 30, &address.octets()),
        IpAddr::V6(address) => (0x86dd, 38, &address.octets()),
    };
    check_udp(code, context, port);
    code.push(load_half(12));
    code.expects(half(ethertype));
    for (word, at) in bytes.chunks_exact(4).zip((at..).step_by(4)) {
        code.expects_word(at, [word[0], word[1], word[2], word[3]]);
    }
}

/// A hook that programs attach to: its program type and its attach type.
#[derive(Clone, Copy)]
pub(crate) struct Hook {
    pub program: u32,
    pub attach: u32,
}

pub(crate) fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Retries for a second while the resource is busy: the kernel gives some back only after a while, later on a busy machine.
pub(crate) fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 0..200 {
        match attempt() {
            Err(error) if error.os_error() == Some(libc::EBUSY) => {
                sys::poll(&[], Duration::from_millis(5))?;
            }
            other => return other,
        }
    }
    attempt()
}

/// Loads a program for `hook`.
pub(crate) fn load(hook: Hook, code: &[u64], flags: u32) -> Result<OwnedFd, Error> {
    let licence = *b"Dual MIT/GPL\0\0\0\0";
    let mut log = vec![0u8; 1 << 16];
    let mut attribute = [
        pair(hook.program, code.len() as u32),
        code.as_ptr() as u64,
        licence.as_ptr() as u64,
        pair(1, log.len() as u32),
        log.as_mut_ptr() as u64,
        pair(0, flags),
        0,
        0,
        pair(0, hook.attach),
    ];
    sys::bpf(PROG_LOAD, &mut attribute, "cannot load a BPF program").map_err(|error| {
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

/// Attaches a program to an interface until the link that is returned is closed. `what` is the text of an error.
pub(crate) fn attach(
    hook: Hook,
    (program, interface): (u32, u32),
    flags: u32,
    what: &'static str,
) -> Result<OwnedFd, Error> {
    // The kernel reads as many words as the hook has; the rest must be 0.
    let attribute = [pair(program, interface), pair(hook.attach, flags), 0, 0];
    // A link that was just closed occupies the hook for some milliseconds.
    patiently(|| sys::bpf(LINK_CREATE, &mut attribute.clone(), what))
}
