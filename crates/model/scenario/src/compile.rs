use pullnet_config::{
    Files, Forwarding, Reader, Resolved, Shape, SpecError, SubTable, Unread, read_document, read_switch,
    switch_shape,
};
use pullnet_probes::{Plan, Probes};
use pullnet_qdisc::SwitchConfig;
use pullnet_rng::Seed;
use pullnet_topology::Schedules;

use crate::cross_checks;
use crate::fault;
use crate::host_settings;
use crate::run;
use crate::scenario::{Scenario, Stop};
use crate::topology;
use crate::topology_kind::BuiltTopology;
use crate::traffic;
use crate::transport::{self, Transport};
use crate::warnings;

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
    network: Option<&BuiltTopology>,
    faults: &Schedules,
    transports: &[Transport<'_>],
    switch: Option<&(SwitchConfig, Forwarding, Unread)>,
) {
    let lengths: Vec<_> = transports.iter().map(cross_checks::Lengths::new).collect();
    if let Some((switch, _, unread)) = switch {
        cross_checks::thresholds(root, switch, unread);
    }
    if let (Some(network), Some((switch, _, unread))) = (network, switch) {
        cross_checks::memory(root, &network.topology, (switch, unread), &lengths);
    }
    for (transport, packets) in transports.iter().zip(lengths) {
        if let Some((switch, forwarding, unread)) = switch {
            cross_checks::check(root, &packets, switch, unread);
            cross_checks::class(transport, switch);
            cross_checks::patience(transport);
            cross_checks::order(transport);
            cross_checks::renewal(root, transport, (switch, unread));
            if *forwarding != Forwarding::Path {
                cross_checks::paths_without_effect(transport);
            }
        }
        if let Some(network) = network.filter(|network| network.links) {
            cross_checks::links(root, &network.topology, faults, &packets);
        }
    }
}
