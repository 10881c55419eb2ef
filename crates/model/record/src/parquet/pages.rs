//! The pages of a column: a dictionary of strings if there is one, then values.

use std::io::{self, Write};
use std::ops::Range;

use zstd::bulk::Compressor;

use super::thrift::{Struct, varint};
use crate::{Column, Data};

/// Rows of a page: half a megabyte of numbers. A multiple of 8, so that bitmaps can be cut.
const PAGE_ROWS: usize = 1 << 16;

/// The level that zstd itself, and pyarrow, begin with.
const LEVEL: i32 = 1;

#[derive(Clone, Copy)]
pub enum Encoding {
    Plain = 0,
    Rle = 3,
    RleDictionary = 8,
}

/// Kinds of pages.
const DATA: i64 = 0;
const DICTIONARY: i64 = 2;

/// A column of a row group, as the footer describes it.
pub struct Chunk {
    pub rows: usize,
    /// Of the levels, and of the values.
    pub encodings: [Encoding; 2],
    /// Bytes before compression, and in the file; headers of pages included.
    pub plain: i64,
    pub stored: i64,
    /// Where its first page of values begins, and its dictionary.
    pub data_at: i64,
    pub dictionary_at: Option<i64>,
}

/// A file that is written from its begin to its end.
pub struct Sink<W> {
    to: W,
    written: u64,
    compressor: Compressor<'static>,
}

