use pullnet_rng::RandomStream;
use pullnet_settings::choice;

use crate::scores::{Score, Scores};
use crate::shuffle::Shuffle;

choice! {
    /// How a host spreads its packets over the paths to a peer.
    pub enum Spread {
        /// Every path once in random order, then a new order (NDP, section 3.1.1).
        Permutation = "permutation",
        /// An independent uniform path for each packet.
        Random = "random",
        /// One random path for the whole connection.
        Single = "single",
    }
}

/// Feedback that a sender gets about a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// A packet arrived whole.
    Ack,
    /// A packet was trimmed.
    Nack,
    /// A header came back: counts as three NACKs (public NDP code).
    Return,
    /// A packet was lost.
    Loss,
}

/// A path is judged once it has this much feedback (public NDP code: more than 100).
const JUDGED_AFTER: u16 = 100;
/// NACK ratio that is never bad, percent (public NDP code).
const TOLERATED: u16 = 30;
/// ACKs below which a NACK ratio says nothing (public NDP code).
const ENOUGH_ACKS: u16 = 10;
/// Rounds that a loss adds to the time for which a path is left out.
const LOSS_PENALTY: u8 = 4;
/// Most rounds for which a path is left out before it is tried again, so that a repaired path is found.
const MAX_AVOID: u8 = 64;

/// The paths to one peer, their order and their scoreboard.
#[derive(Clone, Debug)]
pub struct PathSet {
    order: Shuffle,
    at: usize,
    /// A path that packets had to avoid at the end of a round, and how often: it comes next.
    owed: (u16, u16),
    spread: Spread,
    /// `None`: no path is ever left out.
    scores: Option<Scores>,
    /// Number of paths that are left out, or were not tried since. While it is 0, no packet needs a look at the scores.
    avoided: u16,
    ratio_sum: u64,
}

impl PathSet {
    /// `count` paths (at least 1). Without a scoreboard no path is ever left out.
    pub fn new(count: u16, spread: Spread, scoreboard: bool, chance: &mut RandomStream) -> Self {
        let count = count.max(1);
        let order = if spread == Spread::Single {
            Shuffle::only(chance.below(count.into()) as u16)
        } else {
            Shuffle::new(count)
        };
        let scored = scoreboard && spread == Spread::Permutation && count > 1;
        let scores = scored.then(|| Scores::new(count));
        Self { order, at: 0, owed: (0, 0), spread, scores, avoided: 0, ratio_sum: 0 }
    }

    /// The path of the next packet.
    #[inline]
    pub fn next(&mut self, chance: &mut RandomStream) -> u16 {
        if self.order.len() == 1 {
            return self.order.at(0);
        }
        if self.spread == Spread::Random {
            return self.order.at(chance.below(self.order.len() as u32) as usize);
        }
        let path = self.draw(chance);
        if self.avoided == 0 { path } else { self.pass_over(path, None, chance) }
    }

    /// `path`, or one drawn after it if `path` is left out; never `not`.
    #[inline(never)]
    fn pass_over(&mut self, mut path: u16, not: Option<u16>, chance: &mut RandomStream) -> u16 {
        // If every path is bad, one of them is used nevertheless.
        for _ in 0..self.order.len() {
            if !self.skip(path) {
                break;
            }
            path = match not {
                Some(not) => self.draw_except(not, chance),
                None => self.draw(chance),
            };
        }
        path
    }

    /// Whether `path` is left out in this round.
    fn skip(&mut self, path: u16) -> bool {
        let Some(score) = self.scores.as_mut().and_then(|scores| scores.find(path)) else { return false };
        let skip = score.skipped < score.avoid;
        let before = score.avoided();
        score.skipped = if skip { score.skipped + 1 } else { 0 };
        let after = score.avoided();
        self.count_avoided(before, after);
        skip
    }

    /// The score of one path has changed.
    #[inline]
    fn count_avoided(&mut self, before: bool, after: bool) {
        self.avoided = self.avoided + u16::from(after) - u16::from(before);
    }

    /// A path other than `not`, if there is one. `not` keeps its turn in the round.
    pub fn next_except(&mut self, not: u16, chance: &mut RandomStream) -> u16 {
        if self.order.len() == 1 {
            return self.order.at(0);
        }
        if self.spread == Spread::Random {
            let path = self.next(chance);
            let step = if path == not { 1 + chance.below(self.order.len() as u32 - 1) as u16 } else { 0 };
            return (path + step) % self.order.len() as u16;
        }
        let path = self.draw_except(not, chance);
        if self.avoided == 0 { path } else { self.pass_over(path, Some(not), chance) }
    }

