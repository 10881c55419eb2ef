//! An estimate of the memory that a run needs, made before it starts.

use pullnet_units::{Bytes, Instant};

use crate::{CarriedBy, Hops, Scenario, Stop, traffic};

/// Interpreter and libraries before a run.
const BASE: u64 = 22_000_000;

/// An egress port with its first queue places and inbox, and what the topology keeps of it.
const PER_PORT: u64 = 2_400;

/// A host with its endpoint.
const PER_HOST: u64 = 5_000;

/// A flow: its row, and the same as columns of a table.
const PER_FLOW: f64 = 300.0;

/// A row of the tables `latency` and `packets` while columns are made of it.
const PER_LATENCY: f64 = 48.0;
const PER_PACKET: f64 = 140.0;

/// A row of the table `hops` while columns are made of it, and the ports on a long way.
const PER_HOP: f64 = 250.0;
const PORTS_ON_A_WAY: f64 = 6.0;

/// A row of a series while columns are made of it.
const PER_SERIES_ROW: u64 = 80;

/// Memory that a run of `scenario` needs, from what the rows of docs/performance.md took: within a factor of about 1.5 for
/// fat trees of 432 to 65,536 hosts. Packets that wait in queues are not in it: they are few unless queues are deep.
pub(crate) fn estimate(scenario: &Scenario) -> Bytes {
    let (ports, hosts) = (scenario.topology.ports.len() as u64, scenario.topology.hosts.len() as u64);
    let network = BASE + ports * PER_PORT + hosts * PER_HOST;
    let flows = scenario.expected_flows * PER_FLOW;
    Bytes(network.saturating_add((flows + records(scenario)) as u64).saturating_add(series(scenario)))
}

/// Records of single packets, if every host sends as fast as it can to the stated end. A run that ends with its flows
/// has no such bound.
fn records(scenario: &Scenario) -> f64 {
    let (Stop::At(end), probes) = (scenario.stop, &scenario.probes) else { return 0.0 };
    let flows = scenario.expected_flows.max(1.0);
    let share = match &probes.hops {
        Some(Hops::Every(nth)) => 1.0 / f64::from(*nth),
        Some(Hops::Of(numbers)) => (numbers.count() as f64 / flows).min(1.0),
        None => 0.0,
    };
    let bytes = |carried: &CarriedBy| carried.config.framing().mtu + carried.config.framing().header;
    let bits = 8.0 * f64::from(scenario.transports.iter().map(bytes).min().unwrap_or(1));
    let network = traffic::network_of(&scenario.topology);
    let bits_per_s: f64 = network.rates.iter().map(|rate| rate.get() as f64).sum();
    let packets = bits_per_s * end.since(Instant::ZERO).0 as f64 / 1e12 / bits;
    let latency = if probes.latency { PER_LATENCY } else { 0.0 };
    // A data packet is sent and received, and so is its ACK.
    let all = if probes.packets { 4.0 * PER_PACKET } else { 0.0 };
    // A data packet and its ACK.
    let hops = (packets * share * 2.0 * PORTS_ON_A_WAY).min(Hops::MOST_ROWS as f64) * PER_HOP;
    packets * (latency + all) + hops
}

fn series(scenario: &Scenario) -> u64 {
    let Some(series) = scenario.probes.series else { return 0 };
    let length = match scenario.stop {
        Stop::At(end) => end.since(Instant::ZERO),
        Stop::FlowsDone { .. } => return 0,
    };
    let lines = match series.per {
        crate::Per::Total => 1,
        crate::Per::Host => scenario.topology.hosts.len() as u64,
        crate::Per::Flow => scenario.expected_flows as u64,
        crate::Per::Tag => scenario.workload.blocks() as u64,
    };
    series.rows(length, lines.max(1)).saturating_mul(PER_SERIES_ROW)
}
