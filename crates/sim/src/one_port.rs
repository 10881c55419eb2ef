//! One port of the engine by itself, for comparisons with other switches.

use std::sync::Arc;

use pullnet_qdisc::{Discipline, order, with_discipline};
use pullnet_scenario::Scenario;
use pullnet_transport::{Header, Packed, Small};
use pullnet_units::{Instant, PortId};

use crate::clock::Window;
use crate::counts::PortCounts;
use crate::network::{Headers, Network, Switching};
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::port::{Env, PortContext};
use crate::{ports, stack};

/// An empty header, for packets that come from no transport.
#[derive(Clone, Copy, Debug)]
struct Blank;

impl Header for Blank {
    const KINDS: &'static [&'static str] = &["packet"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        Packed::default()
    }

    fn unpack(_: Packed<Small>) -> Self {
        Self
    }
}

/// Behaviour of the engine's port for given arrivals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnePort {
    /// All departures, with the time at the other end: ordinary packets at the end of the link, returned headers at the
    /// next port.
    pub emissions: Vec<(Instant, Packet<Small>)>,
    /// Steps at which packets were trimmed, returned or dropped.
    pub steps: Vec<PortStep>,
}

/// Counts of one step: packets trimmed, returned or dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortStep {
    /// Picoseconds since the start.
    pub at: Instant,
    /// Packets trimmed.
    pub trimmed: u64,
    /// Headers sent back.
    pub returned: u64,
    /// Packets dropped.
    pub dropped: u64,
}

/// Feeds `arrivals` (time in picoseconds, number of the link, packet), in order of time, to port `port` of `scenario`.
pub fn one_port(
    scenario: &Arc<Scenario>,
    port: PortId,
    arrivals: &[(Instant, u16, Packet<Small>)],
) -> OnePort {
    with_discipline!(&scenario.switch, |config: Q| drive::<Q<Packet<Small>>>(
        scenario, config, port, arrivals
    ))
}

fn drive<Q: Discipline<Packet<Small>>>(
    scenario: &Arc<Scenario>,
    config: &Q::Config,
    id: PortId,
    arrivals: &[(Instant, u16, Packet<Small>)],
) -> OnePort {
    let rules = Q::rules(config);
    let framings = stack::framings(&scenario.transports);
    let switching = Switching::of::<_, Q>(config);
    let net = Network::new(Arc::clone(scenario), framings, Headers::sole::<Blank>(), switching);
    let mut port = ports::port::<Small, Q>(&net, &rules, id);
    // A single port needs no windows: this window covers all times that packets can express.
    let salt = net.salt(scenario.topology.ports[id].node);
    let window = Window { start: Instant(0), end: Instant(1 << 46), index: 0 };
    for (at, link, packet) in arrivals {
        let mut packet = *packet;
        packet.arrives(*at, order::place(at.0, salt, *link));
        port.expect(&net, window, &packet);
    }
    let (mut shared, mut out, mut steps) = (Q::shared(&rules, 1), Outbox::default(), Vec::new());
    let (shared, env) = (&mut shared, Env { net: &net, out: &mut out, window });
    let mut cx = PortContext { env, rules: &rules, shared };
    loop {
        let (at, before) = (port.next_event(window), port.incidents.counts);
        if !port.step(&mut cx) {
            break;
        }
        steps.extend(step(at, &before, &port.incidents.counts));
    }
    OnePort { emissions: out.packets().map(|packet| (packet.time(window), *packet)).collect(), steps }
}

/// The difference between two counts, if there is one.
fn step(at: Instant, before: &PortCounts, after: &PortCounts) -> Option<PortStep> {
    let trimmed = after.trimmed - before.trimmed;
    let returned = after.returned - before.returned;
    let dropped = after.dropped - before.dropped;
    (trimmed + returned + dropped > 0).then_some(PortStep { at, trimmed, returned, dropped })
}
