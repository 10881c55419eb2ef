use crate::ConnId;

/// A header in the form in which a simulated packet carries it: a kind and three words.
///
/// A kind's low nibble is the packet type (an index into [`Header::KINDS`]); its high nibble is free for flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Packed {
    /// Packet type and flags.
    pub kind: u8,
    /// Everything else.
    pub words: [u32; 3],
}

/// A protocol's header: a value in which nonsense cannot be written.
pub trait Header: Copy + core::fmt::Debug {
    /// Names of the packet types, in the order of [`Packed::kind`]'s low nibble; at most 16.
    const KINDS: &'static [&'static str];

    /// Into the compact form.
    fn pack(self) -> Packed;
    /// From the compact form. `unpack(pack(h)) == h` for every header.
    fn unpack(packed: Packed) -> Self;

    /// The connection that it belongs to, and the data packet that it is or answers if a sender's timer runs for that
    /// one until the answer is there. By this a driver finds out which lost packet explains which timeout; none does
    /// where a protocol says nothing.
    fn concerns(self) -> Option<(ConnId, Option<u32>)> {
        None
    }
}
