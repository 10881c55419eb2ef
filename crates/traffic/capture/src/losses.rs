/// Unreadable parts of a capture. All counts are exact except [`Losses::records`].
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Losses {
    /// Bytes of the content (uncompressed) outside of every parsed record.
    pub skipped: u64,
    /// Records known to be lost; skipped bytes may contain more.
    pub records: u64,
    /// Packet blocks without a time (pcapng's simple packet blocks).
    pub without_time: u64,
    /// Packet blocks of an interface that was not described.
    pub without_interface: u64,
    /// Packets missed by the capture according to its own counters.
    pub missed: u64,
    /// Packets with more captured bytes than their stated length; counted with the captured length.
    pub longer_than_wire: u64,
    /// Number of damaged places.
    pub places: u64,
    /// The first places, at most [`Losses::LISTED`].
    pub damage: Vec<Damage>,
}

/// A damaged place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Kind of damage.
    pub kind: DamageKind,
    /// Offset of the damage in the content (uncompressed). Unit: bytes.
    pub offset: u64,
    /// Number of bytes skipped from that offset.
    pub skipped: u64,
}

/// Kinds of damage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DamageKind {
    /// The content ends within a record.
    Truncated,
    /// An impossible record: its lengths or times are implausible.
    Record,
    /// A pcapng block whose two length fields differ.
    Lengths,
    /// The compressed stream is damaged or unreadable from here on.
    Stream {
        /// The decoder's or the operating system's error.
        reason: String,
        /// Unused bytes of the stored file.
        unread: u64,
    },
}

impl Losses {
    /// Most damaged places that are listed.
    pub const LISTED: usize = 16;

    /// Whether any part was unreadable.
    pub fn any(&self) -> bool {
        self.places > 0 || self.without_time > 0 || self.without_interface > 0
    }

    pub(crate) fn at(&mut self, kind: DamageKind, offset: u64, skipped: u64) {
        self.places += 1;
        self.skipped += skipped;
        if self.damage.len() < Self::LISTED {
            self.damage.push(Damage { kind, offset, skipped });
        }
    }
}
