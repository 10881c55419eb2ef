//! References for the trimming switch in hardware (`hardware/`).

pub mod agreement;
