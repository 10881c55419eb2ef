use std::collections::BTreeMap;

use pullnet_units::Picos;

/// Values of a column. A missing value is stored as zero.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Identifiers of flows, hosts or ports.
    U32(Vec<u32>),
    /// Counts and times, signed so that differences of two columns are correct.
    I64(Vec<i64>),
    /// Ratios and times for display.
    F64(Vec<f64>),
    /// Booleans.
    Bool(Vec<bool>),
    /// Strings: an index into `words` per row.
    Text {
        /// One per row.
        codes: Vec<u32>,
        /// The strings, indexed by code.
        words: Vec<String>,
    },
}

impl Data {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Text { codes, .. } => codes.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A column with its description.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Name of the column; ends in the unit where there is one: `start_ps`.
    pub name: &'static str,
    /// Unit; empty for names, identifiers and ratios.
    pub unit: &'static str,
    /// Description for a reader who does not know the program.
    pub doc: &'static str,
    /// The values.
    pub data: Data,
    /// Validity bitmap, one bit per row, least significant bit first. `None`: no value is missing.
    pub valid: Option<Vec<u8>>,
}

/// A table of columns of equal length.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Name of the table and of its file.
    pub name: &'static str,
    /// Description of a row.
    pub doc: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data.len())
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// Builds a table from a slice of rows, column by column.
#[derive(Debug)]
pub struct Builder<'a, R> {
    rows: &'a [R],
    table: Table,
}

impl<'a, R> Builder<'a, R> {
    /// A table without columns yet.
    pub fn new(name: &'static str, doc: &'static str, rows: &'a [R]) -> Self {
        Self { rows, table: Table { name, doc, columns: Vec::new() } }
    }

    /// The table.
    pub fn finish(self) -> Table {
        self.table
    }

    fn push(mut self, label: Label, data: Data, valid: Option<Vec<u8>>) -> Self {
        let [name, unit, doc] = label;
        self.table.columns.push(Column { name, unit, doc, data, valid });
        self
    }

    /// Adds a column with the row number, from 0.
    pub fn numbered(self, label: Label) -> Self {
        let numbers = (0..self.rows.len()).map(|row| row as u32).collect();
        self.push(label, Data::U32(numbers), None)
    }

    /// Adds a column of identifiers or small numbers.
    pub fn id(self, label: Label, of: impl Fn(&R) -> u32) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.push(label, Data::U32(values), None)
    }

    /// Adds a column of booleans.
    pub fn flag(self, label: Label, of: impl Fn(&R) -> bool) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.push(label, Data::Bool(values), None)
    }

    /// The same, where a value may be missing.
    pub fn maybe_flag(self, label: Label, of: impl Fn(&R) -> Option<bool>) -> Self {
        let (values, valid) = with_gaps(self.rows.iter().map(of));
        self.push(label, Data::Bool(values), valid)
    }

    /// The same, where a value may be missing.
    pub fn maybe_id(self, label: Label, of: impl Fn(&R) -> Option<u32>) -> Self {
        let (values, valid) = with_gaps(self.rows.iter().map(of));
        self.push(label, Data::U32(values), valid)
    }

    /// Adds a column of counts or times.
    pub fn count(self, label: Label, of: impl Fn(&R) -> u64) -> Self {
        let values = self.rows.iter().map(|row| signed(of(row))).collect();
        self.push(label, Data::I64(values), None)
    }

    /// The same, where a value may be missing.
    pub fn maybe_count(self, label: Label, of: impl Fn(&R) -> Option<u64>) -> Self {
        let (values, valid) = with_gaps(self.rows.iter().map(|row| of(row).map(signed)));
        self.push(label, Data::I64(values), valid)
    }

    /// Adds a column of ratios, or of times for display. NaN and infinity count as missing.
    pub fn ratio(self, label: Label, of: impl Fn(&R) -> f64) -> Self {
        self.maybe_ratio(label, |row| Some(of(row)))
    }

    /// NaN and infinity count as missing.
    pub fn maybe_ratio(self, label: Label, of: impl Fn(&R) -> Option<f64>) -> Self {
        let (values, valid) =
            with_gaps(self.rows.iter().map(|row| of(row).filter(|value| value.is_finite())));
        self.push(label, Data::F64(values), valid)
    }

    /// Adds a column of strings.
    pub fn text<'t>(self, label: Label, of: impl Fn(&'t R) -> &'t str) -> Self
    where
        'a: 't,
    {
        self.maybe_text(label, |row| Some(of(row)))
    }

    /// The same, where a value may be missing.
    pub fn maybe_text<'t>(self, label: Label, of: impl Fn(&'t R) -> Option<&'t str>) -> Self
    where
        'a: 't,
    {
        let rows = self.rows;
        let mut dictionary = Dictionary::default();
        let (codes, valid) = with_gaps(rows.iter().map(|row| of(row).map(|word| dictionary.code(word))));
        self.push(label, Data::Text { codes, words: dictionary.words }, valid)
    }
}

