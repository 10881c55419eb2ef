/// One measured row of `data/speed.csv`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// Source symbols K.
    pub symbols: u32,
    /// Bytes of a symbol.
    pub symbol_bytes: u32,
    /// Median time until the intermediate symbols of a block are there. Unit: us.
    pub encode_us: f64,
    /// Median time of one repair symbol after that. Unit: us.
    pub repair_us: f64,
    /// Median time to decode a block. Unit: us.
    pub decode_us: f64,
    /// 90th percentile of the same. Unit: us.
    pub decode_p90_us: f64,
}

/// The measured table, as text: comments begin with `#`, then a line of names, then one row per K and symbol size.
pub const SPEED: &str = include_str!("../data/speed.csv");

/// Rows that the latency can be interpolated from at most.
const ROWS: usize = 64;

/// Time to decode a block, from a table of measurements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Latency {
    rows: [Row; ROWS],
    count: usize,
}

const NO_ROW: Row =
    Row { symbols: 0, symbol_bytes: 0, encode_us: 0.0, repair_us: 0.0, decode_us: 0.0, decode_p90_us: 0.0 };

impl Latency {
    /// The table that is shipped.
    pub fn measured() -> Self {
        Self::parse(SPEED).unwrap_or(Self { rows: [NO_ROW; ROWS], count: 0 })
    }

    /// Reads a table; `None` if a row is not six numbers, or there are none or more than 64 rows.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut rows, mut count) = ([NO_ROW; ROWS], 0);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines.skip(1) {
            *rows.get_mut(count)? = row(line)?;
            count += 1;
        }
        (count > 0).then_some(Self { rows, count })
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows[..self.count]
    }

    /// Time to decode a block of `symbols` of `symbol_bytes`, by the median. Unit: us.
    ///
    /// Between measured K the time per symbol is interpolated linearly, beyond them it is that of the nearest; it is
    /// interpolated likewise between symbol sizes, and proportional to the size beyond them.
    pub fn decode_us(&self, symbols: u32, symbol_bytes: u32) -> f64 {
        let size = f64::from(symbol_bytes);
        let sizes = || self.rows().iter().map(|row| row.symbol_bytes);
        let below = sizes().filter(|size| *size <= symbol_bytes).max();
        let above = sizes().filter(|size| *size >= symbol_bytes).min();
        let at = |size: u32| self.per_symbol(symbols, size);
        let per_symbol = match (below, above) {
            (Some(low), Some(high)) => between(size, (f64::from(low), at(low)), (f64::from(high), at(high))),
            (Some(nearest), None) | (None, Some(nearest)) => at(nearest) * size / f64::from(nearest),
            (None, None) => 0.0,
        };
        per_symbol * f64::from(symbols)
    }

    /// Time per symbol at one of the measured sizes.
    fn per_symbol(&self, symbols: u32, size: u32) -> f64 {
        let rows = || self.rows().iter().filter(move |row| row.symbol_bytes == size);
        let point = |row: &Row| (f64::from(row.symbols), row.decode_us / f64::from(row.symbols.max(1)));
        let below = rows().filter(|row| row.symbols <= symbols).max_by_key(|row| row.symbols).map(point);
        let above = rows().filter(|row| row.symbols >= symbols).min_by_key(|row| row.symbols).map(point);
        match (below, above) {
            (Some(low), Some(high)) => between(f64::from(symbols), low, high),
            (Some((_, nearest)), None) | (None, Some((_, nearest))) => nearest,
            (None, None) => 0.0,
        }
    }
}

fn between(x: f64, low: (f64, f64), high: (f64, f64)) -> f64 {
    if high.0 > low.0 { low.1 + (high.1 - low.1) * (x - low.0) / (high.0 - low.0) } else { low.1 }
}

fn row(line: &str) -> Option<Row> {
    let mut cells = line.split(',').map(str::trim);
    let symbols = cells.next()?.parse().ok().filter(|symbols| *symbols > 0)?;
    let symbol_bytes = cells.next()?.parse().ok().filter(|bytes| *bytes > 0)?;
    let mut number = || cells.next()?.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
    let (encode_us, repair_us, decode_us, decode_p90_us) = (number()?, number()?, number()?, number()?);
    cells.next().is_none().then_some(Row {
        symbols,
        symbol_bytes,
        encode_us,
        repair_us,
        decode_us,
        decode_p90_us,
    })
}
