use std::collections::BTreeMap;

use pullnet_units::{Id, NodeId};

/// Names of nodes and tiers.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Words for the tiers of switches, and the first node of each tier.
    pub tiers: &'static [&'static str],
    pub first: [u32; 3],
    /// The tier of each switch of a graph, in the order of the switches; empty in trees.
    pub of_switches: Vec<&'static str>,
    /// Names from a file, for all nodes; empty in regular topologies.
    pub given: Vec<String>,
    /// The same names, for look-up.
    pub by_name: BTreeMap<String, NodeId>,
}

impl Names {
    /// Names by tier, such as `"tor 3"`: the tier's word and the index in the tier.
    pub const fn tiers(tiers: &'static [&'static str], first: [u32; 3]) -> Self {
        Self { tiers, first, of_switches: Vec::new(), given: Vec::new(), by_name: BTreeMap::new() }
    }

    /// Names of all nodes of a graph, in their order, and the tiers of its switches, which start at `first`.
    pub fn given(given: Vec<String>, of_switches: Vec<&'static str>, first: u32) -> Self {
        let by_name =
            given.iter().cloned().enumerate().map(|(i, name)| (name, NodeId::from_index(i))).collect();
        Self { tiers: &["switch"], first: [first; 3], of_switches, given, by_name }
    }
}
