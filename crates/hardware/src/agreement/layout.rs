//! The wire formats supported by the RTL, for the software switch that it is compared with.

use std::net::Ipv4Addr;

use pullnet_switch::{Class, Codec, Kind, Ndp};

/// IP protocol number of the artifact's NDP.
const ARTIFACT_PROTOCOL: u8 = 199;
/// Bytes of the artifact's NDP header.
const ARTIFACT_HEADER: usize = 20;
/// Total length of an IPv4 packet without payload; identifies NACKs of trimmed packets and PULLs.
const EMPTY_PACKET: u16 = 40;
/// Bytes of the first cell of a frame, as `CELL_BYTES` in `pullnet_pkg.sv`.
const CELL: u16 = 128;
/// Flags ACK and NACK.
const ACK_OR_NACK: u16 = 0x000a;

/// NDP's wire format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// The project's own format: UDP, marks in the DSCP.
    Udp(Ndp),
    /// The format of the NDP paper's artifact: IP protocol 199, 20 bytes of header that begin with flags and a checksum. It
    /// has no marks, and headers are not returned.
    Artifact,
}

/// Fields of a frame that the artifact's parser extracts.
struct Seen {
    /// Offset of the IP header, and the payload of IP.
    at: usize,
    next: usize,
    ipv4: bool,
}

impl Seen {
    fn of(frame: &[u8]) -> Option<Self> {
        let next = pullnet_wire::switch::behind_ip(frame)?;
        let at = if frame[12..14] == [0x81, 0x00] { 18 } else { 14 };
        Some(Self { at, next, ipv4: frame[at] >> 4 == 4 })
    }

    fn protocol(&self, frame: &[u8]) -> u8 {
        frame[self.at + if self.ipv4 { 9 } else { 6 }]
    }
}

fn word(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

fn artifact_kind(frame: &[u8], seen: &Seen) -> Kind {
    let least = seen.next + ARTIFACT_HEADER;
    if seen.protocol(frame) != ARTIFACT_PROTOCOL || frame.len() < least {
        return Kind::Foreign;
    }
    let control = word(frame, seen.next) & ACK_OR_NACK != 0
        || word(frame, seen.at + 2) == EMPTY_PACKET
        || frame.len() == least;
    if control { Kind::Control } else { Kind::Data }
}

fn classify_artifact(frame: &[u8]) -> Class {
    // Fields common to both formats: addresses, ECN, priority.
    let common = Class { kind: Kind::Foreign, label: None, ..Ndp::default().classify(frame) };
    let Some(seen) = Seen::of(frame) else { return common };
    let headers = (seen.next + ARTIFACT_HEADER) as u16;
    Class { kind: artifact_kind(frame, &seen), headers, ..common }
}

/// Cuts a frame after the NDP header: corrects IP length and checksum, sets the NDP checksum to 0, keeps the DSCP.
fn trim_artifact(frame: &mut Vec<u8>) {
    let Some(seen) = Seen::of(frame) else { return };
    let least = seen.next + ARTIFACT_HEADER;
    if frame.len() <= least {
        return;
    }
    frame.truncate(least);
    let length = (least - if seen.ipv4 { seen.at } else { seen.next }) as u16;
    let field = seen.at + if seen.ipv4 { 2 } else { 4 };
    frame[field..field + 2].copy_from_slice(&length.to_be_bytes());
    frame[seen.next + 2..seen.next + 4].fill(0);
    if seen.ipv4 {
        frame[seen.at + 10..seen.at + 12].fill(0);
        let sum = checksum(&frame[seen.at..seen.next]);
        frame[seen.at + 10..seen.at + 12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The checksum of RFC 1071 over an even number of bytes.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// The hardware keeps the headers of a frame in one cell: a frame with longer ones is foreign to it.
fn in_first_cell(class: Class) -> Class {
    if class.headers <= CELL { class } else { Class { kind: Kind::Foreign, label: None, ..class } }
}

impl Layout {
    /// IPv4 addresses of a frame, sender first.
    pub fn addresses(frame: &[u8]) -> Option<[Ipv4Addr; 2]> {
        let seen = Seen::of(frame).filter(|seen| seen.ipv4)?;
        let address = |at: usize| <[u8; 4]>::try_from(&frame[at..at + 4]).map(Ipv4Addr::from).ok();
        Some([address(seen.at + 12)?, address(seen.at + 16)?])
    }
}

impl Codec for Layout {
    fn classify(&self, frame: &[u8]) -> Class {
        match self {
            Self::Udp(ndp) => in_first_cell(ndp.classify(frame)),
            Self::Artifact => classify_artifact(frame),
        }
    }

    fn trim(&self, frame: &mut Vec<u8>, keep: usize) {
        match self {
            Self::Udp(ndp) => ndp.trim(frame, keep),
            Self::Artifact => trim_artifact(frame),
        }
    }

    fn mark(&self, frame: &mut [u8]) -> bool {
        // ECN is in the IP header, which both formats have.
        Ndp::default().mark(frame)
    }

    fn turn_round(&self, frame: &mut [u8]) {
        match self {
            Self::Udp(ndp) => ndp.turn_round(frame),
            Self::Artifact => unreachable!("headers do not return in the artifact's layout"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(flags: u16, payload: usize) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        bytes.extend((40 + payload as u16).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, ARTIFACT_PROTOCOL, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = checksum(&bytes[14..34]);
        bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        bytes.extend(flags.to_be_bytes());
        bytes.extend([0xab, 0xcd]);
        bytes.resize(54 + payload, 7);
        bytes
    }

    #[test]
    fn control_is_known_by_its_flags_or_by_its_length() {
        let kind = |bytes: &[u8]| Layout::Artifact.classify(bytes).kind;
        assert_eq!(
            [1, 2, 8, 4].map(|flags| kind(&frame(flags, 100))),
            [Kind::Data, Kind::Control, Kind::Control, Kind::Data]
        );
        assert_eq!(kind(&frame(4, 0)), Kind::Control, "a PULL");
        assert_eq!(kind(&frame(1, 100)[..53]), Kind::Foreign, "cut short");
    }

    #[test]
    fn a_trim_leaves_54_bytes_that_are_right() {
        let mut bytes = frame(1, 1000);
        Layout::Artifact.trim(&mut bytes, 64);
        assert_eq!((bytes.len(), word(&bytes, 16), word(&bytes, 36)), (54, 40, 0));
        assert_eq!(checksum(&bytes[14..34]), 0);
        assert_eq!(Layout::Artifact.classify(&bytes).kind, Kind::Control);
    }
}
