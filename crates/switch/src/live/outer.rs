//! A port of a fabric on an interface.

use std::collections::VecDeque;

use pullnet_netio::{PacketIo, PacketOptions, PacketSocket, Protocol};
use pullnet_units::PortId;

use super::LiveError;
use crate::config::{Io, SwitchFile};
use crate::settings::Departure;

/// Frames that wait in each direction of an interface, at most.
const RING: usize = 1024;

pub(crate) struct Outer {
    pub port: PortId,
    pub name: String,
    pub io: Box<dyn PacketIo + Send>,
    /// Departures that found no room in the interface yet.
    pub stuck: VecDeque<Departure>,
}

impl Outer {
    /// One for each port on an interface.
    pub fn open_all(file: &SwitchFile) -> Result<Vec<Self>, LiveError> {
        let named = (0..).zip(&file.ports);
        let on_interface =
            named.filter_map(|(number, port)| Some((PortId(number), port, port.interface.as_ref()?)));
        on_interface
            .map(|(number, port, interface)| {
                let io = open(file.io, interface);
                let io = io.map_err(|error| LiveError::Port { port: port.name.clone(), error })?;
                Ok(Self { port: number, name: port.name.clone(), io, stuck: VecDeque::new() })
            })
            .collect()
    }

    pub fn fails(&self, error: pullnet_netio::Error) -> LiveError {
        LiveError::Port { port: self.name.clone(), error }
    }
}

fn open(io: Io, interface: &str) -> Result<Box<dyn PacketIo + Send>, pullnet_netio::Error> {
    match io {
        Io::Packet => {
            let options = PacketOptions { protocol: Protocol::All, frames: RING };
            Ok(Box::new(PacketSocket::open(interface, &options)?))
        }
        Io::Xdp => open_xdp(interface),
    }
}

fn open_xdp(interface: &str) -> Result<Box<dyn PacketIo + Send>, pullnet_netio::Error> {
    use pullnet_netio::{Filter, XdpOptions, XdpSocket};
    let options = XdpOptions { filter: Filter::Everything, ..XdpOptions::default() };
    Ok(Box::new(XdpSocket::open(interface, &options)?))
}
