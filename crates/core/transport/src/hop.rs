//! Requests of a packet to the switches on its way, and their answers in its header.
//!
//! The two sides do not know each other: a protocol's `Header::at_hop` asks the port that forwards the
//! packet by the methods of [`Hop`], and packs the answers as it likes; a discipline implements the methods that it has an
//! answer to, and never sees the words of a header.

use pullnet_units::{BitsPerSec, Instant};

/// A rate, or a share of one, as headers carry it and ports add it up: a whole number of [`RATE_UNIT`], below 2^24.
pub type RateUnits = u32;

/// Bits per second of one of [`RateUnits`]. 24 bits of them are 1.6 Tb/s.
pub const RATE_UNIT: u64 = 100_000;

/// The largest number of [`RateUnits`].
pub const MOST_RATE: RateUnits = (1 << 24) - 1;

/// A port's grant to a flow, as the flow returns it with its next request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Grant {
    /// The rate.
    pub rate: RateUnits,
    /// When it was granted, as the port counts time; 0: never.
    pub epoch: u8,
}

impl Grant {
    /// In one word.
    #[must_use]
    pub fn to_word(self) -> u32 {
        self.rate & MOST_RATE | u32::from(self.epoch) << 24
    }

    /// The inverse of [`Grant::to_word`].
    #[must_use]
    pub fn from_word(word: u32) -> Self {
        Self { rate: word & MOST_RATE, epoch: (word >> 24) as u8 }
    }
}

/// A flow asks a port for a rate (D3, RCP).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RateAsk {
    /// The rate that it needs for its deadline; 0: as much as is fair.
    pub desired: RateUnits,
    /// The desired rate of the request that led to `granted`.
    pub before: RateUnits,
    /// The last grant of this port.
    pub granted: Grant,
    /// It ends, and gives its grant back: what it desires does not count.
    pub ends: bool,
}

/// State of a port at the departure of a packet (in-band network telemetry).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortState {
    /// The time.
    pub now: Instant,
    /// Rate of the link behind the port.
    pub rate: BitsPerSec,
    /// Bytes on the wire of all earlier packets that left by the port.
    pub sent: u64,
    /// Bytes on the wire of all packets that wait behind this one.
    pub waiting: u64,
}

/// A flow asks a port whether it may send now (PDQ).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TurnAsk {
    /// The flow: address of its sender, and its connection.
    pub flow: u64,
    /// When it should have arrived, in microseconds of the hosts' clocks; `u64::MAX`: no deadline.
    pub deadline: u64,
    /// Transmission time of what it has left at the largest rate of its host. Units of 10 ns; the largest one also stands for
    /// anything longer.
    pub work: u32,
    /// The same in hundredths of the flow's round-trip time.
    pub rounds: u16,
    /// The largest rate that the host and the ports before this one allow.
    pub offered: RateUnits,
    /// The rate at which it sends; 0: it begins, or is paused.
    pub sending: RateUnits,
    /// It sends nothing over this port for now: another port on the path has paused it, or it ends.
    pub leaves: bool,
}

/// Answer of a port to a [`TurnAsk`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Turn {
    /// The rate at which the flow may send; 0 pauses it.
    pub rate: RateUnits,
    /// Interval at which it should ask again while it is paused, in hundredths of its round-trip time.
    pub probe_after: u16,
}

/// A switch's port on the way of a packet, as the header of the packet sees it. Every method is one thing that a port may be
/// requested; a method that is not overridden has no answer.
pub trait Hop {
    /// Allocates a rate, as D3 does. `None`: the port allocates none.
    fn allocate(&mut self, _ask: RateAsk) -> Option<Grant> {
        None
    }

    /// The state of the port. `None`: the port does not tell.
    fn state(&mut self) -> Option<PortState> {
        None
    }

    /// Lets a flow send or pauses it, as PDQ does. `None`: the port pauses nothing.
    fn take_turn(&mut self, _ask: TurnAsk) -> Option<Turn> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_fits_into_a_word() {
        for grant in [Grant::default(), Grant { rate: MOST_RATE, epoch: 255 }, Grant { rate: 7, epoch: 1 }] {
            assert_eq!(Grant::from_word(grant.to_word()), grant);
        }
    }
}
