//! How often a few more than K symbols do not determine a block: trials that count.
//!
//! RaptorQ and R10 are linear: an encoding symbol is a row of coefficients over the source symbols. The row is read off
//! the symbol that the encoder makes of a block of unit vectors. The symbols that have arrived determine the block if
//! and only if the rows of the repair symbols have full rank in the columns of the lost source symbols. So a trial
//! costs one small elimination and no decoding, and ten million trials take a minute. Decoders solve the same system by
//! Gaussian elimination; the tests compare their verdicts with the ranks.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use pullnet_rng::{RandomStream, Seed};

use crate::block::BlockEncoder;
use crate::error::CodeError;
use crate::layout::Layout;
use crate::limits::MAX_ENCODING_SYMBOLS;
use crate::lt::{Degrees, LtCode, Peeler};
use crate::r10;

/// Symbols of a block at most in trials: a row takes K bytes, and there are thousands.
pub const MAX_TRIAL_SYMBOLS: u32 = 4_096;
/// Repair symbols of a code from which trials draw.
const POOL: u32 = 8_192;
/// Parameters of the robust soliton in trials (MacKay, Information Theory, section 50.2).
const SOLITON: (f64, f64) = (0.03, 0.5);

/// A code to be tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// Robust soliton, peeling decoder.
    Lt,
    /// RFC 5053.
    R10,
    /// RFC 6330.
    RaptorQ,
}

impl Code {
    /// All codes, by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("lt", Self::Lt), ("r10", Self::R10), ("raptorq", Self::RaptorQ)];

    /// The code of a name.
    pub fn named(name: &str) -> Result<Self, CodeError> {
        let found = Self::ALL.iter().find(|(own, _)| *own == name).map(|(_, code)| *code);
        let use_ = "lt, r10 or raptorq";
        found.ok_or_else(|| CodeError::Parameter { what: "the code", value: name.to_string(), use_ })
    }
}

/// GF(256) of RFC 6330, section 5.7: generator 2, polynomial x^8 + x^4 + x^3 + x^2 + 1.
static PRODUCT: [[u8; 256]; 256] = products();

const fn products() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut a = 0;
    while a < 256 {
        let mut b = 0;
        while b < 256 {
            table[a][b] = product(a as u8, b as u8);
            b += 1;
        }
        a += 1;
    }
    table
}

const fn product(mut a: u8, mut b: u8) -> u8 {
    let mut sum = 0;
    while b > 0 {
        if b & 1 == 1 {
            sum ^= a;
        }
        let carry = a & 0x80 != 0;
        a <<= 1;
        if carry {
            a ^= 0x1d;
        }
        b >>= 1;
    }
    sum
}

/// Product in GF(256).
pub fn multiply(a: u8, b: u8) -> u8 {
    PRODUCT[usize::from(a)][usize::from(b)]
}

/// Whether `rows` of `width` coefficients have rank `width`. They are left in disorder.
pub fn full_rank(rows: &mut [u8], width: usize) -> bool {
    let count = rows.len().checked_div(width).unwrap_or(0);
    for pivot in 0..width {
        let Some(found) = (pivot..count).find(|row| rows[row * width + pivot] != 0) else { return false };
        (0..width).for_each(|at| rows.swap(found * width + at, pivot * width + at));
        let (done, below) = rows.split_at_mut((pivot + 1) * width);
        let first = &done[pivot * width + pivot..];
        for row in below.chunks_exact_mut(width) {
            let row = &mut row[pivot..];
            if row[0] != 0 {
                // Multiplying the row by the pivot instead of dividing by it leaves the rank as it is.
                let (by, add) = (&PRODUCT[usize::from(first[0])], &PRODUCT[usize::from(row[0])]);
                for (value, first) in row.iter_mut().zip(first) {
                    *value = by[usize::from(*value)] ^ add[usize::from(*first)];
                }
            }
        }
    }
    true
}

/// Rows of a pool of repair symbols over the source symbols of a block.
#[derive(Clone, Debug)]
pub struct Generator {
    symbols: u32,
    esis: Vec<u32>,
    rows: Vec<u8>,
}

/// `count` distinct numbers below `bound`, at least `from`, in the order in which they were drawn.
fn distinct(chance: &mut RandomStream, from: u32, bound: u32, count: u32) -> Vec<u32> {
    let mut drawn = alloc::collections::BTreeSet::new();
    let mut order = Vec::new();
    while order.len() < count as usize {
        let number = from + chance.below(bound - from);
        if drawn.insert(number) {
            order.push(number);
        }
    }
    order
}

impl Generator {
    /// Draws a pool of repair symbols and asks the encoder for their rows.
    pub fn new(code: Code, symbols: u32, chance: &mut RandomStream) -> Result<Self, CodeError> {
        if symbols > MAX_TRIAL_SYMBOLS {
            return Err(CodeError::TooManySymbols { symbols: u64::from(symbols), most: MAX_TRIAL_SYMBOLS });
        }
        let width = symbols as usize;
        let mut unit = vec![0; width * width];
        (0..width).for_each(|symbol| unit[symbol * width + symbol] = 1);
        let mut rows = Vec::with_capacity(POOL as usize * width);
        let bound = if code == Code::R10 { r10::MAX_ENCODING_SYMBOLS } else { MAX_ENCODING_SYMBOLS };
        let esis = distinct(chance, symbols, bound, POOL);
        match code {
            Code::RaptorQ => {
                let layout = Layout::new((width * width) as u64, symbols, 1, 1, 1)?;
                let encoder = BlockEncoder::new(layout.block(0)?, &unit)?;
                for &esi in &esis {
                    rows.extend(encoder.symbol(esi)?);
                }
            }
            Code::R10 => {
                let mut encoder = r10::Encoder::new(&unit, symbols)?;
                for &esi in &esis {
                    rows.extend(encoder.symbol(esi)?);
                }
            }
            Code::Lt => {
                let (value, use_) = ("lt".to_string(), "r10 or raptorq: LT symbols have no such rows");
                return Err(CodeError::Parameter { what: "the code", value, use_ });
            }
        }
        Ok(Self { symbols, esis, rows })
    }

