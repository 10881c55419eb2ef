//! Opens the interface and the engine of a host file.

use std::net::IpAddr;

use pullnet_host::seal::Keys;
use pullnet_host::{Engine, EngineOptions, Neighbours, Search};
use pullnet_netio::{
    Dpdk, DpdkDevice, DpdkOptions, EalOptions, Filter, Interface, PacketIo, PacketOptions, PacketSocket,
    PortGuard, Protocol, UdpOptions, UdpSockets, XdpOptions, XdpSocket,
};
use pullnet_wire::Mac;

use super::engine_io::EngineIo;
use crate::captured::Recorder;
use crate::config::{HostFile, Link};
use crate::error::Error;

/// Longest IP packet if there is no interface to tell it. Bytes.
const USUAL_MTU: usize = 1500;

type Io = Box<dyn PacketIo + Send>;

/// The backend of a host, opened.
struct Opened {
    io: Io,
    /// Name for the captures.
    name: String,
    mac: Mac,
    mtu: usize,
    neighbours: Neighbours,
    /// Keeps the kernel from answering for the port, unless the kernel's own UDP carries the frames.
    guard: Option<PortGuard>,
    dpdk: Option<Dpdk>,
}

/// Opens the interface of a file. Returns DPDK's environment too, if that carries the frames.
pub(super) fn network(file: &HostFile, keys: Option<Keys>) -> Result<(EngineIo, Option<Dpdk>), Error> {
    let Opened { io, name, mac, mtu, neighbours, guard, dpdk } = match &file.link {
        Link::Packet(name) => packet(file, name)?,
        Link::Xdp(name) => xdp(file, name)?,
        Link::Udp => udp(file)?,
        Link::Dpdk { device, interface, environment } => {
            by_dpdk(file, device, interface.as_deref(), environment)?
        }
    };
    let options = options(file, mac, mtu, keys).started().map_err(Error::Engine)?;
    let engine = Engine::new(options).map_err(Error::Engine)?;
    let io = match &file.capture {
        Some(settings) => Box::new(Recorder::new(io, &name, file.rate, settings)?),
        None => io,
    };
    let search = Search::new(neighbours).map_err(Error::Engine)?;
    Ok((EngineIo::new(io, engine, search, guard), dpdk))
}

/// The interface `name`, which carries the longest packets of the file.
fn find(file: &HostFile, name: &str) -> Result<Interface, Error> {
    let interface = Interface::find(name)?;
    warn_elsewhere(file.address, name);
    match file.mtu.filter(|mtu| *mtu > interface.mtu) {
        Some(mtu) => Err(Error::TooLong { mtu, interface: interface.name, most: interface.mtu }),
        None => Ok(interface),
    }
}

/// Warns of an address that other interfaces have, and `name` does not. One of the loopback interface is reached by all of them.
fn warn_elsewhere(address: IpAddr, name: &str) {
    let others = Interface::with_address(address).unwrap_or_default();
    if others.is_empty() || others.iter().any(|other| other == name || other == "lo") {
        return;
    }
    tracing::warn!(
        %address,
        interface = name,
        "the address is one of {}: frames to it come by {name} only if the network sends them there; name an address of {name}, or \
         the other interface",
        others.join(", ")
    );
}

/// A host on an interface of the kernel.
fn on(file: &HostFile, interface: Interface, io: Io, guard: PortGuard) -> Opened {
    let Interface { name, mac, mtu, .. } = interface;
    let neighbours = Neighbours::Kernel(name.clone());
    Opened { io, mac, mtu: file.mtu.unwrap_or(mtu), neighbours, guard: Some(guard), name, dpdk: None }
}

fn packet(file: &HostFile, name: &str) -> Result<Opened, Error> {
    let interface = find(file, name)?;
    let protocol = if file.address.is_ipv6() { Protocol::Ipv6 } else { Protocol::Ipv4 };
    let options = PacketOptions { protocol, bursts: file.bursts, ..PacketOptions::default() };
    let io = Box::new(PacketSocket::open(name, &options)?);
    let guard = PortGuard::take_on(&interface, file.address, file.port)?;
    Ok(on(file, interface, io, guard))
}

fn xdp(file: &HostFile, name: &str) -> Result<Opened, Error> {
    let interface = find(file, name)?;
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
    let io = Box::new(XdpSocket::open(name, &options)?);
    // Its frames leave the kernel before the IP stack anyway.
    let guard = PortGuard::take(file.address, file.port)?;
    Ok(on(file, interface, io, guard))
}

