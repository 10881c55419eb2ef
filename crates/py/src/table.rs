//! Columns as bytes that Python can wrap without parsing: little-endian values, bitmaps with the least significant bit
//! first, in the layout of Apache Arrow.

use pullnet_record::Data;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A table of a run.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Table {
    #[pyo3(get)]
    name: &'static str,
    #[pyo3(get)]
    doc: &'static str,
    #[pyo3(get)]
    rows: usize,
    columns: std::sync::Mutex<Vec<pullnet_record::Column>>,
}

/// A column of a table.
#[pyclass(frozen, get_all, module = "pullnet._core")]
pub struct Column {
    name: &'static str,
    unit: &'static str,
    doc: &'static str,
    /// `uint32`, `int64`, `double`, `bool`, or `text` with indices into `words`.
    kind: &'static str,
    data: Py<PyBytes>,
    /// Validity bitmap of the rows; `None`: all rows have a value.
    valid: Option<Py<PyBytes>>,
    words: Vec<String>,
}

impl From<pullnet_record::Table> for Table {
    fn from(table: pullnet_record::Table) -> Self {
        Self { name: table.name, doc: table.doc, rows: table.rows(), columns: table.columns.into() }
    }
}

#[pymethods]
impl Table {
    /// Returns the columns; call once. Each column is copied to Python's memory and freed in Rust's before the next.
    fn take_columns(&self, py: Python<'_>) -> PyResult<Vec<Column>> {
        let mut columns = self.columns.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        columns.drain(..).map(|column| Column::new(py, column)).collect()
    }
}

impl Column {
    fn new(py: Python<'_>, column: pullnet_record::Column) -> PyResult<Self> {
        let valid = column.valid.map(|bits| PyBytes::new(py, &bits).unbind());
        let (kind, data, words) = match column.data {
            Data::U32(values) => ("uint32", bytes(py, &values, u32::to_le_bytes)?, Vec::new()),
            Data::I64(values) => ("int64", bytes(py, &values, i64::to_le_bytes)?, Vec::new()),
            Data::F64(values) => ("double", bytes(py, &values, f64::to_le_bytes)?, Vec::new()),
            Data::Bool(values) => ("bool", PyBytes::new(py, &bitmap(&values)).unbind(), Vec::new()),
            Data::Text { codes, words } => ("text", bytes(py, &codes, u32::to_le_bytes)?, words),
        };
        Ok(Self { name: column.name, unit: column.unit, doc: column.doc, kind, data, valid, words })
    }
}

/// Copies numbers into Python's memory.
pub fn bytes<T: Copy, const N: usize>(
    py: Python<'_>,
    values: &[T],
    le: fn(T) -> [u8; N],
) -> PyResult<Py<PyBytes>> {
    let filled = PyBytes::new_with(py, values.len() * N, |buffer| {
        for (bytes, value) in buffer.chunks_exact_mut(N).zip(values) {
            bytes.copy_from_slice(&le(*value));
        }
        Ok(())
    })?;
    Ok(filled.unbind())
}

fn bitmap(values: &[bool]) -> Vec<u8> {
    let byte =
        |chunk: &[bool]| chunk.iter().enumerate().fold(0, |byte, (bit, on)| byte | u8::from(*on) << bit);
    values.chunks(8).map(byte).collect()
}