impl<W: Write> Sink<W> {
    pub fn new(to: W) -> io::Result<Self> {
        Ok(Self { to, written: 0, compressor: Compressor::new(LEVEL)? })
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes some rows of a column.
pub fn write<W: Write>(column: &Column, rows: Range<usize>, sink: &mut Sink<W>) -> io::Result<Chunk> {
    let words = if let Data::Text { words, .. } = &column.data { Some(words) } else { None };
    let values = if words.is_some() { Encoding::RleDictionary } else { Encoding::Plain };
    let mut chunk = Chunk {
        rows: rows.len(),
        encodings: [Encoding::Rle, values],
        plain: 0,
        stored: 0,
        data_at: 0,
        dictionary_at: None,
    };
    if let Some(words) = words {
        chunk.dictionary_at = Some(sink.written as i64);
        let mut bytes = Vec::new();
        for word in words {
            bytes.extend((word.len() as u32).to_le_bytes());
            bytes.extend(word.as_bytes());
        }
        page(sink, &mut chunk, &bytes, dictionary(words.len()))?;
    }
    chunk.data_at = sink.written as i64;
    let mut begin = rows.start;
    while begin < rows.end {
        let some = begin..rows.end.min(begin + PAGE_ROWS);
        begin = some.end;
        let mut bytes = levels(column, &some);
        values_of(column, &some, &mut bytes);
        page(sink, &mut chunk, &bytes, data(some.len(), values))?;
    }
    Ok(chunk)
}

/// A kind of page, and the part of its header that only this kind has, with the number of its field.
type Kind = (i64, u8, Struct);

/// `DictionaryPageHeader`.
fn dictionary(words: usize) -> Kind {
    let mut part = Struct::default();
    part.i32(1, words as i64);
    part.i32(2, Encoding::Plain as i64);
    (DICTIONARY, 7, part)
}

/// `DataPageHeader`.
fn data(rows: usize, values: Encoding) -> Kind {
    let mut part = Struct::default();
    part.i32(1, rows as i64);
    part.i32(2, values as i64);
    part.i32(3, Encoding::Rle as i64);
    part.i32(4, Encoding::Rle as i64);
    (DATA, 5, part)
}

/// Writes a page behind its `PageHeader`.
fn page<W: Write>(
    sink: &mut Sink<W>,
    chunk: &mut Chunk,
    bytes: &[u8],
    (kind, number, part): Kind,
) -> io::Result<()> {
    let compressed = sink.compressor.compress(bytes)?;
    let mut header = Struct::default();
    header.i32(1, kind);
    header.i32(2, bytes.len() as i64);
    header.i32(3, compressed.len() as i64);
    header.nested(number, part);
    let header = header.finish();
    sink.write(&header)?;
    sink.write(&compressed)?;
    chunk.plain += (header.len() + bytes.len()) as i64;
    chunk.stored += (header.len() + compressed.len()) as i64;
    Ok(())
}

/// Whether row `row` has a value.
fn is_there(column: &Column, row: usize) -> bool {
    column.valid.as_ref().is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1)
}

/// The definition levels of some rows: 1 where there is a value. Rows begin at a multiple of 8.
fn levels(column: &Column, rows: &Range<usize>) -> Vec<u8> {
    let mut runs = Vec::new();
    match &column.valid {
        None => {
            varint(&mut runs, (rows.len() as u64) << 1);
            runs.push(1);
        }
        Some(bits) => packed_run(&mut runs, rows.len(), &bits[rows.start / 8..rows.end.div_ceil(8)]),
    }
    let mut bytes = (runs.len() as u32).to_le_bytes().to_vec();
    bytes.extend(runs);
    bytes
}

/// A run of packed values: groups of eight.
fn packed_run(bytes: &mut Vec<u8>, values: usize, packed: &[u8]) {
    varint(bytes, (values.div_ceil(8) as u64) << 1 | 1);
    bytes.extend(packed);
}

/// Adds the values that are there.
fn values_of(column: &Column, rows: &Range<usize>, bytes: &mut Vec<u8>) {
    let there = rows.clone().filter(|row| is_there(column, *row));
    match &column.data {
        Data::U32(values) => there.for_each(|row| bytes.extend(values[row].to_le_bytes())),
        Data::I64(values) => there.for_each(|row| bytes.extend(values[row].to_le_bytes())),
        Data::F64(values) => there.for_each(|row| bytes.extend(values[row].to_le_bytes())),
        Data::Bool(values) => bytes.extend(pack(there.map(|row| values[row].into()), 1)),
        Data::Text { codes, words } => {
            let width = width(words.len());
            let packed = pack(there.clone().map(|row| codes[row]), width);
            bytes.push(width as u8);
            packed_run(bytes, there.count(), &packed);
        }
    }
}

/// Bits for numbers below `words`; at least 1.
fn width(words: usize) -> u32 {
    (usize::BITS - words.saturating_sub(1).leading_zeros()).max(1)
}

/// Numbers of `width` bits, the lowest bit first, filled up to groups of eight numbers.
fn pack(numbers: impl Iterator<Item = u32>, width: u32) -> Vec<u8> {
    let (mut bytes, mut held, mut bits, mut count) = (Vec::new(), 0u64, 0, 0usize);
    for number in numbers {
        held |= u64::from(number) << bits;
        bits += width;
        count += 1;
        while bits >= 8 {
            bytes.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        bytes.push(held as u8);
    }
    bytes.resize(count.div_ceil(8) * width as usize, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_numbers_can_be_read_again(width in 1u32..=32, numbers: Vec<u32>) {
            let mask = u32::MAX >> (32 - width);
            let packed = pack(numbers.iter().map(|number| number & mask), width);
            prop_assert_eq!(packed.len(), numbers.len().div_ceil(8) * width as usize);
            for (at, number) in numbers.iter().enumerate() {
                let bit = |n: usize| u32::from(packed[n / 8] >> (n % 8) & 1);
                let first = at * width as usize;
                let read = (0..width as usize).fold(0, |read, n| read | bit(first + n) << n);
                prop_assert_eq!(read, number & mask);
            }
        }
    }

    #[test]
    fn the_numbers_of_words_have_the_bits_that_they_need() {
        assert_eq!([0, 1, 2, 3, 4, 5, 256, 257].map(width), [1, 1, 1, 2, 2, 3, 8, 9]);
    }
}
