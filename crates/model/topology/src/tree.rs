//! Addresses, labels and forwarding of trees: arithmetic on bit fields, without storage per path.

use pullnet_units::HostAddr;
use pullnet_units::{HostId, PathLabel, PortId};

use crate::model::{Link, Node, TreeHop};

/// Properties of both directions of a cable between a tier and the next higher tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Duplex {
    pub up: Link,
    pub down: Link,
}

impl Duplex {
    pub const fn even(link: Link) -> Self {
        Self { up: link, down: link }
    }
}

/// Shape of a tree of one to three tiers of switches. With fewer than three tiers there is one pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Tiers of switches, 1 to 3.
    pub tiers: u8,
    pub pods: u32,
    /// ToRs per pod.
    pub racks: u32,
    /// Hosts per rack.
    pub hosts: u32,
    /// Aggregation switches per pod, or spines; 0 with one tier.
    pub aggs: u32,
    /// Cores per aggregation switch; 0 with fewer than three tiers.
    pub cores: u32,
    /// Parallel links between tiers 0 and 1, and between 1 and 2.
    pub lanes: [u32; 2],
    /// Links below tiers 0, 1 and 2.
    pub links: [Duplex; 3],
}

impl Shape {
    /// Number of switches of `tier`.
    pub fn switches(&self, tier: u8) -> u32 {
        match tier {
            0 => self.pods * self.racks,
            1 => self.pods * self.aggs,
            _ => self.aggs * self.cores,
        }
    }

    pub fn host_count(&self) -> u32 {
        self.pods * self.racks * self.hosts
    }

    /// Number of children of a switch of `tier`, and of parallel links to each.
    pub fn below(&self, tier: u8) -> (u32, u32) {
        match tier {
            0 => (self.hosts, 1),
            1 => (self.racks, self.lanes[0]),
            _ => (self.pods, self.lanes[1]),
        }
    }

    /// Number of parents of a switch of `tier`, and of parallel links to each.
    pub fn above(&self, tier: u8) -> (u32, u32) {
        match tier {
            0 => (self.aggs, self.lanes[0]),
            1 => (self.cores, self.lanes[1]),
            _ => (0, 1),
        }
    }

    /// Number of ports up of a switch of `tier`.
    pub fn ups(&self, tier: u8) -> u32 {
        let (parents, lanes) = self.above(tier);
        parents * lanes
    }

    /// Number of ports of a switch of `tier`.
    pub fn degree(&self, tier: u8) -> u32 {
        let (children, lanes) = self.below(tier);
        children * lanes + self.ups(tier)
    }
}

/// Number of bits for the numbers `0..n`.
pub(crate) const fn bits(n: u32) -> u32 {
    if n <= 1 { 0 } else { 32 - (n - 1).leading_zeros() }
}

const fn ones(bits: u32) -> u32 {
    (1 << bits) - 1
}

/// One digit of a label: the choice of a port up at one tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Digit {
    ups: u16,
    shift: u8,
    mask: u16,
}

/// Routing of a tree. An address is `pod | rack | host`, a label `choice of the aggregation | choice of the ToR`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tree {
    pub shape: Shape,
    host_bits: u32,
    rack_bits: u32,
    digits: [Digit; 2],
}

impl Tree {
    /// `shape` must have been checked: it must fit into 24 bits of address and 16 bits of label.
    pub fn new(shape: Shape) -> Self {
        let low = bits(shape.ups(0));
        let digit = |tier, shift: u32| {
            let ups = shape.ups(tier);
            Digit { ups: ups as u16, shift: shift as u8, mask: ones(bits(ups)) as u16 }
        };
        let digits = [digit(0, 0), digit(1, low)];
        Self { host_bits: bits(shape.hosts), rack_bits: bits(shape.racks), digits, shape }
    }

    pub fn addr(&self, host: HostId) -> HostAddr {
        let (rack, place) = (host.get() / self.shape.hosts, host.get() % self.shape.hosts);
        let (pod, rack) = (rack / self.shape.racks, rack % self.shape.racks);
        HostAddr(pod << (self.rack_bits + self.host_bits) | rack << self.host_bits | place)
    }

