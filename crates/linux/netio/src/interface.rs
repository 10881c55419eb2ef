use std::net::IpAddr;

use pullnet_wire::{ETHERNET, Mac};

use crate::error::Error;
use crate::sys;

/// A network interface of this namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's index of the interface.
    pub index: u32,
    /// Its Ethernet address.
    pub mac: Mac,
    /// Longest IP packet, bytes.
    pub mtu: usize,
}

impl Interface {
    /// Looks up the interface `name` in the calling thread's network namespace.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn find(name: &str) -> Result<Self, Error> {
        Ok(Self {
            name: name.to_string(),
            index: sys::interface_index(name)?,
            mac: Mac(sys::interface_mac(name)?),
            mtu: sys::interface_mtu(name)?,
        })
    }

    /// Names of the interfaces of this namespace that have `address`.
    ///
    /// # Errors
    /// If the kernel does not list them.
    pub fn with_address(address: IpAddr) -> Result<Vec<String>, Error> {
        sys::interfaces_with(address)
    }

    /// Longest frame: the MTU, the Ethernet header and a VLAN tag. Bytes.
    #[must_use]
    pub fn frame_room(&self) -> usize {
        self.mtu + ETHERNET + 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_at_its_interface() {
        let of = |text: &str| Interface::with_address(text.parse().unwrap()).unwrap();
        assert_eq!(of("127.0.0.1"), ["lo"]);
        assert_eq!(of("192.0.2.77"), [] as [&str; 0]);
    }
}
