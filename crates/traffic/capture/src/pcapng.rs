//! pcapng: sections of blocks; each block states its length at both ends.

mod blocks;
mod interface;
mod writer;

pub use writer::{Writer, WrittenInterface};

use crate::bytes::Order;
use crate::error::CaptureError;
use crate::losses::{DamageKind, Losses};
use crate::packet::Step;
use crate::resync::{self, Guess};
use crate::window::Window;
use blocks::{Block, INTERFACE, SECTION, STATISTICS};
use interface::Interface;

/// Size of a block's type and its two lengths. Unit: bytes.
const FRAME: usize = 12;
/// Longest block held in memory; a longer block cannot be a packet.
const MOST_HELD: usize = 1 << 24;
/// Longest block accepted after damage.
const MOST_AFTER_DAMAGE: usize = 1 << 18;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

pub(crate) struct Pcapng {
    order: Order,
    /// Interfaces of this section by number; `None` for an invalid description.
    interfaces: Vec<Option<Interface>>,
    /// Number of interfaces in the previous sections.
    before: u32,
}

/// Whether `begin` is the type of a section header, which reads the same in both byte orders.
pub(crate) fn magic(begin: &[u8]) -> bool {
    begin.get(..4) == Some(&SECTION.to_be_bytes())
}

fn order(bytes: &[u8]) -> Option<Order> {
    [Order::Little, Order::Big].into_iter().find(|order| order.u32(bytes, 8) == BYTE_ORDER)
}

impl Pcapng {
    /// Checks the first section header without consuming it; [`Pcapng::next`] does.
    pub(crate) fn open(window: &mut Window) -> Result<Self, CaptureError> {
        if !window.want(28) {
            let len = window.bytes().len() as u64;
            return Err(CaptureError::ShortHeader { format: "pcapng", len });
        }
        let bytes = window.bytes();
        let Some(order) = order(bytes) else {
            return Err(CaptureError::Unknown { begin: crate::error::hexadecimal(&bytes[..12]) });
        };
        let (major, minor) = (order.u16(bytes, 12), order.u16(bytes, 14));
        if major != 1 {
            return Err(CaptureError::Version { format: "pcapng", major, minor, known: "1" });
        }
        Ok(Self { order, interfaces: Vec::new(), before: 0 })
    }

    pub(crate) fn next(&mut self, window: &mut Window, losses: &mut Losses) -> Step {
        loop {
            if !window.want(FRAME) {
                window.truncated(losses);
                return Step::End;
            }
            if let Some(step) = self.block(window, losses) {
                return step;
            }
        }
    }

    /// Reads the next block; `None` if it is not a packet.
    fn block(&mut self, window: &mut Window, losses: &mut Losses) -> Option<Step> {
        let bytes = window.bytes();
        let kind = self.order.u32(bytes, 0);
        let order = if kind == SECTION { order(bytes) } else { Some(self.order) };
        let Some(order) = order else { return Some(self.find_next(window, losses, DamageKind::Record)) };
        let length = order.u32(bytes, 4) as usize;
        if length < FRAME || !length.is_multiple_of(4) {
            return Some(self.find_next(window, losses, DamageKind::Record));
        }
        if length > MOST_HELD {
            return self.skip_long(window, losses, kind, length);
        }
        if !window.want(length) {
            return Some(self.find_next(window, losses, DamageKind::Truncated));
        }
        if order.u32(window.bytes(), length - 4) as usize != length {
            return Some(self.find_next(window, losses, DamageKind::Lengths));
        }
        self.order = order;
        self.take(kind, length, window, losses)
    }

    fn take(&mut self, kind: u32, length: usize, window: &mut Window, losses: &mut Losses) -> Option<Step> {
        let order = self.order;
        let read = blocks::read(order, kind, &window.bytes()[8..length - 4]);
        let Some(block) = read else { return Some(self.find_next(window, losses, DamageKind::Record)) };
        let whole = window.take(length);
        match block {
            Block::Section => {
                self.before += self.interfaces.len() as u32;
                self.interfaces.clear();
                None
            }
            Block::Interface => {
                let body = whole.start + 8..whole.end - 4;
                self.interfaces.push(Interface::read(order, window.slice(body)));
                None
            }
            Block::Statistics { dropped } => {
                losses.missed += dropped;
                None
            }
            Block::Packet(packet) => self.packet(&packet, whole.start + 8, losses),
            Block::Simple => {
                losses.without_time += 1;
                None
            }
            Block::Other => None,
        }
    }

    fn packet(&self, packet: &blocks::PacketBlock, body: usize, losses: &mut Losses) -> Option<Step> {
        losses.missed += packet.missed;
        let known = self.interfaces.get(packet.interface as usize).and_then(Option::as_ref);
        let Some(interface) = known else {
            losses.without_interface += 1;
            return None;
        };
        losses.longer_than_wire += u64::from(packet.captured > packet.wire);
        Some(Step::Packet(interface.found(packet, body, self.before + packet.interface)))
    }

    /// Skips a block that is too long to hold and not a packet. Its two lengths are compared nevertheless.
    fn skip_long(&self, window: &mut Window, losses: &mut Losses, kind: u32, length: usize) -> Option<Step> {
        if blocks::is_packet(kind) || matches!(kind, SECTION | INTERFACE | STATISTICS) {
            return Some(self.find_next(window, losses, DamageKind::Record));
        }
        let offset = window.offset();
        let skipped = window.skip(length as u64 - 4);
        if window.want(4) && self.order.u32(window.bytes(), 0) as usize == length {
            window.take(4);
            return None;
        }
        losses.at(DamageKind::Lengths, offset, skipped);
        if window.want(1) {
            Some(self.find_next(window, losses, DamageKind::Lengths))
        } else {
            Some(Step::End)
        }
    }

    /// Skips to the next block of a known type with equal lengths at both ends.
    fn find_next(&self, window: &mut Window, losses: &mut Losses, at_end: DamageKind) -> Step {
        let order = self.order;
        resync::skip_record(window, losses, at_end, |bytes, ended| whole_block(order, bytes, ended))
    }
}

fn whole_block(section: Order, bytes: &[u8], ended: bool) -> Guess {
    let open = if ended { Guess::Not } else { Guess::NotYet };
    if bytes.len() < FRAME {
        return open;
    }
    let kind = section.u32(bytes, 0);
    let Some(order) = (if kind == SECTION { order(bytes) } else { Some(section) }) else { return Guess::Not };
    let length = order.u32(bytes, 4) as usize;
    if !blocks::is_known(kind) || !(FRAME..=MOST_AFTER_DAMAGE).contains(&length) || !length.is_multiple_of(4)
    {
        return Guess::Not;
    }
    match bytes.get(..length) {
        None => open,
        Some(whole) if order.u32(whole, length - 4) as usize == length => Guess::Records,
        Some(_) => Guess::Not,
    }
}
