//! The order of simultaneous arrivals: a keyed permutation of the links into a switch.
//!
//! In the order of link numbers, equally paced senders would meet the same queue in the same order each time, and one
//! of them would suffer every loss. A real switch has no such order. So each picosecond has an order of its own, which
//! depends only on the seed, the time and the switch.

/// Multipliers of the permutation, odd, and their inverses modulo 2^16.
const FIRST: u16 = 0x9e6d;
const FIRST_INVERSE: u16 = inverse(FIRST);
const SECOND: u16 = 0x2c1b;
const SECOND_INVERSE: u16 = inverse(SECOND);

/// Inverse of an odd number modulo 2^16 (Newton's iteration; each step doubles the number of correct bits).
const fn inverse(odd: u16) -> u16 {
    let (mut inverse, mut step) = (odd, 0);
    while step < 4 {
        inverse = inverse.wrapping_mul(2u16.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// The key of the permutation at `at`.
#[inline(always)]
fn key(at: u64, salt: u16) -> u16 {
    // One product is not random enough: arrivals of paced senders are equally far apart, and so would be their keys.
    let mixed = (at ^ u64::from(salt) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48 ^ mixed >> 24) as u16
}

/// Salt of the switch `node` in a run with `seed`.
pub fn salt(seed: u64, node: u32) -> u16 {
    let mixed =
        (seed ^ u64::from(node).wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(0xa076_1d64_78bd_642f);
    (mixed ^ mixed >> 32).wrapping_mul(0xe703_7ed1_a0b4_28db).wrapping_shr(48) as u16
}

/// Place of the packet that arrives at `at` by link `ingress`. Different links have different places.
#[inline(always)]
pub fn place(at: u64, salt: u16, ingress: u16) -> u16 {
    let mixed = (ingress ^ key(at, salt)).wrapping_mul(FIRST);
    let mixed = (mixed ^ mixed >> 8).wrapping_mul(SECOND);
    mixed ^ mixed >> 8
}

/// The link of the packet that has `place` at `at`.
pub fn ingress(at: u64, salt: u16, place: u16) -> u16 {
    // A shift by half the width is its own inverse.
    let mixed = (place ^ place >> 8).wrapping_mul(SECOND_INVERSE);
    let mixed = (mixed ^ mixed >> 8).wrapping_mul(FIRST_INVERSE);
    mixed ^ key(at, salt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn every_link_has_a_place_and_every_place_a_link() {
        for (at, own) in [(0, 0), (1, 0), (1_051_200, 77), (u64::MAX >> 16, 65_535)] {
            let mut seen = vec![false; 1 << 16];
            for link in 0..=u16::MAX {
                let place = place(at, own, link);
                assert!(!core::mem::replace(&mut seen[usize::from(place)], true));
                assert_eq!(ingress(at, own, place), link);
            }
        }
    }

    #[test]
    fn any_two_links_take_turns_fairly() {
        // Arrivals every packet time of 9064 B at 10 Gb/s, as from paced senders.
        for (one, other) in [(0, 1), (0, 2), (3, 7), (1, 35), (0, 255), (128, 129)] {
            for node in 0..20 {
                let own = salt(1, node);
                let first = |n: &u64| {
                    let at = n * 7_251_200;
                    place(at, own, one) < place(at, own, other)
                };
                let firsts = (0..10_000).filter(first).count();
                // Binomial: mean 5000, standard deviation 50; four of them, in 120 trials.
                assert!((4800..=5200).contains(&firsts), "{one} before {other}: {firsts} of 10000");
            }
        }
    }
}
