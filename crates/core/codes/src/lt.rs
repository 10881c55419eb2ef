//! LT codes (Luby, FOCS 2002): each symbol is the XOR of a few source symbols, whose number is drawn from a distribution.
//!
//! A reference for the comparison of codes, not for transport: the code is not systematic, and at a few hundred source
//! symbols it needs many more symbols than K.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use pullnet_rng::Seed;

use crate::error::CodeError;

/// Source symbols at most, a bound on memory; the code itself has none.
pub const MAX_SYMBOLS: u32 = 1 << 20;

/// A distribution of degrees: how many source symbols an encoding symbol joins.
#[derive(Clone, PartialEq, Debug)]
pub struct Degrees {
    /// Probability of a degree of at most index + 1.
    cumulative: Vec<f64>,
}

fn parameter(what: &'static str, value: f64, use_: &'static str) -> CodeError {
    CodeError::Parameter { what, value: value.to_string(), use_ }
}

fn symbols_in_range(symbols: u32) -> Result<u32, CodeError> {
    match symbols {
        0 => Err(CodeError::Empty),
        1..=MAX_SYMBOLS => Ok(symbols),
        _ => Err(CodeError::TooManySymbols { symbols: u64::from(symbols), most: MAX_SYMBOLS }),
    }
}

impl Degrees {
    /// A distribution of these weights, which need not sum to 1.
    fn of_weights(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let cumulative = weights.iter().map(|weight| {
            sum += weight / total;
            sum
        });
        Self { cumulative: cumulative.collect() }
    }

    /// Weights of the ideal soliton: 1/k, then 1/(i(i-1)).
    fn ideal(symbols: u32) -> Vec<f64> {
        let k = f64::from(symbols);
        (1..=symbols).map(f64::from).map(|i| if i == 1.0 { 1.0 / k } else { 1.0 / (i * (i - 1.0)) }).collect()
    }

    /// The robust soliton: `c` sets how many symbols of degree one a peeling decoder can expect to have at any time, and
    /// `delta` bounds the probability that it gets stuck.
    pub fn robust_soliton(symbols: u32, c: f64, delta: f64) -> Result<Self, CodeError> {
        let symbols = symbols_in_range(symbols)?;
        if !(c > 0.0 && c <= 10.0) {
            return Err(parameter("c", c, "a number above 0, at most 10"));
        }
        if !(delta > 0.0 && delta < 1.0) {
            return Err(parameter("delta", delta, "a probability above 0 and below 1"));
        }
        let k = f64::from(symbols);
        let ripple = (c * libm::log(k / delta) * libm::sqrt(k)).max(1.0);
        let spike = (libm::floor(k / ripple) as usize).clamp(1, symbols as usize);
        let mut weights = Self::ideal(symbols);
        for (index, weight) in weights.iter_mut().enumerate().take(spike) {
            let degree = index + 1;
            *weight += if degree < spike {
                ripple / (degree as f64 * k)
            } else {
                (ripple * libm::log(ripple / delta) / k).max(0.0)
            };
        }
        Ok(Self::of_weights(&weights))
    }

    /// The distribution of the outer code of Raptor codes (Shokrollahi, IEEE Trans. Inf. Theory 2006, section VI): its mean
    /// depends on the overhead `epsilon` alone. It leaves a fraction of the source symbols to the precode.
    pub fn raptor(epsilon: f64) -> Result<Self, CodeError> {
        if !(0.001..=1.0).contains(&epsilon) {
            return Err(parameter("epsilon", epsilon, "an overhead from 0.001 to 1"));
        }
        let mu = epsilon / 2.0 + epsilon * epsilon / 4.0;
        let largest = libm::ceil(4.0 * (1.0 + epsilon) / epsilon) as u32;
        let mut weights: Vec<f64> = Self::ideal(largest);
        weights[0] = mu;
        weights.push(1.0 / f64::from(largest));
        Ok(Self::of_weights(&weights))
    }

    /// Mean degree: XORs of source symbols per encoding symbol, counting the first as one.
    pub fn mean(&self) -> f64 {
        let last = self.cumulative.len() as f64;
        // The sum of P(degree > i) over i from 0.
        last - self.cumulative[..self.cumulative.len() - 1].iter().sum::<f64>()
    }

    /// The degree at `unit` in [0, 1) of the distribution.
    pub fn at(&self, unit: f64) -> u32 {
        let index = self.cumulative.partition_point(|&sum| sum <= unit);
        index.min(self.cumulative.len() - 1) as u32 + 1
    }
}

