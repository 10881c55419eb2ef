//! Bursts: several UDP frames of one flow that the kernel, or a network card, takes and delivers as one long frame ("generic
//! segmentation offload"). Each part of a burst carries as many bytes behind its UDP header as the others, the last one as many
//! or fewer.

use crate::check::internet_checksum;
use crate::frame::{Ip, PROTOCOL_UDP};
use crate::layout::{ETHERNET, IPV4, IPV6, UDP};

/// Longest headers of a burst: Ethernet, IPv6 and UDP. Bytes.
pub const BURST_HEADERS: usize = ETHERNET + IPV6 + UDP;
/// Longest IP packet, and so the longest burst behind its Ethernet header. Bytes.
const LONGEST: usize = 65_535;

/// Headers of a frame that can be part of a burst, without what differs between the parts: lengths and checksums are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    headers: [u8; BURST_HEADERS],
    long: usize,
}

/// UDP checksum of headers that are written for another length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UdpChecksum {
    /// 0: there is none.
    None,
    /// The sum of the pseudo-header alone, to which the kernel or a network card adds the rest.
    Begun,
}

impl Flow {
    /// The flow of a whole frame of UDP without checksum, or of a burst with any; `None` for other frames, and for those with a
    /// VLAN tag, IPv4 options, or a fragment.
    #[must_use]
    pub fn of(frame: &[u8], burst: bool) -> Option<Self> {
        let ip = Ip::find(frame)?;
        let (at, next) = match ip {
            Ip::V4 { at, next } | Ip::V6 { at, next } => (at, next),
        };
        let long = next + UDP;
        let plain = at == ETHERNET && matches!(next - at, IPV4 | IPV6) && long <= frame.len();
        if !plain || ip.protocol(frame) != PROTOCOL_UDP || ip.is_fragment(frame) {
            return None;
        }
        if !burst && (frame[next + 6..long] != [0, 0] || ip.end(frame) != frame.len()) {
            return None;
        }
        let mut headers = [0; BURST_HEADERS];
        headers[..long].copy_from_slice(&frame[..long]);
        let length = if next - at == IPV4 { at + 2 } else { at + 4 };
        headers[length..length + 2].fill(0);
        if next - at == IPV4 {
            headers[at + 10..at + 12].fill(0);
        }
        headers[next + 4..long].fill(0);
        Some(Self { headers, long })
    }

    /// Length of the headers. Bytes.
    #[must_use]
    pub fn headers(&self) -> usize {
        self.long
    }

    /// Whether a burst can carry `bytes` bytes behind its UDP header.
    #[must_use]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.long - ETHERNET + bytes <= LONGEST
    }

    /// Writes the headers of a frame that carries `bytes` bytes behind its UDP header into the start of `out`; false, and nothing is
    /// written, if they do not fit or there are too many bytes.
    #[must_use]
    pub fn write(&self, out: &mut [u8], bytes: usize, checksum: UdpChecksum) -> bool {
        let Some(out) = out.get_mut(..self.long).filter(|_| self.has_room(bytes)) else { return false };
        out.copy_from_slice(&self.headers[..self.long]);
        let udp = self.long - UDP;
        let datagram = ((UDP + bytes) as u16).to_be_bytes();
        out[udp + 4..udp + 6].copy_from_slice(&datagram);
        let ipv4 = udp - ETHERNET == IPV4;
        if ipv4 {
            out[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&((IPV4 + UDP + bytes) as u16).to_be_bytes());
            let sum = internet_checksum(&out[ETHERNET..udp]);
            out[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
        } else {
            out[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&datagram);
        }
        if checksum == UdpChecksum::Begun {
            // Source and destination address, protocol and length (RFC 768, RFC 8200 section 8.1); not complemented.
            let mut pseudo = [0; 2 * 16 + 4];
            let addresses = if ipv4 { ETHERNET + 12..udp } else { ETHERNET + 8..udp };
            let long = addresses.len();
            pseudo[..long].copy_from_slice(&out[addresses]);
            pseudo[long..long + 4].copy_from_slice(&[0, PROTOCOL_UDP, datagram[0], datagram[1]]);
            let sum = !internet_checksum(&pseudo[..long + 4]);
            out[udp + 6..].copy_from_slice(&sum.to_be_bytes());
        }
        true
    }
}

