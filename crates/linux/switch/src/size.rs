use pullnet_settings::choice;

choice! {
    /// Which bytes a frame occupies on the emulated link.
    pub enum Counting {
        /// The frame from destination address to payload.
        Frame = "frame",
        /// Padded to the minimum Ethernet frame, with check sequence: at least 64 B.
        Padded = "padded",
        /// All bytes on the line, including preamble (8 B) and inter-frame gap (12 B): at least 84 B.
        Line = "line",
    }
}

/// The shortest Ethernet frame without its check sequence (IEEE 802.3, 64 B less 4 B).
const SHORTEST: u32 = 60;

impl Counting {
    /// Bytes counted for a frame of `length` bytes without check sequence.
    #[inline]
    pub fn wire(self, length: u32) -> u32 {
        match self {
            Self::Frame => length,
            Self::Padded => length.max(SHORTEST) + 4,
            Self::Line => length.max(SHORTEST) + 24,
        }
    }

    /// Length of the longest frame that counts as `wire` bytes.
    #[inline]
    pub fn length(self, wire: u32) -> u32 {
        match self {
            Self::Frame => wire,
            Self::Padded => wire.saturating_sub(4),
            Self::Line => wire.saturating_sub(24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_sizes_of_ethernet() {
        assert_eq!(
            [Counting::Frame, Counting::Padded, Counting::Line].map(|c| c.wire(1514)),
            [1514, 1518, 1538]
        );
        assert_eq!([Counting::Frame, Counting::Padded, Counting::Line].map(|c| c.wire(54)), [54, 64, 84]);
        for counting in [Counting::Frame, Counting::Padded, Counting::Line] {
            assert_eq!(counting.length(counting.wire(9014)), 9014);
        }
    }
}
