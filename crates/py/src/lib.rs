//! The module `pullnet._core`: a thin binding to scenarios, simulations with their tables, and captures.
//!
//! The user interface is in the Python package; this crate contains only what must be in Rust. Errors are mapped in one
//! place, [`errors`]; long operations run detached from the interpreter in [`fault::guarded`].

mod apps;
mod capture;
mod catalogue;
mod codes;
mod errors;
mod fault;
mod fitting;
mod host;
mod inputs;
mod objects;
mod polled;
mod scenario;
mod simulation;
mod switch;
mod table;
mod testbed;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::apps::{HostBench, HostBenchServer, HostProxy};
    #[pymodule_export]
    use crate::capture::{Capture, CaptureBins, CaptureReport, mark_anomalies};
    #[pymodule_export]
    use crate::catalogue::{catalogue, picoseconds, probes, schema, template};
    #[pymodule_export]
    use crate::codes::{CodeBench, code_failures, code_limits, lt_code_operations, raptor_code_operations};
    #[pymodule_export]
    use crate::fault::provoke_fault;
    #[pymodule_export]
    use crate::fitting::PowerSample;
    #[pymodule_export]
    use crate::host::{HostFile, HostListener, HostRequest, HostStack};
    #[pymodule_export]
    use crate::objects::{objects_get, objects_put, objects_store};
    #[pymodule_export]
    use crate::polled::{PolledListener, PolledStream};
    #[pymodule_export]
    use crate::scenario::{Input, Scenario};
    #[pymodule_export]
    use crate::simulation::{Progress, Record, Simulation, Stuck};
    #[pymodule_export]
    use crate::switch::{Switch, SwitchFile, testbed_plan};
    #[pymodule_export]
    use crate::table::{Column, Table};
    #[pymodule_export]
    use crate::testbed::{Play, calls, frame_room};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::fault::keep_messages();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