/// Name, unit and doc of a column.
pub type Label = [&'static str; 3];

/// Numbers strings in the order of their first use.
#[derive(Default)]
struct Dictionary<'t> {
    codes: BTreeMap<&'t str, u32>,
    words: Vec<String>,
}

impl<'t> Dictionary<'t> {
    fn code(&mut self, word: &'t str) -> u32 {
        *self.codes.entry(word).or_insert_with(|| {
            self.words.push(word.to_owned());
            self.words.len() as u32 - 1
        })
    }
}

/// Counts and times stay far below 2^63; "never" becomes the largest value.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Values, with zeros for missing ones, and the validity bitmap.
fn with_gaps<T: Default>(values: impl ExactSizeIterator<Item = Option<T>>) -> (Vec<T>, Option<Vec<u8>>) {
    let mut bits = vec![0u8; values.len().div_ceil(8)];
    let mut complete = true;
    let filled = values
        .enumerate()
        .map(|(row, value)| {
            bits[row / 8] |= u8::from(value.is_some()) << (row % 8);
            complete &= value.is_some();
            value.unwrap_or_default()
        })
        .collect();
    (filled, (!complete).then_some(bits))
}

/// Rate of `bytes` over `span` in Gb/s; `None` if `span` is zero.
pub fn gbps(bytes: u64, span: Picos) -> Option<f64> {
    (span > Picos::ZERO).then(|| bytes as f64 * 8_000.0 / span.0 as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn gaps_are_where_values_are_missing(values: Vec<Option<u32>>) {
            let (filled, valid) = with_gaps(values.iter().copied());
            for (row, value) in values.iter().enumerate() {
                let present = valid.as_ref().is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1);
                prop_assert_eq!(present, value.is_some());
                prop_assert_eq!(filled[row], value.unwrap_or(0));
            }
            prop_assert_eq!(valid.is_none(), values.iter().all(Option::is_some));
        }

        #[test]
        fn codes_lead_back_to_their_words(words: Vec<String>) {
            let table = Builder::new("t", "", &words).text(["word", "", ""], |word| word).finish();
            let Data::Text { codes, words: dictionary } = &table.columns[0].data else { unreachable!() };
            let back: Vec<_> = codes.iter().map(|code| dictionary[*code as usize].clone()).collect();
            prop_assert_eq!(back, words);
        }
    }

    #[test]
    fn a_ratio_that_is_no_number_is_missing() {
        let table =
            Builder::new("t", "", &[1.0, f64::NAN, f64::INFINITY]).ratio(["x", "", ""], |x| *x).finish();
        assert_eq!(table.columns[0].data, Data::F64(vec![1.0, 0.0, 0.0]));
        assert_eq!(table.columns[0].valid, Some(vec![0b001]));
    }
}
