//! Shows what the queue of a port does to packets to the probes that take notes of it.

use pullnet_probes::{Incident, PortPacket, Recorded, Seen};
use pullnet_qdisc::{Item, Outcome};
use pullnet_session::flow_of;
use pullnet_transport::Words;
use pullnet_units::Instant;

use crate::hops::class;
use crate::network::Network;
use crate::packet::Packet;

/// The notes of one port.
#[derive(Clone, Debug)]
pub struct PortNotes {
    /// Row of the port in the table of ports.
    row: u32,
    /// Rows that the probes have recorded.
    pub recorded: Recorded,
}

impl PortNotes {
    /// Nothing noted yet, for the port in row `row` of the table of ports.
    pub fn new<W: Words>(net: &Network<W>, row: u32) -> Self {
        Self { row, recorded: Recorded::new(net.probes()) }
    }

    /// The queue has done something to a packet at `now`.
    pub fn note<W: Words>(&mut self, net: &Network<W>, now: Instant, outcome: &Outcome<Packet<W>>) {
        let (incident, packet) = match outcome {
            Outcome::Marked(packet) => (Incident::Marked, packet),
            Outcome::Trimmed(packet) => (Incident::Trimmed, packet),
            Outcome::Returned { header, .. } => (Incident::Returned, header),
            Outcome::Dropped { packet, .. } => (Incident::Dropped, packet),
        };
        let about = net.headers.about(packet.packed());
        let packet = PortPacket {
            row: self.row,
            flow: about.map(|(conn, _)| flow_of(conn)),
            number: about.and_then(|(_, number)| number),
            kind: net.headers.kind(packet.packed()),
            class: class(packet),
            priority: packet.priority(),
            wire: packet.wire(net.trimmed),
        };
        self.recorded.note(&Seen::Incident { at: now, incident, packet });
    }
}
