mod hpcc;
mod list;
mod matrix;
mod script;
mod triggers;
mod volumes;

pub use hpcc::parse_hpcc_flows;
pub use list::parse_flow_list;
pub use matrix::parse_matrix;
pub use script::{
    Begin, Counts, FailedSwitch, Failure, Many, MatrixFormat, MatrixOptions, OtherTriggers, Script,
    ScriptFlow, StartUnit, Trigger, TriggerKind,
};
pub(crate) use triggers::fired;
pub use volumes::{VolumeList, parse_volumes};
