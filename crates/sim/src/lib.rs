//! The packet-level engine.
//!
//! There is no global event queue. Time advances in windows that are no longer than the time any packet needs from
//! one logical process to the next; within a window processes do not see each other, so that the order of visits is
//! free and threads need to meet only between windows. `ARCHITECTURE.md` tells the whole story.

mod agenda;
mod barrier;
mod build;
mod clock;
mod director;
mod fingerprint;
mod finish;
mod fork;
mod host;
mod hosts;
mod huge;
mod line;
mod losses;
mod network;
mod one_port;
mod outbox;
mod packet;
mod port;
mod ports;
mod prefetch;
mod probe;
mod run;
mod series;
mod shard;

use std::sync::Arc;

pub use director::{Director, News, Report};
pub use one_port::{OnePort, PortStep, one_port};
pub use packet::{Packet, Sent};
pub use probe::{received, sent};
use pullnet_protocols::with_protocol;
use pullnet_qdisc::{Discipline, SwitchConfig, with_discipline};
use pullnet_scenario::Scenario;
use pullnet_transport::{Protocol, Words};
pub use run::{Progress, Run};

use crate::build::Part;
use crate::host::HeaderWords;
use crate::network::{Network, Switching};
use crate::ports::Ports;
use crate::shard::Shard;

/// Starts a run of `scenario`. Results are the same for any number of threads.
pub fn start(scenario: &Arc<Scenario>, threads: usize) -> Box<dyn Run> {
    with_protocol!(&scenario.transport, |transport: P| {
        let ports = |net: &Network<_>, parts: &[Part]| ports_of(net, &scenario.switch, parts);
        start_hosts::<P>(scenario, transport, switching_of(&scenario.switch), threads, ports)
    })
}

/// Starts a run of `scenario` with a protocol and a discipline of the caller's, which need not be in any list, in the place
/// of those that it names.
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
    let net = network_of::<P>(scenario, transport, switching);
    let parts = build::parts(&net, threads.clamp(1, scenario.topology.parts as usize));
    let hosts = build::hosts::<P>(&net, transport, &parts);
    let shards = hosts.into_iter().zip(ports(&net, &parts)).map(|(hosts, ports)| Shard::new(hosts, ports));
    Box::new(run::Engine::new(Arc::new(net), shards.collect()))
}

/// The network of `scenario` for protocol `P`.
fn network_of<P: Protocol>(
    scenario: &Arc<Scenario>,
    transport: &P::Config,
    switching: Switching,
) -> Network<HeaderWords<P::Endpoint>> {
    type HeaderOf<P> = <<P as Protocol>::Endpoint as pullnet_transport::Transport>::Header;
    Network::new::<HeaderOf<P>>(Arc::clone(scenario), P::framing(transport), switching)
}

/// The ports of each part, under the discipline that a scenario names.
fn ports_of<W: Words>(net: &Network<W>, switch: &SwitchConfig, parts: &[Part]) -> Vec<Box<dyn Ports<W>>> {
    with_discipline!(switch, |config: Q| build::ports::<W, Q<Packet<W>>>(net, config, parts))
}

/// Facts about the switches that a scenario names.
fn switching_of(switch: &SwitchConfig) -> Switching {
    type Smallest = Packet<pullnet_transport::Small>;
    with_discipline!(switch, |config: Q| Switching::of::<Smallest, Q<Smallest>>(config))
}
