//! Packets sent by hosts, as text.

use std::collections::BTreeMap;

use pullnet_ndp::NdpHeader;
use pullnet_transport::ConnId;
use pullnet_wire::{Arrived, Shape};

use crate::frames::{PacketObserver, header};
use crate::script::{Kind, Which, reset, token};
use crate::seen;

/// All packets sent, in the format of [`seen::text`]. Hosts join ACKs and pulls that leave together; here each is listed. Connections have letters in the order of their first packet; each
/// direction of a stream is a connection of its own.
#[derive(Default)]
pub struct Heard {
    connections: Vec<u32>,
    /// The latest pull of each host and connection.
    pulls: BTreeMap<(usize, u32), u32>,
    words: BTreeMap<(usize, Kind), String>,
}

impl PacketObserver for Heard {
    fn on_packet(&mut self, from: usize, arrived: &Arrived<'_>) -> Which {
        if matches!(arrived.packet.shape, Shape::Hello | Shape::Cookie { .. }) {
            return token();
        }
        let flow = self.number(arrived.packet.conn);
        let (which, word) = match header(arrived) {
            Some(NdpHeader::Ack { conn, seq, pull }) => {
                let ack = NdpHeader::Ack { conn, seq, pull: None };
                for seq in arrived.packet.shape.also() {
                    self.add(
                        from,
                        Kind::Ack,
                        &seen::packet(&NdpHeader::Ack { conn, seq, pull: None }, 0, flow),
                    );
                }
                pull.into_iter().for_each(|number| self.pull(from, conn, flow, number));
                (Which::with(&ack, flow), seen::packet(&ack, 0, flow))
            }
            Some(NdpHeader::Pull { conn, number }) => {
                self.pull(from, conn, flow, number);
                return Which::with(&NdpHeader::Pull { conn, number }, flow);
            }
            Some(header) => {
                let payload = u64::from(arrived.packet.shape.length());
                (Which::with(&header, flow), seen::packet(&header, payload, flow))
            }
            None => (reset().of(flow), said(&arrived.packet.shape, flow)),
        };
        self.add(from, which.kind, &word);
        which
    }
}

/// A RESET: its connection, its sender, and the reason.
fn said(shape: &Shape, flow: u32) -> String {
    let Shape::Reset { by_sender, reason } = *shape else { return String::new() };
    let by = if by_sender { "sender" } else { "receiver" };
    format!(" {}{by}({})", seen::belongs(flow), reason.0)
}

impl Heard {
    /// Adds the pulls up to `number`: one that leaves says what all before it say.
    fn pull(&mut self, from: usize, conn: ConnId, flow: u32, number: u32) {
        let before = self.pulls.insert((from, flow), number).unwrap_or(0);
        for number in (before + 1).min(number)..=number {
            self.add(from, Kind::Pull, &seen::packet(&NdpHeader::Pull { conn, number }, 0, flow));
        }
    }

    fn add(&mut self, from: usize, kind: Kind, word: &str) {
        self.words.entry((from, kind)).or_default().push_str(word);
    }

    fn number(&mut self, conn: u32) -> u32 {
        let known = self.connections.iter().position(|known| *known == conn);
        known.unwrap_or_else(|| {
            self.connections.push(conn);
            self.connections.len() - 1
        }) as u32
    }

    /// A line for each host and packet type.
    pub fn text(&self) -> String {
        let line = |((host, kind), words): (&(usize, Kind), &String)| {
            format!("{} {}{words}\n", ["A", "B"][*host], format!("{kind:?}").to_lowercase())
        };
        self.words.iter().map(line).collect()
    }
}
