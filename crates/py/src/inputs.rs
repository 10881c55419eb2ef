//! The files that a scenario refers to.

use pullnet_config::{Disk, Files};
use pyo3::prelude::*;

/// The file system; `pullnet.inputs` converts flow lists in Parquet to CSV.
pub struct Inputs;

impl Files for Inputs {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if path.to_ascii_lowercase().ends_with(".parquet") {
            Python::attach(|py| csv(py, path).map_err(|error| error.value(py).to_string()))
        } else {
            Disk.read(path)
        }
    }
}

fn csv(py: Python<'_>, path: &str) -> PyResult<Vec<u8>> {
    py.import("pullnet.inputs")?.getattr("parquet_as_csv")?.call1((path,))?.extract()
}
