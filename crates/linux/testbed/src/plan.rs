//! The testbed equivalent of a scenario's network: hosts with addresses, and a file for the switches.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use pullnet_scenario::Scenario;
use pullnet_settings::Setting;
use pullnet_switch::Mac;
use pullnet_topology::{Choices, Hop, HostPeer, NodeKind, Peer, Topology};
use pullnet_units::{BitsPerSec, HostId, NodeId, Picos, PortId};
use thiserror::Error;

/// Most hosts of a testbed; each needs a network namespace.
pub const MOST_HOSTS: usize = 250;

/// The scenario's network cannot be built as a testbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum NoPlan {
    /// Too many hosts.
    #[error("the network has {0} hosts; a testbed has at most {MOST_HOSTS}")]
    Hosts(usize),
    /// The software switch receives whole frames.
    #[error(
        "topology.switching: the switch of a testbed receives whole frames; leave it out, or write \"store-and-forward\""
    )]
    CutThrough,
}

/// A host of a testbed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPlan {
    /// Name of the host: "h" and the scenario's number.
    pub name: String,
    /// Name of the interface at the switch, and of its port.
    pub port: String,
    /// Ethernet address of the interface, used by the kernel.
    pub mac: Mac,
    /// Second Ethernet address of the host, for a stack that bypasses the kernel. The kernel drops frames to this address
    /// early and answers none of them.
    pub stack_mac: Mac,
    /// IPv4 address; all hosts share one network with a 16-bit prefix.
    pub ip: Ipv4Addr,
    /// Rate of its line.
    pub rate: BitsPerSec,
}

/// A testbed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// Every host, in the scenario's order.
    pub hosts: Vec<HostPlan>,
    /// Contents of the switch file.
    pub switch_file: String,
}

impl Plan {
    /// The testbed for `scenario`: its network, switches and seed. Traffic, transport and faults are not part of the plan.
    pub fn of(scenario: &Scenario) -> Result<Self, NoPlan> {
        let topology = &scenario.topology;
        if topology.hosts.len() > MOST_HOSTS {
            return Err(NoPlan::Hosts(topology.hosts.len()));
        }
        if topology.cut_through.is_some() {
            return Err(NoPlan::CutThrough);
        }
        let hosts = topology.hosts.ids().map(|id| host(topology, id)).collect();
        Ok(Self { name: scenario.name.clone(), hosts, switch_file: switch_file(scenario) })
    }
}

/// Ethernet addresses of a host: one for its kernel, one for a stack that bypasses the kernel.
fn macs(host: HostId) -> [Mac; 2] {
    // Locally administered; the letters "pn", then the owner.
    let [_, _, high, low] = host.get().to_be_bytes();
    [0x01, 0x02].map(|whose| Mac::new([0x02, 0x70, 0x6e, whose, high, low]))
}

fn host(topology: &Topology, id: HostId) -> HostPlan {
    let (rate, number) = (topology.hosts[id].link.rate, id.get());
    let [mac, stack_mac] = macs(id);
    HostPlan {
        name: format!("h{number}"),
        port: format!("h{number}"),
        mac,
        stack_mac,
        ip: Ipv4Addr::new(10, 77, (number / 200) as u8, (number % 200 + 1) as u8),
        rate,
    }
}

fn switch_file(scenario: &Scenario) -> String {
    let mut text = format!(
        "name = {:?}\nseed = {}\nwait = \"adaptive\"\nidle = \"20 ms\"\n\n",
        scenario.name, scenario.seed
    );
    let direct = matches!(scenario.topology.hosts[HostId::new(0)].peer, HostPeer::Host(_));
    if direct {
        two_ends(&mut text, &scenario.topology);
    } else {
        discipline(&mut text, scenario);
        ports(&mut text, &scenario.topology);
        entries(&mut text, &scenario.topology);
    }
    text
}

/// The table `[switch]` as the scenario has it.
fn discipline(text: &mut String, scenario: &Scenario) {
    let forwarding = scenario.forwarding.write();
    let kind = scenario.switch.name();
    put(text, format_args!("[switch]\nkind = \"{kind}\"\nforwarding = {forwarding}\n"));
    let row = pullnet_qdisc::SWITCHES.iter().find(|row| row.name == kind);
    for field in row.into_iter().flat_map(|row| row.fields) {
        if let Some(value) = scenario.switch.get(field.name).filter(|value| !value.is_empty()) {
            put(text, format_args!("{} = {value}\n", field.name));
        }
    }
    text.push('\n');
}

