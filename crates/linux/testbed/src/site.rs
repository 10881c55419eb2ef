//! State shared by all hosts of a testbed, read-only.

use std::net::IpAddr;
use std::sync::Arc;

use pullnet_protocols::{ProtocolConfig, with_framed};
use pullnet_scenario::{CarriedBy, Scenario};
use pullnet_settings::{Settings, Value};
use pullnet_transport::{Framing, HostAddr, Protocol};
use pullnet_units::{HostId, Id};
use pullnet_wire::{FRAME_HEADERS, Framed, Mac, Marks, PORT, Route};

use crate::content;
use crate::error::PlayError;
use crate::plan::{HostPlan, Plan};

/// Bytes of most transports' frames besides the payload, as counted by the testbed's switches: Ethernet, IPv4, UDP, the
/// transport.
pub const HEADERS: usize = FRAME_HEADERS;

/// Rounds alternate between these ports, so that late packets of one round do not belong to the next.
const PORTS: std::ops::Range<u16> = PORT..PORT + 8;

/// Longest frame of the scenario, without check sequence.
///
/// # Errors
/// If its transport has no implementation for Linux, or it has several transports, or one with a class other than 0, or
/// sessions of more than two hosts.
pub fn frame_room(scenario: &Scenario) -> Result<usize, PlayError> {
    let transport = transport(scenario)?;
    with_framed!(transport, |config: P| Ok(P::framing(config).mtu as usize + P::HEADERS), else {
        Err(PlayError::Transport(transport.name()))
    })
}

/// The scenario's only transport. Hosts of a testbed support one, and its frames are of class 0.
pub(crate) fn transport(scenario: &Scenario) -> Result<&ProtocolConfig, PlayError> {
    if scenario.workload.has_joint_sessions() {
        return Err(PlayError::Joined);
    }
    match &scenario.transports[..] {
        [CarriedBy { class: Some(class @ 1..), .. }] => Err(PlayError::Class(*class)),
        [only] => Ok(&only.config),
        several => Err(PlayError::Transports(several.len())),
    }
}

/// Setting `catch_up` of a testbed's hosts, unless the scenario states another: as much as Linux lets TCP send at once.
const CATCH_UP: &str = "1 ms";

/// The scenario's settings with the real header sizes, and with senders that make up for late timers.
fn for_hosts<P: Framed>(config: &P::Config) -> P::Config {
    let mut config = config.clone();
    if config.get("catch_up").is_some_and(|value| value.is_empty()) {
        let set = config.set("catch_up", Value::Text(CATCH_UP));
        assert_eq!(set, Some(Ok(())), "a setting \"catch_up\" may be {CATCH_UP}");
    }
    let size = format!("{} B", P::HEADERS);
    let set = config.set("header", Value::Text(&size));
    assert_eq!(
        set,
        Some(Ok(())),
        "a transport with a form on the wire has a setting \"header\" that may be {size}"
    );
    config
}

/// A host's addresses.
#[derive(Clone, Copy, Debug)]
struct Addresses {
    mac: Mac,
    ip: IpAddr,
    addr: HostAddr,
}

/// The network, and the format of its packets.
pub(crate) struct Site<P: Framed> {
    pub scenario: Arc<Scenario>,
    /// The scenario's settings as these hosts have them.
    pub config: P::Config,
    /// How data is cut into packets.
    pub framing: Framing,
    /// Port on which every host listens.
    pub home: u16,
    pub marks: Marks,
    /// Position-dependent payload bytes.
    pub payload_bytes: Vec<u8>,
    /// Addresses by host number.
    hosts: Vec<Addresses>,
    /// Hosts by numeric IP address, sorted.
    by_ip: Vec<(u32, HostId)>,
}

impl<P: Framed> Site<P> {
    /// The site of round number `round`.
    pub fn new(scenario: &Arc<Scenario>, config: &P::Config, round: u32) -> Result<Self, PlayError> {
        let config = for_hosts::<P>(config);
        let framing = P::framing(&config);
        let payload_bytes = content::places(framing.mtu as usize);
        let home = PORTS.start + (round % PORTS.len() as u32) as u16;
        let plan = Plan::of(scenario)?;
        let addresses = |(number, host): (u32, &HostPlan)| {
            let addr = scenario.topology.addr(HostId::new(number));
            Addresses { mac: Mac(host.stack_mac.bytes()), ip: IpAddr::V4(host.ip), addr }
        };
        let hosts: Vec<_> = (0..).zip(&plan.hosts).map(addresses).collect();
        let by_ip = (0..).zip(&plan.hosts).map(|(number, host)| (host.ip.to_bits(), HostId::new(number)));
        let mut by_ip: Vec<_> = by_ip.collect();
        by_ip.sort_unstable();
        Ok(Self {
            scenario: Arc::clone(scenario),
            config,
            framing,
            home,
            marks: Marks::default(),
            payload_bytes,
            hosts,
            by_ip,
        })
    }

    /// The host with this IP address.
    pub fn host(&self, ip: IpAddr) -> Option<HostId> {
        let IpAddr::V4(ip) = ip else { return None };
        let at = self.by_ip.binary_search_by_key(&ip.to_bits(), |(known, _)| *known).ok()?;
        Some(self.by_ip[at].1)
    }

    /// A host's address in the form that transports use.
    pub fn addr(&self, host: HostId) -> HostAddr {
        self.hosts[host.index()].addr
    }

    /// Number of paths between two hosts.
    pub fn paths(&self, from: HostAddr, to: HostAddr) -> u16 {
        self.scenario.topology.path_count(from, to)
    }

    /// Number of links between two hosts.
    pub fn hops(&self, from: HostAddr, to: HostAddr) -> u64 {
        let topology = &self.scenario.topology;
        match (topology.host(from), topology.host(to)) {
            (Some(from), Some(to)) => topology.route(from, to, 0).len() as u64 + 1,
            _ => 0,
        }
    }

    /// The route of a frame on path number `path`.
    pub fn route(&self, from: HostId, to: HostId, path: u16) -> Route {
        let [here, there] = [from, to].map(|host| self.hosts[host.index()]);
        let label = self.scenario.topology.label(here.addr, there.addr, path);
        Route {
            from_mac: here.mac,
            to_mac: there.mac,
            from: here.ip,
            to: there.ip,
            from_port: Route::port_of(label.get()),
            to_port: self.home,
        }
    }
}
