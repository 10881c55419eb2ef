//! When a table of the entries that have changed stands in for a list with an entry for each path.

/// Fewer paths than this have a list from the start: it is small, and cheaper to read than a table.
const SMALL: u16 = 128;
/// A list takes the place of the table when this share of all entries has changed.
const SHARE: usize = 8;
/// Largest table: inserting into a longer one costs more than a list.
const MOST: usize = 64;

/// Whether `count` paths have a list from the start.
pub fn lists(count: u16) -> bool {
    count < SMALL
}

/// Largest table for `count` paths. Entries.
pub fn most_entries(count: u16) -> usize {
    MOST.min(usize::from(count) / SHARE)
}
