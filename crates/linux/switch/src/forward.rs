use std::collections::BTreeMap;

use pullnet_config::Forwarding;
use pullnet_settings::choice;
use pullnet_units::{Instant, NodeId, Picos, PortId};

use crate::codec::Class;
use crate::mac::Mac;

choice! {
    /// What happens to a frame whose destination is not known, or is a group.
    pub enum Unknown {
        /// It leaves by every other port. Only for networks without loops.
        Flood = "flood",
        /// It is dropped.
        Drop = "drop",
    }
}

/// Which of several ports a label names: `ports[((label >> shift) & mask) % ports]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Bits of the label to pass over.
    pub shift: u8,
    /// Bits of the label that count.
    pub mask: u16,
}

impl Default for Selection {
    fn default() -> Self {
        Self { shift: 0, mask: u16::MAX }
    }
}

/// How to reach an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Equal ports; not empty.
    pub ports: Vec<PortId>,
    /// How a label chooses among them.
    pub selection: Selection,
}

/// A learned address.
#[derive(Clone, Copy, Debug)]
struct Learned {
    port: PortId,
    seen: Instant,
}

/// Most addresses that a switch learns; beyond, it floods. Bounds its memory.
const MOST_LEARNED: usize = 8192;

/// The forwarding table of one switch.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    fixed: BTreeMap<Mac, Entry>,
    learned: BTreeMap<Mac, Learned>,
    /// How long a learned address stays without being seen; `None`: nothing is learned.
    ageing: Option<Picos>,
    pub unknown: Unknown,
}

/// Where a frame may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ways<'a> {
    Ports(&'a [PortId], Selection),
    One(PortId),
    Everywhere,
    Nowhere,
}

impl Table {
    pub fn new(ageing: Option<Picos>, unknown: Unknown) -> Self {
        Self { fixed: BTreeMap::new(), learned: BTreeMap::new(), ageing, unknown }
    }

    pub fn fix(&mut self, mac: Mac, entry: Entry) {
        self.fixed.insert(mac, entry);
    }

    /// `mac` was seen at `port`.
    #[inline]
    pub fn learn(&mut self, now: Instant, mac: Mac, port: PortId) {
        let Some(ageing) = self.ageing else { return };
        if mac.is_group() || self.fixed.contains_key(&mac) {
            return;
        }
        if self.learned.len() >= MOST_LEARNED && !self.learned.contains_key(&mac) {
            self.learned.retain(|_, entry| now.since(entry.seen) <= ageing);
        }
        if self.learned.len() < MOST_LEARNED || self.learned.contains_key(&mac) {
            self.learned.insert(mac, Learned { port, seen: now });
        }
    }

    /// Where frames to `mac` go.
    #[inline]
    pub fn ways(&self, now: Instant, mac: Mac) -> Ways<'_> {
        if let Some(entry) = self.fixed.get(&mac) {
            return Ways::Ports(&entry.ports, entry.selection);
        }
        let fresh = |entry: &&Learned| self.ageing.is_some_and(|ageing| now.since(entry.seen) <= ageing);
        match (self.learned.get(&mac).filter(fresh), self.unknown) {
            (Some(entry), _) => Ways::One(entry.port),
            (None, Unknown::Flood) => Ways::Everywhere,
            (None, Unknown::Drop) => Ways::Nowhere,
        }
    }
}

/// The position among `count` equal ports that a frame begins its search at. Frames without a label go by their flow.
#[inline]
pub(crate) fn choose(
    forwarding: Forwarding,
    class: &Class,
    selection: Selection,
    count: u32,
    node: NodeId,
    chance: impl FnOnce(u32) -> u32,
) -> u32 {
    match (forwarding, class.label) {
        (Forwarding::Random, _) => chance(count),
        (Forwarding::Path, Some(label)) => u32::from(label >> selection.shift & selection.mask) % count,
        (Forwarding::Path | Forwarding::Ecmp, _) => spread(class.flow, node, count),
    }
}

/// Maps a flow to `0..count`, differently at each switch.
fn spread(flow: u64, node: NodeId, count: u32) -> u32 {
    let mixed = (flow ^ u64::from(node.0) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (((hash >> 32) * u64::from(count)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortId = PortId(3);

    fn mac(last: u8) -> Mac {
        Mac::new([2, 0, 0, 0, 0, last])
    }

    #[test]
    fn what_is_learned_ages() {
        let mut table = Table::new(Some(Picos::from_secs(1)), Unknown::Flood);
        assert_eq!(table.ways(Instant(0), mac(1)), Ways::Everywhere);
        table.learn(Instant(0), mac(1), PORT);
        assert_eq!(table.ways(Instant(Picos::from_secs(1).0), mac(1)), Ways::One(PORT));
        assert_eq!(table.ways(Instant(Picos::from_secs(1).0 + 1), mac(1)), Ways::Everywhere);
        table.learn(Instant(0), Mac::new([255; 6]), PORT);
        assert_eq!(table.ways(Instant(0), Mac::new([255; 6])), Ways::Everywhere);
    }

    #[test]
    fn a_flood_of_addresses_keeps_memory_bounded_and_frees_what_is_old() {
        let mut table = Table::new(Some(Picos::from_secs(1)), Unknown::Drop);
        for n in 0..20_000u64 {
            let [.., a, b, c] = n.to_be_bytes();
            table.learn(Instant(0), Mac::new([2, 0, 0, a, b, c]), PORT);
        }
        assert_eq!(table.learned.len(), MOST_LEARNED);
        table.learn(Instant(Picos::from_secs(2).0), Mac::new([2, 9, 0, 0, 0, 9]), PORT);
        assert_eq!(table.learned.len(), 1);
    }

    #[test]
    fn a_fixed_entry_is_never_unlearned() {
        let mut table = Table::new(Some(Picos::from_secs(1)), Unknown::Drop);
        table.fix(mac(1), Entry { ports: vec![PortId(0), PortId(1)], selection: Selection::default() });
        table.learn(Instant(0), mac(1), PORT);
        assert!(matches!(table.ways(Instant(0), mac(1)), Ways::Ports(&[PortId(0), PortId(1)], _)));
    }

    #[test]
    fn a_label_chooses_by_its_digit() {
        let class = Class { kind: crate::Kind::Data, headers: 0, label: Some(0b1101), ..Class::default() };
        let choose = |shift, mask| {
            choose(Forwarding::Path, &class, Selection { shift, mask }, 4, NodeId(0), |_| unreachable!())
        };
        assert_eq!([choose(0, 3), choose(1, 3), choose(2, 1), choose(0, 0xffff)], [1, 2, 1, 1]);
    }
}
