//! From the text of a scenario to something that can be run, or every error in it.
//!
//! The text is TOML, read by [`pullnet_config`]: [`compile`] applies overrides, and reads tables that are each described
//! once, with [`pullnet_settings::settings!`]. From the same descriptions come
//! the JSON schema ([`schema()`]), the reference ([`reference()`]) and the resolved text ([`Resolved`]).
//!
//! A [`Scenario`] cannot be made in another way and has no setting left to complain about.
//!
//! ```
//! use pullnet_scenario::{Disk, compile, template};
//!
//! let text = template("first");
//! let set = [("topology.k".to_string(), "6".to_string())];
//! let scenario = compile("first.toml", &text, &set, &Disk).unwrap();
//! assert_eq!(scenario.topology.hosts.len(), 54);
//!
//! let errors = compile("first.toml", &text.replace("\"1 us\"", "1"), &[], &Disk).unwrap_err();
//! assert_eq!(
//!     errors[0].to_string(),
//!     "first.toml:11:36: topology.link.delay: 1 has no unit; write it as text, for instance \"1 us\""
//! );
//! ```
//!
//! To add a setting is to add a row to a `settings!` table. To add a protocol, a switch or a traffic pattern nothing
//! here changes: their kinds come from the registries of their rooms. To add a topology is to add a line to
//! `topology::KINDS`.

mod cross_checks;
mod fabrics;
mod fault;
mod host_settings;
mod links;
mod memory;
mod reference;
mod run;
mod schema;
mod template;
mod topology;
mod topology_kind;
mod traffic;
mod transport;
mod warnings;

pub use pullnet_config::{
    Disk, Files, Forwarding, Input, Origin, Problem, Resolved, ResolvedTable, ResolvedValue, SpecError,
};
use pullnet_config::{Reader, Shape, SubTable, Unread, read_document, read_switch, switch_shape};
use pullnet_probes::{End, Plan, Probes};
use pullnet_qdisc::SwitchConfig;
use pullnet_rng::Seed;
use pullnet_settings::Setting;
use pullnet_topology::{Schedules, Topology};
use pullnet_units::Instant;
use pullnet_workload::CheckedWorkload;
pub use reference::{
    Listed, ReferenceRow, distributions, protocols, reference, switches, topologies,
    traffic as traffic_kinds, warnings as warning_kinds,
};
pub use schema::schema;
pub use template::template;
pub use transport::CarriedBy;
pub use warnings::{Warning, WarningSettings};

use crate::transport::Transport;

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
    const fn end(self) -> End {
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
}

/// Compiles the scenario `text`, found in the file `name`, with `overrides` as `("topology.k", "8")`.
///
/// Errors come all at once, in order of their place; those of overrides last. Files that the scenario names are read
/// through `files`, relative to the folder of `name`.
pub fn compile(
    name: &str,
    text: &str,
    overrides: &[(String, String)],
    files: &dyn Files,
) -> Result<Scenario, Vec<SpecError>> {
    let document = read_document(name, text, overrides, files, &root_shape(), read)?;
    let (resolved, inputs) = (document.resolved, document.inputs);
    Ok(Scenario { resolved, inputs, ..document.value })
}

/// Help for the table `transport`.
const TRANSPORT_HELP: &str = "The protocol of every host; a list, if traffic blocks have several.";

/// Tables and settings that a scenario may hold.
pub(crate) fn root_shape() -> Shape {
    let shape = run::groups().with(run::measure_table());
    shape
        .with(SubTable::required("topology", "Hosts, switches and links.", topology::shape()))
        .with(SubTable::required("transport", TRANSPORT_HELP, transport::shape()).or_list())
        .with(SubTable::required("switch", "The discipline of every switch port.", switch_shape()))
        .with(
            SubTable::list("traffic", "Flows: senders, receivers, sizes and times.", traffic::shape())
                .and_required(),
        )
        .with(fault::table())
        .with(Probes::shape())
        .with(warnings::table())
}

fn read(root: &Reader<'_>) -> Option<Scenario> {
    let run = run::read(root);
    let stop = run.as_ref().map(|run| run.stop);
    let mut network = topology::read(root);
    let faults = fault::read(root, network.as_ref(), stop);
    let mut transports = transport::read(root);
    if let (Some(transports), Some(network)) = (&mut transports, &mut network) {
        host_settings::resolve(transports, &network.topology);
        let headers = transports.iter().map(|transport| transport.carried.config.framing().header);
        network.topology.cut_through = network.switching.rule(headers.min().unwrap_or(1));
    }
    let switch = read_switch(root);
    let seed = run.as_ref().map_or(0, |run| run.seed);
    let traffic = traffic::read(root, network.as_ref(), transports.as_deref(), stop, Seed(seed));
    check_together(root, network.as_ref(), &faults, transports.as_deref().unwrap_or(&[]), switch.as_ref());
    let probes = Probes::read(root);
    let silence = warnings::read(root);
    if let Some(network) = &network {
        let end = stop.map(Stop::end);
        probes.check(root, Plan { topology: &network.topology, end, blocks: traffic.blocks });
    }
    let (run::Run { name, seed, stop, measure }, (switch, forwarding, _)) = (run?, switch?);
    let expected_flows = traffic.expected;
    let (topology, transports, workload) = (network?.topology, transports?, traffic.workload?);
    let resolved = Resolved::default();
    Some(Scenario {
        name,
        seed,
        stop,
        measure,
        topology,
        faults,
        transports: transports.into_iter().map(|transport| transport.carried).collect(),
        switch,
        forwarding,
        workload,
        probes,
        resolved,
        inputs: Vec::new(),
        silence,
        expected_flows,
    })
}

/// Checks that concern several tables.
fn check_together(
    root: &Reader<'_>,
    network: Option<&topology_kind::Network>,
    faults: &Schedules,
    transports: &[Transport<'_>],
    switch: Option<&(SwitchConfig, Forwarding, Unread)>,
) {
    let lengths: Vec<_> = transports.iter().map(cross_checks::Lengths::new).collect();
    if let (Some(network), Some((switch, _, unread))) = (network, switch) {
        cross_checks::memory(root, &network.topology, (switch, unread), &lengths);
    }
    for (transport, packets) in transports.iter().zip(lengths) {
        if let Some((switch, forwarding, unread)) = switch {
            cross_checks::check(root, &packets, switch, unread);
            cross_checks::class(transport, switch);
            if *forwarding != Forwarding::Path {
                cross_checks::paths_without_effect(transport);
            }
        }
        if let Some(network) = network.filter(|network| network.links) {
            cross_checks::links(root, &network.topology, faults, &packets);
        }
    }
}
