//! An interpreter of the part of P4-16 for the v1model architecture that `hardware/p4` is written in. It is no p4c: it has
//! no type inference, no optimiser and no back end, and knows nothing beyond the subset of [`ast`]. What it does not know it
//! refuses with the line.
//!
//! [`Switch`] is the machine around a program: parser, ingress, one set of strict priority queues for each port, egress,
//! deparser, as bmv2's `simple_switch` has them.

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

/// A program is not understood, or does something that the language leaves undefined.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: {what}")]
pub struct WrongProgram {
    /// Line, from 1; 0: the program as a whole.
    pub line: u32,
    /// What is wrong, and what would work.
    pub what: String,
}

impl WrongProgram {
    pub(crate) fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// The trimming switch in P4-16.
pub const NDP: &str = include_str!("../../../../hardware/p4/ndp.p4");
/// The paper's P4-14 program, written in P4-16 with what it does left as it is.
pub const PUBLISHED: &str = include_str!("../../../../hardware/p4/published.p4");
