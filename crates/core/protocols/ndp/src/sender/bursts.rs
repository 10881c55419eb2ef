//! How many new packets in a row take one path.

/// Packets that arrive whole in a row before bursts become twice as long.
const DOUBLED_AFTER: u16 = 256;
/// Most doublings: bursts of 64 packets.
const MAX_DOUBLINGS: u16 = 6;

/// Length of a sender's bursts. It doubles as long as packets arrive whole. After a packet that was trimmed, returned or lost it is
/// one again: some queue was full, and queues fill evenly if every packet takes a path of its own.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Bursts {
    /// Packets that arrived whole since the last one that did not.
    whole: u16,
    /// Packets that are still to follow in the present burst.
    left: u8,
}

impl Bursts {
    /// Notes whether a packet arrived whole.
    #[inline]
    pub fn note(&mut self, whole: bool) {
        if whole {
            self.whole = self.whole.saturating_add(1);
        } else {
            *self = Self::default();
        }
    }

    /// Whether the next packet belongs to the present burst.
    #[inline]
    pub fn goes_on(&mut self) -> bool {
        let goes_on = self.left > 0;
        self.left -= u8::from(goes_on);
        goes_on
    }

    /// Begins a burst of at most `longest` packets, 1 to 64.
    #[inline]
    pub fn begin(&mut self, longest: u32) {
        let length = 1 << (self.whole / DOUBLED_AFTER).min(MAX_DOUBLINGS);
        self.left = (longest.min(length) - 1) as u8;
    }
}
