use pullnet_rng::RandomStream;
use pullnet_settings::choice;
use pullnet_units::Bytes;

use crate::error::{FileError, SizesFault};
use crate::text;

choice! {
    /// How the rows of a size distribution are read.
    pub enum Reading {
        /// All flows between two rows have the upper size.
        Steps = "steps",
        /// Flows between two rows are spread evenly over the sizes in between.
        Linear = "linear",
    }
}

impl Reading {
    /// The name in a scenario.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Linear => "linear",
        }
    }
}

/// A row: a share of `cdf` of all flows has at most `size` bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Row {
    size: u64,
    cdf: f64,
}

/// A distribution of flow sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeDistribution {
    rows: Vec<Row>,
    reading: Reading,
}

/// Tolerance for the last share of a file, which must be 1: rounding in its last digits.
const ROUNDING: f64 = 1e-9;

impl SizeDistribution {
    /// All flows have `bytes` bytes (at least 1).
    pub fn fixed(bytes: Bytes) -> Self {
        Self { rows: vec![Row { size: bytes.0.max(1), cdf: 1.0 }], reading: Reading::Steps }
    }

    /// Reads CSV with the header `bytes,cdf`: sizes and cumulative shares that do not fall, the last share 1.
    pub fn parse(file: &str, contents: &[u8], reading: Reading) -> Result<Self, FileError> {
        let mut rows: Vec<Row> = Vec::new();
        let (mut header, mut last_line) = (false, 1);
        for (line, content) in (1..).zip(text::utf8(file, contents)?.lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let fail = |fault: SizesFault| FileError::new(file, line, fault);
            if !header {
                check_header(content).map_err(fail)?;
                header = true;
                continue;
            }
            rows.push(next_row(rows.last(), content).map_err(fail)?);
            last_line = line;
        }
        finish(&mut rows).map_err(|fault| FileError::new(file, last_line, fault))?;
        Ok(Self { rows, reading })
    }

    /// The mean. Unit: bytes.
    pub fn mean(&self) -> f64 {
        let first = self.rows[0].size as f64 * self.rows[0].cdf;
        let steps = self.rows.windows(2).map(|pair| {
            let (low, high) = (pair[0].size as f64, pair[1].size as f64);
            let size = if self.reading == Reading::Steps { high } else { (low + high) / 2.0 };
            size * (pair[1].cdf - pair[0].cdf)
        });
        first + steps.sum::<f64>()
    }

    /// The share of flows of at most `size` bytes.
    pub fn cdf(&self, size: u64) -> f64 {
        let above = self.rows.partition_point(|row| row.size <= size);
        let Some(low) = above.checked_sub(1).map(|index| self.rows[index]) else { return 0.0 };
        match self.rows.get(above) {
            Some(high) if self.reading == Reading::Linear => {
                let part = (size - low.size) as f64 / (high.size - low.size) as f64;
                low.cdf + part * (high.cdf - low.cdf)
            }
            _ => low.cdf,
        }
    }

    /// The smallest size that a share of `share` of the flows does not exceed, rounded to a whole byte, at least 1.
    pub fn quantile(&self, share: f64) -> Bytes {
        let index = self.rows.partition_point(|row| row.cdf <= share).min(self.rows.len() - 1);
        let high = self.rows[index];
        let low = match index.checked_sub(1) {
            Some(below) if self.reading == Reading::Linear => self.rows[below],
            _ => return Bytes(high.size.max(1)),
        };
        let part = (share - low.cdf) / (high.cdf - low.cdf);
        let above = (part.clamp(0.0, 1.0) * (high.size - low.size) as f64).round() as u64;
        Bytes((low.size + above).clamp(1, high.size.max(1)))
    }

    /// A random size.
    pub fn sample(&self, chance: &mut RandomStream) -> Bytes {
        self.quantile(chance.unit())
    }

    /// The largest size.
    pub fn max(&self) -> Bytes {
        Bytes(self.rows[self.rows.len() - 1].size)
    }

    /// How the rows are read.
    pub fn reading(&self) -> Reading {
        self.reading
    }
}

fn check_header(content: &str) -> Result<(), SizesFault> {
    let names: Vec<&str> = content.split(',').map(str::trim).collect();
    if names == ["bytes", "cdf"] { Ok(()) } else { Err(SizesFault::Header(text::shown(content))) }
}

fn next_row(before: Option<&Row>, content: &str) -> Result<Row, SizesFault> {
    let values: Vec<&str> = content.split(',').map(str::trim).collect();
    let [size, cdf] = values[..] else { return Err(SizesFault::Columns(values.len())) };
    let row = Row { size: size_of(size)?, cdf: share_of(cdf)? };
    match before {
        Some(before) if row.size < before.size => {
            Err(SizesFault::SizeFalls { before: before.size, value: row.size })
        }
        Some(before) if row.cdf < before.cdf => {
            Err(SizesFault::ShareFalls { before: before.cdf, value: row.cdf })
        }
        _ => Ok(row),
    }
}

fn size_of(value: &str) -> Result<u64, SizesFault> {
    let size = value.parse::<u64>().ok().filter(|size| *size < 1 << 63);
    size.ok_or_else(|| SizesFault::NotASize(text::shown(value)))
}

fn share_of(value: &str) -> Result<f64, SizesFault> {
    let share = value.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| SizesFault::NotAShare(text::shown(value)))
}

/// Checks the ends of a table, and makes its last share exactly 1.
fn finish(rows: &mut [Row]) -> Result<(), SizesFault> {
    let Some(last) = rows.last_mut() else { return Err(SizesFault::Empty) };
    if last.cdf < 1.0 - ROUNDING {
        return Err(SizesFault::End(last.cdf));
    }
    last.cdf = 1.0;
    match rows.iter().rev().find(|row| row.size == 0) {
        Some(zero) if zero.cdf > 0.0 => Err(SizesFault::ZeroSize(zero.cdf)),
        _ => Ok(()),
    }
}
