//! An interpreter for the part of P4-16 for the v1model architecture that `hardware/p4` uses. Unlike p4c, it has no type
//! inference, no optimiser and no back end. It rejects code outside the subset of [`ast`] with the line number.
//!
//! [`Switch`] is the environment of a program, as in bmv2's `simple_switch`: parser, ingress, one set of strict priority
//! queues for each port, egress, deparser.

pub mod ast;
mod check;
mod lexer;
mod machine;
mod parse;
pub mod port;
mod statements;
mod switch;
mod value;

use thiserror::Error;

pub use machine::{Key, Machine, WrongEntry};
pub use parse::parse;
pub use switch::{Outcome, Switch};

/// A program is outside the subset, or has undefined behaviour.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: {what}")]
pub struct WrongProgram {
    /// Line, from 1; 0: the program as a whole.
    pub line: u32,
    /// The problem and the remedy.
    pub what: String,
}

impl WrongProgram {
    pub(crate) fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// The trimming switch in P4-16.
pub const NDP: &str = include_str!("../../../../hardware/p4/ndp.p4");
/// The paper's P4-14 program in P4-16, with unchanged behaviour.
pub const PUBLISHED: &str = include_str!("../../../../hardware/p4/published.p4");
