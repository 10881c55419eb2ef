//! Next hops and their Ethernet addresses from the kernel, over rtnetlink (Linux 5.0 or later).
//!
//! Two queries, each with one answer of about forty bytes: a library for all of rtnetlink would be larger than this crate,
//! and would need an async runtime.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;

use pullnet_wire::Mac;

use crate::error::Error;
use crate::interface::Interface;
use crate::sys;

/// The kernel's routes and neighbours on one interface. Queries go to the network namespace of the thread that opened it,
/// also from other threads.
#[derive(Debug)]
pub struct Netlink {
    socket: File,
    interface: u32,
    sequence: u32,
}

/// State of a neighbour in the kernel's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbour {
    /// Its Ethernet address.
    Known(Mac),
    /// The kernel is resolving the address.
    Asked,
    /// Resolution failed: the neighbour did not answer.
    Silent,
    /// No entry: the address was never resolved.
    Unknown,
}

/// Upper limit for an answer; the kernel's are shorter. Bytes.
const LONGEST: usize = 8192;
/// Length of a netlink header, and of the fixed part after it in both kinds of messages. Bytes.
const HEADER: usize = 16;
const BODY: usize = 12;

const REQUEST: u16 = 1;
/// The type of a request minus this is the type of its answer.
const ANSWER: u16 = 2;

/// `RTM_GETNEIGH` and its attributes: the address, and the Ethernet address.
const GET_NEIGHBOUR: u16 = 30;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// States (NUD) in which a neighbour's Ethernet address may be used: permanent, noarp, probe, delay, stale, reachable.
const USABLE: u16 = 0x80 | 0x40 | 0x10 | 0x08 | 0x04 | 0x02;
/// States (NUD) during a resolution and after a failed one: incomplete, failed.
const ASKED: u16 = 0x01;
const SILENT: u16 = 0x20;

/// `RTM_GETROUTE` and its attributes: destination, interface, gateway, gateway of the other address family.
const GET_ROUTE: u16 = 26;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_VIA: u16 = 18;
/// A route to another host.
const UNICAST: u8 = 1;

impl Netlink {
    /// Opens a socket for queries about `interface` in the calling thread's network namespace.
    ///
    /// # Errors
    /// If the interface does not exist, or the kernel has no rtnetlink.
    pub fn open(interface: &Interface) -> Result<Self, Error> {
        let what = "cannot ask the kernel for routes and neighbours";
        let socket = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE, what)?;
        // The kernel answers during the write, so the answer is ready afterwards. The timeout only guards against a missing
        // answer.
        let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &second, what)?;
        Ok(Self { socket: socket.into(), interface: interface.index, sequence: 0 })
    }

    /// Returns the next hop to `to` through the interface: `to` itself if it is on the same network; `None` if there is no
    /// route.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn next_hop(&mut self, to: IpAddr) -> io::Result<Option<IpAddr>> {
        let (family, bytes) = of_address(to);
        let mut body = [0; BODY];
        (body[0], body[1]) = (family, 8 * bytes.len() as u8);
        let interface = self.interface.to_ne_bytes();
        let answer = self.ask(GET_ROUTE, &body, &[(RTA_DST, &bytes), (RTA_OIF, &interface)])?;
        Ok(answer.and_then(|answer| hop(&answer, to)))
    }

    /// Looks up `hop` in the kernel's neighbour table.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn neighbour(&mut self, hop: IpAddr) -> io::Result<Neighbour> {
        let (family, bytes) = of_address(hop);
        let mut body = [0; BODY];
        body[0] = family;
        body[4..8].copy_from_slice(&self.interface.to_ne_bytes());
        let answer = self.ask(GET_NEIGHBOUR, &body, &[(NDA_DST, &bytes)])?;
        Ok(answer.and_then(|answer| known(&answer)).unwrap_or(Neighbour::Unknown))
    }

    /// Returns the answer without its header; `None` if the kernel has no such entry.
    fn ask(
        &mut self,
        question: u16,
        body: &[u8],
        attributes: &[(u16, &[u8])],
    ) -> io::Result<Option<Vec<u8>>> {
        self.sequence = self.sequence.wrapping_add(1);
        let message = message(question, self.sequence, body, attributes);
        self.socket.write_all(&message)?;
        let mut room = [0; LONGEST];
        loop {
            let long = self.socket.read(&mut room)?;
            if let Some((kind, body)) = answer(&room[..long], self.sequence) {
                return Ok((kind == question - ANSWER).then(|| body.to_vec()));
            }
        }
    }
}

fn of_address(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().into()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().into()),
    }
}

