//! From a file to an open interface with an engine.

use std::hash::{BuildHasher, Hasher, RandomState};

use pullnet_host::{Engine, EngineOptions, Neighbours, Search};
use pullnet_netio::{
    Filter, Interface, PacketIo, PacketOptions, PacketSocket, PortGuard, Protocol, UdpOptions, UdpSockets,
    XdpOptions, XdpSocket,
};
use pullnet_units::Instant;
use pullnet_wire::Mac;

use super::network::Network;
use crate::Error;
use crate::captured::Recorder;
use crate::config::{HostFile, Link};

/// Longest IP packet where no interface says so. Bytes.
const USUAL_MTU: usize = 1500;

type Io = Box<dyn PacketIo + Send>;

/// Opens the interface of a file.
pub(super) fn network(file: &HostFile) -> Result<Network, Error> {
    let (mac, mtu) = match &file.link {
        Link::Packet(name) | Link::Xdp(name) => {
            let interface = Interface::find(name)?;
            (interface.mac, file.mtu.unwrap_or(interface.mtu))
        }
        Link::Udp => (Mac::default(), file.mtu.unwrap_or(USUAL_MTU)),
    };
    let engine = Engine::new(options(file, mac, mtu)).map_err(Error::Engine)?;
    let io = io(file, mtu)?;
    let (name, neighbours) = match &file.link {
        Link::Packet(name) | Link::Xdp(name) => (name.as_str(), Neighbours::Kernel(name.clone())),
        Link::Udp => ("udp", Neighbours::NotNeeded),
    };
    let io = match &file.capture {
        Some(settings) => Box::new(Recorder::new(io, name, file.rate, settings)?),
        None => io,
    };
    let past_the_kernel = file.link != Link::Udp;
    let guard = past_the_kernel.then(|| PortGuard::take(file.address, file.port)).transpose()?;
    let search = Search::new(neighbours).map_err(Error::Engine)?;
    Ok(Network::new(io, engine, search, guard))
}

fn io(file: &HostFile, mtu: usize) -> Result<Io, Error> {
    let ipv6 = file.address.is_ipv6();
    Ok(match &file.link {
        Link::Packet(name) => {
            let protocol = if ipv6 { Protocol::Ipv6 } else { Protocol::Ipv4 };
            Box::new(PacketSocket::open(name, &PacketOptions { protocol, ..PacketOptions::default() })?)
        }
        Link::Xdp(name) => {
            let options = XdpOptions { filter: Filter::Udp(file.port), ..XdpOptions::default() };
            Box::new(XdpSocket::open(name, &options)?)
        }
        Link::Udp => {
            let options = UdpOptions {
                port: file.port,
                labels: file.paths.min(MOST_UDP_LABELS),
                mtu,
                ..UdpOptions::new(file.address)
            };
            Box::new(UdpSockets::open(&options)?)
        }
    })
}

/// Paths beyond these share sockets: each costs a file descriptor.
const MOST_UDP_LABELS: u16 = 64;

fn options(file: &HostFile, mac: Mac, mtu: usize) -> EngineOptions {
    EngineOptions {
        address: file.address,
        mac,
        port: file.port,
        mtu,
        rate: file.rate,
        ndp: file.ndp.clone(),
        marks: file.marks,
        limits: file.limits,
        neighbours: file.neighbours.clone(),
        paths: file.paths,
        seed: seed(),
        ..EngineOptions::new(file.address)
    }
    .started_anew(Instant::ZERO)
}

/// Another one at every start.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
