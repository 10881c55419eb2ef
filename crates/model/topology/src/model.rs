use core::fmt;
use core::ops::Range;

use pullnet_units::{BitsPerSec, HostId, NodeId, PathLabel, Picos, PortId};

/// One direction of a cable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Link {
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Time from the last bit sent to the last bit received. Never zero in a built topology.
    pub delay: Picos,
}

/// How a cut-through switch passes packets on: it begins to send a packet before the packet's last bit has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CutThrough {
    /// Bytes of a packet that must have arrived first.
    pub head: u32,
    /// Whether a packet also cuts through to a faster link. Such a link runs out of bits, so that real switches store and
    /// forward there; some simulators do not.
    pub to_faster: bool,
}

impl CutThrough {
    /// Bytes of a packet of `size` bytes that arrive by a link of rate `from` before the switch can send the packet by a link of
    /// rate `to`.
    pub fn needed(self, size: u64, from: BitsPerSec, to: BitsPerSec) -> u64 {
        if self.to_faster || to <= from { size.min(self.head.into()) } else { size }
    }
}

/// Treatment of a host with several links.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum HostLinks {
    /// Such a host is refused.
    #[default]
    One,
    /// The first link counts; further ones are ignored.
    First,
    /// All count. The host gets a node `NAME nics` with a port for each NIC. A link as fast as all NICs together joins it to
    /// the host, so that its transport fills them all; half of the shortest delay of the host's links is the delay of that
    /// link, and the links of the NICs are shorter by as much. Packets take the paths through all NICs.
    All,
}

/// Kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// An end system with one NIC.
    Host(HostId),
    /// A switch.
    Switch,
}

/// A host or a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Host or switch.
    pub kind: NodeKind,
    /// Tier of a switch: 0 ToR or leaf, 1 aggregation or spine, 2 core. In a graph: 0 with hosts, 1 without. 0 for a host.
    pub tier: u8,
    /// Index in its tier (among the switches of a graph, or among the hosts), from 0.
    pub number: u32,
    /// Part of the network, below [`Topology::parts`](crate::Topology::parts); nodes of one part are close to each other.
    pub part: u32,
    /// The egress ports of a switch as [`PortId`] numbers; empty for a host.
    pub ports: Range<u32>,
}

/// The peer of a host's NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostPeer {
    /// A switch.
    Switch {
        /// The switch.
        switch: NodeId,
        /// The switch's port back to this host.
        down: PortId,
        /// Index of this NIC among the links into the switch.
        ingress: u16,
    },
    /// Directly connected to the only other host.
    Host(HostId),
}

/// An end system with one NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Host {
    /// The host as a node.
    pub node: NodeId,
    /// Properties of the direction from the NIC to the network.
    pub link: Link,
    /// The peer of the NIC.
    pub peer: HostPeer,
}

/// The peer of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// A host.
    Host(HostId),
    /// Another switch.
    Switch(NodeId),
}

/// The egress port of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// The switch that it belongs to.
    pub node: NodeId,
    /// The peer of the port.
    pub peer: Peer,
    /// The port of the peer at the other end of the same cable; `None` if the peer is a host.
    pub reverse: Option<PortId>,
    /// Properties of the direction away from the switch.
    pub link: Link,
    /// Index of this link among the links into the peer; 0 for a host.
    pub ingress: u16,
}

/// Tiers at both ends of a directed link. Its text is for instance `"tor->agg"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Level {
    /// Tier of the sending end; see [`Topology::tier_name`](crate::Topology::tier_name).
    pub from: &'static str,
    /// Tier of the receiving end.
    pub to: &'static str,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.from, self.to)
    }
}

/// Label-based forwarding of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hop {
    /// A few integer operations; see [`TreeHop::port`]. Every switch of a fat tree, leaf-spine, star or `.topo` file.
    Tree(TreeHop),
    /// Table look-up; see [`Topology::table_port`](crate::Topology::table_port). Every switch of a graph or dumbbell.
    Table,
}

/// Forwarding of one switch of a tree: down if the destination is below the switch, otherwise up by the label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeHop {
    /// Mask of the address prefix: the destination is below the switch if `addr & mask == prefix`.
    pub mask: u32,
    /// Address prefix of the hosts below the switch.
    pub prefix: u32,
    /// Shift of the child's index: `(addr >> shift) & index_mask`.
    pub shift: u8,
    /// Mask of the child's index, after the shift.
    pub index_mask: u32,
    /// Parallel links to each child, at least 1.
    pub lanes: u16,
    /// Shift of the index of the link to the child: `((label >> lane_shift) & lane_mask) % lanes`.
    pub lane_shift: u8,
    /// Mask of that index, after the shift.
    pub lane_mask: u16,
    /// First port down; ordered by child, then by lane.
    pub down: PortId,
    /// First port up.
    pub up: PortId,
    /// Number of ports up; 0 at the top.
    pub ups: u16,
    /// Shift of the index of the port up: `(label >> digit_shift) & digit_mask`. The result is below `ups` for every label
    /// from [`Topology::label`](crate::Topology::label).
    pub digit_shift: u8,
    /// Mask of that index, after the shift.
    pub digit_mask: u16,
}

impl TreeHop {
    /// Whether the host at `addr` is below this switch.
    #[inline]
    pub const fn below(&self, addr: u32) -> bool {
        addr & self.mask == self.prefix
    }

    /// Egress port for a packet to `addr` with `label`.
    #[inline]
    pub const fn port(&self, addr: u32, label: PathLabel) -> PortId {
        if self.below(addr) { self.down_port(addr, label) } else { self.up_port(label) }
    }

    /// The port down to `addr`, which must be below this switch.
    #[inline]
    pub const fn down_port(&self, addr: u32, label: PathLabel) -> PortId {
        let child = (addr >> self.shift) & self.index_mask;
        if self.lanes == 1 {
            return PortId::new(self.down.get() + child);
        }
        let lane = ((label.get() >> self.lane_shift) & self.lane_mask) % self.lanes;
        PortId::new(self.down.get() + child * self.lanes as u32 + lane as u32)
    }

    /// The port up selected by `label`.
    #[inline]
    pub const fn up_port(&self, label: PathLabel) -> PortId {
        PortId::new(self.up.get() + ((label.get() >> self.digit_shift) & self.digit_mask) as u32)
    }
}