/// Encodes a request to the kernel.
fn message(kind: u16, sequence: u32, body: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut message = vec![0; HEADER];
    message[4..6].copy_from_slice(&kind.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST.to_ne_bytes());
    message[8..12].copy_from_slice(&sequence.to_ne_bytes());
    message.extend_from_slice(body);
    for (name, value) in attributes {
        message.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
        message.extend_from_slice(&name.to_ne_bytes());
        message.extend_from_slice(value);
        message.resize(message.len().next_multiple_of(4), 0);
    }
    let long = message.len() as u32;
    message[..4].copy_from_slice(&long.to_ne_bytes());
    message
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Type and body of the answer to request `sequence`; `None` if the message answers another request.
fn answer(bytes: &[u8], sequence: u32) -> Option<(u16, &[u8])> {
    let end = long(bytes, 0)? as usize;
    (long(bytes, 8)? == sequence).then_some(())?;
    Some((short(bytes, 4)?, bytes.get(HEADER..end)?))
}

/// The first attribute of type `name`.
fn attribute(answer: &[u8], name: u16) -> Option<&[u8]> {
    let mut rest = answer.get(BODY..)?;
    loop {
        let end = usize::from(short(rest, 0)?);
        let value = rest.get(4..end)?;
        if short(rest, 2)? == name {
            return Some(value);
        }
        rest = rest.get(end.next_multiple_of(4)..)?;
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = || bytes.try_into().ok().map(|bytes: [u8; 4]| bytes.into());
    let sixteen = || bytes.try_into().ok().map(|bytes: [u8; 16]| bytes.into());
    four().or_else(sixteen)
}

/// Extracts the next hop to `to` from a route.
fn hop(route: &[u8], to: IpAddr) -> Option<IpAddr> {
    (*route.get(7)? == UNICAST).then_some(())?;
    // `RTA_VIA`, a gateway of the other address family: two bytes of family, then the address.
    let other = || attribute(route, RTA_VIA).and_then(|via| via.get(2..));
    attribute(route, RTA_GATEWAY).or_else(other).map_or(Some(to), address)
}

/// Parses a neighbour entry.
fn known(neighbour: &[u8]) -> Option<Neighbour> {
    match short(neighbour, 8)? {
        ASKED => Some(Neighbour::Asked),
        SILENT => Some(Neighbour::Silent),
        state if state & USABLE != 0 => {
            attribute(neighbour, NDA_LLADDR)?.try_into().ok().map(|mac| Neighbour::Known(Mac(mac)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7));

    /// Builds an answer without its header.
    fn said(body: [u8; BODY], attributes: &[(u16, &[u8])]) -> Vec<u8> {
        message(0, 0, &body, attributes).split_off(HEADER)
    }

    #[test]
    fn a_neighbour_counts_while_the_kernel_would_use_it() {
        let known_in = |state: u16| {
            let mut body = [0; BODY];
            body[8..10].copy_from_slice(&state.to_ne_bytes());
            known(&said(body, &[(NDA_DST, &[10, 0, 0, 7]), (NDA_LLADDR, &[2, 0, 0, 0, 0, 31])]))
        };
        let (incomplete, reachable, stale, failed) = (1, 2, 4, 0x20);
        let mac = Neighbour::Known(Mac([2, 0, 0, 0, 0, 31]));
        assert_eq!([reachable, stale].map(known_in), [Some(mac); 2]);
        assert_eq!([incomplete, failed].map(known_in), [Some(Neighbour::Asked), Some(Neighbour::Silent)]);
        assert_eq!(known_in(0), None);
    }

    #[test]
    fn a_route_names_its_gateway_or_the_host_itself() {
        let body = |kind: u8| std::array::from_fn(|at| if at == 7 { kind } else { 0 });
        assert_eq!(hop(&said(body(UNICAST), &[(RTA_OIF, &[1, 0, 0, 0])]), HERE), Some(HERE));
        assert_eq!(
            hop(&said(body(UNICAST), &[(RTA_GATEWAY, &[10, 0, 0, 1])]), HERE),
            Some([10, 0, 0, 1].into())
        );
        let mut via = vec![libc::AF_INET6 as u8, 0];
        via.extend_from_slice(&[0xfe; 16]);
        assert_eq!(hop(&said(body(UNICAST), &[(RTA_VIA, &via)]), HERE), Some([0xfe_u8; 16].into()));
        let unreachable = 7;
        assert_eq!(hop(&said(body(unreachable), &[]), HERE), None);
    }

    #[test]
    fn an_answer_cut_short_says_nothing() {
        let whole = message(28, 5, &[0x80; BODY], &[(NDA_DST, &[10, 0, 0, 7]), (NDA_LLADDR, &[2; 6])]);
        let mac = Some(Neighbour::Known(Mac([2; 6])));
        assert!(answer(&whole, 5).is_some_and(|(kind, body)| kind == 28 && known(body) == mac));
        assert_eq!(answer(&whole, 4), None);
        for end in 0..whole.len() - 2 {
            assert_eq!(answer(&whole[..end], 5), None);
            assert_eq!(known(whole.get(HEADER..end).unwrap_or(&[])), None, "{end}");
        }
    }

    #[test]
    fn the_kernel_routes_to_its_own_loopback_as_local() {
        let mut netlink = Netlink::open(&Interface::find("lo").unwrap()).unwrap();
        let local = "127.0.0.1".parse().unwrap();
        assert_eq!(netlink.next_hop(local).unwrap(), None, "that is no other host");
        assert_eq!(netlink.neighbour(local).unwrap(), Neighbour::Unknown);
        assert_eq!(netlink.next_hop("::1".parse().unwrap()).unwrap(), None);
    }
}
