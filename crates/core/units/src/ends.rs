/// A host's address as the network knows it. Opaque to a transport.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostAddr(pub u32);

/// Which end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The host that opened the flow.
    Sender,
    /// The host that the data goes to.
    Receiver,
}
