use std::collections::BTreeMap;

use pullnet_units::{Id, NodeId};

use crate::model::Level;

/// Names of nodes, and the level of the NICs.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Words for the tiers of switches, and the first node of each tier.
    pub tiers: &'static [&'static str],
    pub first: [u32; 3],
    pub nic: Level,
    /// Names from a file, for all nodes; empty in regular topologies.
    pub given: Vec<String>,
    /// The same names, for look-up.
    pub by_name: BTreeMap<String, NodeId>,
}

impl Names {
    /// Names by tier, such as `"tor 3"`: the tier's word and the index in the tier.
    pub const fn tiers(tiers: &'static [&'static str], first: [u32; 3], nic: Level) -> Self {
        Self { tiers, first, nic, given: Vec::new(), by_name: BTreeMap::new() }
    }

    /// Names from a file, in the order of the nodes; the switches start at `first`.
    pub fn given(given: Vec<String>, first: u32) -> Self {
        let by_name =
            given.iter().cloned().enumerate().map(|(i, name)| (name, NodeId::from_index(i))).collect();
        Self { tiers: &["switch"], first: [first; 3], nic: Level::HostSwitch, given, by_name }
    }
}
