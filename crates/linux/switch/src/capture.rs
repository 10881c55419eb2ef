//! Frames into a pcapng file: nanoseconds, one interface for each port.
//!
//! The three kinds of block that this needs are written here: no crate that writes pcapng has a release that is not
//! years old or a candidate. Source: draft-ietf-opsawg-pcapng, sections 4.1 to 4.3.

use std::io::{self, Write};

use pullnet_units::{BitsPerSec, Instant, PortId};

use crate::event::{Event, Observer};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;

const OPTION_NAME: u16 = 2;
const OPTION_FLAGS: u16 = 2;
const OPTION_SPEED: u16 = 8;
const OPTION_RESOLUTION: u16 = 9;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A port in a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Its name.
    pub name: String,
    /// Rate of its line.
    pub rate: BitsPerSec,
}

/// Writes what arrives at ports and what they send.
#[derive(Debug)]
pub struct Capture<W: Write> {
    out: W,
    /// Nanoseconds from 1970 to the start of the fabric's time.
    epoch: u64,
    /// Bytes kept of each frame.
    snap: usize,
    /// The interface of each port; `None` for ports that are not captured.
    interfaces: Vec<Option<u32>>,
    block: Vec<u8>,
    failed: Option<io::Error>,
}

impl<W: Write> Capture<W> {
    /// Begins a file for `ports`, where `None` is a port that is not captured. `epoch` is the start of the fabric's time
    /// in nanoseconds since 1970.
    pub fn new(out: W, ports: &[Option<Captured>], snap: usize, epoch: u64) -> io::Result<Self> {
        let mut next = 0..;
        let interfaces = ports.iter().map(|port| port.as_ref().and_then(|_| next.next())).collect();
        let mut capture = Self { out, epoch, snap, interfaces, block: Vec::new(), failed: None };
        capture.section()?;
        ports.iter().flatten().try_for_each(|port| capture.interface(port))?;
        Ok(capture)
    }

    fn section(&mut self) -> io::Result<()> {
        self.begin(SECTION);
        self.block.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        self.block.extend_from_slice(&[1, 0, 0, 0]);
        self.block.extend_from_slice(&u64::MAX.to_le_bytes());
        self.end()
    }

    fn interface(&mut self, port: &Captured) -> io::Result<()> {
        self.begin(INTERFACE);
        self.block.extend_from_slice(&ETHERNET.to_le_bytes());
        self.block.extend_from_slice(&[0, 0]);
        self.block.extend_from_slice(&(self.snap as u32).to_le_bytes());
        self.option(OPTION_NAME, port.name.as_bytes());
        self.option(OPTION_SPEED, &port.rate.get().to_le_bytes());
        self.option(OPTION_RESOLUTION, &[9]);
        self.option(0, &[]);
        self.end()
    }

    fn packet(&mut self, at: Instant, interface: u32, direction: u32, frame: &[u8]) -> io::Result<()> {
        let kept = &frame[..frame.len().min(self.snap)];
        let time = self.epoch + at.0 / 1000;
        self.begin(PACKET);
        for word in [interface, (time >> 32) as u32, time as u32, kept.len() as u32, frame.len() as u32] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        self.padded(kept);
        self.option(OPTION_FLAGS, &direction.to_le_bytes());
        self.option(0, &[]);
        self.end()
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend_from_slice(&kind.to_le_bytes());
        self.block.extend_from_slice(&[0; 4]);
    }

    /// Bytes, and as many more as lead to a multiple of four.
    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend_from_slice(&code.to_le_bytes());
        self.block.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.padded(value);
    }

    fn end(&mut self) -> io::Result<()> {
        let long = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&long);
        self.block.extend_from_slice(&long);
        self.out.write_all(&self.block)
    }

    /// Writes out what is still held back; the first error of all that was written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.failed.take().map_or_else(|| self.out.flush(), Err)
    }
}

impl<W: Write> Observer for Capture<W> {
    fn event(&mut self, at: Instant, port: PortId, event: Event, frame: &[u8]) {
        let direction = match event {
            Event::Arrived => INBOUND,
            Event::Sent => OUTBOUND,
            Event::Trimmed | Event::Returned | Event::Dropped(_) => return,
        };
        let interface = self.interfaces.get(port.0 as usize).copied().flatten();
        if let (Some(interface), None) = (interface, &self.failed) {
            // What cannot be written must not stop traffic; it is told at the end.
            self.failed = self.packet(at, interface, direction, frame).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    /// Every block of a file: its kind and what is in it.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut blocks = Vec::new();
        while !bytes.is_empty() {
            let long = word(bytes, 4) as usize;
            assert_eq!((long % 4, word(bytes, long - 4) as usize), (0, long));
            blocks.push((word(bytes, 0), bytes[8..long - 4].to_vec()));
            bytes = &bytes[long..];
        }
        blocks
    }

    #[test]
    fn a_file_has_a_section_its_interfaces_and_its_frames() {
        let rate = BitsPerSec::gbps(1);
        let port = |name: &str| Some(Captured { name: name.to_owned(), rate });
        let mut file = Vec::new();
        let mut capture = Capture::new(&mut file, &[port("a"), None, port("bb")], 16, 5_000_000_000).unwrap();
        capture.event(Instant(7_000), PortId(2), Event::Sent, &[9; 17]);
        capture.event(Instant(8_000), PortId(1), Event::Sent, &[9; 17]);
        capture.event(Instant(9_000), PortId(0), Event::Trimmed, &[9; 17]);
        capture.event(Instant(9_000), PortId(0), Event::Arrived, &[8; 14]);
        capture.finish().unwrap();
        let blocks = blocks(&file);
        assert_eq!(
            blocks.iter().map(|block| block.0).collect::<Vec<_>>(),
            [SECTION, INTERFACE, INTERFACE, PACKET, PACKET]
        );
        assert_eq!(word(&blocks[0].1, 0), BYTE_ORDER);
        let sent = &blocks[3].1;
        let time = u64::from(word(sent, 4)) << 32 | u64::from(word(sent, 8));
        assert_eq!((word(sent, 0), time, word(sent, 12), word(sent, 16)), (1, 5_000_000_007, 16, 17));
        assert_eq!(word(sent, 20 + 16 + 4), OUTBOUND);
        assert_eq!((word(&blocks[4].1, 0), word(&blocks[4].1, 12)), (0, 14));
    }
}
