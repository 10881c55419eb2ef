use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use pullnet_config::Forwarding;
use pullnet_settings::choice;
use pullnet_units::{Instant, NodeId, Picos, PortId};

use crate::codec::Class;
use crate::mac::Mac;

choice! {
    /// Treatment of a frame to an unknown destination or a group.
    pub enum Unknown {
        /// Sends it to every other port. Only for networks without loops.
        Flood = "flood",
        /// Drops it.
        Drop = "drop",
    }
}

/// Selects one of several ports by the label: `ports[((label >> shift) & mask) % ports]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Low bits of the label to skip.
    pub shift: u8,
    /// Bits of the label to use, after the shift.
    pub mask: u16,
}

impl Default for Selection {
    fn default() -> Self {
        Self { shift: 0, mask: u16::MAX }
    }
}

/// A forwarding entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Equal-cost ports; not empty.
    pub ports: Vec<PortId>,
    /// Selection of a port by the label.
    pub selection: Selection,
}

/// An IPv4 prefix: addresses that agree in their first `length` bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Prefix {
    net: u32,
    length: u8,
}

impl Prefix {
    /// The prefix of `net` with `length` bits, at most 32; the remaining bits of `net` are ignored.
    pub fn new(net: Ipv4Addr, length: u8) -> Self {
        let length = length.min(32);
        Self { net: u32::from(net) & Self::netmask(length), length }
    }

    /// Netmask of a prefix with `length` bits.
    fn netmask(length: u8) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
    }

    /// First address of the prefix.
    pub fn net(self) -> Ipv4Addr {
        self.net.into()
    }

    /// Netmask of the prefix.
    pub fn bits(self) -> u32 {
        Self::netmask(self.length)
    }
}

/// A learned address.
#[derive(Clone, Copy, Debug)]
struct Learned {
    port: PortId,
    seen: Instant,
}

/// Most learned addresses per switch, to bound memory; frames to further addresses are flooded.
const MOST_LEARNED: usize = 8192;

/// The forwarding table of one switch.
#[derive(Clone, Debug)]
pub(crate) struct ForwardingTable {
    fixed: BTreeMap<Mac, Entry>,
    /// Ports of multicast groups.
    groups: BTreeMap<Mac, Vec<PortId>>,
    /// Prefix routes by length, longest first.
    routes: Vec<(u8, BTreeMap<u32, Entry>)>,
    learned: BTreeMap<Mac, Learned>,
    /// Time that a learned address is kept without being seen; `None`: nothing is learned.
    ageing: Option<Picos>,
    pub unknown: Unknown,
}

