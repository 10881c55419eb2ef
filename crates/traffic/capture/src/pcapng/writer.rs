//! Writes frames to a pcapng file: nanoseconds, one section, Ethernet interfaces.
//!
//! The three required kinds of block are written here because no crate for writing pcapng has a recent stable release.
//! Source: draft-ietf-opsawg-pcapng, sections 4.1 to 4.3.

use std::io::{self, Write};

use crate::packet::Direction;

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

/// An interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenInterface {
    /// Its name.
    pub name: String,
    /// Rate of its line. Unit: bits per second.
    pub rate: u64,
}

/// Writes a pcapng file.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    /// Most bytes kept of each frame.
    snap: usize,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Starts a file for frames of these interfaces, which are numbered from 0 in their order. `snap`: most bytes kept of
    /// each frame.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(out: W, interfaces: &[WrittenInterface], snap: usize) -> io::Result<Self> {
        let mut writer = Self { out, snap, block: Vec::new() };
        writer.section()?;
        interfaces.iter().try_for_each(|interface| writer.interface(interface))?;
        Ok(writer)
    }

    fn section(&mut self) -> io::Result<()> {
        self.begin(SECTION);
        self.block.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        self.block.extend_from_slice(&[1, 0, 0, 0]);
        self.block.extend_from_slice(&u64::MAX.to_le_bytes());
        self.end()
    }

    fn interface(&mut self, interface: &WrittenInterface) -> io::Result<()> {
        self.begin(INTERFACE);
        self.block.extend_from_slice(&ETHERNET.to_le_bytes());
        self.block.extend_from_slice(&[0, 0]);
        self.block.extend_from_slice(&(self.snap as u32).to_le_bytes());
        self.option(OPTION_NAME, interface.name.as_bytes());
        self.option(OPTION_SPEED, &interface.rate.to_le_bytes());
        self.option(OPTION_RESOLUTION, &[9]);
        self.option(0, &[]);
        self.end()
    }

    /// Writes a frame that passed an interface at `time`, in nanoseconds since 1970.
    ///
    /// # Errors
    /// If writing fails.
    pub fn packet(
        &mut self,
        time: u64,
        interface: u32,
        direction: Direction,
        frame: &[u8],
    ) -> io::Result<()> {
        let kept = &frame[..frame.len().min(self.snap)];
        self.begin(PACKET);
        for word in [interface, (time >> 32) as u32, time as u32, kept.len() as u32, frame.len() as u32] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        self.padded(kept);
        let way = match direction {
            Direction::In => Some(INBOUND),
            Direction::Out => Some(OUTBOUND),
            Direction::Unknown => None,
        };
        if let Some(way) = way {
            self.option(OPTION_FLAGS, &way.to_le_bytes());
            self.option(0, &[]);
        }
        self.end()
    }

    /// Flushes buffered output.
    ///
    /// # Errors
    /// If writing fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend_from_slice(&kind.to_le_bytes());
        self.block.extend_from_slice(&[0; 4]);
    }

    /// Appends bytes, padded to a multiple of four.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    /// All blocks of a file: type and body.
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
        let interfaces =
            ["a", "bb"].map(|name| WrittenInterface { name: name.to_owned(), rate: 1_000_000_000 });
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, &interfaces, 16).unwrap();
        writer.packet(5_000_000_007, 1, Direction::Out, &[9; 17]).unwrap();
        writer.packet(5_000_000_009, 0, Direction::In, &[8; 14]).unwrap();
        writer.flush().unwrap();
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
