//! Interfaces: link type and clock of their packets.

use super::blocks::{Options, PacketBlock};
use crate::bytes::Order;
use crate::packet::{Found, LinkType, PICOS, Time};

pub(super) struct Interface {
    link: LinkType,
    clock: Clock,
    /// Offset added to every time. Unit: s.
    offset: i64,
}

/// Length of a tick.
#[derive(Clone, Copy)]
enum Clock {
    /// Whole picoseconds.
    Picos(i128),
    /// 10^-n s with n above 12.
    Finer(u8),
    /// 2^-n s.
    Binary(u8),
}

impl Clock {
    /// Parses the option if_tsresol; `None` if the tick would be zero.
    fn read(resolution: u8) -> Option<Self> {
        match (resolution & 0x80 != 0, resolution & 0x7f) {
            (false, n @ 0..=12) => Some(Self::Picos(10i128.pow(12 - u32::from(n)))),
            (false, n @ 13..=31) => Some(Self::Finer(n)),
            (true, n @ 0..=63) => Some(Self::Binary(n)),
            _ => None,
        }
    }

    fn picos(self, ticks: u64) -> i128 {
        match self {
            Self::Picos(length) => i128::from(ticks) * length,
            Self::Finer(n) => i128::from(ticks) / 10i128.pow(u32::from(n) - 12),
            Self::Binary(n) => (i128::from(ticks) * PICOS) >> n,
        }
    }
}

impl Interface {
    /// Parses the body of an interface description; `None` if its clock is invalid.
    pub(super) fn read(order: Order, body: &[u8]) -> Option<Self> {
        let mut interface =
            Self { link: LinkType(order.u16(body, 0)), clock: Clock::Picos(1_000_000), offset: 0 };
        for (code, value) in Options::new(order, body.get(8..).unwrap_or(&[])) {
            match code {
                9 => interface.clock = Clock::read(*value.first()?)?,
                14 if value.len() == 8 => interface.offset = order.u64(value, 0).cast_signed(),
                _ => {}
            }
        }
        Some(interface)
    }

    /// The packet of a block whose body starts at `body` in the window.
    pub(super) fn found(&self, packet: &PacketBlock, body: usize, number: u32) -> Found {
        Found {
            time: Time::from_secs(self.offset) + self.clock.picos(packet.ticks),
            wire_len: packet.wire.max(packet.captured),
            interface: number,
            direction: packet.direction,
            link: self.link,
            data: body + packet.data.start..body + packet.data.end,
        }
    }
}
