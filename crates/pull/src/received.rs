use alloc::collections::VecDeque;

/// Which packets of a connection have arrived: a cumulative point and a bitmap above it.
#[derive(Clone, Default, Debug)]
pub struct ReceivedSet {
    /// All packets below this one are there.
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

    /// Notes packet `seq`; false if it was there before.
    #[inline]
    pub fn insert(&mut self, seq: u32) -> bool {
        if self.contains(seq) {
            return false;
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
        true
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

    /// Where the bitmap begins.
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
                prop_assert_eq!(set.insert(seq), model.insert(seq));
                let cumulative = (0..).find(|seq| !model.contains(seq)).unwrap();
                prop_assert_eq!(set.cumulative(), cumulative);
                prop_assert_eq!(set.count() as usize, model.len());
                prop_assert!((0..450).all(|seq| set.contains(seq) == model.contains(&seq)));
            }
        }
    }
}