/// Finishes a checksum that [`Flow::write`], or a kernel that leaves it to a network card, has begun. All bytes from offset `from` on
/// count. The field lies `field` bytes behind `from` and holds the sum of the pseudo-header. Returns false, and writes nothing, if the
/// frame ends before the field does.
pub fn finish_checksum(frame: &mut [u8], from: usize, field: usize) -> bool {
    let at = from + field;
    if at + 2 > frame.len() {
        return false;
    }
    // 0 would say that there is none.
    let sum = match internet_checksum(&frame[from..]) {
        0 => u16::MAX,
        sum => sum,
    };
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::net::IpAddr;

    use super::*;
    use crate::emit::emit;
    use crate::frame::{Mac, Route};
    use crate::layout::PORT;
    use crate::mark::Marks;
    use crate::packet::{DataFields, Packet, Shape};
    use crate::parse::parse;

    fn route(ipv6: bool) -> Route {
        let address = |last: u8| {
            if ipv6 {
                IpAddr::from([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last])
            } else {
                IpAddr::from([10, 7, 0, last])
            }
        };
        Route {
            from_mac: Mac([2; 6]),
            to_mac: Mac([4; 6]),
            from: address(1),
            to: address(2),
            from_port: Route::port_of(3),
            to_port: PORT,
        }
    }

    fn frame(ipv6: bool, payload: &[u8]) -> Vec<u8> {
        let shape = Shape::Data(DataFields {
            seq: 1,
            pulled: true,
            length: payload.len() as u16,
            service: 1,
            ..DataFields::default()
        });
        let mut out = vec![0; 2000];
        let packet = Packet { home: PORT, conn: 5, tag: 6, shape };
        let long = emit(&mut out, &route(ipv6), &Marks::default(), &packet, payload).unwrap();
        out.truncate(long);
        out
    }

    #[test]
    fn headers_written_for_the_same_length_are_the_same_bytes() {
        for ipv6 in [false, true] {
            let frame = frame(ipv6, &[9; 100]);
            let flow = Flow::of(&frame, false).unwrap();
            let mut again = frame.clone();
            again[..flow.headers()].fill(0xff);
            assert!(flow.write(&mut again, frame.len() - flow.headers(), UdpChecksum::None));
            assert_eq!(again, frame);
            assert!(parse(&again, &Marks::default(), PORT).is_ok());
            assert!(!flow.write(&mut again[..flow.headers() - 1], 10, UdpChecksum::None));
            assert!(!flow.write(&mut again, LONGEST, UdpChecksum::None));
        }
    }

    #[test]
    fn frames_of_one_flow_differ_in_their_length_alone() {
        let (long, short) = (frame(false, &[1; 100]), frame(false, &[2; 7]));
        assert_eq!(Flow::of(&long, false), Flow::of(&short, false));
        for at in [0, 11, 15, 22, 26, 33, 34, 37] {
            let mut other = long.clone();
            other[at] ^= 1;
            assert_ne!(Flow::of(&other, false), Flow::of(&long, false), "byte {at}");
        }
    }

    #[test]
    fn other_frames_have_no_flow() {
        let good = frame(false, &[1; 100]);
        let change = |at: usize, value: u8| {
            let mut frame = good.clone();
            frame[at] = value;
            Flow::of(&frame, false)
        };
        assert!(change(14, 0x45).is_some());
        assert_eq!(change(14, 0x46), None, "options");
        assert_eq!(change(20, 0x20), None, "a fragment");
        assert_eq!(change(23, 6), None, "TCP");
        assert_eq!(change(41, 1), None, "a checksum");
        assert_eq!(change(12, 0x81), None, "a VLAN tag");
        assert_eq!(Flow::of(&good[..good.len() - 1], false), None, "trimmed, with the lengths from before");
        assert_eq!(Flow::of(&good[..30], true), None);
        assert!(Flow::of(&good[..good.len() - 1], true).is_some());
    }

    /// The sum over pseudo-header and datagram by the words of RFC 768: 0xffff if the checksum is right.
    fn summed(frame: &[u8], ipv6: bool) -> u32 {
        let (addresses, udp) = if ipv6 { (22, 54) } else { (26, 34) };
        let mut sum = u32::from(PROTOCOL_UDP) + (frame.len() - udp) as u32;
        for pair in frame[addresses..].chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    #[test]
    fn a_begun_checksum_is_right_once_it_is_finished() {
        for ipv6 in [false, true] {
            for long in [100, 101] {
                let mut frame = frame(ipv6, &vec![0xa7; long]);
                let flow = Flow::of(&frame, false).unwrap();
                let (udp, bytes) = (flow.headers() - UDP, frame.len() - flow.headers());
                assert!(flow.write(&mut frame, bytes, UdpChecksum::Begun));
                assert!(finish_checksum(&mut frame, udp, 6));
                assert_eq!(summed(&frame, ipv6), 0xffff);
                // A field that lies behind the end is left alone.
                let before = frame.clone();
                assert!(!finish_checksum(&mut frame, before.len() - 1, 0));
                assert_eq!(frame, before);
            }
        }
    }
}
