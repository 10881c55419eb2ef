//! Reader for all formats.

use std::io::Read;

use crate::erf::{self, Erf};
use crate::error::{CaptureError, hexadecimal};
use crate::input::{Compression, Consumed, Input};
use crate::losses::Losses;
use crate::packet::{Found, Item, Packet, Step};
use crate::pcap::{self, Pcap};
use crate::pcapng::{self, Pcapng};
use crate::window::Window;

/// Bytes examined to recognise ERF.
const TO_RECOGNISE: usize = 1 << 18;

/// The format of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// libpcap's format.
    Pcap,
    /// Block-based successor of pcap.
    Pcapng,
    /// Format of DAG cards.
    Erf,
}

impl Format {
    /// Its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
            Self::Erf => "erf",
        }
    }
}

enum Records {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Erf(Erf),
}

/// Reads the packets of a capture one by one.
pub struct Reader {
    window: Window,
    records: Records,
    losses: Losses,
    ended: bool,
}

impl Reader {
    /// Detects the format of `source`. ERF has no magic number, so it is recognised by plausible records.
    pub fn open(source: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        let mut window = Window::new(Input::new(Box::new(source))?);
        let records = recognise(&mut window)?;
        Ok(Self { window, records, losses: Losses::default(), ended: false })
    }

    /// The next packet or damaged place; `None` at the end.
    #[allow(clippy::should_implement_trait, reason = "an item borrows from the reader")]
    pub fn next(&mut self) -> Option<Item<'_>> {
        if self.ended {
            return None;
        }
        let step = match &mut self.records {
            Records::Pcap(pcap) => pcap.next(&mut self.window, &mut self.losses),
            Records::Pcapng(pcapng) => pcapng.next(&mut self.window, &mut self.losses),
            Records::Erf(erf) => erf.next(&mut self.window, &mut self.losses),
        };
        match step {
            Step::Packet(found) => Some(Item::Packet(self.packet(found))),
            Step::Break => Some(Item::Break),
            Step::End => {
                self.ended = true;
                self.window.report_failure(&mut self.losses);
                None
            }
        }
    }

    fn packet(&self, found: Found) -> Packet<'_> {
        Packet {
            time: found.time,
            wire_len: found.wire_len,
            interface: found.interface,
            direction: found.direction,
            link: found.link,
            data: self.window.slice(found.data),
        }
    }

    /// Format of the capture.
    pub fn format(&self) -> Format {
        match self.records {
            Records::Pcap(_) => Format::Pcap,
            Records::Pcapng(_) => Format::Pcapng,
            Records::Erf(_) => Format::Erf,
        }
    }

    /// Compression of the content.
    pub fn compression(&self) -> Compression {
        self.window.input.compression
    }

    /// Offset of the next record in the content; at the end, the length of the content. Unit: bytes.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Counter of consumed bytes of the stored file; may be read from other threads.
    pub fn consumed(&self) -> Consumed {
        self.window.input.consumed.clone()
    }

    /// Unreadable parts so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }
}

fn recognise(window: &mut Window) -> Result<Records, CaptureError> {
    if !window.want(4) {
        return Err(short(window));
    }
    let bytes = window.bytes();
    if pcap::magic(bytes).is_some() {
        return Pcap::open(window).map(Records::Pcap);
    }
    if pcapng::magic(bytes) {
        return Pcapng::open(window).map(Records::Pcapng);
    }
    window.want(TO_RECOGNISE);
    if erf::looks_like(window.bytes(), window.at_end()) {
        return Ok(Records::Erf(Erf::default()));
    }
    Err(window.failure().map_or_else(|| unknown(window), CaptureError::Io))
}

fn short(window: &mut Window) -> CaptureError {
    match window.failure() {
        Some(error) => CaptureError::Io(error),
        None if window.bytes().is_empty() => CaptureError::Empty,
        None => unknown(window),
    }
}

fn unknown(window: &Window) -> CaptureError {
    let bytes = window.bytes();
    CaptureError::Unknown { begin: hexadecimal(&bytes[..bytes.len().min(8)]) }
}
