//! Ports that read the header of a departing packet and write into it, as D3 and PDQ need.

use pullnet_transport::{Header, Hop};

use crate::frame::{Ip, PROTOCOL_UDP};
use crate::framed::{Framed, HeaderOf};
use crate::layout::{HEADER, UDP};
use crate::plain::{Plain, measure};

/// Shows the header of a frame to the port that it leaves by, and writes the port's answer into the frame, with its check. A
/// UDP checksum, which covers the header, becomes 0: none.
/// Returns false and changes nothing if the frame is no packet of `P` with the right check, if the port has no answer, or
/// if the header with the answer had another length.
pub fn answer<P: Framed>(frame: &mut [u8], hop: &mut dyn Hop) -> bool {
    written::<P>(frame, hop).is_some()
}

fn written<P: Framed>(frame: &mut [u8], hop: &mut dyn Hop) -> Option<()> {
    let ip = Ip::find(frame)?;
    let at = ip.next() + UDP;
    if ip.protocol(frame) != PROTOCOL_UDP || ip.is_fragment(frame) {
        return None;
    }
    let addresses = ip.addresses(frame);
    let datagram = frame.get(at..).filter(|datagram| datagram.len() >= HEADER)?;
    let plain = Plain::<HeaderOf<P>>::decode(datagram, P::NUMBER).ok()?;
    let (long, check) = measure(datagram, addresses).ok()?;
    if datagram[HEADER - 4..HEADER] != check.to_be_bytes() {
        return None;
    }
    let bytes = Plain { header: plain.header.at_hop(hop)?, ..plain }.encode(addresses);
    let header = bytes.get();
    if header.len() != long {
        return None;
    }
    frame[at..at + long].copy_from_slice(header);
    frame[at - 2..at].fill(0);
    Some(())
}