/// Two hosts without a switch: a line with a NIC's queue at each end.
fn two_ends(text: &mut String, topology: &Topology) {
    text.push_str("[switch]\nkind = \"drop-tail\"\nqueue = \"1000 packets\"\n\n");
    for (id, host) in topology.hosts.enumerate() {
        let name = format!("h{}", id.get());
        outer(text, &name, "line", host.link.rate, host.link.delay, false);
        entry(text, "line", id, &name, 0, u16::MAX);
    }
}

fn put(text: &mut String, what: core::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(what);
}

fn outer(text: &mut String, name: &str, switch: &str, rate: BitsPerSec, delay: Picos, paced: bool) {
    put(text, format_args!("[[port]]\nname = \"{name}\"\nswitch = \"{switch}\"\ninterface = \"{name}\"\n"));
    put(text, format_args!("rate = \"{rate}\"\ndelay = \"{delay}\"\npaced = {paced}\n\n"));
}

fn switch_name(node: NodeId) -> String {
    format!("s{}", node.get())
}

/// Names of each port's switch and of the port itself in the switch file, in the topology's order.
pub fn port_names(topology: &Topology) -> impl Iterator<Item = (String, String)> {
    topology.ports.enumerate().map(|(id, port)| (switch_name(port.node), port_name(topology, id)))
}

/// Name of each host's port at the switch, in the order of the hosts.
pub fn host_names(topology: &Topology) -> impl Iterator<Item = String> {
    topology.hosts.ids().map(|host| format!("h{}", host.get()))
}

/// Ports are named after the host that they lead to, or by their number.
fn port_name(topology: &Topology, port: PortId) -> String {
    match topology.ports[port].peer {
        Peer::Host(host) => format!("h{}", host.get()),
        Peer::Switch(_) => format!("p{}", port.get()),
    }
}

fn ports(text: &mut String, topology: &Topology) {
    for (id, port) in topology.ports.enumerate() {
        let (name, switch) = (port_name(topology, id), switch_name(port.node));
        match port.reverse {
            None => outer(text, &name, &switch, port.link.rate, port.link.delay, true),
            Some(reverse) => {
                let peer = port_name(topology, reverse);
                put(
                    text,
                    format_args!("[[port]]\nname = \"{name}\"\nswitch = \"{switch}\"\npeer = \"{peer}\"\n"),
                );
                put(text, format_args!("rate = \"{}\"\ndelay = \"{}\"\n\n", port.link.rate, port.link.delay));
            }
        }
    }
}

fn entry(text: &mut String, switch: &str, host: HostId, ports: &str, shift: u8, mask: u16) {
    for mac in macs(host) {
        put(text, format_args!("[[forward]]\nswitch = \"{switch}\"\nmac = \"{mac}\"\nports = \"{ports}\"\n"));
        put(text, format_args!("shift = {shift}\nmask = {}\n\n", mask.max(1)));
    }
}

/// Adds an entry for every host to every switch, with all ports on shortest paths, in their order.
fn entries(text: &mut String, topology: &Topology) {
    let switches = topology.nodes.enumerate().filter(|(_, node)| node.kind == NodeKind::Switch);
    for (node, _) in switches {
        for host in topology.hosts.ids() {
            let choices: Choices<'_> = topology.choices(node, topology.addr(host));
            let names: Vec<_> = choices.iter().map(|port| port_name(topology, port)).collect();
            let (shift, mask) = digit(topology, node, host);
            entry(text, &switch_name(node), host, &names.join(" "), shift, mask);
        }
    }
}

/// Bits of the label that choose the port at a switch on the path to a host. In graphs the whole label is used: it selects a
/// shortest path, but not always the one with the same number in the simulator.
fn digit(topology: &Topology, node: NodeId, host: HostId) -> (u8, u16) {
    match topology.hop(node) {
        Hop::Tree(hop) if hop.below(topology.addr(host).0) => (hop.lane_shift, hop.lane_mask),
        Hop::Tree(hop) => (hop.digit_shift, hop.digit_mask),
        Hop::Table => (0, u16::MAX),
    }
}
