use alloc::collections::VecDeque;

/// Most packets from the oldest missing one to the newest one that may have arrived. A sender that keeps to this window
/// is never refused; at 100 Gb/s and 1500 B it lasts 0.13 s.
pub const WINDOW: u32 = 1 << 20;

/// Result of noting a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noted {
    /// The packet is new.
    New,
    /// The packet is a duplicate.
    Known,
    /// The packet lies beyond the window and is not noted: no sender that keeps to [`WINDOW`] has sent it.
    TooFar,
}

/// Set of packets of a connection that have arrived: a cumulative point and a bitmap above it. It never takes more than
/// [`WINDOW`] bits, even if packet numbers are nonsense.
#[derive(Clone, Default, Debug)]
pub struct ReceivedSet {
    /// All packets with lower numbers have arrived.
    cumulative: u32,
    /// Bit i of word w: packet `base + 64 w + i` is there; `base` is `cumulative` rounded down to 64.
    words: VecDeque<u64>,
    count: u32,
}

impl ReceivedSet {
    /// Every packet below this number has arrived.
    pub fn cumulative(&self) -> u32 {
        self.cumulative
    }

    /// How many packets have arrived.
    pub fn count(&self) -> u32 {
        self.count
    }

    fn place(&self, seq: u32) -> (usize, u64) {
        let offset = seq - (self.cumulative & !63);
        ((offset / 64) as usize, 1 << (offset % 64))
    }

    /// Whether packet `seq` has arrived.
    #[inline]
    pub fn contains(&self, seq: u32) -> bool {
        if seq < self.cumulative {
            return true;
        }
        let (word, bit) = self.place(seq);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Whether packet `seq` lies within the window.
    #[inline]
    pub fn reaches(&self, seq: u32) -> bool {
        seq < self.cumulative.saturating_add(WINDOW)
    }

    /// The run of arrived packets around `seq`, which has arrived: its first packet, and one past its last. Searches 64
    /// packets at a time, and not below [`ReceivedSet::cumulative`].
    pub fn run_around(&self, seq: u32) -> (u32, u32) {
        if seq < self.cumulative {
            return (0, self.cumulative);
        }
        (self.run_start(seq), self.run_end(seq))
    }

    fn run_start(&self, seq: u32) -> u32 {
        let (mut word, bit) = self.place(seq);
        let base = self.cumulative & !63;
        // Bits above `bit` are shifted out, so that the run's last one is the highest.
        let mut bits = self.words[word] << (63 - bit.trailing_zeros());
        let mut start = seq + 1;
        loop {
            let run = bits.leading_ones();
            start -= run;
            if word == 0 || start > base + word as u32 * 64 {
                return start.max(self.cumulative);
            }
            word -= 1;
            bits = self.words[word];
        }
    }

    fn run_end(&self, seq: u32) -> u32 {
        let (word, bit) = self.place(seq);
        let from = bit.trailing_zeros();
        let run = (self.words[word] >> from).trailing_ones();
        let mut end = seq + run;
        if from + run == 64 {
            for bits in self.words.iter().skip(word + 1) {
                end += bits.trailing_ones();
                if *bits != u64::MAX {
                    break;
                }
            }
        }
        end
    }

    /// Notes packet `seq`.
    #[inline]
    pub fn insert(&mut self, seq: u32) -> Noted {
        if self.contains(seq) {
            return Noted::Known;
        }
        if !self.reaches(seq) {
            return Noted::TooFar;
        }
        let (word, bit) = self.place(seq);
        while self.words.len() <= word {
            self.words.push_back(0);
        }
        self.words[word] |= bit;
        self.count += 1;
        if seq == self.cumulative {
            self.advance();
        }
        Noted::New
    }

    fn advance(&mut self) {
        while let Some(bits) = self.words.front() {
            let from = self.cumulative % 64;
            let run = (bits >> from).trailing_ones();
            self.cumulative += run;
            if from + run < 64 {
                return;
            }
            self.words.pop_front();
        }
    }

    /// Address of the bitmap.
    pub fn bitmap_place(&self) -> *const u8 {
        self.words.front().map_or(core::ptr::null(), |word| core::ptr::from_ref(word).cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_set(seqs in prop::collection::vec(0u32..400, 0..800)) {
            let mut set = ReceivedSet::default();
            let mut model = BTreeSet::new();
            for seq in seqs {
                let noted = if model.insert(seq) { Noted::New } else { Noted::Known };
                prop_assert_eq!(set.insert(seq), noted);
                let cumulative = (0..).find(|seq| !model.contains(seq)).unwrap();
                prop_assert_eq!(set.cumulative(), cumulative);
                prop_assert_eq!(set.count() as usize, model.len());
                prop_assert!((0..450).all(|seq| set.contains(seq) == model.contains(&seq)));
            }
        }

        #[test]
        fn runs_are_those_of_a_set(seqs in prop::collection::vec(0u32..400, 0..600)) {
            let mut set = ReceivedSet::default();
            for seq in seqs {
                set.insert(seq);
                let end = (seq..).find(|seq| !set.contains(*seq)).unwrap();
                let start = (0..seq).rev().find(|seq| !set.contains(*seq)).map_or(0, |gap| gap + 1);
                prop_assert_eq!(set.run_around(seq), (start, end));
            }
        }

        #[test]
        fn no_number_takes_more_than_the_window(seqs in prop::collection::vec(any::<u32>(), 0..50)) {
            let mut set = ReceivedSet::default();
            for seq in seqs {
                let far = !set.contains(seq) && seq >= set.cumulative().saturating_add(WINDOW);
                prop_assert_eq!(set.insert(seq) == Noted::TooFar, far);
                prop_assert_eq!(set.contains(seq), !far);
                prop_assert!(set.words.len() <= WINDOW as usize / 64 + 1);
            }
        }
    }

    #[test]
    fn the_window_moves_with_the_oldest_missing_packet() {
        let mut set = ReceivedSet::default();
        assert_eq!(set.insert(WINDOW), Noted::TooFar);
        assert_eq!(set.insert(WINDOW - 1), Noted::New);
        assert_eq!((set.insert(0), set.insert(WINDOW)), (Noted::New, Noted::New));
        assert_eq!(set.insert(u32::MAX), Noted::TooFar);
        assert_eq!((set.count(), set.cumulative()), (3, 1));
    }
}
