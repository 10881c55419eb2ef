use std::cell::RefCell;
use std::fmt;

use thiserror::Error;

/// Where a value comes from.
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
    /// Nobody wrote it: it is the default.
    Default,
}

/// What is wrong with a place in a file. The text continues a sentence that begins with the path of the setting.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Problem {
    /// The text is not TOML.
    #[error("{message}")]
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// A key that no table of this kind has.
    #[error("is not a setting here; {remedy}")]
    UnknownKey {
        /// The nearest key that exists, or all of them, in words.
        remedy: String,
        /// Path of the key that was probably meant.
        meant: Option<String>,
    },
    /// A key or table that has to be there.
    #[error("is missing; {remedy}")]
    Missing {
        /// What to write.
        remedy: String,
    },
    /// A value that cannot be taken.
    #[error("{value} {reason}")]
    Value {
        /// As the file writes it.
        value: String,
        /// Why not, and what would work.
        reason: String,
    },
    /// A setting that changes nothing, or that contradicts another.
    #[error("{value}has no effect: {reason}")]
    NoEffect {
        /// As the file writes it, with a space behind it; empty for a table.
        value: String,
        /// Why not, and what would work.
        reason: String,
    },
    /// A file that this one names and that cannot be used.
    #[error("\"{file}\" cannot be used: {reason}")]
    File {
        /// Its name.
        file: String,
        /// Why not, and what would work.
        reason: String,
    },
    /// An override that leads nowhere.
    #[error("cannot be set: {reason}")]
    Override {
        /// Why not, and what would work.
        reason: String,
    },
    /// Settings that are right one by one and not together.
    #[error("{reason}")]
    Together {
        /// Why not, and what would work.
        reason: String,
    },
}

/// One error in a file.
///
/// Its text is `file:line:column: path: what is wrong; what would work`.
#[derive(Clone, PartialEq, Debug)]
pub struct SpecError {
    /// Name of the file.
    pub file: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// The setting, for instance `topology.link.rate` or `traffic.0.size`; empty for the whole file.
    pub path: String,
    /// What is wrong, and what would work.
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

    /// All errors in order of their place, those of overrides last. A key that is missing because it was misspelt is
    /// one error, not two.
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

/// Errors in order of their place, each once.
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

    /// A value refused by its type or by a rule.
    pub(crate) fn value(value: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Value { value: value.into(), reason: reason.into() }
    }
}
