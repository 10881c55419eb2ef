//! An estimate of the memory that a run needs, made before it starts.

use pullnet_probes::Load;
use pullnet_units::{Bytes, Instant};

use crate::scenario::{Scenario, Stop};
use crate::traffic;
use crate::transport::CarriedBy;

/// Interpreter and libraries before a run.
const BASE: u64 = 22_000_000;

/// An egress port with its first queue places and inbox, and what the topology keeps of it.
const PER_PORT: u64 = 2_400;

/// A host with its endpoint.
const PER_HOST: u64 = 5_000;

/// A flow: its row, and the same as columns of a table.
const PER_FLOW: f64 = 300.0;

/// Memory that a run of `scenario` needs, from what the rows of docs/performance.md took: within a factor of about 1.5 for
/// fat trees of 432 to 65,536 hosts. Packets that wait in queues are not in it: they are few unless queues are deep.
pub(crate) fn estimate(scenario: &Scenario) -> Bytes {
    let (ports, hosts) = (scenario.topology.ports.len() as u64, scenario.topology.hosts.len() as u64);
    let network = BASE + ports * PER_PORT + hosts * PER_HOST;
    let flows = scenario.expected_flows * PER_FLOW;
    Bytes(network.saturating_add((flows + records(scenario)) as u64))
}

/// The optional tables. A run that ends with its flows has no bound of their rows.
fn records(scenario: &Scenario) -> f64 {
    let Stop::At(end) = scenario.stop else { return 0.0 };
    let length = end.since(Instant::ZERO);
    let bytes = |carried: &CarriedBy| carried.config.framing().mtu + carried.config.framing().header;
    let bits = 8.0 * f64::from(scenario.transports.iter().map(bytes).min().unwrap_or(1));
    let network = traffic::network_of(&scenario.topology);
    let bits_per_s: f64 = network.rates.iter().map(|rate| rate.get() as f64).sum();
    scenario.probes.memory(&Load {
        length,
        packets: bits_per_s * length.0 as f64 / 1e12 / bits,
        flows: scenario.expected_flows,
        hosts: scenario.topology.hosts.len() as u64,
        blocks: scenario.workload.blocks() as u64,
    })
}
