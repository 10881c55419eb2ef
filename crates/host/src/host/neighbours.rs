//! Ethernet addresses of other hosts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use pullnet_units::{Instant, Picos};
use pullnet_wire::Mac;

use crate::StreamError;

/// Where the Ethernet addresses of other hosts come from, beside [`crate::EngineOptions::neighbours`] and the frames that
/// arrive.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Neighbours {
    /// The backend writes Ethernet headers itself, as UDP sockets do: none are needed.
    #[default]
    NotNeeded,
    /// Only what is given or has been learnt.
    Given,
    /// The kernel is asked: its routes and its ARP table, for IPv4, on the interface of this name, in the network namespace
    /// of the thread that starts the host.
    Kernel(String),
}

/// Times between two looks at the kernel's table, and how long it is waited for.
const INTERVAL: Picos = Picos::from_millis(1);
const PATIENCE: Picos = Picos::from_secs(2);
/// The discard service: what is sent there makes the kernel ask for the Ethernet address.
const DISCARD: u16 = 9;

/// The kernel's tables, and a socket that makes it ask. All belong to the network namespace in which the host was started,
/// whichever thread reads them.
#[derive(Debug)]
struct Kernel {
    interface: String,
    routes: File,
    arp: File,
    socket: UdpSocket,
}

impl Kernel {
    fn open(interface: String) -> io::Result<Self> {
        Ok(Self {
            interface,
            routes: File::open("/proc/thread-self/net/route")?,
            arp: File::open("/proc/thread-self/net/arp")?,
            socket: UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        })
    }

    /// The next hop to `to`. The kernel begins to look for its Ethernet address; nobody there has to listen.
    fn ask(&mut self, to: Ipv4Addr) -> Option<Ipv4Addr> {
        let hop = next_hop(&read(&mut self.routes).ok()?, &self.interface, to)?;
        // That nothing can be sent shows by the address not being found.
        drop(self.socket.send_to(&[0], (hop, DISCARD)));
        Some(hop)
    }
}

/// Everything in a file that may have changed since it was read.
fn read(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Addresses that are being looked for, for whoever drives an [`crate::Engine`].
#[derive(Debug)]
pub struct Search {
    kernel: Option<Kernel>,
    /// The answer for every address if the kernel is not asked.
    fixed: Option<Mac>,
    /// What is looked for: the next hop, and since when.
    wanted: BTreeMap<IpAddr, (Ipv4Addr, Instant)>,
    next: Instant,
}

impl Search {
    /// Nothing is looked for yet. What is needed is opened in the network namespace of the calling thread.
    ///
    /// # Errors
    /// If the kernel does not show its tables.
    pub fn new(source: Neighbours) -> Result<Self, StreamError> {
        let open = |interface| {
            Kernel::open(interface)
                .map_err(|error| StreamError::Options(format!("cannot ask for Ethernet addresses: {error}")))
        };
        let (kernel, fixed) = match source {
            Neighbours::NotNeeded => (None, Some(Mac::default())),
            Neighbours::Given => (None, None),
            Neighbours::Kernel(interface) => (Some(open(interface)?), None),
        };
        Ok(Self { kernel, fixed, wanted: BTreeMap::new(), next: Instant::NEVER })
    }

    /// When to go on; [`Instant::NEVER`]: nothing is looked for.
    #[must_use]
    pub fn due(&self) -> Instant {
        if self.wanted.is_empty() { Instant::NEVER } else { self.next }
    }

    /// Begins to look for `address`. Some: that is the answer.
    pub fn begin(&mut self, now: Instant, address: IpAddr) -> Option<Option<Mac>> {
        let Some(kernel) = &mut self.kernel else { return Some(self.fixed) };
        let IpAddr::V4(to) = address else { return Some(None) };
        let Some(hop) = kernel.ask(to) else { return Some(None) };
        self.wanted.insert(address, (hop, now));
        self.next = now;
        None
    }

    /// Looks whether anything was found, or has been looked for long enough.
    pub fn look(&mut self, now: Instant) -> Vec<(IpAddr, Option<Mac>)> {
        let Some(kernel) = &mut self.kernel else { return Vec::new() };
        self.next = now + INTERVAL;
        let table = read(&mut kernel.arp).unwrap_or_default();
        let mut found = Vec::new();
        self.wanted.retain(|address, (hop, since)| {
            let mac = entry(&table, &kernel.interface, *hop);
            let goes_on = mac.is_none() && now.since(*since) < PATIENCE;
            if !goes_on {
                found.push((*address, mac));
            }
            goes_on
        });
        found
    }
}

/// An address as `/proc/net/route` writes it: as a number in the processor's order.
fn route_number(text: &str) -> Option<u32> {
    Some(u32::from_str_radix(text, 16).ok()?.swap_bytes())
}

/// The next hop to `to` by `/proc/net/route`: the most specific route of the interface.
fn next_hop(routes: &str, interface: &str, to: Ipv4Addr) -> Option<Ipv4Addr> {
    let route = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [name, destination, gateway, .., mask] = *fields.get(..8)? else { return None };
        let [destination, gateway, mask] =
            [route_number(destination)?, route_number(gateway)?, route_number(mask)?];
        (name == interface && u32::from(to) & mask == destination).then_some((mask, gateway))
    };
    let (_, gateway) = routes.lines().skip(1).filter_map(route).max_by_key(|(mask, _)| *mask)?;
    Some(if gateway == 0 { to } else { Ipv4Addr::from(gateway) })
}

/// The Ethernet address of `hop` by `/proc/net/arp`, if the kernel holds it for good.
fn entry(table: &str, interface: &str, hop: Ipv4Addr) -> Option<Mac> {
    let complete = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        matches!(*fields, [address, _, flags, _, _, device]
            if address.parse() == Ok(hop) && flags != "0x0" && device == interface)
    };
    let line = table.lines().find(complete)?;
    let mut bytes = line.split_whitespace().nth(3)?.split(':').map(|byte| u8::from_str_radix(byte, 16));
    let mut mac = [0; 6];
    for byte in &mut mac {
        *byte = bytes.next()?.ok()?;
    }
    Some(Mac(mac))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth1\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
";
    const ARP: &str = "\
IP address       HW type     Flags       HW address            Mask     Device
10.0.0.7         0x1         0x2         02:00:00:00:00:1f     *        eth0
10.0.0.8         0x1         0x0         00:00:00:00:00:00     *        eth0
";

    #[test]
    fn the_most_specific_route_names_the_next_hop() {
        let hop = |interface, to: [u8; 4]| next_hop(ROUTES, interface, to.into());
        assert_eq!(hop("eth0", [10, 0, 0, 7]), Some([10, 0, 0, 7].into()));
        assert_eq!(hop("eth0", [192, 0, 2, 1]), Some([10, 0, 0, 1].into()));
        assert_eq!(hop("eth1", [192, 0, 2, 1]), None);
    }

    #[test]
    fn an_entry_counts_when_it_is_complete() {
        assert_eq!(entry(ARP, "eth0", [10, 0, 0, 7].into()), Some(Mac([2, 0, 0, 0, 0, 0x1f])));
        assert_eq!(entry(ARP, "eth1", [10, 0, 0, 7].into()), None);
        assert_eq!(entry(ARP, "eth0", [10, 0, 0, 8].into()), None);
    }
}