/// Egress ports for a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ways<'a> {
    Ports(&'a [PortId], Selection),
    One(PortId),
    /// A copy by each of these.
    Each(&'a [PortId]),
    Everywhere,
    Nowhere,
}

impl ForwardingTable {
    pub fn new(ageing: Option<Picos>, unknown: Unknown) -> Self {
        Self {
            fixed: BTreeMap::new(),
            groups: BTreeMap::new(),
            routes: Vec::new(),
            learned: BTreeMap::new(),
            ageing,
            unknown,
        }
    }

    pub fn fix(&mut self, mac: Mac, entry: Entry) {
        self.fixed.insert(mac, entry);
    }

    pub fn group(&mut self, mac: Mac, ports: Vec<PortId>) {
        self.groups.insert(mac, ports);
    }

    pub fn route(&mut self, prefix: Prefix, entry: Entry) {
        let at = self.routes.partition_point(|(length, _)| *length > prefix.length);
        if self.routes.get(at).is_none_or(|(length, _)| *length != prefix.length) {
            self.routes.insert(at, (prefix.length, BTreeMap::new()));
        }
        self.routes[at].1.insert(prefix.net, entry);
    }

    /// The entry of the longest matching prefix.
    fn longest(&self, to: Ipv4Addr) -> Option<&Entry> {
        self.routes.iter().find_map(|(length, nets)| nets.get(&(u32::from(to) & Prefix::netmask(*length))))
    }

    /// Learns that `mac` was seen at `port`.
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

    /// Looks up the egress ports for a frame to `mac` with IPv4 destination `ip`. Groups and prefix routes take precedence.
    #[inline]
    pub fn ways(&self, now: Instant, mac: Mac, ip: Option<Ipv4Addr>) -> Ways<'_> {
        if let Some(ports) = self.groups.get(&mac).filter(|_| mac.is_group()) {
            return Ways::Each(ports);
        }
        let routed = if self.routes.is_empty() { None } else { ip.and_then(|ip| self.longest(ip)) };
        if let Some(entry) = routed.or_else(|| self.fixed.get(&mac)) {
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

/// Index of the first port to try among `count` equal ports. Frames without a label use the hash of their flow.
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
        (Forwarding::Random | Forwarding::LeastLoaded, _) => chance(count),
        (Forwarding::Path, Some(label)) => u32::from(label >> selection.shift & selection.mask) % count,
        (Forwarding::Path | Forwarding::Ecmp, _) => spread(class.flow, node, count),
    }
}

/// Maps a flow to `0..count`, with a different hash at each switch.
fn spread(flow: u64, node: NodeId, count: u32) -> u32 {
    let mixed = (flow ^ u64::from(node.get()) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (((hash >> 32) * u64::from(count)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortId = PortId::new(3);

    fn mac(last: u8) -> Mac {
        Mac::new([2, 0, 0, 0, 0, last])
    }

    #[test]
    fn what_is_learned_ages() {
        let mut table = ForwardingTable::new(Some(Picos::from_secs(1)), Unknown::Flood);
        assert_eq!(table.ways(Instant(0), mac(1), None), Ways::Everywhere);
        table.learn(Instant(0), mac(1), PORT);
        assert_eq!(table.ways(Instant(Picos::from_secs(1).0), mac(1), None), Ways::One(PORT));
        assert_eq!(table.ways(Instant(Picos::from_secs(1).0 + 1), mac(1), None), Ways::Everywhere);
        table.learn(Instant(0), Mac::new([255; 6]), PORT);
        assert_eq!(table.ways(Instant(0), Mac::new([255; 6]), None), Ways::Everywhere);
    }

    #[test]
    fn a_flood_of_addresses_keeps_memory_bounded_and_frees_what_is_old() {
        let mut table = ForwardingTable::new(Some(Picos::from_secs(1)), Unknown::Drop);
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
        let mut table = ForwardingTable::new(Some(Picos::from_secs(1)), Unknown::Drop);
        table.fix(
            mac(1),
            Entry { ports: vec![PortId::new(0), PortId::new(1)], selection: Selection::default() },
        );
        table.learn(Instant(0), mac(1), PORT);
        assert!(matches!(
            table.ways(Instant(0), mac(1), None),
            Ways::Ports(&[first, second], _) if [first, second] == [PortId::new(0), PortId::new(1)]
        ));
    }

    #[test]
    fn the_longest_prefix_decides_before_the_ethernet_address() {
        let mut table = ForwardingTable::new(None, Unknown::Drop);
        let entry = |port| Entry { ports: vec![PortId::new(port)], selection: Selection::default() };
        table.fix(mac(1), entry(0));
        for (net, length, port) in [([10, 0, 0, 0], 8, 1), ([10, 1, 2, 99], 24, 3), ([10, 1, 0, 0], 16, 2)] {
            table.route(Prefix::new(net.into(), length), entry(port));
        }
        let port = |ip: Option<[u8; 4]>| match table.ways(Instant(0), mac(1), ip.map(Ipv4Addr::from)) {
            Ways::Ports(ports, _) => ports[0].get(),
            other => panic!("{other:?}"),
        };
        assert_eq!(port(None), 0);
        assert_eq!(port(Some([11, 0, 0, 1])), 0, "no route");
        let routed = [[10, 9, 9, 9], [10, 1, 9, 9], [10, 1, 2, 9]].map(|ip| port(Some(ip)));
        assert_eq!(routed, [1, 2, 3]);
        table.route(Prefix::new([1, 2, 3, 4].into(), 0), entry(2));
        assert_eq!(
            table.ways(Instant(0), mac(1), Some([99, 0, 0, 1].into())),
            Ways::Ports(&[PortId::new(2)], Selection::default())
        );
    }

    #[test]
    fn a_label_chooses_by_its_digit() {
        let class =
            Class { kind: crate::codec::Kind::Data, headers: 0, label: Some(0b1101), ..Class::default() };
        let choose = |shift, mask| {
            choose(Forwarding::Path, &class, Selection { shift, mask }, 4, NodeId::new(0), |_| unreachable!())
        };
        assert_eq!([choose(0, 3), choose(1, 3), choose(2, 1), choose(0, 0xffff)], [1, 2, 1, 1]);
    }
}
