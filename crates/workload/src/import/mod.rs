mod hpcc;
mod list;
mod matrix;
mod script;
mod triggers;

pub use hpcc::parse_hpcc_flows;
pub use list::parse_flow_list;
pub use matrix::parse_matrix;
pub use script::{
    Begin, Counts, FailedSwitch, Failure, MatrixFormat, MatrixOptions, OtherTriggers, Script, ScriptFlow,
    StartUnit, Trigger, TriggerKind,
};
pub(crate) use triggers::fired;