    pub fn rack_addresses(&self) -> u32 {
        1 << self.host_bits
    }

    pub fn host(&self, addr: HostAddr) -> Option<HostId> {
        let place = addr.0 & ones(self.host_bits);
        let rack = (addr.0 >> self.host_bits) & ones(self.rack_bits);
        let pod = addr.0 >> (self.host_bits + self.rack_bits);
        let shape = &self.shape;
        let inside = place < shape.hosts && rack < shape.racks && pod < shape.pods;
        inside.then(|| HostId::new((pod * shape.racks + rack) * shape.hosts + place))
    }

    fn same_rack(&self, a: HostAddr, b: HostAddr) -> bool {
        (a.0 ^ b.0) >> self.host_bits == 0
    }

    fn same_pod(&self, a: HostAddr, b: HostAddr) -> bool {
        (a.0 ^ b.0) >> (self.host_bits + self.rack_bits) == 0
    }

    pub fn path_count(&self, a: HostAddr, b: HostAddr) -> u16 {
        match () {
            () if self.same_rack(a, b) => 1,
            () if self.same_pod(a, b) => self.digits[0].ups,
            () => self.digits[0].ups * self.digits[1].ups,
        }
    }

    /// Path numbers enumerate the cores; the ToR's choice is the more significant digit.
    pub fn label(&self, a: HostAddr, b: HostAddr, path: u16) -> PathLabel {
        if self.same_pod(a, b) {
            return PathLabel::new(path);
        }
        let upper = self.digits[1];
        PathLabel::new(((path % upper.ups) << upper.shift) | (path / upper.ups))
    }

    pub fn path_of_label(&self, a: HostAddr, b: HostAddr, label: PathLabel) -> u16 {
        if self.same_pod(a, b) {
            return label.get();
        }
        let [lower, upper] = self.digits;
        (label.get() & lower.mask) * upper.ups + ((label.get() >> upper.shift) & upper.mask)
    }

    /// Number of links that share the load between two hosts at `hop`, counted from the nearer host; 0 is the host's own
    /// link.
    pub fn links_at(&self, hop: usize) -> u64 {
        let shape = &self.shape;
        match hop {
            0 => 1,
            1 => u64::from(shape.ups(0)),
            _ => u64::from(shape.aggs) * u64::from(shape.ups(1)),
        }
    }

    /// Forwarding of the switch `node`.
    pub fn hop(&self, node: &Node) -> TreeHop {
        let (children, lanes) = self.shape.below(node.tier);
        let (shift, mask, prefix) = self.position(node);
        let up =
            self.digits.get(usize::from(node.tier)).copied().unwrap_or(Digit { ups: 0, shift: 0, mask: 0 });
        let lane = node
            .tier
            .checked_sub(1)
            .map_or(Digit { ups: 0, shift: 0, mask: 0 }, |t| self.digits[usize::from(t)]);
        TreeHop {
            mask,
            prefix,
            shift: shift as u8,
            index_mask: ones(bits(children)),
            lanes: lanes as u16,
            lane_shift: lane.shift,
            lane_mask: lane.mask,
            down: PortId::new(node.ports.start),
            up: PortId::new(node.ports.start + children * lanes),
            ups: up.ups,
            digit_shift: up.shift,
            digit_mask: up.mask,
        }
    }

    /// Shift of the field that selects a child of `node`; mask and value of the fields above it.
    fn position(&self, node: &Node) -> (u32, u32, u32) {
        let pod_shift = self.host_bits + self.rack_bits;
        match node.tier {
            0 => {
                let (pod, rack) = (node.number / self.shape.racks, node.number % self.shape.racks);
                (0, !ones(self.host_bits), pod << pod_shift | rack << self.host_bits)
            }
            1 => (self.host_bits, !ones(pod_shift), (node.number / self.shape.aggs) << pod_shift),
            _ => (pod_shift, 0, 0),
        }
    }
}
