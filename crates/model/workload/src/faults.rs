use std::fmt;

use crate::error::{FileError, FileFault};

/// Maximum number of faulty lines that are named.
const NAMED: usize = 20;

/// The errors in a file, in the order in which it is read: at least one.
#[derive(Clone, PartialEq, Debug)]
pub struct FileErrors(pub Vec<FileError>);

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(FileError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for FileErrors {}

impl From<FileError> for FileErrors {
    fn from(error: FileError) -> Self {
        Self(vec![error])
    }
}

/// The faults of a file that is read to its end: the first ones, and the number of further ones.
pub(crate) struct Faults<'a> {
    file: &'a str,
    named: Vec<FileError>,
    more: u64,
    /// Line of the first fault that is not named.
    from: u64,
    /// Whether all of those may disappear on another network.
    here: bool,
}

impl<'a> Faults<'a> {
    pub(crate) fn of(file: &'a str) -> Self {
        Self { file, named: Vec::new(), more: 0, from: 0, here: true }
    }

    pub(crate) fn add(&mut self, error: FileError) {
        if self.named.len() < NAMED {
            self.named.push(error);
            return;
        }
        if self.more == 0 {
            self.from = error.line;
        }
        self.more += 1;
        self.here &= error.fault.depends_on_hosts();
    }

    /// Returns the value; of an error, keeps the fault.
    pub(crate) fn keep<T>(&mut self, line: u64, result: Result<T, impl Into<FileFault>>) -> Option<T> {
        result.map_err(|fault| self.add(FileError::new(self.file, line, fault))).ok()
    }

    /// Returns an error if there was a fault.
    pub(crate) fn end(mut self) -> Result<(), FileErrors> {
        if self.more > 0 {
            let fault = FileFault::More { count: self.more, here: self.here };
            self.named.push(FileError::new(self.file, self.from, fault));
        }
        if self.named.is_empty() { Ok(()) } else { Err(FileErrors(self.named)) }
    }
}
