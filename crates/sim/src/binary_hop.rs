//! Next hops that arithmetic alone decides.

use pullnet_units::PathLabel;

use crate::process::{ProcessHop, ProcessId};

/// One of the two directions of a switch of a tree: a field of a number selects the process.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Process of field 0.
    first: ProcessId,
    shift: u32,
    mask: u32,
}

impl Way {
    #[inline(always)]
    fn process(self, number: u32) -> ProcessId {
        self.first.plus(number >> self.shift & self.mask)
    }
}

/// A switch of a tree with one link to each child, which forwards by label. Up or down is unpredictable, so both use
/// the same arithmetic without a branch.
#[derive(Clone, Copy, Debug)]
pub struct BinaryHop {
    /// With `prefix`: the destination lies below if `addr & mask == prefix`.
    mask: u32,
    prefix: u32,
    /// Up by the label, down by the address.
    ways: [Way; 2],
}

impl BinaryHop {
    /// The switch that forwards like `hop`; `None` if it has several links to a child.
    pub fn new(hop: &ProcessHop) -> Option<Self> {
        let ([down, up], hop) = (hop.firsts(), hop.tree());
        let up = Way { first: up, shift: hop.digit_shift.into(), mask: hop.digit_mask.into() };
        let down = Way { first: down, shift: hop.shift.into(), mask: hop.index_mask };
        (hop.lanes == 1).then_some(Self { mask: hop.mask, prefix: hop.prefix, ways: [up, down] })
    }

    /// The process that a packet to `addr` with `label` goes to.
    #[inline(always)]
    pub fn process(&self, addr: u32, label: PathLabel) -> ProcessId {
        let below = addr & self.mask == self.prefix;
        self.ways[usize::from(below)].process(if below { addr } else { label.get().into() })
    }
}

#[cfg(test)]
mod tests {
    use pullnet_topology::TreeHop;
    use pullnet_units::{Id, PortId};

    use super::*;

    #[test]
    fn a_binary_hop_forwards_like_the_hop_of_its_tree() {
        // The second of four aggregation switches' pods with eight racks of sixteen hosts.
        let hop = TreeHop {
            mask: !0x7f,
            prefix: 0x80,
            shift: 4,
            index_mask: 7,
            lanes: 1,
            lane_shift: 0,
            lane_mask: 3,
            down: PortId::new(100),
            up: PortId::new(108),
            ups: 4,
            digit_shift: 2,
            digit_mask: 3,
        };
        let same = |hop| ProcessHop::new(hop, |port: PortId| ProcessId::from_index(port.index()));
        let binary = BinaryHop::new(&same(hop)).expect("one link to each child");
        for (addr, label) in
            (0..0x200).flat_map(|addr| (0..16).map(move |label| (addr, PathLabel::new(label))))
        {
            assert_eq!(binary.process(addr, label).index(), hop.port(addr, label).index());
        }
        assert!(BinaryHop::new(&same(TreeHop { lanes: 2, ..hop })).is_none());
    }
}