    /// A random path, outside of the rounds.
    pub fn any(&self, chance: &mut RandomStream) -> u16 {
        self.order.at(chance.below(self.order.len() as u32) as usize)
    }

    /// One step of a Fisher-Yates shuffle that restarts after every round.
    #[inline]
    fn draw(&mut self, chance: &mut RandomStream) -> u16 {
        if self.owed.1 > 0 {
            self.owed.1 -= 1;
            return self.owed.0;
        }
        let chosen = chance.below(self.order.len() as u32 - self.at as u32) as usize;
        self.take(chosen)
    }

    /// The same among the other paths. If `not` is the only one left in the round, it stays owed.
    #[inline(never)]
    fn draw_except(&mut self, not: u16, chance: &mut RandomStream) -> u16 {
        if self.owed.1 > 0 && self.owed.0 != not {
            return self.draw(chance);
        }
        if self.at + 1 == self.order.len() && self.order.at(self.at) == not {
            (self.at, self.owed) = (0, (not, self.owed.1.saturating_add(1)));
        }
        let left = (self.order.len() - self.at) as u32;
        let mut chosen = chance.below(left) as usize;
        if self.order.at(self.at + chosen) == not {
            let another = chance.below(left - 1) as usize;
            chosen = another + usize::from(another >= chosen);
        }
        self.take(chosen)
    }

    /// Takes the path at index `chosen` among the paths left in the round.
    #[inline]
    fn take(&mut self, chosen: usize) -> u16 {
        let path = self.order.swap(self.at, self.at + chosen);
        self.at = if self.at + 1 == self.order.len() { 0 } else { self.at + 1 };
        path
    }

    /// Addresses that the next `draws` draws will read if nothing else uses `chance` meanwhile, for a driver that
    /// prefetches.
    #[inline]
    pub fn prefetch_targets(
        &self,
        draws: usize,
        chance: &mut RandomStream,
        visit: &mut impl FnMut(*const u8),
    ) {
        let place = |at: usize| self.order.place(at);
        if self.order.len() <= NEAR {
            visit(place(0));
            visit(place(self.order.len() - 1));
            return;
        }
        for at in self.at..(self.at + draws).min(self.order.len()) {
            let ahead = chance.below((self.order.len() - at) as u32) as usize;
            visit(place(at));
            visit(place(at + ahead));
        }
    }

    /// Counts feedback on `path` and leaves the path out for a while if it is an outlier.
    #[inline]
    pub fn feedback(&mut self, path: u16, feedback: Feedback) {
        let Some(scores) = self.scores.as_mut().filter(|scores| usize::from(path) < scores.len()) else {
            return;
        };
        // Usually there is no decision to make.
        if feedback != Feedback::Ack || !scores.count_ack(path, JUDGED_AFTER) {
            self.weigh(path, feedback);
        }
    }

    /// The same if it may change whether the path is left out.
    #[inline(never)]
    fn weigh(&mut self, path: u16, feedback: Feedback) {
        let Some(scores) = &mut self.scores else { return };
        let score = scores.get(path);
        let before = score.avoided();
        match feedback {
            Feedback::Ack => {
                score.acks += 1;
                score.avoid = score.avoid.saturating_sub(u8::from(score.acks + score.nacks <= JUDGED_AFTER));
            }
            Feedback::Nack => score.nacks += 1,
            Feedback::Return => score.nacks += 3,
            Feedback::Loss => score.avoid = (score.avoid + LOSS_PENALTY).min(MAX_AVOID),
        }
        if score.acks + score.nacks > JUDGED_AFTER {
            judge(score, &mut self.ratio_sum, self.order.len() as u64);
        }
        let after = score.avoided();
        self.count_avoided(before, after);
    }
}

/// Judges one of `paths` paths whose ratios add up to `ratio_sum`. Bad: a NACK ratio above 1.25 times the mean of all paths and above
/// 30% (public NDP code).
fn judge(score: &mut Score, ratio_sum: &mut u64, paths: u64) {
    let packets = if score.acks <= ENOUGH_ACKS { score.acks + score.nacks } else { score.acks };
    let ratio = 100 * score.nacks / packets;
    *ratio_sum = *ratio_sum - u64::from(score.ratio) + u64::from(ratio);
    score.ratio = ratio;
    let outlier = ratio > TOLERATED && 4 * u64::from(ratio) * paths > 5 * *ratio_sum;
    score.avoid = if outlier { (score.avoid + 1).min(MAX_AVOID) } else { score.avoid.saturating_sub(1) };
    // Old feedback must not outweigh the present state of the path.
    if score.acks + score.nacks > FORGET_ABOVE {
        (score.acks, score.nacks) = (score.acks / 2, score.nacks / 2);
    }
}

