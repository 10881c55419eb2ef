//! Shards of a scenario.

use pullnet_qdisc::Discipline;
use pullnet_transport::{HostInfo, Words};
use pullnet_units::{HostId, NodeId, PortId};

use crate::hosts::{HostSide, Hosts};
use crate::network::Network;
use crate::packet::Packet;
use crate::ports::{PortSide, Ports};
use crate::process::Processes;
use crate::stack::Stack;

/// Number of processes that fit into a second-level cache beside everything else, at about a kilobyte each.
const FITS_CACHE: usize = 1000;

/// Processes of one shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    hosts: Processes,
    ports: Processes,
}

impl Part {
    /// Whether the shard is too large for a second-level cache: only then does prefetching pay.
    fn is_large(&self) -> bool {
        self.ports.len() + self.hosts.len() > FITS_CACHE
    }
}

/// Divides the processes of `net` among `threads` shards along the parts of the topology.
pub fn parts<W: Words>(net: &Network<W>, threads: usize) -> Vec<Part> {
    let owned = |part: u32, shard: usize| part as usize * threads / net.topology().parts as usize == shard;
    let part = |node: NodeId| net.topology().nodes[node].part;
    let port_part = |port: &PortId| part(net.topology().ports[*port].node);
    let host_part = |host: &HostId| part(net.topology().hosts[*host].node);
    let numbering = &net.numbering;
    let of_shard = |shard: usize| Part {
        ports: range(numbering.port.as_slice(), |port| owned(port_part(port), shard)),
        hosts: range(numbering.host.as_slice(), |host| owned(host_part(host), shard)),
    };
    (0..threads).map(of_shard).collect()
}

/// The processes whose items are `mine`; these are contiguous.
fn range<I>(items: &[I], mine: impl Fn(&I) -> bool) -> Processes {
    let first = items.iter().position(&mine).unwrap_or(0);
    let count = items[first..].iter().take_while(|item| mine(item)).count();
    Processes::new(first, count)
}

/// The hosts of each part, each with the transports that `stack` makes.
pub fn hosts<W: Words, T: Stack<W> + 'static>(
    net: &Network<W>,
    stack: impl Fn(HostId, HostInfo) -> T,
    parts: &[Part],
) -> Vec<Box<dyn Hosts<W>>> {
    let hosts = |part: &Part| -> Box<dyn Hosts<W>> {
        Box::new(HostSide::new(net, &stack, part.hosts, part.is_large()))
    };
    parts.iter().map(hosts).collect()
}

/// The ports of each part.
pub fn ports<W: Words, Q: Discipline<Packet<W>> + Send + 'static>(
    net: &Network<W>,
    config: &Q::Config,
    parts: &[Part],
) -> Vec<Box<dyn Ports<W>>>
where
    Q::Rules: 'static,
    Q::Shared: 'static,
{
    let rules = Q::rules(config);
    let ports = |part: &Part| -> Box<dyn Ports<W>> {
        Box::new(PortSide::<W, Q>::new(net, &rules, part.ports, part.is_large()))
    };
    parts.iter().map(ports).collect()
}
