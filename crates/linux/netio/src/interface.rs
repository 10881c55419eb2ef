use pullnet_wire::{ETHERNET, Mac};

use crate::{Error, sys};

/// A network interface of this namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
    /// Its Ethernet address.
    pub mac: Mac,
    /// Longest IP packet, bytes.
    pub mtu: usize,
}

impl Interface {
    /// The interface `name` of the network namespace that the calling thread is in.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(name: &str) -> Result<Self, Error> {
        Ok(Self {
            name: name.to_string(),
            index: sys::interface_index(name)?,
            mac: Mac(sys::interface_mac(name)?),
            mtu: sys::interface_mtu(name)?,
        })
    }

    /// Longest frame: the MTU, the Ethernet header and a VLAN tag. Bytes.
    #[must_use]
    pub fn frame_room(&self) -> usize {
        self.mtu + ETHERNET + 4
    }
}
