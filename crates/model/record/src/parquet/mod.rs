//! Tables as Parquet files: <https://parquet.apache.org/docs/file-format/>.
//!
//! Only what tables of runs need: flat columns, each with a level that says whether a value is there; plain values, and
//! strings by their numbers in a dictionary; pages compressed by zstd. Units and docs of the columns are in an Arrow schema,
//! where readers that know Arrow find them.

mod arrow;
mod pages;
mod thrift;

use std::io::{self, Write};

use crate::{Column, Data, Table};
use pages::{Chunk, Sink};
use thrift::Struct;

const MAGIC: &[u8] = b"PAR1";
/// Rows of a row group. A reader holds the columns of one group at a time.
const GROUP_ROWS: usize = 1 << 20;

/// Numbers of the format, from `parquet.thrift`.
mod number {
    pub const VERSION: i64 = 2;
    pub const OPTIONAL: i64 = 1;
    pub const UTF8: i64 = 0;
    pub const UINT_32: i64 = 13;
    pub const ZSTD: i64 = 6;
}

/// How a column is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Physical {
    Boolean = 0,
    Int32 = 1,
    Int64 = 2,
    Double = 5,
    ByteArray = 6,
}

impl Physical {
    fn of(data: &Data) -> Self {
        match data {
            Data::Bool(_) => Self::Boolean,
            Data::U32(_) => Self::Int32,
            Data::I64(_) => Self::Int64,
            Data::F64(_) => Self::Double,
            Data::Text { .. } => Self::ByteArray,
        }
    }
}

impl Table {
    /// Writes the table as a Parquet file.
    pub fn write_parquet(&self, to: impl Write) -> io::Result<()> {
        let mut sink = Sink::new(to)?;
        sink.write(MAGIC)?;
        let mut groups = Vec::new();
        let mut begin = 0;
        while begin < self.rows() {
            let rows = begin..self.rows().min(begin + GROUP_ROWS);
            begin = rows.end;
            let chunks: io::Result<Vec<_>> =
                self.columns.iter().map(|column| pages::write(column, rows.clone(), &mut sink)).collect();
            groups.push((rows.len(), chunks?));
        }
        let footer = self.footer(&groups);
        sink.write(&footer)?;
        sink.write(&(footer.len() as u32).to_le_bytes())?;
        sink.write(MAGIC)?;
        sink.finish()
    }

    /// `FileMetaData`.
    fn footer(&self, groups: &[(usize, Vec<Chunk>)]) -> Vec<u8> {
        let mut file = Struct::default();
        file.i32(1, number::VERSION);
        let root = std::iter::once(root(self.columns.len()));
        file.list(2, root.chain(self.columns.iter().map(element)));
        file.i64(3, self.rows() as i64);
        file.list(4, groups.iter().map(|(rows, chunks)| self.group(*rows, chunks)));
        let schema = arrow::schema(self);
        file.list(5, [key_value("doc", self.doc), key_value("ARROW:schema", &schema)].into_iter());
        file.text(6, concat!("pullnet ", env!("CARGO_PKG_VERSION")));
        file.finish()
    }

    /// `RowGroup`.
    fn group(&self, rows: usize, chunks: &[Chunk]) -> Vec<u8> {
        let mut group = Struct::default();
        group.list(1, self.columns.iter().zip(chunks).map(|(column, chunk)| stored(column, chunk)));
        group.i64(2, chunks.iter().map(|chunk| chunk.plain).sum());
        group.i64(3, rows as i64);
        group.finish()
    }
}

/// `SchemaElement` above all columns.
fn root(columns: usize) -> Vec<u8> {
    let mut element = Struct::default();
    element.text(4, "schema");
    element.i32(5, columns as i64);
    element.finish()
}

/// `SchemaElement` of a column.
fn element(column: &Column) -> Vec<u8> {
    let mut element = Struct::default();
    element.i32(1, Physical::of(&column.data) as i64);
    element.i32(3, number::OPTIONAL);
    element.text(4, column.name);
    let mut logical = Struct::default();
    match column.data {
        Data::U32(_) => {
            element.i32(6, number::UINT_32);
            let mut integer = Struct::default();
            integer.i8(1, 32);
            integer.flag(2, false);
            logical.nested(10, integer);
        }
        Data::Text { .. } => {
            element.i32(6, number::UTF8);
            logical.nested(1, Struct::default());
        }
        _ => return element.finish(),
    }
    element.nested(10, logical);
    element.finish()
}

/// `ColumnChunk` with its `ColumnMetaData`.
fn stored(column: &Column, chunk: &Chunk) -> Vec<u8> {
    let mut about = Struct::default();
    about.i32(1, Physical::of(&column.data) as i64);
    about.numbers(2, &chunk.encodings.map(|encoding| encoding as i64));
    about.texts(3, &[column.name]);
    about.i32(4, number::ZSTD);
    about.i64(5, chunk.rows as i64);
    about.i64(6, chunk.plain);
    about.i64(7, chunk.stored);
    about.i64(9, chunk.data_at);
    if let Some(at) = chunk.dictionary_at {
        about.i64(11, at);
    }
    let mut stored = Struct::default();
    stored.i64(2, chunk.dictionary_at.unwrap_or(chunk.data_at));
    stored.nested(3, about);
    stored.finish()
}

/// `KeyValue`.
fn key_value(key: &str, value: &str) -> Vec<u8> {
    let mut pair = Struct::default();
    pair.text(1, key);
    pair.text(2, value);
    pair.finish()
}
