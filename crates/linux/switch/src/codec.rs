use std::net::Ipv4Addr;

use pullnet_transport::Hop;

/// Kind of a frame for a switch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Kind {
    /// Carries payload that a switch may trim.
    Data,
    /// ACK, NACK, PULL or another control packet.
    Control,
    /// The header of a trimmed data frame.
    Header,
    /// A header that was returned to its sender.
    Returned,
    /// A frame of another protocol, which must not be trimmed.
    #[default]
    Foreign,
}

/// Properties of a frame that a switch reads from its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Class {
    /// The kind of frame.
    pub kind: Kind,
    /// Fewest bytes that a trim must keep, from the first byte of the frame; for data only.
    pub headers: u16,
    /// Path chosen by the sender; `None` if its protocol has no such field.
    pub label: Option<u16>,
    /// Hash of the flow's addresses and ports, without the path.
    pub flow: u64,
    /// Whether the frame may be marked: the ECN field of its IP header declares an ECN-capable transport (RFC 3168).
    pub ect: bool,
    /// Priority, 0 to 7: the class selector in the DSCP of the IP header; 0 without an IP header.
    pub priority: u8,
    /// IPv4 destination, for prefix routes; `None` for other protocols.
    pub to: Option<Ipv4Addr>,
}

/// Reads and rewrites the headers of a protocol. The rest of the switch does not depend on header formats.
pub trait Codec {
    /// Classifies `frame`. Malformed frames are [`Kind::Foreign`].
    fn classify(&self, frame: &[u8]) -> Class;
    /// Cuts a data frame to its first `keep` bytes, at least [`Class::headers`], and turns it into a header: corrects
    /// lengths and checksums, and marks it as trimmed.
    fn trim(&self, frame: &mut Vec<u8>, keep: usize);
    /// Sets the congestion mark (ECN) if the transport of the frame supports it. Returns whether the frame is now marked.
    fn mark(&self, frame: &mut [u8]) -> bool;
    /// Turns a header round to its sender, on every layer, and makes it say so.
    fn turn_round(&self, frame: &mut [u8]);
    /// Lets a frame that leaves ask `hop`, and writes the answers into it: the checks are right again.
    fn at_hop(&self, _frame: &mut [u8], _hop: &mut dyn Hop) {}
}