fn udp(file: &HostFile) -> Result<Opened, Error> {
    let mtu = file.mtu.unwrap_or(USUAL_MTU);
    let options = UdpOptions {
        port: file.port,
        labels: file.paths.min(MOST_UDP_LABELS),
        mtu,
        ..UdpOptions::new(file.address)
    };
    Ok(Opened {
        io: Box::new(UdpSockets::open(&options)?),
        name: "udp".to_owned(),
        mac: Mac::default(),
        mtu,
        neighbours: Neighbours::NotNeeded,
        guard: None,
        dpdk: None,
    })
}

fn by_dpdk(
    file: &HostFile,
    device: &DpdkDevice,
    interface: Option<&str>,
    environment: &EalOptions,
) -> Result<Opened, Error> {
    let interface = interface.map(Interface::find).transpose()?;
    let mtu = file.mtu.or(interface.as_ref().map(|interface| interface.mtu));
    let dpdk = Dpdk::start(environment)?;
    let port = dpdk.open(device, &DpdkOptions { mtu, ..DpdkOptions::default() })?;
    let (mac, mtu, io) = (port.mac(), port.mtu(), Box::new(port));
    let Some(interface) = interface else {
        let (name, neighbours) = (device.name().to_owned(), Neighbours::Given);
        return Ok(Opened { io, name, mac, mtu, neighbours, guard: None, dpdk: Some(dpdk) });
    };
    if interface.mac != mac {
        return Err(Error::Beneath {
            device: device.name().to_owned(),
            mac: text(mac),
            interface: interface.name,
            other: text(interface.mac),
        });
    }
    let guard = PortGuard::take_on(&interface, file.address, file.port)?;
    Ok(Opened { mtu, dpdk: Some(dpdk), ..on(file, interface, io, guard) })
}

fn text(mac: Mac) -> String {
    mac.0.map(|byte| format!("{byte:02x}")).join(":")
}

/// Receive queues that an interface uses; 0 if the kernel does not say.
fn receive_queues(interface: &str) -> usize {
    let listed = std::fs::read_dir(format!("/sys/class/net/{interface}/queues"));
    let receives = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("rx-");
    listed.map_or(0, |entries| entries.flatten().filter(receives).count())
}

/// Further paths share sockets: each costs a file descriptor.
const MOST_UDP_LABELS: u16 = 64;

fn options(file: &HostFile, mac: Mac, mtu: usize, keys: Option<Keys>) -> EngineOptions {
    let mut options = EngineOptions {
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
        keys,
        ..EngineOptions::new(file.address)
    };
    if file.usual.window {
        options.transport.initial_window = options.usual_window();
    }
    // No other backend sends bursts.
    if file.usual.burst && file.bursts && matches!(file.link, Link::Packet(_)) {
        options.transport.burst = options.usual_burst();
    }
    options
}

#[cfg(test)]
mod tests {
    use pullnet_ndp::NdpConfig;

    use super::*;

    #[test]
    fn receive_queues_are_those_that_the_kernel_lists() {
        assert_eq!(receive_queues("lo"), 1);
        assert_eq!(receive_queues("no-such-interface"), 0);
    }

    #[test]
    fn what_a_file_leaves_out_follows_from_mtu_rate_and_backend() {
        let packet = "interface = \"eth\"\n";
        let xdp = "interface = \"eth\"\nbackend = \"xdp\"\n";
        let singly = "interface = \"eth\"\nbursts = false\n";
        let stated = "interface = \"eth\"\n[ndp]\ninitial_window = \"12 packets\"\nburst = \"3 packets\"\n";
        let cases = [
            (10, 1500, packet, (188, 43)),
            (1, 1500, packet, (188, 43)),
            (25, 1500, packet, (470, 43)),
            (10, 256, packet, (512, 64)),
            (10, 9000, packet, (30, 7)),
            (40, 9000, packet, (120, 7)),
            (10, 1500, singly, (188, 1)),
            (10, 1500, xdp, (188, 1)),
            (10, 1500, "backend = \"udp\"\n", (188, 1)),
            (10, 1500, stated, (12, 3)),
        ];
        for (rate, mtu, lines, expected) in cases {
            let text = format!("address = \"10.0.0.1\"\nrate = \"{rate} Gbps\"\n{lines}");
            let file = HostFile::read("host.toml", &text).unwrap_or_else(|errors| panic!("{errors:#?}"));
            let NdpConfig { initial_window, burst, .. } = options(&file, Mac::default(), mtu, None).transport;
            assert_eq!((initial_window.0, burst.0), expected, "{rate} Gb/s, {mtu} B, {lines}");
        }
    }
}
