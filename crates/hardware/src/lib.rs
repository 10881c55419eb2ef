//! References for the trimming switch in hardware (`hardware/`), and an interpreter for its P4 program.

pub mod agreement;
pub mod features;
pub mod kernel;
pub mod p4;