/// Number of paths whose numbers fit into two cache lines: prefetching both is cheaper than predicting the next draw.
const NEAR: usize = 40;

/// Feedback counts are halved above this number.
const FORGET_ABOVE: u16 = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pullnet_rng::Seed;

    proptest! {
        #[test]
        fn every_round_uses_each_path_once(count in 1u16..200, packets in 0usize..1000, seed: u64) {
            let mut chance = Seed(seed).stream("test", 0);
            let mut paths = PathSet::new(count, Spread::Permutation, true, &mut chance);
            let mut used = alloc::vec![0u32; count.into()];
            for _ in 0..packets {
                used[usize::from(paths.next(&mut chance))] += 1;
            }
            prop_assert!(used.iter().max().unwrap() - used.iter().min().unwrap() <= 1);
        }

        #[test]
        fn paths_stay_even_where_packets_are_resent(
            count in 2u16..40,
            // Nothing for a new packet, else which of the packets before is sent again on another path.
            packets in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), 1..600),
            seed: u64,
        ) {
            let mut chance = Seed(seed).stream("test", 0);
            let mut paths = PathSet::new(count, Spread::Permutation, true, &mut chance);
            let (mut used, mut sent) = (alloc::vec![0u32; count.into()], alloc::vec![paths.next(&mut chance)]);
            used[usize::from(sent[0])] += 1;
            for again in packets {
                let not = again.map(|index| sent[index.index(sent.len())]);
                let path = match not {
                    Some(not) => paths.next_except(not, &mut chance),
                    None => paths.next(&mut chance),
                };
                prop_assert!(Some(path) != not);
                sent.push(path);
                used[usize::from(path)] += 1;
                let mut even = used.clone();
                even[usize::from(paths.owed.0)] += u32::from(paths.owed.1);
                prop_assert!(even.iter().max().unwrap() - even.iter().min().unwrap() <= 1);
            }
            while paths.owed.1 > 0 {
                used[usize::from(paths.next(&mut chance))] += 1;
            }
            prop_assert!(used.iter().max().unwrap() - used.iter().min().unwrap() <= 1);
        }

        #[test]
        fn a_resent_packet_changes_its_path(count in 2u16..50, spread in prop::sample::select(&[Spread::Permutation, Spread::Random]), seed: u64) {
            let mut chance = Seed(seed).stream("test", 0);
            let mut paths = PathSet::new(count, spread, true, &mut chance);
            for _ in 0..500 {
                let first = paths.next(&mut chance);
                let second = paths.next_except(first, &mut chance);
                prop_assert!(first != second && second < count);
            }
        }
    }

    /// How many of 1600 packets use path 3 of 16 if it trims that share of its packets.
    fn uses_of_bad_path(scoreboard: bool, nack_percent: u32) -> usize {
        let mut chance = Seed(1).stream("test", 0);
        let mut paths = PathSet::new(16, Spread::Permutation, scoreboard, &mut chance);
        let mut send = |paths: &mut PathSet| {
            let path = paths.next(&mut chance);
            let nack = path == 3 && chance.below(100) < nack_percent;
            paths.feedback(path, if nack { Feedback::Nack } else { Feedback::Ack });
            path
        };
        for _ in 0..4000 {
            send(&mut paths);
        }
        (0..1600).filter(|_| send(&mut paths) == 3).count()
    }

    #[test]
    fn a_bad_path_is_left_out_by_the_scoreboard_alone() {
        assert_eq!(uses_of_bad_path(false, 80), 100);
        assert!(uses_of_bad_path(true, 80) < 20);
        assert_eq!(uses_of_bad_path(true, 10), 100);
    }

    #[test]
    fn all_paths_bad_still_yields_a_path() {
        let mut chance = Seed(1).stream("test", 0);
        let mut paths = PathSet::new(4, Spread::Permutation, true, &mut chance);
        for path in 0..4 {
            (0..1000).for_each(|_| paths.feedback(path, Feedback::Loss));
        }
        assert!((0..100).all(|_| paths.next(&mut chance) < 4));
    }
}
