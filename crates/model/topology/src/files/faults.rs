use core::fmt;

use super::File;
use crate::error::TopologyError;

/// Most errors reported for one file.
const NAMED: usize = 20;

/// Errors of a file in reading order; at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadErrors(pub Vec<TopologyError>);

impl fmt::Display for LoadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(TopologyError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl core::error::Error for LoadErrors {}

impl From<TopologyError> for LoadErrors {
    fn from(error: TopologyError) -> Self {
        Self(vec![error])
    }
}

/// Collects the errors of a file: keeps the first ones and counts the others.
#[derive(Default)]
pub(super) struct Faults {
    named: Vec<TopologyError>,
    more: usize,
    /// Line of the first error that is only counted.
    from: usize,
}

impl Faults {
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Returns the value, or `None` after keeping its error.
    pub fn keep<T>(&mut self, result: Result<T, TopologyError>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    fn add(&mut self, error: TopologyError) {
        if self.named.len() < NAMED {
            self.named.push(error);
            return;
        }
        if let (0, TopologyError::File { line, .. }) = (self.more, &error) {
            self.from = *line;
        }
        self.more += 1;
    }

    /// Returns the collected errors, if any.
    pub fn end(mut self, file: &File<'_>) -> Result<(), LoadErrors> {
        if self.more > 0 {
            let what = format!("and {} more errors from here on", self.more);
            self.named.push(file.refuse(self.from.max(1), what, "mend those above first"));
        }
        if self.named.is_empty() { Ok(()) } else { Err(LoadErrors(self.named)) }
    }
}
