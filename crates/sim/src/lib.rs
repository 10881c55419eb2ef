//! The packet-level engine.
//!
//! There is no global event queue. Time advances in windows that are no longer than the time any packet needs from
//! one logical process to the next; within a window processes do not see each other, so that the order of visits is
//! free and threads need to meet only between windows. `ARCHITECTURE.md` tells the whole story.

mod agenda;
mod barrier;
mod binary_hop;
mod build;
mod clock;
mod counts;
mod deadlock;
mod fingerprint;
mod finish;
mod groups;
mod hop_count;
mod hops;
mod host;
mod hosts;
mod huge_pages;
mod line;
mod losses;
mod network;
mod notes;
mod one_port;
mod outbox;
mod packet;
mod port;
mod ports;
mod prefetch;
mod probe;
mod process;
mod run;
mod series;
mod shard;
mod side;
mod stack;

use std::sync::Arc;

pub use one_port::{OnePort, PortStep, one_port};
pub use packet::{Packet, Sent};
use pullnet_protocols::{ProtocolConfig, with_protocol};
use pullnet_qdisc::{Discipline, SwitchConfig, with_discipline};
use pullnet_rng::Seed;
use pullnet_scenario::{CarriedBy, Scenario};
use pullnet_transport::{HostInfo, Large, Medium, Protocol, Small, Transport, Words};
use pullnet_units::HostId;
pub use run::{Progress, Run};

use crate::build::Part;
use crate::host::HeaderWords;
use crate::network::{Headers, Network, Switching};
use crate::ports::Ports;
use crate::shard::Shard;
use crate::stack::{Looks, Several, Stack, framings};

/// Starts a run of `scenario`. Results are the same for any number of threads.
pub fn start(scenario: &Arc<Scenario>, threads: usize) -> Box<dyn Run> {
    match &scenario.transports[..] {
        [CarriedBy { config, class: None, .. }] => start_sole(scenario, config, threads),
        transports => match transports.iter().map(|carried| carried.config.words()).max() {
            Some(..=Small::COUNT) => start_several::<Small>(scenario, threads),
            Some(..=Medium::COUNT) => start_several::<Medium>(scenario, threads),
            _ => start_several::<Large>(scenario, threads),
        },
    }
}

/// Starts a run with one transport, with code compiled for it.
fn start_sole(scenario: &Arc<Scenario>, transport: &ProtocolConfig, threads: usize) -> Box<dyn Run> {
    with_protocol!(transport, |transport: P| {
        let ports = |net: &Network<_>, parts: &[Part]| ports_of(net, &scenario.switch, parts);
        start_hosts::<P>(scenario, transport, switching_of(&scenario.switch), threads, ports)
    })
}

/// Starts a run with several transports, whose headers have at most as many words as `W`.
fn start_several<W: Words>(scenario: &Arc<Scenario>, threads: usize) -> Box<dyn Run> {
    let (transports, seed) = (&scenario.transports[..], Seed(scenario.seed));
    let looks = Looks::<W>::new(transports);
    let headers = Headers::Several(looks.clone());
    let switching = switching_of(&scenario.switch);
    let net = Network::new(Arc::clone(scenario), framings(transports), headers, switching);
    let stack = |id: HostId, info| {
        // The first transport has the same random numbers as in a run without others.
        let name = |number| match number {
            0 => "host.transport".to_owned(),
            _ => format!("host.transport {number}"),
        };
        Several::new(transports, &looks, info, |number| seed.stream(&name(number), id.get().into()))
    };
    assemble(net, stack, threads, |net, parts| ports_of(net, &scenario.switch, parts))
}

/// Starts a run of `scenario` with the caller's protocol and discipline in place of the scenario's own. Neither needs
/// to be registered.
pub fn start_with<P, Q>(
    scenario: &Arc<Scenario>,
    transport: &P::Config,
    switch: &Q::Config,
    threads: usize,
) -> Box<dyn Run>
where
    P: Protocol,
    P::Endpoint: Send + 'static,
    Q: Discipline<Packet<HeaderWords<P::Endpoint>>> + Send + 'static,
    Q::Rules: 'static,
    Q::Shared: 'static,
{
    let ports = |net: &Network<_>, parts: &[Part]| build::ports::<_, Q>(net, switch, parts);
    start_hosts::<P>(scenario, transport, Switching::of::<_, Q>(switch), threads, ports)
}

/// Starts a run with the ports that `ports` makes.
fn start_hosts<P: Protocol>(
    scenario: &Arc<Scenario>,
    transport: &P::Config,
    switching: Switching,
    threads: usize,
    ports: impl FnOnce(
        &Network<HeaderWords<P::Endpoint>>,
        &[Part],
    ) -> Vec<Box<dyn Ports<HeaderWords<P::Endpoint>>>>,
) -> Box<dyn Run>
where
    P::Endpoint: Send + 'static,
{
    let seed = Seed(scenario.seed);
    let headers = Headers::sole::<<P::Endpoint as Transport>::Header>();
    let net = Network::new(Arc::clone(scenario), vec![P::framing(transport)], headers, switching);
    let stack =
        |id: HostId, info| P::endpoint(transport, info, seed.stream("host.transport", id.get().into()));
    assemble(net, stack, threads, ports)
}

/// Starts a run on `net` with the transports that `stack` makes for each host and the ports that `ports` makes.
fn assemble<W: Words, T: Stack<W> + 'static>(
    net: Network<W>,
    stack: impl Fn(HostId, HostInfo) -> T,
    threads: usize,
    ports: impl FnOnce(&Network<W>, &[Part]) -> Vec<Box<dyn Ports<W>>>,
) -> Box<dyn Run> {
    let parts = build::parts(&net, threads.clamp(1, net.topology().parts as usize));
    let hosts = build::hosts(&net, stack, &parts);
    let shards =
        hosts.into_iter().zip(ports(&net, &parts)).map(|(hosts, ports)| Shard::new(&net, hosts, ports));
    let shards = shards.collect();
    Box::new(run::Engine::new(Arc::new(net), shards))
}

/// The ports of each part, under the discipline that a scenario names.
fn ports_of<W: Words>(net: &Network<W>, switch: &SwitchConfig, parts: &[Part]) -> Vec<Box<dyn Ports<W>>> {
    with_discipline!(switch, |config: Q| build::ports::<W, Q<Packet<W>>>(net, config, parts))
}

/// Properties of the switches that a scenario names.
fn switching_of(switch: &SwitchConfig) -> Switching {
    type Smallest = Packet<Small>;
    with_discipline!(switch, |config: Q| Switching::of::<Smallest, Q<Smallest>>(config))
}
