use std::collections::{BTreeMap, BTreeSet};

use pullnet_config::{Forwarding, Input, Resolved};
use pullnet_probes::{End, Probes};
use pullnet_qdisc::SwitchConfig;
use pullnet_settings::Setting;
use pullnet_topology::{Level, LinkRef, Schedules, Topology};
use pullnet_units::Instant;
use pullnet_workload::CheckedWorkload;

use crate::transport::CarriedBy;
use crate::warning_settings::WarningSettings;

/// Condition that ends a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// A fixed time.
    At(Instant),
    /// Every flow has ended and none can start; at `limit` the run is given up.
    FlowsDone {
        /// When to give up.
        limit: Instant,
    },
}

impl Stop {
    /// The latest end of the run.
    pub const fn latest(self) -> Instant {
        match self {
            Self::At(end) | Self::FlowsDone { limit: end } => end,
        }
    }

    /// The same for probes.
    pub(crate) const fn end(self) -> End {
        match self {
            Self::At(end) => End::At(end),
            Self::FlowsDone { limit } => End::FlowsDone(limit),
        }
    }
}

/// Everything that a run needs, checked.
#[derive(Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Condition that ends the run.
    pub stop: Stop,
    /// The measurement window; its end is [`Instant::NEVER`] if the run ends with its flows.
    pub measure: (Instant, Instant),
    /// Hosts, switches and links.
    pub topology: Topology,
    /// Faults, by link.
    pub faults: Schedules,
    /// The transports of every host, at least one. Traffic names them by their number here.
    pub transports: Vec<CarriedBy>,
    /// The discipline of every switch port.
    pub switch: SwitchConfig,
    /// The policy for choosing among equal paths.
    pub forwarding: Forwarding,
    /// Which flows there are.
    pub workload: CheckedWorkload,
    /// Records beyond the flows and the sums.
    pub probes: Probes,
    /// Every value in force, with its origin.
    pub resolved: Resolved,
    /// The files that it names, as they were read.
    pub inputs: Vec<Input>,
    /// Which warnings are given.
    pub silence: WarningSettings,
    /// About how many flows start before the end, of those patterns that can tell.
    pub expected_flows: f64,
}

impl Scenario {
    /// The resolved scenario with other names for its files: `names` has one for each of `inputs`.
    pub fn with_inputs_at(&self, names: &[String]) -> Resolved {
        let mut resolved = self.resolved.clone();
        for (input, name) in self.inputs.iter().zip(names) {
            input.settings.iter().for_each(|setting| resolved.replace(setting, name.write()));
        }
        resolved
    }

    /// Names that group results in a summary, by the path of the group: `by_tag`, `by_tenant`, `by_transport` and
    /// `packets.trimmed_by_tier`.
    pub fn group_names(&self) -> BTreeMap<&'static str, BTreeSet<String>> {
        let workload = &self.workload;
        let ports = self.topology.ports.ids();
        let tiers: BTreeSet<Level> = ports.map(|port| self.topology.level(LinkRef::Port(port))).collect();
        BTreeMap::from([
            ("by_tag", workload.tags().iter().cloned().collect()),
            ("by_tenant", workload.tenants().iter().filter(|name| !name.is_empty()).cloned().collect()),
            ("by_transport", self.transports.iter().map(|carried| carried.name.clone()).collect()),
            ("packets.trimmed_by_tier", tiers.iter().map(ToString::to_string).collect()),
        ])
    }
}
