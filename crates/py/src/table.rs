//! Columns as bytes that Python can wrap without parsing: little-endian values, bitmaps with the least significant bit
//! first, in the layout of Apache Arrow.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pullnet_probes::Data;
use pullnet_record::write_parquet;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::{errors, fault};

/// A table of a run.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Table {
    #[pyo3(get)]
    name: &'static str,
    #[pyo3(get)]
    doc: &'static str,
    #[pyo3(get)]
    rows: usize,
    /// `None` once the columns have been taken.
    table: Mutex<Option<pullnet_probes::Table>>,
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

impl From<pullnet_probes::Table> for Table {
    fn from(table: pullnet_probes::Table) -> Self {
        Self { name: table.name, doc: table.doc, rows: table.rows(), table: Some(table).into() }
    }
}

#[pymethods]
impl Table {
    /// Returns the columns; call once. Each column is copied to Python's memory and freed in Rust's before the next.
    fn take_columns(&self, py: Python<'_>) -> PyResult<Vec<Column>> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner).take();
        let table = table.ok_or_else(|| taken(py))?;
        table.columns.into_iter().map(|column| Column::new(py, column)).collect()
    }

    /// Writes the table to a Parquet file; not after `take_columns`.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let write = |table: &pullnet_probes::Table| -> io::Result<()> {
            write_parquet(table, BufWriter::new(File::create(&path)?))
        };
        self.written(py, write)?.map_err(|error| os_error(py, &error, &path))
    }

    /// The table as a Parquet file; not after `take_columns`.
    fn parquet(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let bytes = self.written(py, |table| {
            let mut bytes = Vec::new();
            write_parquet(table, &mut bytes).map(|()| bytes)
        })?;
        bytes.map(|bytes| PyBytes::new(py, &bytes).unbind()).map_err(PyErr::from)
    }
}

impl Table {
    /// Outcome of `write`, which is given the table while other threads of Python run.
    fn written<T: Send>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&pullnet_probes::Table) -> io::Result<T> + Send,
    ) -> PyResult<io::Result<T>> {
        let done = fault::guarded(py, || {
            let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
            table.as_ref().map(write)
        })?;
        done.ok_or_else(|| taken(py))
    }
}

fn taken(py: Python<'_>) -> PyErr {
    errors::internal(py, "the columns of the table have been taken already".to_owned())
}

/// The error as Python itself would raise it, with its number and the file.
fn os_error(py: Python<'_>, error: &io::Error, path: &std::path::Path) -> PyErr {
    let Some(number) = error.raw_os_error() else { return PyOSError::new_err(error.to_string()) };
    let text = py.import("os").and_then(|os| os.call_method1("strerror", (number,)));
    match text {
        Ok(text) => PyOSError::new_err((number, text.unbind(), path.to_path_buf())),
        Err(error) => error,
    }
}

impl Column {
    fn new(py: Python<'_>, column: pullnet_probes::Column) -> PyResult<Self> {
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
