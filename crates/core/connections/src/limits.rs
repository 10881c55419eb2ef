use pullnet_units::{Bytes, Picos};

/// Settings that several transports have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Payload of a full packet. Bytes.
    pub mtu: u32,
    /// Length of a packet without payload. Bytes on the wire.
    pub header: u32,
    /// Time without a packet from the receiver after which a flow fails. A receiver waits twice as long for its sender.
    pub give_up: Picos,
    /// Longest possible round trip of a packet.
    pub time_wait: Picos,
}

impl Limits {
    /// The limits of settings. Packets are shorter than 4 GB.
    pub fn of(mtu: Bytes, header: Bytes, give_up: Picos, time_wait: Picos) -> Self {
        Self { mtu: mtu.0 as u32, header: header.0 as u32, give_up, time_wait }
    }

    /// How long a host remembers an ended flow: as long as its sender may send packets, and until the last has arrived.
    pub fn remembered(&self) -> Picos {
        self.give_up.saturating_add(self.time_wait)
    }

    /// Silence after which a sender is forgotten.
    pub fn silence(&self) -> Picos {
        self.give_up.saturating_mul(2)
    }
}
