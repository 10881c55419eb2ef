//! Finds out which parts of the switch's rule an implementation has: golden vectors of the trimming queue line by line, and
//! frames whose expected result comes from the software switch.

mod probes;
mod vectors;

use std::collections::BTreeMap;
use std::path::Path;

use crate::agreement::Failure;

pub use probes::{PROBES, Probe, p4_frames, rtl_agrees, software_frames};
pub use vectors::{Ported, Published, WrongVector, functional, ndp_port, published_port, replay};

/// Results by name of the part.
pub type Column = BTreeMap<String, String>;

/// Compares an implementation's result for the frames of a probe.
fn compare(column: &mut Column, name: &str, found: &[Vec<Vec<u8>>], expected: &[Vec<Vec<u8>>]) {
    column.insert(name.into(), if found == expected { "yes" } else { "no" }.into());
}

/// Results of the P4 program `text`.
pub fn p4(text: &str) -> Result<Column, String> {
    let mut column = Column::new();
    for probe in &PROBES {
        let found = p4_frames(text, probe)?;
        compare(&mut column, probe.name, &found, &software_frames(probe));
    }
    Ok(column)
}

/// Results of the simulated RTL.
pub fn rtl(program: &Path) -> Result<Column, Failure> {
    let mut column = Column::new();
    for probe in &PROBES {
        let found = if rtl_agrees(program, probe)? { "yes" } else { "no" };
        column.insert(probe.name.into(), found.into());
    }
    Ok(column)
}
