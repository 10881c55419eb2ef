use pullnet_units::{BitsPerSec, HostId, IdVec};

/// Properties of the network that a workload needs.
#[derive(Clone, Debug)]
pub struct HostLayout {
    /// Link rate of every host.
    pub rates: IdVec<HostId, BitsPerSec>,
    /// Rack of every host: a number that hosts of one switch have in common.
    pub racks: IdVec<HostId, u32>,
}

impl HostLayout {
    /// `hosts` hosts of one link rate, each in a rack of its own.
    pub fn uniform(hosts: u32, rate: BitsPerSec) -> Self {
        Self { rates: (0..hosts).map(|_| rate).collect(), racks: (0..hosts).collect() }
    }
}