/// An LT code over a block of `symbols`: which source symbols an encoding symbol joins follows from its number.
#[derive(Clone, Debug)]
pub struct LtCode {
    symbols: u32,
    degrees: Degrees,
    seed: Seed,
}

impl LtCode {
    /// A code whose symbols follow from `seed`.
    pub fn new(symbols: u32, degrees: Degrees, seed: Seed) -> Result<Self, CodeError> {
        Ok(Self { symbols: symbols_in_range(symbols)?, degrees, seed })
    }

    /// Source symbols.
    pub fn symbols(&self) -> u32 {
        self.symbols
    }

    /// The source symbols that encoding symbol `esi` is the XOR of, ascending, each once.
    pub fn neighbours(&self, esi: u32) -> Vec<u32> {
        let mut chance = self.seed.stream("codes.lt", u64::from(esi));
        let degree = self.degrees.at(chance.unit()).min(self.symbols);
        let mut chosen = BTreeSet::new();
        // Floyd's sampling: every subset of the size is equally likely, with one draw for each element.
        for last in self.symbols - degree..self.symbols {
            let drawn = chance.below(last + 1);
            if !chosen.insert(drawn) {
                chosen.insert(last);
            }
        }
        chosen.into_iter().collect()
    }

    /// Encoding symbol `esi` of a block.
    pub fn symbol(&self, source: &[Vec<u8>], esi: u32) -> Result<Vec<u8>, CodeError> {
        if source.len() != self.symbols as usize {
            return Err(CodeError::DataLength { got: source.len() as u64, want: u64::from(self.symbols) });
        }
        let mut symbol = vec![0; source.first().map_or(0, Vec::len)];
        for neighbour in self.neighbours(esi) {
            xor(&mut symbol, &source[neighbour as usize]);
        }
        Ok(symbol)
    }
}

fn xor(into: &mut [u8], other: &[u8]) {
    into.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}

/// The peeling decoder: a symbol of degree one gives a source symbol, which is taken out of all others.
#[derive(Clone, Debug)]
pub struct Peeler {
    source: Vec<Option<Vec<u8>>>,
    /// Encoding symbols that join a source symbol which is not known yet.
    waiting: Vec<Vec<u32>>,
    received: Vec<(BTreeSet<u32>, Vec<u8>)>,
    known: u32,
    operations: u64,
}

impl Peeler {
    /// A decoder of a block of `symbols` without symbols.
    pub fn new(symbols: u32) -> Result<Self, CodeError> {
        let symbols = symbols_in_range(symbols)? as usize;
        let (source, waiting) = (vec![None; symbols], vec![Vec::new(); symbols]);
        Ok(Self { source, waiting, received: Vec::new(), known: 0, operations: 0 })
    }

    /// Adds the XOR of `neighbours`, and peels as far as that leads. Neighbours beyond the block are refused.
    pub fn add(&mut self, neighbours: &[u32], symbol: &[u8]) -> Result<(), CodeError> {
        if let Some(beyond) = neighbours.iter().find(|neighbour| **neighbour as usize >= self.source.len()) {
            return Err(CodeError::Esi(*beyond));
        }
        let (mut left, mut value) = (BTreeSet::new(), symbol.to_vec());
        for &neighbour in neighbours {
            match &self.source[neighbour as usize] {
                Some(known) => {
                    xor(&mut value, known);
                    self.operations += 1;
                }
                None => {
                    left.insert(neighbour);
                }
            }
        }
        let number = self.received.len() as u32;
        left.iter().for_each(|&neighbour| self.waiting[neighbour as usize].push(number));
        self.received.push((left, value));
        self.peel(number);
        Ok(())
    }

    fn peel(&mut self, first: u32) {
        let mut ripple = vec![first];
        while let Some(number) = ripple.pop() {
            let (left, value) = &mut self.received[number as usize];
            if left.len() != 1 {
                continue;
            }
            let Some(found) = left.pop_first() else { continue };
            let value = core::mem::take(value);
            for other in core::mem::take(&mut self.waiting[found as usize]) {
                let (left, sum) = &mut self.received[other as usize];
                if left.remove(&found) {
                    xor(sum, &value);
                    self.operations += 1;
                    ripple.push(other);
                }
            }
            self.source[found as usize] = Some(value);
            self.known += 1;
        }
    }

    /// Source symbols that are known.
    pub fn known(&self) -> u32 {
        self.known
    }

    /// XORs of whole symbols so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Source symbol `index`, once it is known.
    pub fn source(&self, index: u32) -> Option<&[u8]> {
        self.source.get(index as usize)?.as_deref()
    }
}
