//! Translation between the packets of an NDP endpoint and the packets that [`pullnet_wire`] writes and reads.
//!
//! Both headers carry the same information. The wire format adds the host's port, a service and the payload length,
//! which an endpoint does not know. An endpoint counts bytes on the line including headers, which the wire format does
//! not carry.

use pullnet_transport::{ConnId, HostAddr, Received, Transmit};
use pullnet_units::{PacketSeq, WireLen};
use pullnet_wire::{
    Arrival, Arrived, DataFields, EmitError, FRAME_HEADERS, Framed, Marks, Packet, Refused, Route, Shape,
    emit, parse,
};

use crate::{Ndp, NdpHeader};

/// Fields that the wire format adds to a packet of a stream. An endpoint does not know them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Label {
    /// Service at the receiver that data is for.
    pub service: u16,
    /// Secret of the stream.
    pub tag: u64,
    /// Opening time of the stream, by the clock of the host that it was opened to; 24 bits.
    pub stamp: u32,
}

/// Values common to all packets of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carriage {
    /// UDP port that the host listens on.
    pub home: u16,
    /// Bytes on the line in a data packet beside its payload: the `header` of the endpoint's settings.
    pub header: u16,
}

impl Carriage {
    /// Payload bytes of a packet that an endpoint sends; 0 for all kinds but data.
    #[must_use]
    pub fn payload(&self, packet: &Transmit<NdpHeader>) -> u16 {
        match packet.header {
            NdpHeader::Data { .. } => packet.wire.get().saturating_sub(self.header),
            _ => 0,
        }
    }

    /// Wire header of a packet that an endpoint sends.
    #[must_use]
    pub fn packet(&self, packet: &Transmit<NdpHeader>, label: &Label) -> Packet {
        let shape = match packet.header {
            NdpHeader::Data { seq, syn, last, pulled, priority, .. } => {
                let (again, length) = (packet.again, self.payload(packet));
                let (service, stamp) = (label.service, if syn { label.stamp } else { 0 });
                Shape::Data(DataFields { seq, syn, last, pulled, again, length, service, priority, stamp })
            }
            NdpHeader::Ack { seq, pull, .. } => Shape::Ack { seq, also: 0, pull },
            NdpHeader::Nack { seq, pull, .. } => Shape::Nack { seq, pull },
            NdpHeader::Pull { number, .. } => Shape::Pull { number },
            NdpHeader::Probe { seq, .. } => Shape::Probe { seq },
        };
        Packet { home: self.home, conn: packet.header.conn().get(), tag: label.tag, shape }
    }

    /// Translates a packet that arrived from host `from`, reached by `paths` paths, for an endpoint. `None` if the
    /// packet is for the owner of the connection, such as a RESET. An ACK becomes that of its highest packet number; the
    /// owner hands over the others ([`Shape::also`]) as ACKs of their own.
    #[must_use]
    pub fn received(&self, arrived: &Arrived<'_>, from: HostAddr, paths: u16) -> Option<Received<NdpHeader>> {
        let header = header(&arrived.packet)?;
        let wire = self.header.saturating_add(arrived.packet.shape.length());
        Some(Received { from, paths, wire: WireLen::new(wire), fate: arrived.fate, ce: false, header })
    }
}

/// The endpoint's header of a packet; `None` for packets for the endpoint's owner: RESET, HELLO and COOKIE.
fn header(packet: &Packet) -> Option<NdpHeader> {
    let conn = ConnId::new(packet.conn);
    Some(match packet.shape {
        Shape::Data(DataFields { seq, syn, last, pulled, priority, .. }) => {
            NdpHeader::Data { conn, seq, syn, last, pulled, priority }
        }
        Shape::Ack { seq, pull, .. } => NdpHeader::Ack { conn, seq, pull },
        Shape::Nack { seq, pull } => NdpHeader::Nack { conn, seq, pull },
        Shape::Pull { number } => NdpHeader::Pull { conn, number },
        Shape::Probe { seq } => NdpHeader::Probe { conn, seq },
        Shape::Reset { .. } | Shape::Hello | Shape::Cookie { .. } => return None,
    })
}

/// The form that the hosts of a scenario use: packets outside of streams, with an empty [`Label`].
impl Framed for Ndp {
    /// NDP has a header format of its own, without a transport number.
    const NUMBER: u8 = 0;

    fn data(header: &NdpHeader) -> Option<(ConnId, PacketSeq)> {
        match *header {
            NdpHeader::Data { conn, seq, .. } => Some((conn, PacketSeq::new(seq))),
            _ => None,
        }
    }

    fn emit(
        out: &mut [u8],
        route: &Route,
        marks: &Marks,
        home: u16,
        packet: &Transmit<NdpHeader>,
        payload: &[u8],
    ) -> Result<usize, EmitError> {
        let carriage = Carriage { home, header: FRAME_HEADERS as u16 };
        emit(out, route, marks, &carriage.packet(packet, &Label::default()), payload)
    }

    /// Packets for the owner of a connection are for no endpoint, and count as other traffic here; so do ACKs of several
    /// packets, which only owners of streams send.
    fn parse<'a>(frame: &'a [u8], marks: &Marks, port: u16) -> Result<Arrival<'a, NdpHeader>, Refused> {
        let Arrived { route, packet, fate, damaged, payload, .. } = parse(frame, marks, port)?;
        let header =
            header(&packet).filter(|_| packet.shape.also().next().is_none()).ok_or(Refused::Foreign)?;
        let (home, length) = (packet.home, packet.shape.length());
        let headers = FRAME_HEADERS as u16;
        Ok(Arrival { route, home, header, fate, damaged, ce: false, length, headers, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::tests::any_header;
    use core::net::IpAddr;
    use proptest::prelude::*;
    use pullnet_transport::{Class, Fate};
    use pullnet_wire::{Mac, PORT};

    const CARRIAGE: Carriage = Carriage { home: PORT, header: 78 };

    fn transmit(header: NdpHeader, payload: u16) -> Transmit<NdpHeader> {
        let data = matches!(header, NdpHeader::Data { .. });
        let (wire, class) = if data { (78 + payload, Class::Data) } else { (78, Class::Control) };
        Transmit { class, ..Transmit::data(HostAddr(1), 0, WireLen::new(wire), header) }
    }

    fn route() -> Route {
        let [from, to] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse::<IpAddr>().unwrap());
        let mac = Mac([2, 0, 0, 0, 0, 1]);
        Route { from_mac: mac, to_mac: mac, from, to, from_port: Route::port_of(0), to_port: PORT }
    }

    proptest! {
        #[test]
        fn what_one_endpoint_sends_another_takes(header in any_header(), payload in 0..1437u16, cut in any::<bool>()) {
            let sent = transmit(header, payload);
            let bytes = [0x5a; 1436];
            let mut frame = [0; 1514];
            let packet = CARRIAGE.packet(&sent, &Label { service: 7, tag: 9, stamp: 5 });
            let payload = &bytes[..CARRIAGE.payload(&sent).into()];
            let long = emit(&mut frame, &route(), &Marks::default(), &packet, payload).unwrap();
            let cut = cut && !payload.is_empty();
            let there = if cut { &frame[..74] } else { &frame[..long] };
            let arrived = parse(there, &Marks::default(), PORT).unwrap();
            let fate = if cut { Fate::Trimmed } else { Fate::Whole };
            let expected = Received { from: HostAddr(3), paths: 4, wire: sent.wire, fate, ce: false, header };
            prop_assert_eq!(CARRIAGE.received(&arrived, HostAddr(3), 4), Some(expected));
        }
    }
}
