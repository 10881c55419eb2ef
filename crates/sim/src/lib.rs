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
mod huge;
mod line;
mod losses;
mod network;
mod one_port;
mod outbox;
mod packet;
mod port;
mod prefetch;
mod probe;
mod run;
mod series;
mod shard;

use std::sync::Arc;

pub use director::{Director, News, Report};
pub use one_port::{OnePort, PortStep, one_port};
pub use packet::{MAX_TRIM, Packet, TRIM_UNIT};
pub use probe::{received, sent};
use pullnet_protocols::with_protocol;
use pullnet_qdisc::{Discipline, with_discipline};
use pullnet_scenario::Scenario;
use pullnet_transport::Protocol;
pub use run::{Progress, Run};

use crate::network::Network;

/// Starts a run of `scenario`. Results are the same for any number of threads.
pub fn start(scenario: &Arc<Scenario>, threads: usize) -> Box<dyn Run> {
    with_protocol!(&scenario.transport, |transport: T| {
        with_discipline!(&scenario.switch, |switch: Q| {
            start_with::<T, Q<Packet>>(scenario, transport, switch, threads)
        })
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
    Q: Discipline<Packet> + Send + 'static,
    Q::Rules: 'static,
    Q::Shared: 'static,
{
    let rules = Q::rules(switch);
    let framing = P::framing(transport);
    let shortest = Q::trimmed_size(&rules).map_or(framing.header, |trimmed| trimmed.min(framing.header));
    let net = Arc::new(Network::new(Arc::clone(scenario), framing, shortest));
    let threads = threads.clamp(1, scenario.topology.parts as usize);
    let shards = build::shards::<P, Q>(&net, transport, &rules, threads);
    Box::new(run::Engine::<P::Endpoint, Q>::new(net, shards))
}
