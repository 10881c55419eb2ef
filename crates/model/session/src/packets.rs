//! Rows of the packet probe.

use pullnet_probes::{Direction, PacketRow};
use pullnet_transport::{Class, Fate, Header, Packed, Received, Transmit, Words};
use pullnet_units::{HostId, Instant};

/// Name of a packet's type.
pub fn kind_of<H: Header>(packed: &Packed<H::Words>) -> &'static str {
    H::KINDS[usize::from(packed.kind & 0x0f)]
}

/// The row of a packet of type `kind` that `host` sends to `peer`. The header is packed.
pub fn packet_sent<W: Words>(
    at: Instant,
    (host, peer): (HostId, HostId),
    kind: &'static str,
    packet: &Transmit<Packed<W>>,
) -> PacketRow {
    let Transmit { header: Packed { kind: bits, words }, path, wire, class, .. } = *packet;
    let (flags, words) = (bits >> 4, first_words(&words));
    let (direction, fate, control) = (Direction::Sent, "whole", class == Class::Control);
    PacketRow { host, peer, at, direction, fate, kind, control, flags, words, path: Some(path), wire }
}

/// The row of a packet of type `kind` that `host` receives from `peer`. The header is packed.
pub fn packet_received<W: Words>(
    at: Instant,
    (host, peer): (HostId, HostId),
    kind: &'static str,
    packet: &Received<Packed<W>>,
) -> PacketRow {
    let fate = match packet.fate {
        Fate::Whole => "whole",
        Fate::Trimmed => "trimmed",
        Fate::Returned => "returned",
    };
    let Received { header: Packed { kind: bits, words }, wire, .. } = *packet;
    let (flags, words, direction) = (bits >> 4, first_words(&words), Direction::Received);
    let control = false;
    PacketRow { host, peer, at, direction, fate, kind, control, flags, words, path: None, wire }
}

/// The first three words of a header: the table of packets has columns for these.
fn first_words(words: &impl Words) -> [u32; 3] {
    core::array::from_fn(|word| words.get().get(word).copied().unwrap_or(0))
}
