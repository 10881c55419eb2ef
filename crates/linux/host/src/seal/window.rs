//! Counters received under one salt (as in RFC 6479): a ring of bits over the newest ones.

const WORDS: usize = 128;
/// Number of counters remembered: a packet overtaken by more than this many others is taken for a copy.
const SPAN: u32 = 64 * (WORDS as u32 - 1);

#[derive(Debug)]
pub(super) struct Window {
    /// One more than the highest counter received.
    end: u64,
    bits: Box<[u64; WORDS]>,
}

impl Default for Window {
    fn default() -> Self {
        Self { end: 0, bits: Box::new([0; WORDS]) }
    }
}

impl Window {
    fn place(counter: u32) -> (usize, u64) {
        ((counter / 64) as usize % WORDS, 1 << (counter % 64))
    }

    /// Whether packet `counter` has been received, or is too old to tell.
    pub fn has(&self, counter: u32) -> bool {
        let (word, bit) = Self::place(counter);
        let at = u64::from(counter);
        at < self.end && (at + u64::from(SPAN) < self.end || self.bits[word] & bit != 0)
    }

    /// Notes packet `counter`, for which [`Window::has`] was false.
    pub fn note(&mut self, counter: u32) {
        let at = u64::from(counter);
        if at >= self.end {
            // Clears words before they are reused.
            let (last, now) = (self.end.div_ceil(64), at / 64 + 1);
            (last.max(now.saturating_sub(WORDS as u64))..now).for_each(|word| {
                self.bits[word as usize % WORDS] = 0;
            });
            self.end = at + 1;
        }
        let (word, bit) = Self::place(counter);
        self.bits[word] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn take(window: &mut Window, counter: u32) -> bool {
        let new = !window.has(counter);
        if new {
            window.note(counter);
        }
        new
    }

    #[test]
    fn every_packet_is_taken_once_in_any_order_within_the_span() {
        let (mut window, mut chance) = (Window::default(), pullnet_rng::Seed(5).stream("order", 0));
        let (mut seen, mut newest) = (BTreeSet::new(), 0);
        for step in 0..200_000u32 {
            let counter = step.saturating_sub(chance.below(3000)) + chance.below(2) * chance.below(500);
            let known = seen.contains(&counter);
            newest = newest.max(counter);
            assert_eq!(take(&mut window, counter), !known, "{counter} behind {newest}");
            seen.insert(counter);
        }
    }

    #[test]
    fn what_is_too_old_to_tell_is_taken_for_a_copy() {
        let mut window = Window::default();
        assert!(take(&mut window, 0) && !take(&mut window, 0));
        assert!(take(&mut window, SPAN) && take(&mut window, 1));
        assert!(take(&mut window, 2 * SPAN + 5) && !take(&mut window, SPAN - 1));
        assert!(take(&mut window, SPAN + 6) && !take(&mut window, SPAN + 5) && !take(&mut window, SPAN));
        assert!(take(&mut window, u32::MAX) && !take(&mut window, u32::MAX) && !take(&mut window, 77));
    }
}
