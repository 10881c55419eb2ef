//! Ethernet addresses of other hosts.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

use pullnet_netio::{Interface, Neighbour, Netlink};
use pullnet_units::{Instant, Picos};
use pullnet_wire::Mac;

use crate::error::StreamError;
use crate::guard::Budget;

/// Source of the Ethernet addresses of other hosts, beside [`crate::EngineOptions::neighbours`].
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Neighbours {
    /// The backend writes Ethernet headers itself, as UDP sockets do: none are needed.
    #[default]
    NotNeeded,
    /// Configured addresses; for other hosts, the source of their first packet. Later packets do not change it.
    Given,
    /// The kernel: its routes and its neighbours on the interface of this name, in the network namespace of the thread that
    /// starts the host.
    Kernel(String),
}

/// Time between two reads of the kernel's table.
const INTERVAL: Picos = Picos::from_millis(1);
/// Timeout of a lookup if the kernel does not resolve the address. A kernel that does reports a failure itself.
const PATIENCE: Picos = Picos::from_secs(2);
/// Hosts per second that are looked up in the kernel's tables because they requested a token.
const GLANCES: u32 = 2000;
/// Unknown hosts that are resolved through the network, per second.
const ASKS: u32 = 50;
/// The discard service: a packet sent to it makes the kernel resolve the Ethernet address.
const DISCARD: u16 = 9;

/// The kernel's tables, and sockets that make it resolve addresses. All belong to the network namespace in which the host
/// was started, independently of the calling thread.
#[derive(Debug)]
struct Kernel {
    tables: Netlink,
    interface: u32,
    /// For IPv4 and IPv6; a machine without one of them has no neighbours there.
    probes: [Option<UdpSocket>; 2],
}

impl Kernel {
    fn open(interface: &str) -> Result<Self, pullnet_netio::Error> {
        let interface = Interface::find(interface)?;
        let unspecified: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let probes = unspecified.map(|address| UdpSocket::bind((address, 0)).ok());
        Ok(Self { tables: Netlink::open(&interface)?, interface: interface.index, probes })
    }

    /// Returns the next hop to `to` and makes the kernel resolve its Ethernet address; no listener is needed there.
    fn ask(&mut self, to: IpAddr) -> Option<IpAddr> {
        let hop = self.tables.next_hop(to).ok()??;
        // The same link-local address means another host on each interface.
        let whole = match hop {
            IpAddr::V4(hop) => SocketAddr::from((hop, DISCARD)),
            IpAddr::V6(hop) => SocketAddrV6::new(hop, DISCARD, 0, self.interface).into(),
        };
        let probe = &self.probes[usize::from(hop.is_ipv6())];
        // A failed send needs no handling here: the lookup times out.
        probe.iter().for_each(|probe| drop(probe.send_to(&[0], whole)));
        Some(hop)
    }
}

/// Addresses that are being resolved, for the driver of an [`crate::Engine`].
#[derive(Debug)]
pub struct Search {
    kernel: Option<Kernel>,
    /// The answer for every address if the kernel is not used.
    fixed: Option<Mac>,
    /// For each address: the next hop, and the time at which its lookup began.
    wanted: BTreeMap<IpAddr, (IpAddr, Instant)>,
    next: Instant,
    /// Limits lookups for hosts that have no stream with this one: the kernel keeps few entries for unanswered lookups.
    asks: Budget,
    /// Limits reads of the kernel's tables for such hosts: each takes some microseconds.
    glances: Budget,
}

impl Search {
    /// Creates an empty search. Its sockets are opened in the network namespace of the calling thread.
    ///
    /// # Errors
    /// If there is no such interface, or the kernel does not show its tables.
    pub fn new(source: Neighbours) -> Result<Self, StreamError> {
        let open = |interface: String| {
            Kernel::open(&interface)
                .map_err(|error| StreamError::Options(format!("cannot ask for Ethernet addresses: {error}")))
        };
        let (kernel, fixed) = match source {
            Neighbours::NotNeeded => (None, Some(Mac::default())),
            Neighbours::Given => (None, None),
            Neighbours::Kernel(interface) => (Some(open(interface)?), None),
        };
        Ok(Self {
            kernel,
            fixed,
            wanted: BTreeMap::new(),
            next: Instant::NEVER,
            asks: Budget::new(ASKS),
            glances: Budget::new(GLANCES),
        })
    }

    /// Time of the next poll; [`Instant::NEVER`]: no lookup is under way.
    #[must_use]
    pub fn due(&self) -> Instant {
        if self.wanted.is_empty() { Instant::NEVER } else { self.next }
    }

    /// Returns the Ethernet address of `address` if it is known already. A host that sends to this one has resolved this
    /// host's address first, and so the kernel usually knows its address too; some others are resolved through the network,
    /// so that they are known when they come again.
    pub fn glance(&mut self, now: Instant, address: IpAddr) -> Option<Mac> {
        let Some(kernel) = &mut self.kernel else { return self.fixed };
        // A genuine host that is skipped during a flood repeats its request within milliseconds.
        if !self.glances.take(now) {
            return None;
        }
        let hop = kernel.tables.next_hop(address).ok()??;
        match kernel.tables.neighbour(hop) {
            Ok(Neighbour::Known(mac)) => Some(mac),
            _ => {
                if self.asks.take(now) {
                    kernel.ask(address);
                }
                None
            }
        }
    }

    /// Starts a lookup of `address`. Some: the answer without a lookup; its `None`: there is no next hop.
    pub fn begin(&mut self, now: Instant, address: IpAddr) -> Option<Option<Mac>> {
        let Some(kernel) = &mut self.kernel else { return Some(self.fixed) };
        let Some(hop) = kernel.ask(address) else { return Some(None) };
        self.wanted.insert(address, (hop, now));
        self.next = now;
        None
    }

    /// Polls the lookups. Returns those that have succeeded or timed out.
    pub fn look(&mut self, now: Instant) -> Vec<(IpAddr, Option<Mac>)> {
        let Some(kernel) = &mut self.kernel else { return Vec::new() };
        self.next = now + INTERVAL;
        let mut found = Vec::new();
        self.wanted.retain(|address, (hop, since)| {
            let answer = match kernel.tables.neighbour(*hop).unwrap_or(Neighbour::Unknown) {
                Neighbour::Known(mac) => Some(mac),
                Neighbour::Asked => return true,
                Neighbour::Unknown if now.since(*since) < PATIENCE => return true,
                Neighbour::Unknown | Neighbour::Silent => None,
            };
            found.push((*address, answer));
            false
        });
        found
    }
}