    /// Encoding symbol ids of the pool.
    pub fn esis(&self) -> &[u32] {
        &self.esis
    }

    /// Whether the repair symbols `picked` (numbers in the pool) make up for the `lost` source symbols.
    pub fn determines(&self, lost: &[u32], picked: &[u32]) -> bool {
        let width = self.symbols as usize;
        let row = |pick: &u32| &self.rows[*pick as usize * width..][..width];
        let mut matrix: Vec<u8> = picked
            .iter()
            .flat_map(|pick| lost.iter().map(move |column| row(pick)[*column as usize]))
            .collect();
        full_rank(&mut matrix, lost.len())
    }
}

/// A trial: K symbols with some lost, and the number of symbols that arrive beyond K.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The code.
    pub code: Code,
    /// Source symbols K.
    pub symbols: u32,
    /// Source symbols that are lost, at least one. LT is not systematic and takes no notice of it.
    pub lost: u32,
    /// Symbols that arrive beyond K.
    pub overhead: u32,
}

/// Counts the sets that do not determine the block among `count` random sets of symbols.
pub fn failures(trial: Trial, count: u64, seed: Seed) -> Result<u64, CodeError> {
    let Trial { code, symbols, lost, overhead } = trial;
    let mut chance = seed.stream("codes.trials", u64::from(symbols));
    if code == Code::Lt {
        return lt_failures(symbols, overhead, count, seed);
    }
    if lost == 0 || lost > symbols {
        let use_ = "at least one and at most all of the source symbols";
        return Err(CodeError::Parameter {
            what: "the number of lost symbols",
            value: lost.to_string(),
            use_,
        });
    }
    if overhead > POOL / 2 {
        let use_ = "at most 4096";
        return Err(CodeError::Parameter { what: "the overhead", value: overhead.to_string(), use_ });
    }
    let generator = Generator::new(code, symbols, &mut chance)?;
    let (mut all, mut pool): (Vec<u32>, Vec<u32>) = ((0..symbols).collect(), (0..POOL).collect());
    let failed = |_: &u64| {
        let lost = shuffled(&mut all, lost, &mut chance);
        let picked = shuffled(&mut pool, lost.len() as u32 + overhead, &mut chance);
        !generator.determines(lost, picked)
    };
    Ok((0..count).filter(failed).count() as u64)
}

/// A random subset of `count` items, as the beginning of `items`, which stays a permutation.
fn shuffled<'a>(items: &'a mut [u32], count: u32, chance: &mut RandomStream) -> &'a [u32] {
    let all = items.len() as u32;
    for at in 0..count {
        items.swap(at as usize, (at + chance.below(all - at)) as usize);
    }
    &items[..count as usize]
}

fn lt_failures(symbols: u32, overhead: u32, count: u64, seed: Seed) -> Result<u64, CodeError> {
    let code = |trial| {
        let degrees = Degrees::robust_soliton(symbols, SOLITON.0, SOLITON.1)?;
        LtCode::new(symbols, degrees, Seed(seed.stream("codes.trials.lt", trial).bits()))
    };
    let mut failed = 0;
    for trial in 0..count {
        let code = code(trial)?;
        let mut peeler = Peeler::new(symbols)?;
        for esi in 0..symbols.saturating_add(overhead) {
            peeler.add(&code.neighbours(esi), &[])?;
        }
        failed += u64::from(peeler.known() < symbols);
    }
    Ok(failed)
}

/// XORs of whole symbols: per encoding symbol, and per source symbol to decode.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Operations {
    /// Per encoding symbol.
    pub encode: f64,
    /// Per source symbol that was recovered.
    pub decode: f64,
    /// Share of the source symbols that was recovered.
    pub recovered: f64,
    /// Symbols used, over source symbols.
    pub used: f64,
}

/// Operations of LT with the robust soliton: symbols arrive until the block is complete.
pub fn lt_operations(symbols: u32, seed: Seed) -> Result<Operations, CodeError> {
    let degrees = Degrees::robust_soliton(symbols, SOLITON.0, SOLITON.1)?;
    operations(symbols, degrees, symbols.saturating_mul(4), seed)
}

/// Operations of the outer code of a Raptor code at overhead `epsilon`: (1 + epsilon/2) K symbols arrive, and what they
/// leave is the precode's.
pub fn raptor_operations(symbols: u32, epsilon: f64, seed: Seed) -> Result<Operations, CodeError> {
    let arrive = libm::ceil(f64::from(symbols) * (1.0 + epsilon / 2.0)) as u32 + 1;
    operations(symbols, Degrees::raptor(epsilon)?, arrive, seed)
}

fn operations(symbols: u32, degrees: Degrees, most: u32, seed: Seed) -> Result<Operations, CodeError> {
    let encode = degrees.mean();
    let code = LtCode::new(symbols, degrees, seed)?;
    let mut peeler = Peeler::new(symbols)?;
    let mut used = 0;
    while used < most && peeler.known() < symbols {
        peeler.add(&code.neighbours(used), &[])?;
        used += 1;
    }
    let known = f64::from(peeler.known());
    let decode = peeler.operations() as f64 / known.max(1.0);
    Ok(Operations {
        encode,
        decode,
        recovered: known / f64::from(symbols),
        used: f64::from(used) / f64::from(symbols),
    })
}
