//! What all hosts of a testbed may read and none may change.

use std::net::IpAddr;
use std::sync::Arc;

use pullnet_ndp::NdpConfig;
use pullnet_ndp::wire::Carriage;
use pullnet_protocols::ProtocolConfig;
use pullnet_scenario::{CarriedBy, Scenario};
use pullnet_switch::plan::Plan;
use pullnet_transport::{Framing, HostAddr};
use pullnet_units::{Bytes, HostId, Id};
use pullnet_wire::{DATA_HEADER, ETHERNET, IPV4, Mac, Marks, PORT, Route, UDP};

use crate::{PlayError, content};

/// Bytes of a frame beside the payload, as the testbed's switches count them: Ethernet, IPv4, UDP, NDP.
pub const HEADERS: usize = ETHERNET + IPV4 + UDP + DATA_HEADER;

/// Rounds take these ports by turns, so that late packets of a round are strangers to the next.
const PORTS: std::ops::Range<u16> = PORT..PORT + 8;

/// Longest frame of the scenario, without check sequence.
///
/// # Errors
/// If its transport does not exist on Linux.
pub fn frame_room(scenario: &Scenario) -> Result<usize, PlayError> {
    Ok(config(scenario)?.mtu.0 as usize + HEADERS)
}

fn config(scenario: &Scenario) -> Result<&NdpConfig, PlayError> {
    match &scenario.transports[..] {
        [CarriedBy { config: ProtocolConfig::Ndp(config), .. }] => Ok(config),
        [other] => Err(PlayError::Transport(other.config.name())),
        several => Err(PlayError::Transports(several.len())),
    }
}

/// A host's addresses.
#[derive(Clone, Copy, Debug)]
struct Place {
    mac: Mac,
    ip: IpAddr,
    addr: HostAddr,
}

/// The network and how its packets look.
#[derive(Debug)]
pub(crate) struct Site {
    pub scenario: Arc<Scenario>,
    /// The scenario's settings with the headers of the wire.
    pub config: NdpConfig,
    pub carriage: Carriage,
    pub marks: Marks,
    /// Payload bytes by place.
    pub payload_bytes: Vec<u8>,
    /// By number of the host.
    places: Vec<Place>,
    /// Hosts by IP address as a number, sorted.
    by_ip: Vec<(u32, HostId)>,
}

impl Site {
    /// The site of round number `round`.
    pub fn new(scenario: &Arc<Scenario>, round: u32) -> Result<Self, PlayError> {
        let header = Bytes(HEADERS as u64);
        let config = NdpConfig { header, ..config(scenario)?.clone() };
        let payload_bytes = content::places(config.mtu.0 as usize);
        let home = PORTS.start + (round % PORTS.len() as u32) as u16;
        let plan = Plan::of(scenario)?;
        let place = |(number, host): (u32, &pullnet_switch::plan::HostPlan)| {
            let addr = scenario.topology.addr(HostId(number));
            Place { mac: Mac(host.stack_mac.bytes()), ip: IpAddr::V4(host.ip), addr }
        };
        let places: Vec<_> = (0..).zip(&plan.hosts).map(place).collect();
        let by_ip = (0..).zip(&plan.hosts).map(|(number, host)| (host.ip.to_bits(), HostId(number)));
        let mut by_ip: Vec<_> = by_ip.collect();
        by_ip.sort_unstable();
        Ok(Self {
            scenario: Arc::clone(scenario),
            config,
            carriage: Carriage { home, header: HEADERS as u16 },
            marks: Marks::default(),
            payload_bytes,
            places,
            by_ip,
        })
    }

    /// How data is cut into packets.
    pub fn framing(&self) -> Framing {
        Framing { mtu: self.config.mtu.0 as u32, header: HEADERS as u32 }
    }

    /// The host with this IP address.
    pub fn host(&self, ip: IpAddr) -> Option<HostId> {
        let IpAddr::V4(ip) = ip else { return None };
        let at = self.by_ip.binary_search_by_key(&ip.to_bits(), |(known, _)| *known).ok()?;
        Some(self.by_ip[at].1)
    }

    /// A host's address as transports know it.
    pub fn addr(&self, host: HostId) -> HostAddr {
        self.places[host.index()].addr
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

    /// The way of a frame on path number `path`.
    pub fn route(&self, from: HostId, to: HostId, path: u16) -> Route {
        let [here, there] = [from, to].map(|host| self.places[host.index()]);
        let label = self.scenario.topology.label(here.addr, there.addr, path);
        Route {
            from_mac: here.mac,
            to_mac: there.mac,
            from: here.ip,
            to: there.ip,
            from_port: Route::port_of(label),
            to_port: self.carriage.home,
        }
    }
}
