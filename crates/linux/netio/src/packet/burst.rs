//! Bursts as the kernel takes and delivers them: `struct virtio_net_hdr` of `include/uapi/linux/virtio_net.h`, and one long frame.

use std::os::fd::OwnedFd;

use pullnet_wire::{BURST_HEADERS, ETHERNET, Flow, IPV4, UDP, UdpChecksum, finish_checksum};

use super::lines::{LINE, Lines};
use crate::sys;

/// Longest burst with its Ethernet header and a VLAN tag. Bytes.
const LONGEST: usize = 65_535 + 18;
/// Offset of the checksum in a UDP header.
const UDP_CHECKSUM: usize = 6;
/// The kernel adds a checksum, from the given offset on.
const NEEDS_CHECKSUM: u8 = 1;
/// Bytes that the kernel keeps together at the start of a frame: all headers. Programs in the kernel see these alone, and the one
/// that keeps frames from the IP stack of the receiving host has to read addresses and port.
const LINEAR: usize = 128;
/// Headers of a frame over IPv4. Bytes.
pub(super) const IPV4_HEADERS: usize = ETHERNET + IPV4 + UDP;
const SINGLE: u8 = 0;
/// UDP frames of one flow; the kernel reads and writes this since Linux 6.2.
const UDP_FRAMES: u8 = 5;

/// The kernel's description of a frame, received with it or given to the kernel with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offload {
    kind: u8,
    size: u16,
    begun: Option<Begun>,
}

/// A checksum that the sender's kernel has left to a network card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Begun {
    /// Offset of the first byte that counts.
    from: u16,
    /// Offset of the checksum behind it.
    field: u16,
}

impl Offload {
    /// Bytes before a frame.
    pub const LONG: usize = 10;

    pub fn read(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let word = |at: usize| u16::from_ne_bytes([byte(at), byte(at + 1)]);
        let begun = (byte(0) & NEEDS_CHECKSUM != 0).then(|| Begun { from: word(6), field: word(8) });
        Self { kind: byte(1), size: word(4), begun }
    }

    /// Bytes behind the UDP header of each part, if it is a burst.
    pub fn burst_size(self) -> Option<usize> {
        (self.kind == UDP_FRAMES && self.size > 0).then_some(self.size.into())
    }

    pub fn is_single(self) -> bool {
        self.kind == SINGLE
    }

    /// The checksum that is not finished.
    pub fn begun(self) -> Option<Begun> {
        self.begun
    }

    /// The bytes before a frame of `long` bytes that leaves alone.
    pub fn of_frame(long: usize) -> [u8; Self::LONG] {
        let [h0, h1] = (LINEAR.min(long) as u16).to_ne_bytes();
        [0, SINGLE, h0, h1, 0, 0, 0, 0, 0, 0]
    }

    /// The bytes before a burst of `long` bytes whose parts have `size` bytes behind `headers` bytes of headers.
    ///
    /// The kernel keeps the headers and one line of the first part together, and the rest in whole pages. With an MTU of 1500 B
    /// parts are a multiple of a line, so that all begin at one.
    pub fn of_burst(long: usize, headers: usize, size: usize) -> [u8; Self::LONG] {
        let word = |value: usize| (value as u16).to_ne_bytes();
        let ([h0, h1], [s0, s1], [c0, c1]) =
            (word((headers + LINE).min(long)), word(size), word(headers - UDP));
        let [o0, o1] = word(UDP_CHECKSUM);
        [NEEDS_CHECKSUM, UDP_FRAMES, h0, h1, s0, s1, c0, c1, o0, o1]
    }
}

/// A burst that has arrived, handed out in its parts.
#[derive(Debug)]
pub(super) struct Burst {
    /// The kernel's words, headers, and the bytes of all parts. The headers of each part are written in front of its bytes, over
    /// the end of the part before it, so that no byte is copied.
    memory: Lines,
    flow: Option<Flow>,
    /// Bytes behind the UDP header of each part but the last.
    size: usize,
    /// Offset of the next part's bytes.
    at: usize,
    /// End of what has arrived.
    end: usize,
    /// End of what was sent.
    whole: usize,
    /// Whether parts have checksums, which a switch needs for what it forwards over IPv6. Hosts of ours do not look at them.
    checksums: bool,
}

impl Burst {
    pub fn new(checksums: bool) -> Self {
        let memory = Lines::new(Offload::LONG + LONGEST, Offload::LONG + IPV4_HEADERS + LINE);
        Self { memory, flow: None, size: 0, at: 0, end: 0, whole: 0, checksums }
    }

    /// Takes what the kernel has kept beside the ring. Returns its length.
    pub fn fetch(&mut self, fd: &OwnedFd) -> usize {
        sys::receive_datagram(fd, &mut self.memory).saturating_sub(Offload::LONG)
    }

    /// Takes what was in a slot of the ring. Returns its length.
    pub fn copy(&mut self, frame: &[u8]) -> usize {
        let long = frame.len().min(LONGEST);
        self.memory[Offload::LONG..Offload::LONG + long].copy_from_slice(&frame[..long]);
        long
    }

    /// A frame that arrived alone, with its checksum finished. The memory is free: no burst is being handed out.
    pub fn finished(&mut self, frame: &[u8], begun: Begun) -> &[u8] {
        let long = self.copy(frame);
        let copy = &mut self.memory[Offload::LONG..Offload::LONG + long];
        finish_checksum(copy, begun.from.into(), begun.field.into());
        copy
    }

    /// Begins to hand out the parts of a burst of `sent` bytes, if `long` bytes of it have arrived. Returns the number of parts that
    /// are missing altogether.
    pub fn begin(&mut self, long: usize, sent: usize, size: usize) -> u64 {
        let start = Offload::LONG;
        self.flow = Flow::of(&self.memory[start..start + long], true);
        let headers = self.flow.map_or(BURST_HEADERS, |flow| flow.headers());
        (self.size, self.at, self.end) = (size, start + headers, start + long);
        self.whole = (start + sent).max(self.end);
        if self.flow.is_none() {
            self.at = self.end;
        }
        let parts = |end: usize| end.saturating_sub(self.at).div_ceil(size) as u64;
        parts(self.whole) - parts(self.end)
    }

    pub fn is_over(&self) -> bool {
        self.at >= self.end
    }

    /// The next part as a frame. The last may be cut short: the kernel had no room for more.
    pub fn part(&mut self) -> Option<&[u8]> {
        let flow = self.flow.filter(|_| !self.is_over())?;
        let sent = self.size.min(self.whole - self.at);
        let end = (self.at + sent).min(self.end);
        let frame = &mut self.memory[self.at - flow.headers()..end];
        self.at += sent;
        let needs_checksum = self.checksums && flow.headers() == BURST_HEADERS;
        let checksum = if needs_checksum { UdpChecksum::Begun } else { UdpChecksum::None };
        if !flow.write(frame, sent, checksum) {
            return None;
        }
        if needs_checksum {
            finish_checksum(frame, flow.headers() - UDP, UDP_CHECKSUM);
        }
        Some(frame)
    }
}
