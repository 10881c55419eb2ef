//! `--set path=value`: changes the tree before any checks.

use crate::document::{Entry, Item, MAX_DEPTH, Node, TomlTable, parse_override};
use crate::error::{Errors, Origin, Problem};

/// Applies `path = value` to the document.
pub(crate) fn apply(root: &mut TomlTable, path: &str, value: &str, errors: &Errors) {
    if let Err(reason) = set(root, path, parse_override(value)) {
        errors.add(&Origin::Override, path, Problem::Override { reason });
    }
}

fn set(root: &mut TomlTable, path: &str, item: Item) -> Result<(), String> {
    let keys: Vec<&str> = path.split('.').collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err("write keys joined by dots, for instance topology.k or traffic.0.size".to_owned());
    }
    if keys.len() > MAX_DEPTH as usize {
        return Err(format!(
            "no setting lies deeper than {MAX_DEPTH} keys; write for instance topology.link.rate"
        ));
    }
    let (last, parents) = keys.split_last().expect("split yields at least one part");
    let mut target = Target::Table(root);
    for (depth, key) in parents.iter().enumerate() {
        target = target.child(key, &keys[..depth])?;
    }
    target.put(last, &keys[..parents.len()], Node { origin: Origin::Override, item })
}

/// The item reached by a part of a path.
enum Target<'a> {
    Table(&'a mut TomlTable),
    Array(&'a mut Vec<Node>),
}

impl<'a> Target<'a> {
    fn child(self, key: &str, path: &[&str]) -> Result<Self, String> {
        let (node, shown) = match self {
            Target::Table(table) => (table_entry(table, key), [path, &[key]].concat().join(".")),
            Target::Array(items) => (element(items, key, path)?, [path, &[key]].concat().join(".")),
        };
        let value = node.shown();
        match &mut node.item {
            Item::Table(table) => Ok(Target::Table(table)),
            Item::Array(items) => Ok(Target::Array(items)),
            _ => Err(format!("{shown} is {value}, which has no settings of its own; use {shown}")),
        }
    }

    fn put(self, key: &str, path: &[&str], node: Node) -> Result<(), String> {
        match self {
            Target::Table(table) => match table.position(key) {
                Some(at) => table.entries[at].node = node,
                None => {
                    table.entries.push(Entry { name: key.to_owned(), origin: Origin::Override, node });
                }
            },
            Target::Array(items) => *element(items, key, path)? = node,
        }
        Ok(())
    }
}

/// The value of `key`; created as an empty table if missing.
fn table_entry<'a>(table: &'a mut TomlTable, key: &str) -> &'a mut Node {
    let at = table.position(key).unwrap_or_else(|| {
        let node = Node { origin: Origin::Override, item: Item::Table(TomlTable::default()) };
        table.entries.push(Entry { name: key.to_owned(), origin: Origin::Override, node });
        table.entries.len() - 1
    });
    &mut table.entries[at].node
}

fn element<'a>(items: &'a mut [Node], key: &str, path: &[&str]) -> Result<&'a mut Node, String> {
    let (array, len) = (path.join("."), items.len());
    if len == 0 {
        return Err(format!("{array} is empty; write the entry into the file"));
    }
    let index: usize =
        key.parse().map_err(|_| format!("{array} is a list; write its number, for instance {array}.0"))?;
    let remedy = if len == 1 { "use 0".to_owned() } else { format!("use 0 to {}", len - 1) };
    items.get_mut(index).ok_or_else(|| format!("{array} has no entry {index}; {remedy}"))
}
