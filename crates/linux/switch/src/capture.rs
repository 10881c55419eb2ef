//! Writes the frames of a fabric to a pcapng file, with one interface per port.

use std::io::{self, Write};

use pullnet_capture::{Direction, Writer, WrittenInterface};
use pullnet_units::{BitsPerSec, Instant, PortId};

use crate::event::{Event, Observer};

/// A captured port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Its name.
    pub name: String,
    /// Rate of its link.
    pub rate: BitsPerSec,
}

/// Records the frames that ports receive and send.
#[derive(Debug)]
pub struct Capture<W: Write> {
    writer: Writer<W>,
    /// Start of the fabric's time. Nanoseconds since 1970.
    epoch: u64,
    /// Interface number of each port; `None` for ports that are not captured.
    interfaces: Vec<Option<u32>>,
    failed: Option<io::Error>,
}

impl<W: Write> Capture<W> {
    /// Starts a file for `ports`; `None` stands for a port that is not captured. `epoch` is the start of the fabric's time
    /// in nanoseconds since 1970.
    pub fn new(out: W, ports: &[Option<Captured>], snap: usize, epoch: u64) -> io::Result<Self> {
        let mut next = 0..;
        let interfaces = ports.iter().map(|port| port.as_ref().and_then(|_| next.next())).collect();
        let written =
            |Captured { name, rate }: &Captured| WrittenInterface { name: name.clone(), rate: rate.get() };
        let written: Vec<_> = ports.iter().flatten().map(written).collect();
        Ok(Self { writer: Writer::new(out, &written, snap)?, epoch, interfaces, failed: None })
    }

    /// Flushes the file; returns the first write error since the start.
    pub fn finish(&mut self) -> io::Result<()> {
        self.failed.take().map_or_else(|| self.writer.flush(), Err)
    }
}

impl<W: Write> Observer for Capture<W> {
    fn event(&mut self, at: Instant, port: PortId, event: Event, frame: &[u8]) {
        let direction = match event {
            Event::Arrived => Direction::In,
            Event::Sent => Direction::Out,
            Event::Trimmed | Event::Returned | Event::Dropped(_) => return,
        };
        let interface = self.interfaces.get(port.get() as usize).copied().flatten();
        if let (Some(interface), None) = (interface, &self.failed) {
            // A write error must not stop traffic; `finish` reports it.
            self.failed = self.writer.packet(self.epoch + at.0 / 1000, interface, direction, frame).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_captured_ports_and_passing_frames_are_written() {
        let port = |name: &str| Some(Captured { name: name.to_owned(), rate: BitsPerSec::gbps(1) });
        let mut file = Vec::new();
        let mut capture = Capture::new(&mut file, &[port("a"), None, port("bb")], 16, 5_000_000_000).unwrap();
        capture.event(Instant(7_000), PortId::new(2), Event::Sent, &[9; 17]);
        capture.event(Instant(8_000), PortId::new(1), Event::Sent, &[9; 17]);
        capture.event(Instant(9_000), PortId::new(0), Event::Trimmed, &[9; 17]);
        capture.event(Instant(9_000), PortId::new(0), Event::Arrived, &[8; 14]);
        capture.finish().unwrap();
        let mut reader = pullnet_capture::Reader::open(io::Cursor::new(file)).unwrap();
        let mut seen = Vec::new();
        while let Some(item) = reader.next() {
            let pullnet_capture::Item::Packet(packet) = item else { panic!("nothing is damaged") };
            seen.push((packet.time.0 / 1000, packet.interface, packet.direction, packet.wire_len));
        }
        assert_eq!(seen, [(5_000_000_007, 1, Direction::Out, 17), (5_000_000_009, 0, Direction::In, 14)]);
    }
}
