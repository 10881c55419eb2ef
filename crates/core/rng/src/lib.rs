//! Named deterministic random streams.
//!
//! A stream depends on the run's seed, the component's name and its index: never on the order of creation, the
//! number of threads or a hash. The key is derived with BLAKE3; the generators are SplitMix64 (Steele, Lea and
//! Flood, OOPSLA 2014; 8 bytes of state, for the coins of switch ports) and xoshiro256++ (Blackman and Vigna,
//! ACM TOMS 2021; for everything else).
#![no_std]

pub use rand_core::Rng;
use rand_core::SeedableRng;
pub use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// The seed of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(pub u64);

impl Seed {
    fn key(self, component: &str, index: u64) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0.to_le_bytes()).update(&index.to_le_bytes()).update(component.as_bytes());
        *hasher.finalize().as_bytes()
    }

    /// The stream of `component` number `index`, for instance `("ndp.host", 7)`.
    pub fn stream(self, component: &str, index: u64) -> RandomStream {
        RandomStream(Xoshiro256PlusPlus::from_seed(self.key(component, index)))
    }

    /// A stream with 8 bytes of state, for components that exist in the hundred thousands.
    pub fn small_stream(self, component: &str, index: u64) -> SmallRandomStream {
        let key = self.key(component, index);
        SmallRandomStream(SplitMix64::from_seed(key[..8].try_into().expect("32 bytes hold 8")))
    }
}

macro_rules! draws {
    ($name:ident) => {
        impl $name {
            /// 64 uniform bits.
            #[inline]
            pub fn bits(&mut self) -> u64 {
                self.0.next_u64()
            }

            /// A fair coin.
            #[inline]
            pub fn coin(&mut self) -> bool {
                self.bits() >> 63 == 1
            }

            /// Uniform in `0..bound`; 0 for bound 0. Multiply-shift on 32 bits: the bias is below bound / 2^32.
            #[inline]
            pub fn below(&mut self, bound: u32) -> u32 {
                (((self.bits() >> 32) * u64::from(bound)) >> 32) as u32
            }

            /// Uniform in `[0, 1)`, 53 bits.
            #[inline]
            pub fn unit(&mut self) -> f64 {
                (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
            }
        }
    };
}

/// A random stream of its own for one component.
#[derive(Clone, Debug)]
pub struct RandomStream(Xoshiro256PlusPlus);
draws!(RandomStream);

/// A random stream with 8 bytes of state.
#[derive(Clone, Debug)]
pub struct SmallRandomStream(SplitMix64);
draws!(SmallRandomStream);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_name_and_index() {
        let first = |seed, name, index| Seed(seed).stream(name, index).bits();
        let base = first(1, "switch.coin", 0);
        assert_eq!(base, first(1, "switch.coin", 0));
        assert!(
            [first(2, "switch.coin", 0), first(1, "host", 0), first(1, "switch.coin", 1)]
                .iter()
                .all(|x| *x != base)
        );
    }

    #[test]
    fn below_stays_below() {
        let mut stream = Seed(7).stream("test", 0);
        let mut seen = [0u32; 5];
        for _ in 0..10_000 {
            seen[stream.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (1_800..2_200).contains(n)), "{seen:?}");
    }
}
