use std::cell::RefCell;
use std::fmt;

use thiserror::Error;

/// Origin of a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// The text of the file. Line and column count from 1, columns in characters.
    Text {
        /// Line.
        line: u32,
        /// Column.
        column: u32,
    },
    /// An override (`--set`).
    Override,
    /// The default; the value is not written anywhere.
    Default,
}

/// The problem at a position in a file. The text continues a sentence that begins with the path of the setting.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Problem {
    /// The text is not TOML.
    #[error("{message}")]
    Syntax {
        /// The parser's message.
        message: String,
    },
    /// A key that no table of this kind has.
    #[error("is not a setting here; {remedy}")]
    UnknownKey {
        /// The closest existing key, or a list of all keys.
        remedy: String,
        /// Path of the key that was probably meant.
        meant: Option<String>,
    },
    /// A required key or table is missing.
    #[error("is missing; {remedy}")]
    Missing {
        /// The text to add.
        remedy: String,
    },
    /// A value is not acceptable.
    #[error("{value} {reason}")]
    Value {
        /// The value as written in the file.
        value: String,
        /// The reason and the remedy.
        reason: String,
    },
    /// A setting has no effect, or contradicts another.
    #[error("{value}has no effect: {reason}")]
    NoEffect {
        /// The value as written in the file, followed by a space; empty for a table.
        value: String,
        /// The reason and the remedy.
        reason: String,
    },
    /// A file that this file names is unusable.
    #[error("\"{file}\" cannot be used: {reason}")]
    File {
        /// Its name.
        file: String,
        /// The reason and the remedy.
        reason: String,
    },
    /// An override does not match any setting.
    #[error("cannot be set: {reason}")]
    Override {
        /// The reason and the remedy.
        reason: String,
    },
    /// Settings are valid separately but not together.
    #[error("{reason}")]
    Together {
        /// The reason and the remedy.
        reason: String,
    },
}

/// One error in a file.
///
/// Formatted as `file:line:column: path: problem; remedy`.
#[derive(Clone, PartialEq, Debug)]
pub struct SpecError {
    /// Name of the file.
    pub file: String,
    /// Origin of the value.
    pub origin: Origin,
    /// The setting, for instance `topology.link.rate` or `traffic.0.size`; empty for the whole file.
    pub path: String,
    /// The problem and the remedy.
    pub problem: Problem,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Override => write!(f, "--set ")?,
            Origin::Text { line, column } => write!(f, "{}:{line}:{column}: ", self.file)?,
            Origin::Default => write!(f, "{}: ", self.file)?,
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        self.problem.fmt(f)
    }
}

impl std::error::Error for SpecError {}

/// Collects errors while a file is read.
pub(crate) struct Errors {
    file: String,
    found: RefCell<Vec<SpecError>>,
}

impl Errors {
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), found: RefCell::default() }
    }

    pub fn add(&self, origin: &Origin, path: &str, problem: Problem) {
        let (file, origin, path) = (self.file.clone(), origin.clone(), path.to_owned());
        self.found.borrow_mut().push(SpecError { file, origin, path, problem });
    }

    pub fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    pub fn count(&self) -> usize {
        self.found.borrow().len()
    }

    /// Whether an unknown key was probably meant to be the setting `path`.
    pub fn meant(&self, path: &str) -> bool {
        self.found.borrow().iter().any(|error| error.problem.meant() == Some(path))
    }

    /// All errors in the order of their position, those of overrides last. A missing key that was misspelt counts as one
    /// error, not two.
    pub fn into_sorted(self) -> Vec<SpecError> {
        let mut found = self.found.into_inner();
        let meant: Vec<_> =
            found.iter().filter_map(|error| error.problem.meant()).map(str::to_owned).collect();
        found.retain(|error| {
            !matches!(error.problem, Problem::Missing { .. }) || !meant.contains(&error.path)
        });
        found.sort_by(|a, b| a.origin.cmp(&b.origin));
        without_repetition(found)
    }
}

/// Errors in the order of their position, without duplicates.
fn without_repetition(found: Vec<SpecError>) -> Vec<SpecError> {
    let mut once: Vec<SpecError> = Vec::with_capacity(found.len());
    for error in found {
        let mut there = once.iter().rev().take_while(|other| other.origin == error.origin);
        if !there.any(|other| *other == error) {
            once.push(error);
        }
    }
    once
}

impl Problem {
    fn meant(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { meant, .. } => meant.as_deref(),
            _ => None,
        }
    }

    /// A value rejected by its type or by a rule.
    pub(crate) fn value(value: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Value { value: value.into(), reason: reason.into() }
    }
}
