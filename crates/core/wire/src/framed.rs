//! One wire form for all transports.

use pullnet_transport::{
    Class, ConnId, Fate, HostAddr, PacketSeq, Protocol, Received, Transmit, Transport, WireLen,
};

use crate::emit::{EmitError, Headers, headers};
use crate::frame::Route;
use crate::layout::{DATA_HEADER, ETHERNET, IPV4, UDP};
use crate::mark::{Mark, Marks};
use crate::parse::{Opened, Refused, open, payload_of};
use crate::plain::{BadPlain, Plain, measure};

/// Bytes of a frame over IPv4 beside the payload of a data packet, as switches count them. Unit: bytes.
pub const FRAME_HEADERS: usize = ETHERNET + IPV4 + UDP + DATA_HEADER;

/// ECN-capable transport, ECT(0), in the traffic class (RFC 3168, section 5).
const ECT: u8 = 0b10;

/// The header of a transport's packets.
pub type HeaderOf<P> = <<P as Protocol>::Endpoint as Transport>::Header;

/// A packet that has arrived in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival<'a, H> {
    /// Source and destination, as the frame says: the source of a returned header is the host that the packet was meant
    /// for.
    pub route: Route,
    /// UDP port that the host that made the packet listens on.
    pub home: u16,
    /// The header.
    pub header: H,
    /// Whether the packet arrived whole, trimmed or returned. A damaged payload counts as trimmed: the header still
    /// says which packet must be retransmitted.
    pub fate: Fate,
    /// Whether the payload is complete but differs from what was sent.
    pub damaged: bool,
    /// Congestion experienced: a switch marked the packet.
    pub ce: bool,
    /// Payload bytes when it was sent.
    pub length: u16,
    /// Bytes of the frame beside the payload: [`Framed::HEADERS`].
    pub headers: u16,
    /// The payload if the packet is whole; else empty.
    pub payload: &'a [u8],
}

impl<H: Copy> Arrival<'_, H> {
    /// The packet in the form that endpoints take: from host `from`, reached by `paths` paths.
    #[must_use]
    pub fn received(&self, from: HostAddr, paths: u16) -> Received<H> {
        let wire = self.headers.saturating_add(self.length);
        Received { from, paths, wire: WireLen::new(wire), fate: self.fate, ce: self.ce, header: self.header }
    }
}

/// A transport whose packets travel in real frames.
///
/// Its endpoint must count [`Framed::HEADERS`] as header bytes (the setting `header`). The first word of its packed
/// header must be the number of the connection, by which switches tell flows apart. All items except [`Framed::NUMBER`]
/// and [`Framed::data`] have default implementations for any transport: the packed header in a header of version 3.
pub trait Framed: Protocol {
    /// Number that distinguishes the packets of this transport from others. NDP's header has none.
    const NUMBER: u8;
    /// Bytes of a data frame over IPv4 beside its payload, as switches count them: more than [`FRAME_HEADERS`] if every data
    /// packet has words behind the first 32 bytes of its header.
    const HEADERS: usize = FRAME_HEADERS;

    /// Connection and packet number of a packet that may carry payload; `None` for all others.
    fn data(header: &HeaderOf<Self>) -> Option<(ConnId, PacketSeq)>;

    /// Payload bytes of a packet that an endpoint sends.
    #[must_use]
    fn payload(packet: &Transmit<HeaderOf<Self>>) -> usize {
        match Self::data(&packet.header) {
            Some(_) => usize::from(packet.wire).saturating_sub(Self::HEADERS),
            None => 0,
        }
    }

    /// Writes the frame of a packet of the host that listens on UDP port `home`, and returns its length.
    ///
    /// # Errors
    /// If it does not fit, or its parts contradict each other.
    fn emit(
        out: &mut [u8],
        route: &Route,
        marks: &Marks,
        home: u16,
        packet: &Transmit<HeaderOf<Self>>,
        payload: &[u8],
    ) -> Result<usize, EmitError> {
        let needed = Self::payload(packet);
        if payload.len() != needed {
            return Err(EmitError::Length { header: needed, payload: payload.len() });
        }
        let length = u16::try_from(needed).map_err(|_| EmitError::TooLong(needed))?;
        let is_data = Self::data(&packet.header).is_some();
        let (protocol, header) = (Self::NUMBER, packet.header);
        let plain = Plain { protocol, home, payload: is_data.then_some(length), header };
        let class = traffic_class::<Self>(marks, packet)?;
        let long = plain.long();
        let check = if is_data { DATA_CHECK } else { 0 };
        let Headers { addresses, family, needed, body } =
            headers(out, route, class, long + check + payload.len())?;
        let bytes = plain.encode((&addresses[..family], &addresses[family..2 * family]));
        body[..long].copy_from_slice(bytes.get());
        if is_data {
            body[long..long + check].copy_from_slice(&crate::check::crc32c(&[payload]).to_be_bytes());
            body[long + check..].copy_from_slice(payload);
        }
        Ok(needed)
    }

    /// Reads a frame addressed to UDP port `port`.
    ///
    /// # Errors
    /// If the frame belongs to other traffic, or is not one that a host of this transport sends. No field of such a
    /// frame can be trusted.
    fn parse<'a>(frame: &'a [u8], marks: &Marks, port: u16) -> Result<Arrival<'a, HeaderOf<Self>>, Refused> {
        let Opened { route, returned, ce, datagram, end, addresses, .. } = open(frame, marks, port)?;
        let (long, computed) = measure(datagram, addresses)?;
        let carried = u32::from_be_bytes([datagram[28], datagram[29], datagram[30], datagram[31]]);
        if carried != computed {
            return Err(Refused::Check { carried, computed });
        }
        let plain = Plain::<HeaderOf<Self>>::decode(datagram, Self::NUMBER)?;
        if plain.payload.is_some() != Self::data(&plain.header).is_some() {
            return Err(BadPlain::Fields { kind: datagram[0] & 0x0f, flags: datagram[1] }.into());
        }
        let length = plain.payload.unwrap_or(0);
        let body = datagram.get(long..end.max(long).min(datagram.len())).unwrap_or(&[]);
        let (fate, damaged, payload) = match plain.payload {
            _ if returned => (Fate::Returned, false, &[][..]),
            None => (Fate::Whole, false, &[][..]),
            Some(_) => payload_of(body, length.into()),
        };
        let headers = Self::HEADERS as u16;
        Ok(Arrival {
            route,
            home: plain.home,
            header: plain.header,
            fate,
            damaged,
            ce,
            length,
            headers,
            payload,
        })
    }
}

/// Bytes of the check of a payload.
const DATA_CHECK: usize = 4;

/// DSCP and ECN bits of a packet. Data carries its priority as the class selector of the DSCP ([`Marks::data_of`]); the mark of control
/// packets has no room for one.
fn traffic_class<P: Framed + ?Sized>(marks: &Marks, packet: &Transmit<HeaderOf<P>>) -> Result<u8, EmitError> {
    let dscp = match packet.class {
        Class::Data => marks.data_of(packet.priority),
        Class::Control => (packet.priority == 0).then(|| marks.dscp(Mark::Control)),
    };
    let dscp = dscp.ok_or(EmitError::Priority(packet.priority))?;
    Ok(dscp << 2 | if packet.ect { ECT } else { 0 })
}
