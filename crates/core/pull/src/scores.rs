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
}

/// In [`Scores::acks`]: the path has a score.
const SCORED: u8 = u8::MAX;

/// The scores of all paths. Most paths of a large network see nothing but a few ACKs: a byte counts those, and a path has a score
/// from its first other feedback on.
#[derive(Clone, Debug)]
pub struct Scores {
    count: u16,
    /// ACKs of each path without a score; empty before the first feedback, and once `all` is there.
    acks: Vec<u8>,
    /// Scores, sorted by path; unused once `all` is there.
    some: Vec<(u16, Score)>,
    /// All scores; empty as long as the fields above tell them.
    all: Vec<Score>,
}

impl Scores {
    /// Scores of `count` paths without feedback.
    pub fn new(count: u16) -> Self {
        let all = if sparse::lists(count) { alloc::vec![Score::default(); count.into()] } else { Vec::new() };
        Self { count, acks: Vec::new(), some: Vec::new(), all }
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// Counts an ACK of `path` if that is all there is to do: the path is not left out, and has had less feedback than `most`, which
    /// is below 255. Returns whether it did.
    #[inline]
    pub fn count_ack(&mut self, path: u16, most: u16) -> bool {
        let Some(score) = self.all.get_mut(usize::from(path)) else {
            return self.count_plain_ack(path, most);
        };
        let plain = score.avoid == 0 && score.acks + score.nacks < most;
        score.acks += u16::from(plain);
        plain
    }

    /// [`Scores::count_ack`] as long as there is no list.
    #[inline(never)]
    fn count_plain_ack(&mut self, path: u16, most: u16) -> bool {
        if self.acks.is_empty() {
            self.acks = alloc::vec![0; self.count.into()];
        }
        let acks = &mut self.acks[usize::from(path)];
        if *acks == SCORED {
            let score = self.get(path);
            let plain = score.avoid == 0 && score.acks + score.nacks < most;
            score.acks += u16::from(plain);
            return plain;
        }
        let plain = u16::from(*acks) < most;
        *acks += u8::from(plain);
        plain
    }

    /// The score of `path` if it may differ from that of a path with nothing but ACKs.
    pub fn find(&mut self, path: u16) -> Option<&mut Score> {
        if self.all.is_empty() {
            let index = self.some.binary_search_by_key(&path, |entry| entry.0).ok()?;
            return Some(&mut self.some[index].1);
        }
        self.all.get_mut(usize::from(path))
    }

    /// The score of `path`, which must be one of the paths.
    #[inline]
    pub fn get(&mut self, path: u16) -> &mut Score {
        if self.all.is_empty() {
            return self.get_some(path);
        }
        &mut self.all[usize::from(path)]
    }

    /// [`Scores::get`] as long as there is no list.
    #[inline(never)]
    fn get_some(&mut self, path: u16) -> &mut Score {
        if self.acks.is_empty() {
            self.acks = alloc::vec![0; self.count.into()];
        }
        let index = match self.some.binary_search_by_key(&path, |entry| entry.0) {
            Ok(index) => index,
            Err(_) if self.some.len() >= sparse::most_entries(self.count) => {
                self.list_all();
                return &mut self.all[usize::from(path)];
            }
            Err(index) => {
                let acks = core::mem::replace(&mut self.acks[usize::from(path)], SCORED);
                self.some.insert(index, (path, Score { acks: acks.into(), ..Score::default() }));
                index
            }
        };
        &mut self.some[index].1
    }

    /// Lists the scores of all paths.
    fn list_all(&mut self) {
        self.all = self.acks.iter().map(|acks| Score { acks: (*acks).into(), ..Score::default() }).collect();
        for (path, score) in core::mem::take(&mut self.some) {
            self.all[usize::from(path)] = score;
        }
        self.acks = Vec::new();
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
