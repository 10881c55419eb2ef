//! Shards of a scenario.

use std::ops::Range;

use pullnet_qdisc::Discipline;
use pullnet_transport::{HostInfo, Words};
use pullnet_units::{HostId, NodeId, PortId};

use crate::hosts::{HostSide, Hosts};
use crate::network::Network;
use crate::packet::Packet;
use crate::ports::{PortSide, Ports};
use crate::stack::Stack;

/// Number of processes that fit into a second-level cache beside everything else, at about a kilobyte each.
const FITS_CACHE: usize = 1000;

/// Process numbers of one shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    hosts: Range<u32>,
    ports: Range<u32>,
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
    let port_part = |process: &PortId| part(net.topology().ports[*process].node);
    let host_part = |process: &HostId| part(net.topology().hosts[*process].node);
    let numbering = &net.numbering;
    let of_shard = |shard: usize| Part {
        ports: range(&numbering.port, |port| owned(port_part(port), shard)),
        hosts: range(&numbering.host, |host| owned(host_part(host), shard)),
    };
    (0..threads).map(of_shard).collect()
}

/// Range of the positions whose items are `mine`; these are contiguous.
fn range<I>(items: &[I], mine: impl Fn(&I) -> bool) -> Range<u32> {
    let first = items.iter().position(&mine).unwrap_or(0);
    let count = items[first..].iter().take_while(|item| mine(item)).count();
    first as u32..(first + count) as u32
}

/// The hosts of each part, each with the transports that `stack` makes.
pub fn hosts<W: Words, T: Stack<W> + 'static>(
    net: &Network<W>,
    stack: impl Fn(HostId, HostInfo) -> T,
    parts: &[Part],
) -> Vec<Box<dyn Hosts<W>>> {
    let hosts = |part: &Part| -> Box<dyn Hosts<W>> {
        Box::new(HostSide::new(net, &stack, part.hosts.clone(), part.is_large()))
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
        Box::new(PortSide::<W, Q>::new(net, &rules, part.ports.clone(), part.is_large()))
    };
    parts.iter().map(ports).collect()
}
