//! Every setting as a row, for help and documentation; and the names that a scenario can use.

use pullnet_config::{Kind, Shape};
use pullnet_qdisc::SWITCHES;
use pullnet_settings::{Field, Settings};
use pullnet_workload::SHIPPED;

use crate::compile::root_shape;
use crate::warning_settings::WarningSettings;

/// One setting.
#[derive(Clone, PartialEq, Debug)]
pub struct ReferenceRow {
    /// The table, for instance `topology.link`; empty for the top.
    pub table: String,
    /// For which `kind` of the table (or of the table above it); empty if for all.
    pub of_kind: &'static str,
    /// Name, type, default, range, choices and help.
    pub field: Field,
}

/// Every setting that a scenario can have, in the order in which help shows them.
pub fn reference() -> Vec<ReferenceRow> {
    let mut rows = Vec::new();
    walk(&root_shape(), "", "", &mut rows);
    rows
}

fn walk(shape: &Shape, table: &str, of_kind: &'static str, rows: &mut Vec<ReferenceRow>) {
    let row = |field: &Field| ReferenceRow { table: table.to_owned(), of_kind, field: *field };
    rows.extend(shape.fields().map(row));
    for inner in &shape.tables {
        let path = if table.is_empty() { inner.name.to_owned() } else { format!("{table}.{}", inner.name) };
        walk(&inner.shape, &path, of_kind, rows);
    }
    for kind in &shape.kinds {
        walk(&kind.shape, table, kind.name, rows);
    }
}

/// A name that a scenario can use, and what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
}

fn kinds(shape: Shape) -> Vec<Listed> {
    let listed = |kind: &Kind| Listed { name: kind.name, summary: kind.summary };
    shape.kinds.iter().map(listed).collect()
}

/// Values of `[transport] kind`.
pub fn protocols() -> Vec<Listed> {
    kinds(crate::transport::shape())
}

/// Values of `[switch] kind`.
pub fn switches() -> Vec<Listed> {
    SWITCHES.iter().map(|row| Listed { name: row.name, summary: row.summary }).collect()
}

/// Values of `[topology] kind`.
pub fn topologies() -> Vec<Listed> {
    kinds(crate::topology::shape())
}

/// Values of `[[traffic]] kind`.
pub fn traffic() -> Vec<Listed> {
    kinds(crate::traffic::shape())
}

/// Warnings that `[warnings]` can silence.
pub fn warnings() -> Vec<Listed> {
    let listed = |field: &Field| Listed { name: field.name, summary: field.doc.trim() };
    WarningSettings::FIELDS.iter().map(listed).collect()
}

/// Values of `sizes = { distribution = ... }`.
pub fn distributions() -> Vec<Listed> {
    SHIPPED.iter().map(|row| Listed { name: row.name, summary: row.summary }).collect()
}
