/// What could not be read of a capture. All counts are exact but [`Losses::records`].
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Losses {
    /// Bytes of the content (uncompressed) that belong to no record that was understood.
    pub skipped: u64,
    /// Records that are known to be lost; in skipped bytes there may be more.
    pub records: u64,
    /// Packet blocks without a time (pcapng's simple packet blocks).
    pub without_time: u64,
    /// Packet blocks of an interface that was not described.
    pub without_interface: u64,
    /// Packets that the capture itself says it missed.
    pub missed: u64,
    /// Packets that the capture holds more bytes of than it says they had; counted with what it holds.
    pub longer_than_wire: u64,
    /// Places of damage.
    pub places: u64,
    /// The first places, at most [`Losses::LISTED`].
    pub damage: Vec<Damage>,
}

/// A place of damage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// What is wrong there.
    pub kind: DamageKind,
    /// Where, in the content (uncompressed). Unit: bytes.
    pub offset: u64,
    /// Bytes from there that were skipped.
    pub skipped: u64,
}

/// What is wrong with a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DamageKind {
    /// The content ends within a record.
    Truncated,
    /// A record that cannot be one: lengths or times that make no sense.
    Record,
    /// A pcapng block whose length at the end differs from that at its beginning.
    Lengths,
    /// The compressed stream is damaged, or cannot be read any more, from here on.
    Stream {
        /// What the decoder or the system says.
        reason: String,
        /// Bytes of the file, as it is stored, that were not used.
        unread: u64,
    },
}

impl Losses {
    /// How many places are kept.
    pub const LISTED: usize = 16;

    /// Whether anything could not be read.
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
