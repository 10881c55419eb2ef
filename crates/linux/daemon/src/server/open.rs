//! Opens the interface and the engine of a host file.

use pullnet_host::seal::Keys;
use pullnet_host::{Engine, EngineOptions, Neighbours, Search};
use pullnet_netio::{
    Filter, Interface, PacketIo, PacketOptions, PacketSocket, PortGuard, Protocol, UdpOptions, UdpSockets,
    XdpOptions, XdpSocket,
};
use pullnet_wire::Mac;

use super::engine_io::EngineIo;
use crate::captured::Recorder;
use crate::config::{HostFile, Link};
use crate::error::Error;

/// Longest IP packet if there is no interface to tell it. Bytes.
const USUAL_MTU: usize = 1500;

type Io = Box<dyn PacketIo + Send>;

/// Opens the interface of a file.
pub(super) fn network(file: &HostFile, keys: Option<Keys>) -> Result<EngineIo, Error> {
    let (mac, mtu) = match &file.link {
        Link::Packet(name) | Link::Xdp(name) => {
            let interface = Interface::find(name)?;
            (interface.mac, file.mtu.unwrap_or(interface.mtu))
        }
        Link::Udp => (Mac::default(), file.mtu.unwrap_or(USUAL_MTU)),
    };
    let mut options = EngineOptions { keys, ..options(file, mac, mtu) };
    if file.usual_window {
        options.transport.initial_window = options.usual_window();
    }
    let options = options.started().map_err(Error::Engine)?;
    let engine = Engine::new(options).map_err(Error::Engine)?;
    let io = io(file, mtu)?;
    let (name, neighbours) = match &file.link {
        Link::Packet(name) | Link::Xdp(name) => (name.as_str(), Neighbours::Kernel(name.clone())),
        Link::Udp => ("udp", Neighbours::NotNeeded),
    };
    let io = match &file.capture {
        Some(settings) => Box::new(Recorder::new(io, name, file.rate, settings)?),
        None => io,
    };
    let guard = guard(file)?;
    let search = Search::new(neighbours).map_err(Error::Engine)?;
    Ok(EngineIo::new(io, engine, search, guard))
}

/// Keeps the kernel from answering for the port, unless the kernel's own UDP carries the frames.
fn guard(file: &HostFile) -> Result<Option<PortGuard>, Error> {
    let (address, port) = (file.address, file.port);
    Ok(match &file.link {
        Link::Packet(name) => Some(PortGuard::take_on(&Interface::find(name)?, address, port)?),
        // Its frames leave the kernel before the IP stack anyway.
        Link::Xdp(_) => Some(PortGuard::take(address, port)?),
        Link::Udp => None,
    })
}

fn io(file: &HostFile, mtu: usize) -> Result<Io, Error> {
    let ipv6 = file.address.is_ipv6();
    Ok(match &file.link {
        Link::Packet(name) => {
            let protocol = if ipv6 { Protocol::Ipv6 } else { Protocol::Ipv4 };
            let options = PacketOptions { protocol, bursts: file.bursts, ..PacketOptions::default() };
            Box::new(PacketSocket::open(name, &options)?)
        }
        Link::Xdp(name) => {
            let queues = receive_queues(name);
            if queues > 1 {
                tracing::warn!(
                    interface = name,
                    queues,
                    "backend = \"xdp\" takes the frames of receive queue 0 only, and those of the others are lost; \
                     use `ethtool -L {name} combined 1`, or backend = \"packet\""
                );
            }
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

/// Receive queues that an interface uses; 0 if the kernel does not say.
fn receive_queues(interface: &str) -> usize {
    let listed = std::fs::read_dir(format!("/sys/class/net/{interface}/queues"));
    let receives = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("rx-");
    listed.map_or(0, |entries| entries.flatten().filter(receives).count())
}

/// Further paths share sockets: each costs a file descriptor.
const MOST_UDP_LABELS: u16 = 64;

fn options(file: &HostFile, mac: Mac, mtu: usize) -> EngineOptions {
    EngineOptions {
        address: file.address,
        mac,
        port: file.port,
        mtu,
        rate: file.rate,
        transport: file.ndp.clone(),
        marks: file.marks,
        limits: file.limits,
        neighbours: file.neighbours.clone(),
        paths: file.paths,
        ..EngineOptions::new(file.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receive_queues_are_those_that_the_kernel_lists() {
        assert_eq!(receive_queues("lo"), 1);
        assert_eq!(receive_queues("no-such-interface"), 0);
    }
}
