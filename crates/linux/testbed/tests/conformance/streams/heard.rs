//! Packets sent by hosts, as text.

use std::collections::BTreeMap;

use pullnet_wire::{Arrived, Shape};

use crate::frames::{Ear, header};
use crate::script::{Kind, Which, reset, token};
use crate::seen;

/// All packets sent, in the format of [`seen::text`]. Connections have letters in the order of their first packet; each
/// direction of a stream is a connection of its own.
#[derive(Default)]
pub struct Heard {
    connections: Vec<u32>,
    words: BTreeMap<(usize, Kind), String>,
}

impl Ear for Heard {
    fn hear(&mut self, from: usize, arrived: &Arrived<'_>) -> Which {
        if matches!(arrived.packet.shape, Shape::Hello | Shape::Cookie { .. }) {
            return token();
        }
        let flow = self.number(arrived.packet.conn);
        let (which, word) = match header(arrived) {
            Some(header) => {
                let payload = u64::from(arrived.packet.shape.length());
                (Which::with(&header, flow), seen::packet(&header, payload, flow))
            }
            None => (reset().of(flow), said(&arrived.packet.shape, flow)),
        };
        self.words.entry((from, which.kind)).or_default().push_str(&word);
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
