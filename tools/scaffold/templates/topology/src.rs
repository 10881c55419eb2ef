use pullnet_units::{BitsPerSec, Picos};

use crate::error::TopologyError;
use crate::graph::Graph;
use crate::model::Link;
use crate::topology::Topology;

/// Switches in a row, each joined to the next, with hosts at each. Hosts are numbered switch by switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StencilName {
    /// Number of switches, 1 to 1000.
    pub switches: u32,
    /// Hosts of each switch, 1 to 1000.
    pub hosts_per_switch: u32,
    /// Every link.
    pub link: Link,
}

impl Default for StencilName {
    /// 3 switches with 4 hosts each at 10 Gb/s.
    fn default() -> Self {
        let link = Link { rate: BitsPerSec::gbps(10), delay: Picos::from_micros(1) };
        Self { switches: 3, hosts_per_switch: 4, link }
    }
}

impl StencilName {
    /// Builds the topology.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        for (key, count) in [("switches", self.switches), ("hosts_per_switch", self.hosts_per_switch)] {
            if !(1..=1000).contains(&count) {
                let (value, remedy) = (count.to_string(), "use 1 to 1000".to_string());
                return Err(TopologyError::Parameter { kind: "stencil-name", key, value, remedy });
            }
        }
        let mut graph = Graph::new(format!("stencil-name {}x{}", self.switches, self.hosts_per_switch));
        let mut before = None;
        for number in 0..self.switches {
            let switch = graph.switch(&format!("switch {number}"))?;
            for host in 0..self.hosts_per_switch {
                let host = graph.host(&format!("host {}", number * self.hosts_per_switch + host))?;
                graph.link(host, switch, self.link)?;
            }
            if let Some(before) = before.replace(switch) {
                graph.link(before, switch, self.link)?;
            }
        }
        graph.build()
    }
}
