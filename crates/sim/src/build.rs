//! From a scenario to shards.

use std::ops::Range;

use pullnet_qdisc::Discipline;
use pullnet_rng::Seed;
use pullnet_topology::LinkRef;
use pullnet_transport::{HostInfo, Protocol};
use pullnet_units::{HostId, NodeId, PortId};

use crate::agenda::{Agenda, NOT_ARMED};
use crate::host::Host;
use crate::huge;
use crate::line::Line;
use crate::network::Network;
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::port::Port;
use crate::probe::{Held, HostLog};
use crate::shard::{Shard, SharedSwitch};

/// The processes of `net`, divided among `threads` shards along the parts of the topology.
pub fn shards<P: Protocol, Q: Discipline<Packet>>(
    net: &Network,
    config: &P::Config,
    rules: &Q::Rules,
    threads: usize,
) -> Vec<Shard<P::Endpoint, Q>> {
    let owned = |part: u32, shard: usize| part as usize * threads / net.topology().parts as usize == shard;
    let part = |node: NodeId| net.topology().nodes[node].part;
    let port_part = |process: &PortId| part(net.topology().ports[*process].node);
    let host_part = |process: &HostId| part(net.topology().hosts[*process].node);
    let numbering = &net.numbering;
    let shard = |shard: usize| {
        let ports = range(&numbering.port, |port| owned(port_part(port), shard));
        let hosts = range(&numbering.host, |host| owned(host_part(host), shard));
        self::shard::<P, Q>(net, config, rules, ports, hosts)
    };
    (0..threads).map(shard).collect()
}

/// The range of positions whose items are `mine`; they stand together.
fn range<I>(items: &[I], mine: impl Fn(&I) -> bool) -> Range<u32> {
    let first = items.iter().position(&mine).unwrap_or(0);
    let count = items[first..].iter().take_while(|item| mine(item)).count();
    first as u32..(first + count) as u32
}

fn shard<P: Protocol, Q: Discipline<Packet>>(
    net: &Network,
    config: &P::Config,
    rules: &Q::Rules,
    port_range: Range<u32>,
    host_range: Range<u32>,
) -> Shard<P::Endpoint, Q> {
    let ids = |range: &Range<u32>| range.start as usize..range.end as usize;
    let port_ids = &net.numbering.port[ids(&port_range)];
    let host_ids = &net.numbering.host[ids(&host_range)];
    let ports = huge::collect(port_ids.iter().map(|id| port::<Q>(net, rules, *id)));
    let hosts = huge::collect(host_ids.iter().map(|id| host::<P>(net, config, *id)));
    let switches = if Q::SHARES { switches::<Q>(&ports, rules) } else { Vec::new() };
    let units = if Q::SHARES { switches.len() } else { ports.len() };
    let of_port =
        switches.iter().zip(0..).flat_map(|(switch, number)| switch.ports.clone().map(move |_| number));
    let out = Outbox {
        port_inboxes: Port::inboxes(&ports, port_range.start),
        host_inboxes: Host::inboxes(&hosts, host_range.start),
        ..Outbox::default()
    };
    Shard {
        switch_of_port: of_port.collect(),
        port_agenda: Agenda::new(units),
        host_agenda: Agenda::new(hosts.len()),
        nothing_shared: Q::shared(rules, 0),
        rules: rules.clone(),
        port_range,
        host_range,
        ports,
        hosts,
        switches,
        due: Vec::new(),
        out,
        abroad: Outbox::default(),
        reports: Vec::new(),
        log: HostLog::default(),
        prompt: true,
        worked: false,
    }
}

/// Groups neighbouring ports by their switch.
fn switches<Q: Discipline<Packet>>(ports: &[Port<Q>], rules: &Q::Rules) -> Vec<SharedSwitch<Q::Shared>> {
    let mut end = 0;
    let switches = ports.chunk_by(|one, next| one.node == next.node).map(|ports| {
        let begin = end;
        end += ports.len() as u32;
        let shared = Q::shared(rules, ports.len());
        SharedSwitch { ports: begin..end, shared, armed: NOT_ARMED }
    });
    switches.collect()
}

/// An empty port.
pub fn port<Q: Discipline<Packet>>(net: &Network, rules: &Q::Rules, id: PortId) -> Port<Q> {
    let port = &net.topology().ports[id];
    let chance = Seed(net.scenario.seed).small_stream("switch.port", id.0.into());
    let line = Line::new(net, LinkRef::Port(id), net.next_of_port(id), port.ingress, chance);
    let first = net.topology().nodes[port.node].ports.start;
    let probes = net.probes();
    let held = Held::new(probes.ports, probes.series.as_ref().map(|series| series.interval.0));
    Port::new(net, rules, line, port.node, (id.0 - first) as u16, held)
}

fn host<P: Protocol>(net: &Network, config: &P::Config, id: HostId) -> Host<P::Endpoint> {
    let seed = Seed(net.scenario.seed);
    let (next, ingress) = net.next_of_host(id);
    let line = Line::new(net, LinkRef::Nic(id), next, ingress, seed.small_stream("host.nic", id.0.into()));
    let info = HostInfo { addr: net.topology().addr(id), rate: net.topology().hosts[id].link.rate };
    let transport = P::endpoint(config, info, seed.stream("host.transport", id.0.into()));
    Host::new(id, info.addr, transport, line)
}
