//! Other hosts, by the numbers that the transport knows them by.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};
use pullnet_wire::Mac;

/// Most hosts that are remembered.
const MOST: usize = 65_536;
/// A host from which nothing came for so long may be forgotten if there are too many: all its sessions have ended.
const FORGOTTEN: Picos = Picos::from_secs(60);
/// Number of the first group.
const GROUPS: u32 = 1 << 23;

/// Another host, or a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    pub address: SocketAddr,
    pub mac: Mac,
    heard: Instant,
}

/// All of them.
#[derive(Default, Debug)]
pub(crate) struct Peers {
    hosts: Vec<Peer>,
    groups: Vec<Peer>,
    numbers: BTreeMap<SocketAddr, HostAddr>,
}

impl Peers {
    /// Number of the host at `address`, whose frames come from `mac`; `None` if there are too many hosts.
    pub fn host(&mut self, now: Instant, address: SocketAddr, mac: Mac) -> Option<HostAddr> {
        if let Some(number) = self.numbers.get(&address) {
            let peer = self.hosts.get_mut(number.0 as usize)?;
            (peer.mac, peer.heard) = (mac, now);
            return Some(*number);
        }
        let peer = Peer { address, mac, heard: now };
        let index = if self.hosts.len() < MOST {
            self.hosts.push(peer);
            self.hosts.len() - 1
        } else {
            let old = |peer: &Peer| now.since(peer.heard) > FORGOTTEN;
            let index = self.hosts.iter().position(old)?;
            self.numbers.remove(&self.hosts[index].address);
            self.hosts[index] = peer;
            index
        };
        self.numbers.insert(address, HostAddr(index as u32));
        Some(HostAddr(index as u32))
    }

    /// Number of a multicast group.
    pub fn group(&mut self, group: Ipv4Addr, port: u16) -> HostAddr {
        let address = SocketAddr::from((group, port));
        if let Some(number) = self.numbers.get(&address) {
            return *number;
        }
        let number = HostAddr(GROUPS + self.groups.len() as u32);
        self.groups.push(Peer { address, mac: Mac::of_group(group), heard: Instant::ZERO });
        self.numbers.insert(address, number);
        number
    }

    pub fn number(&self, address: SocketAddr) -> Option<HostAddr> {
        self.numbers.get(&address).copied()
    }

    /// Whether a number is that of a host, not of a group.
    pub fn is_host(&self, number: HostAddr) -> bool {
        number.0 < GROUPS
    }

    pub fn get(&self, number: HostAddr) -> Option<&Peer> {
        match number.0.checked_sub(GROUPS) {
            Some(group) => self.groups.get(group as usize),
            None => self.hosts.get(number.0 as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_keep_their_numbers_and_old_ones_give_way() {
        let mut peers = Peers::default();
        let at = |n: u32| SocketAddr::from((Ipv4Addr::from(n), 1));
        let mac = Mac([2, 0, 0, 0, 0, 1]);
        for n in 0..MOST as u32 {
            assert_eq!(peers.host(Instant(u64::from(n)), at(n), mac), Some(HostAddr(n)));
        }
        assert_eq!(peers.host(Instant(0), at(1 << 20), mac), None, "full");
        let later = Instant::ZERO.after(FORGOTTEN).after(Picos(1));
        assert_eq!(peers.host(later, at(7), mac), Some(HostAddr(7)));
        assert_eq!(peers.host(later, at(1 << 20), mac), Some(HostAddr(0)), "the oldest");
        assert_eq!(peers.number(at(0)), None);
    }

    #[test]
    fn a_group_has_one_number_and_its_own_ethernet_address() {
        let mut peers = Peers::default();
        let number = peers.group(Ipv4Addr::new(239, 1, 0, 1), 9);
        assert_eq!(peers.group(Ipv4Addr::new(239, 1, 0, 1), 9), number);
        assert_eq!(peers.get(number).map(|peer| peer.mac), Some(Mac([1, 0, 0x5e, 1, 0, 1])));
    }
}
