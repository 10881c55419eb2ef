//! All values in effect.

use std::fmt::{self, Write as _};

use crate::error::Origin;

/// A setting with its value and the value's origin.
#[derive(Clone, PartialEq, Debug)]
pub struct ResolvedValue {
    /// The key.
    pub key: String,
    /// The value as TOML.
    pub value: String,
    /// Origin of the value.
    pub origin: Origin,
}

/// A table of a resolved file.
#[derive(Clone, PartialEq, Debug)]
pub struct ResolvedTable {
    /// Path including the indices of list entries, for instance `traffic.0.sizes`; empty for the top level.
    pub path: String,
    /// Its settings.
    pub values: Vec<ResolvedValue>,
}

/// A file with all values in effect, written or default. Its text is an equivalent file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Resolved {
    /// Name of the file that the values were read from.
    pub file: String,
    /// The tables, in the order in which they can be written.
    pub tables: Vec<ResolvedTable>,
}

impl Resolved {
    /// The value of `path`, for instance `topology.link.rate`, as TOML.
    pub fn get(&self, path: &str) -> Option<&ResolvedValue> {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        let table = self.tables.iter().find(|found| found.path == table)?;
        table.values.iter().find(|value| value.key == key)
    }

    pub(crate) fn open(&mut self, path: &str) {
        if !self.tables.iter().any(|table| table.path == path) {
            self.tables.push(ResolvedTable { path: path.to_owned(), values: Vec::new() });
        }
    }

    pub(crate) fn put(&mut self, path: &str, key: &str, value: String, origin: Origin) {
        self.open(path);
        let table = self.tables.iter_mut().find(|table| table.path == path).expect("it was just opened");
        table.values.push(ResolvedValue { key: key.to_owned(), value, origin });
    }

    /// Replaces the value of the existing setting `path`.
    pub fn replace(&mut self, path: &str, value: String) {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        let table = self.tables.iter_mut().find(|found| found.path == table);
        if let Some(found) = table.and_then(|table| table.values.iter_mut().find(|found| found.key == key)) {
            found.value = value;
        }
    }

    fn origin(&self, origin: &Origin) -> String {
        match origin {
            // The comment ends at the end of the line, and TOML allows no control characters in it.
            Origin::Text { line, .. } => {
                let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
                format!("{}:{line}", self.file.chars().map(shown).collect::<String>())
            }
            Origin::Override => "--set".to_owned(),
            Origin::Default => "default".to_owned(),
        }
    }
}

/// Column of the comments with origins.
const COMMENT_COLUMN: usize = 44;

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, table) in self.tables.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write_header(f, &table.path)?;
            for value in &table.values {
                let mut line = format!("{} = {}", value.key, value.value);
                let width = line.chars().count();
                write!(line, "{:1$}", "", COMMENT_COLUMN.saturating_sub(width).max(2))?;
                writeln!(f, "{line}# {}", self.origin(&value.origin))?;
            }
        }
        Ok(())
    }
}

/// `[table]`, or `[[table]]` for an entry of a list; headers do not contain indices.
fn write_header(f: &mut fmt::Formatter<'_>, path: &str) -> fmt::Result {
    let parts: Vec<&str> = path.split('.').collect();
    let is_number = |part: &&str| part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty();
    let name = parts.iter().filter(|part| !is_number(part)).copied().collect::<Vec<_>>().join(".");
    match parts.last() {
        _ if path.is_empty() => Ok(()),
        Some(last) if is_number(last) => writeln!(f, "[[{name}]]"),
        _ => writeln!(f, "[{name}]"),
    }
}
