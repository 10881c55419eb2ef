//! Tables as Parquet files: flat columns of values that may be missing, compressed by zstd. Units and docs of the columns
//! are in an Arrow schema, where readers that know Arrow find them.

mod arrow;

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use pullnet_probes::{Column, Data, Table};

/// Rows of a row group. A reader holds the columns of one group at a time.
const GROUP_ROWS: usize = 1 << 20;
/// Rows that are handed to the writer together, so that a column need not be copied whole.
const BATCH_ROWS: usize = 1 << 16;
/// The level that zstd itself, and pyarrow, begin with.
const LEVEL: i32 = 1;

/// Writes `table` as a Parquet file.
pub fn write_parquet(table: &Table, to: impl Write + Send) -> io::Result<()> {
    write(table, to).map_err(io_error)
}

fn write(table: &Table, to: impl Write + Send) -> Result<()> {
    let fields: Result<Vec<_>> = table.columns.iter().map(field).collect();
    let schema = Type::group_type_builder("schema").with_fields(fields?).build()?;
    let mut file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties(table)?))?;
    let mut begin = 0;
    while begin < table.rows() {
        let rows = begin..table.rows().min(begin + GROUP_ROWS);
        begin = rows.end;
        let mut group = file.next_row_group()?;
        for column in &table.columns {
            let Some(mut writer) = group.next_column()? else { break };
            write_column(column, rows.clone(), &mut writer)?;
            writer.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn properties(table: &Table) -> Result<WriterProperties> {
    let about = [("doc", table.doc.to_owned()), ("ARROW:schema", arrow::schema(table))];
    let about = about.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let properties = WriterProperties::builder()
        .set_created_by(concat!("pullnet ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(about.to_vec()))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false);
    let texts = table.columns.iter().filter(|column| matches!(column.data, Data::Text { .. }));
    Ok(texts.fold(properties, |all, text| all.set_column_dictionary_enabled(text.name.into(), true)).build())
}

/// The error of the writer below if it is one, so that its code and its text stay those of the system.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(inner) => *inner,
            Err(inner) => io::Error::other(inner),
        },
        other => io::Error::other(other),
    }
}

/// A column of the schema.
fn field(column: &Column) -> Result<Arc<Type>> {
    let (physical, logical) = match column.data {
        Data::Bool(_) => (Physical::BOOLEAN, None),
        Data::U32(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
        Data::I64(_) => (Physical::INT64, None),
        Data::F64(_) => (Physical::DOUBLE, None),
        Data::Text { .. } => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(column.name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build().map(Arc::new)
}

/// Writes some rows of a column.
fn write_column(column: &Column, rows: Range<usize>, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
    match &column.data {
        Data::Bool(values) => batches(column, rows, writer.typed::<BoolType>(), |row| values[row]),
        Data::U32(values) => {
            batches(column, rows, writer.typed::<Int32Type>(), |row| values[row].cast_signed())
        }
        Data::I64(values) => batches(column, rows, writer.typed::<Int64Type>(), |row| values[row]),
        Data::F64(values) => batches(column, rows, writer.typed::<DoubleType>(), |row| values[row]),
        Data::Text { codes, words } => {
            let words: Vec<_> = words.iter().map(|word| ByteArray::from(word.as_bytes().to_vec())).collect();
            batches(column, rows, writer.typed::<ByteArrayType>(), |row| words[codes[row] as usize].clone())
        }
    }
}

/// Writes the values of some rows, batch by batch; the level of a row is 1 where there is a value.
fn batches<T: DataType>(
    column: &Column,
    rows: Range<usize>,
    writer: &mut ColumnWriterImpl<'_, T>,
    value: impl Fn(usize) -> T::T,
) -> Result<()> {
    let mut begin = rows.start;
    while begin < rows.end {
        let batch = begin..rows.end.min(begin + BATCH_ROWS);
        begin = batch.end;
        let values: Vec<_> = batch.clone().filter(|row| has_value(column, *row)).map(&value).collect();
        let levels: Vec<i16> = batch.map(|row| has_value(column, row).into()).collect();
        writer.write_batch(&values, Some(&levels), None)?;
    }
    Ok(())
}

fn has_value(column: &Column, row: usize) -> bool {
    column.valid.as_ref().is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1)
}
