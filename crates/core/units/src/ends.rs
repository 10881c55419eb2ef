/// A host's address as the network knows it. Opaque to a transport.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostAddr(pub u32);

impl HostAddr {
    /// Number of addresses for groups of hosts: the upper half of the 24 bits that packets have for an address.
    pub const GROUPS: u32 = 1 << 23;

    /// The address of group `number`, to whose receivers switches copy packets; `None` if there is none.
    pub fn group(number: u32) -> Option<Self> {
        (number < Self::GROUPS).then_some(Self(Self::GROUPS | number))
    }

    /// The number of the group, in a network in which hosts have none of these addresses.
    pub fn group_number(self) -> Option<u32> {
        (self.0 >> 23 == 1).then_some(self.0 & (Self::GROUPS - 1))
    }
}

/// Which end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The host that opened the flow.
    Sender,
    /// The host that the data goes to.
    Receiver,
}
