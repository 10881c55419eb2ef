use std::net::Ipv4Addr;

use pullnet_transport::Hop;

/// What a frame is to a switch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Kind {
    /// Carries payload that a switch may cut.
    Data,
    /// An ACK, NACK, PULL or the like.
    Control,
    /// What a switch left of data.
    Header,
    /// The same on its way back to its sender.
    Returned,
    /// A frame of another protocol, which has to stay whole.
    #[default]
    Foreign,
}

/// What a switch reads of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Class {
    /// What it is.
    pub kind: Kind,
    /// The least bytes that a trim has to leave, from the first byte of the frame; of data only.
    pub headers: u16,
    /// The path that the sender chose; `None` if its protocol has no such field.
    pub label: Option<u16>,
    /// A hash of what makes a flow: addresses and ports, without the path.
    pub flow: u64,
    /// Whether it may be marked: the ECN field of its IP header says that the transport is capable (RFC 3168).
    pub ect: bool,
    /// Priority, 0 to 7: the class selector in the DSCP of its IP header; 0 where there is none.
    pub priority: u8,
    /// IPv4 destination, for routes by prefix; `None` in other protocols.
    pub to: Option<Ipv4Addr>,
}

/// The one place where a switch reads and rewrites the bytes of a protocol.
pub trait Codec {
    /// What `frame` is. Anything that is not well formed is [`Kind::Foreign`].
    fn classify(&self, frame: &[u8]) -> Class;
    /// Cuts a data frame to its first `keep` bytes, at least [`Class::headers`] of them, and makes it a header: the
    /// lengths and checksums are right again, and it says that it was trimmed.
    fn trim(&self, frame: &mut Vec<u8>, keep: usize);
    /// Marks that there was congestion, if whoever sent the frame can be told so (ECN). Whether it is marked now.
    fn mark(&self, frame: &mut [u8]) -> bool;
    /// Turns a header round to its sender, on every layer, and makes it say so.
    fn turn_round(&self, frame: &mut [u8]);
    /// Lets a frame that leaves ask `hop`, and writes the answers into it: the checks are right again.
    fn at_hop(&self, _frame: &mut [u8], _hop: &mut dyn Hop) {}
}
