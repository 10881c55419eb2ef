use alloc::vec::Vec;

use crate::sparse;

/// Feedback on one path so far. Only 8 bytes: a large network has thousands of paths for each connection.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Score {
    pub acks: u16,
    pub nacks: u16,
    /// NACKs per hundred packets, as last added to the mean.
    pub ratio: u16,
    /// Rounds in a row for which this path is left out before it is tried once.
    pub avoid: u8,
    /// Rounds for which it was left out since it was last tried.
    pub skipped: u8,
}

impl Score {
    /// Whether the path is left out, or was not tried since.
    pub fn avoided(self) -> bool {
        self.avoid > 0 || self.skipped > 0
    }

    /// Counts an ACK if the path is not left out, and has had less feedback than `most`. Returns whether it did.
    #[inline]
    fn count_ack(&mut self, most: u16) -> bool {
        let plain = self.avoid == 0 && self.acks + self.nacks < most;
        self.acks += u16::from(plain);
        plain
    }
}

/// Entries of [`Scores::short`] from this value on are places of scores; smaller values count ACKs.
const SCORED: u8 = 128;
/// Most scores that these can number.
const MOST: usize = u8::MAX as usize + 1 - SCORED as usize;

/// The scores of all paths. Most paths of a large network see nothing but a few ACKs: a byte counts those, and a path has a score
/// from its first other feedback on.
#[derive(Clone, Debug)]
pub struct Scores {
    count: u16,
    /// ACKs of each path, or from [`SCORED`] on the place of its score in `scores`; empty before the first feedback, and where each
    /// path has its score at its own place.
    short: Vec<u8>,
    scores: Vec<Score>,
}

impl Scores {
    /// Scores of `count` paths without feedback.
    pub fn new(count: u16) -> Self {
        let scores =
            if sparse::lists(count) { alloc::vec![Score::default(); count.into()] } else { Vec::new() };
        Self { count, short: Vec::new(), scores }
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// Whether each path has its score at its own place.
    #[inline]
    fn lists_all(&self) -> bool {
        self.scores.len() == self.len()
    }

    /// Counts an ACK of `path` if that is all there is to do: the path is not left out, and has had less feedback than `most`, which
    /// is below [`SCORED`]. Returns whether it did.
    #[inline]
    pub fn count_ack(&mut self, path: u16, most: u16) -> bool {
        if !self.lists_all() {
            return self.count_plain_ack(path, most);
        }
        self.scores[usize::from(path)].count_ack(most)
    }

    /// [`Scores::count_ack`] as long as there is no list.
    #[inline(never)]
    fn count_plain_ack(&mut self, path: u16, most: u16) -> bool {
        if self.short.is_empty() {
            self.short = alloc::vec![0; self.count.into()];
        }
        let short = &mut self.short[usize::from(path)];
        if let Some(place) = short.checked_sub(SCORED) {
            return self.scores[usize::from(place)].count_ack(most);
        }
        let plain = u16::from(*short) < most;
        *short += u8::from(plain);
        plain
    }

    /// The score of `path` if it may differ from that of a path with nothing but ACKs.
    pub fn find(&mut self, path: u16) -> Option<&mut Score> {
        if self.lists_all() {
            return self.scores.get_mut(usize::from(path));
        }
        let place = self.short.get(usize::from(path))?.checked_sub(SCORED)?;
        self.scores.get_mut(usize::from(place))
    }

    /// The score of `path`, which must be one of the paths.
    #[inline]
    pub fn get(&mut self, path: u16) -> &mut Score {
        let place = if self.lists_all() { path.into() } else { self.place_of(path) };
        &mut self.scores[place]
    }

    /// The place of the score of `path`, which gets one if it has none.
    #[inline(never)]
    fn place_of(&mut self, path: u16) -> usize {
        if self.short.is_empty() {
            self.short = alloc::vec![0; self.count.into()];
        }
        let (next, short) = (self.scores.len(), &mut self.short[usize::from(path)]);
        if let Some(place) = short.checked_sub(SCORED) {
            return place.into();
        }
        if next >= MOST.min(usize::from(self.count) / 2) {
            self.list_all();
            return path.into();
        }
        let acks = core::mem::replace(short, SCORED + next as u8);
        self.scores.push(Score { acks: acks.into(), ..Score::default() });
        next
    }

    /// Moves the score of each path to its own place.
    fn list_all(&mut self) {
        let score = |short: &u8| match short.checked_sub(SCORED) {
            Some(place) => self.scores[usize::from(place)],
            None => Score { acks: (*short).into(), ..Score::default() },
        };
        self.scores = self.short.iter().map(score).collect();
        self.short = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_list(
            count in 1u16..700,
            feedback in prop::collection::vec((any::<prop::sample::Index>(), 0u8..3), 0..2000),
        ) {
            const MOST: u16 = 3;
            let (mut scores, mut list) = (Scores::new(count), alloc::vec![Score::default(); count.into()]);
            for (path, kind) in feedback {
                let path = path.index(list.len());
                let (score, own) = (&mut list[path], path as u16);
                if kind == 0 {
                    score.nacks += 1;
                    scores.get(own).nacks += 1;
                } else {
                    let plain = score.acks + score.nacks < MOST;
                    score.acks += u16::from(plain);
                    prop_assert_eq!(scores.count_ack(own, MOST), plain);
                }
            }
            for (path, score) in (0..).zip(&list) {
                prop_assert_eq!(*scores.get(path), *score);
            }
        }
    }
}
