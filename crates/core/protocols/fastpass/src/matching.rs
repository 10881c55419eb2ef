//! Pairs of sender and receiver in a timeslot: a greedy maximal matching.

use alloc::vec::Vec;

/// A wish for a timeslot: one packet of `id` from port `src` to port `dst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wish {
    pub id: u32,
    pub src: u32,
    pub dst: u32,
}

/// Which ports are taken, for one timeslot after the other. A port is taken if it bears the slot's stamp, so that nothing needs
/// to be cleared between slots.
#[derive(Clone, Default, Debug)]
pub(crate) struct Matcher {
    stamp: u64,
    sources: Vec<u64>,
    destinations: Vec<u64>,
}

fn is_taken(stamps: &[u64], port: u32, stamp: u64) -> bool {
    stamps.get(port as usize) == Some(&stamp)
}

fn take(stamps: &mut Vec<u64>, port: u32, stamp: u64) {
    let port = port as usize;
    if port >= stamps.len() {
        stamps.resize(port + 1, 0);
    }
    stamps[port] = stamp;
}

impl Matcher {
    /// Goes through `wishes` in their order and grants each one whose two ports are free. The result is a matching that no
    /// further wish could be added to, and it has at least half as many pairs as the largest one.
    pub fn greedy(&mut self, wishes: impl IntoIterator<Item = Wish>) -> Vec<Wish> {
        self.stamp += 1;
        let mut granted = Vec::new();
        for wish in wishes {
            let taken = is_taken(&self.sources, wish.src, self.stamp)
                || is_taken(&self.destinations, wish.dst, self.stamp);
            if !taken {
                take(&mut self.sources, wish.src, self.stamp);
                take(&mut self.destinations, wish.dst, self.stamp);
                granted.push(wish);
            }
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    fn wishes(pairs: &[(u32, u32)]) -> Vec<Wish> {
        (0..).zip(pairs).map(|(id, (src, dst))| Wish { id, src: *src, dst: *dst }).collect()
    }

    /// Pairs of a largest matching, by augmenting paths.
    fn largest(pairs: &[(u32, u32)]) -> usize {
        fn augment(src: u32, pairs: &[(u32, u32)], to: &mut [Option<u32>], seen: &mut BTreeSet<u32>) -> bool {
            pairs.iter().filter(|pair| pair.0 == src).any(|(_, dst)| {
                let fresh = seen.insert(*dst);
                let free = fresh && to[*dst as usize].is_none_or(|other| augment(other, pairs, to, seen));
                if free {
                    to[*dst as usize] = Some(src);
                }
                free
            })
        }
        let mut to = [None; 12];
        (0..12).filter(|src| augment(*src, pairs, &mut to, &mut BTreeSet::new())).count()
    }

    proptest! {
        #[test]
        fn a_greedy_matching_is_maximal_and_respects_the_order(
            slots in prop::collection::vec(prop::collection::vec((0u32..12, 0u32..12), 0..60), 1..4),
        ) {
            let mut matcher = Matcher::default();
            for pairs in slots {
                let granted = matcher.greedy(wishes(&pairs));
                let sources: BTreeSet<_> = granted.iter().map(|wish| wish.src).collect();
                let destinations: BTreeSet<_> = granted.iter().map(|wish| wish.dst).collect();
                prop_assert_eq!((sources.len(), destinations.len()), (granted.len(), granted.len()));
                for wish in wishes(&pairs) {
                    // Every refusal is due to an earlier request.
                    let earlier = |other: &Wish| {
                        other.id < wish.id && (other.src == wish.src || other.dst == wish.dst)
                    };
                    prop_assert_ne!(granted.contains(&wish), granted.iter().any(earlier));
                }
                prop_assert!(granted.len() * 2 >= largest(&pairs));
            }
        }
    }
}
