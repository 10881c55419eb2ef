//! Which flow starts when.
//!
//! A [`Workload`] is one serial, deterministic state machine: between windows the engine fetches the flows that start, and
//! reports those that have ended. It holds no clock; randomness comes from streams that are named by traffic block and
//! connection, so that the n-th flow of a connection is the same under every transport.
//!
//! A traffic pattern is one file under `patterns` and one line in [`PATTERNS`]: a table of settings (from which the
//! scenario's reader, schema and help are made) and a [`Pattern`] that plans flows.
//!
//! ```
//! use pullnet_rng::Seed;
//! use pullnet_units::{BitsPerSec, Instant, Picos};
//! use pullnet_workload::{CheckedWorkload, HostLayout, Permutation, TrafficSpec, WorkloadSpec};
//!
//! let spec = WorkloadSpec::of([TrafficSpec::new(Permutation::default())]);
//! let network = HostLayout::uniform(16, BitsPerSec::gbps(10));
//! let checked = CheckedWorkload::new(&spec, &network, Seed(1)).unwrap();
//! let mut workload = checked.start(Picos::from_micros(1));
//! let mut starts = Vec::new();
//! workload.starts_before(Instant(1), &mut starts);
//! assert_eq!(starts.len(), 16);
//! ```

mod agenda;
mod blocks;
mod common;
mod deadlines;
mod distribution;
mod error;
mod faults;
mod flow;
mod host_layout;
mod hosts;
mod import;
mod pattern;
mod patterns;
mod scene;
mod shipped;
mod sizes;
mod spec;
mod spread;
mod text;
mod workload;

pub use agenda::{After, Cue, Ended, Flow, Join, Joins, Part, Planner, Watch};
pub use common::{Coflow, Common};
pub use distribution::{Reading, SizeDistribution};
pub use error::{
    FileError, FileFault, ListFault, MatrixFault, Problem, SizesFault, VolumesFault, WorkloadError,
};
pub use faults::FileErrors;
pub use flow::{Completion, FlowStart, Instruction, Prepared};
pub use host_layout::HostLayout;
pub use hosts::{Hosts, HostsError};
pub use import::{
    Begin, Counts, FailedSwitch, Failure, Many, MatrixFormat, MatrixOptions, OtherTriggers, Script,
    ScriptFlow, StartUnit, Trigger, TriggerKind, VolumeList, parse_flow_list, parse_hpcc_flows, parse_matrix,
    parse_volumes,
};
pub use pattern::{Ends, Late, Pattern, Traffic};
pub use patterns::*;
pub use scene::{Noted, Scene};
pub use shipped::{SHIPPED, Shipped};
pub use sizes::{FileName, FlowSize, Sizes};
pub use spec::{TrafficSpec, WorkloadSpec};
pub use spread::Spread;
pub use workload::{Began, CheckedWorkload, Workload};
