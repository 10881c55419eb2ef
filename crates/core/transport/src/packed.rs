use crate::conn_id::ConnId;
use crate::hop::Hop;
use pullnet_units::PacketSeq;

mod sealed {
    /// Limits [`super::Words`] to the sizes below.
    pub trait Sealed {}
}

/// The words of a packed header. There are three sizes, so that a simulated packet fills half a cache line, one, or
/// two. This limits the engine to three compilations for any number of protocols.
pub trait Words: sealed::Sealed + Copy + Default + Eq + core::fmt::Debug + Send + Sync + 'static {
    /// Number of words.
    const COUNT: usize;

    /// The words.
    fn get(&self) -> &[u32];
    /// The words, mutable: switches write into headers of some protocols.
    fn get_mut(&mut self) -> &mut [u32];
}

macro_rules! sizes {
    ($($count:literal),+) => {$(
        impl sealed::Sealed for [u32; $count] {}

        impl Words for [u32; $count] {
            const COUNT: usize = $count;

            #[inline(always)]
            fn get(&self) -> &[u32] {
                self
            }

            #[inline(always)]
            fn get_mut(&mut self) -> &mut [u32] {
                self
            }
        }
    )+};
}

sizes!(3, 11, 27);

/// The smallest size: a simulated packet of 32 bytes.
pub type Small = [u32; 3];
/// A simulated packet of 64 bytes.
pub type Medium = [u32; 11];
/// A simulated packet of 128 bytes.
pub type Large = [u32; 27];

/// A header in the form in which a simulated packet carries it: a kind, flags, and words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Packed<W> {
    /// Packet type in the low nibble (an index into [`Header::KINDS`]), flags of the protocol's own in the high nibble.
    pub kind: u8,
    /// The remaining fields.
    pub words: W,
}

/// `bit` if `set`, otherwise 0: a flag beside the packet type in [`Packed::kind`].
#[inline]
pub const fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

/// The identity of a data packet: its connection, its number, and whether it is the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// The sender's connection.
    pub conn: ConnId,
    /// Packet number, from 0 within the connection.
    pub seq: u32,
    /// The last packet of the flow.
    pub last: bool,
}

/// Flag of the last packet, beside the packet type.
const LAST: u8 = 0x10;

impl DataPacket {
    /// Packs it as packet type `kind`: connection and number are the first two words.
    #[inline]
    pub fn pack<W: Words>(self, kind: u8) -> Packed<W> {
        let mut words = W::default();
        words.get_mut()[..2].copy_from_slice(&[self.conn.get(), self.seq]);
        Packed { kind: kind | flag(self.last, LAST), words }
    }

    /// The inverse of [`DataPacket::pack`].
    #[inline]
    pub fn unpack<W: Words>(packed: &Packed<W>) -> Self {
        let words = packed.words.get();
        Self { conn: ConnId::new(words[0]), seq: words[1], last: packed.kind & LAST != 0 }
    }

    /// As [`Header::concerns`].
    #[inline]
    pub fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some((self.conn, Some(PacketSeq::new(self.seq))))
    }
}

/// An acknowledgement of all packets below a number, and of the packet that it answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CumulativeAck {
    /// The sender's connection.
    pub conn: ConnId,
    /// Every packet below this number has arrived.
    pub cumulative: u32,
    /// The data packet that this ACK answers; `None` for the answer to a packet without payload.
    pub answers: Option<u32>,
    /// The whole flow has arrived.
    pub finished: bool,
}

/// Flags of a [`CumulativeAck`].
const ANSWERS: u8 = 0x10;
const FINISHED: u8 = 0x20;

impl CumulativeAck {
    /// The ACK of a flow that has ended. Its sender needs no count of packets.
    #[inline]
    pub const fn ended(conn: ConnId, answers: Option<u32>) -> Self {
        Self { conn, cumulative: 0, answers, finished: true }
    }

    /// Packs it as packet type `kind`, into the first three words.
    #[inline]
    pub fn pack<W: Words>(self, kind: u8) -> Packed<W> {
        let mut words = W::default();
        let answers = self.answers.unwrap_or(0);
        words.get_mut()[..3].copy_from_slice(&[self.conn.get(), self.cumulative, answers]);
        let flags = flag(self.answers.is_some(), ANSWERS) | flag(self.finished, FINISHED);
        Packed { kind: kind | flags, words }
    }

    /// The inverse of [`CumulativeAck::pack`].
    #[inline]
    pub fn unpack<W: Words>(packed: &Packed<W>) -> Self {
        let (kind, words) = (packed.kind, packed.words.get());
        Self {
            conn: ConnId::new(words[0]),
            cumulative: words[1],
            answers: (kind & ANSWERS != 0).then_some(words[2]),
            finished: kind & FINISHED != 0,
        }
    }

    /// As [`Header::concerns`].
    #[inline]
    pub fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some((self.conn, self.answers.map(PacketSeq::new)))
    }
}

/// Header fields for switches that order packets by flow, beside the fields common to all packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HopView {
    /// The connection; with the host that the packet comes from, its flow.
    pub conn: ConnId,
    /// A smaller number is more urgent, such as the packets that the flow has left.
    pub rank: u32,
}

/// A protocol's header: a value that cannot hold invalid combinations.
pub trait Header: Copy + core::fmt::Debug {
    /// Names of the packet types, in the order of [`Packed::kind`]'s low nibble; at most 16.
    const KINDS: &'static [&'static str];
    /// Size of the packed form: [`Small`], [`Medium`] or [`Large`].
    type Words: Words;

    /// Returns the packed form.
    fn pack(self) -> Packed<Self::Words>;
    /// Reads the packed form. `unpack(pack(h)) == h` for every header.
    fn unpack(packed: Packed<Self::Words>) -> Self;

    /// The connection of the packet, and the number of a data packet. The number is given if a sender's timer runs for
    /// that data packet until its answer arrives, for the packet itself and for its answers. Drivers use it to explain
    /// timeouts by lost packets; with `None` a timeout stays unexplained.
    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        None
    }

    /// Header fields for switches that order packets by flow. `None`: the protocol states no rank, and its packets are
    /// served in order of arrival.
    fn hop_view(self) -> Option<HopView> {
        None
    }

    /// The packet leaves by `hop`, a port of a switch that writes into headers: asks it, and returns the header with what it
    /// answered. `None`: nothing is changed. Only what the port wrote may be changed, and not the packet's length.
    fn at_hop(self, _hop: &mut dyn Hop) -> Option<Self> {
        None
    }
}
