//! Errors reported by the reader of a table.

use crate::document::{Item, Node, shortened};
use crate::error::{Origin, Problem};
use crate::shape::{Kind, Shape};
use crate::suggest::{listed, nearest, remedy};
use crate::table::Reader;

impl<'a> Reader<'a> {
    pub(crate) fn refuse_node(&self, key: &str, node: &Node, reason: String) {
        self.context.errors.add(&node.origin, &self.path_of(key), Problem::value(node.shown(), reason));
    }

    /// Reports that the required `key` is missing.
    pub fn missing(&self, key: &str, remedy: String) {
        self.add(key, Problem::Missing { remedy });
    }

    /// Reports a problem with the value of `key`; `key` may lead into a subtable, as in `sizes.file`.
    pub fn refuse(&self, key: &str, reason: impl Into<String>) {
        match self.shown(key) {
            Some(value) => self.refuse_as(key, value, reason),
            None => self.add(key, Problem::Together { reason: reason.into() }),
        }
    }

    /// The same, but shows `value`, the result of evaluating the value of `key`.
    pub fn refuse_as(&self, key: &str, value: impl Into<String>, reason: impl Into<String>) {
        self.add(key, Problem::value(value, reason));
    }

    /// The value of `key`, written or default; `None` for tables and unknown keys.
    pub fn shown(&self, key: &str) -> Option<String> {
        match self.node(key) {
            Some(Node { item: Item::Table(_) | Item::Array(_), .. }) => None,
            Some(node) => Some(node.shown()),
            None => self.context.resolved.borrow().get(&self.path_of(key)).map(|value| value.value.clone()),
        }
    }

    fn add(&self, key: &str, problem: Problem) {
        self.context.errors.add(&self.place_of(key), &self.path_of(key), problem);
    }

    /// The written value of `key`.
    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        let mut table = self.table;
        let (parents, last) =
            key.rsplit_once('.').map_or((None, key), |(parents, last)| (Some(parents), last));
        for parent in parents.into_iter().flat_map(|parents| parents.split('.')) {
            let Item::Table(inner) = &table.get(parent)?.node.item else { return None };
            table = inner;
        }
        Some(&table.get(last)?.node)
    }

    /// Reports that `key`, if written, has no effect.
    pub fn no_effect(&self, key: &str, reason: impl Into<String>) {
        if self.has(key) {
            let value = self.shown(key).map_or(String::new(), |value| format!("{value} "));
            self.add(key, Problem::NoEffect { value, reason: reason.into() });
        }
    }

    /// Reports a problem with the whole table.
    pub fn refuse_table(&self, reason: impl Into<String>) {
        self.context.errors.add(&self.origin, &self.path, Problem::Together { reason: reason.into() });
    }

    /// Reports all keys that `shape` does not contain.
    pub fn no_other_keys_than(&self, shape: &Shape) {
        self.no_other_keys_than_of(shape, None);
    }

    pub(crate) fn no_other_keys_than_of(&self, shape: &Shape, kind: Option<&Kind>) {
        let own = kind.map(|kind| kind.shape.keys()).unwrap_or_default();
        let keys = [shape.keys(), own].concat();
        for entry in self.table.entries.iter().filter(|entry| !keys.contains(&entry.name.as_str())) {
            let has = |kind: &&Kind| kind.shape.keys().contains(&entry.name.as_str());
            let owners: Vec<_> = shape.kinds.iter().filter(has).map(|kind| kind.name).collect();
            let remedy = if owners.is_empty() {
                remedy(&entry.name, &keys)
            } else {
                format!("it belongs to kind = {}", listed(&owners))
            };
            let meant = nearest(&entry.name, &keys).map(|key| self.path_of(key));
            let path = self.path_of(&shortened(&entry.name));
            self.context.errors.add(&entry.origin, &path, Problem::UnknownKey { remedy, meant });
        }
    }

    /// Reports that the file named by `key` is unusable; `key` may lead into a subtable.
    pub fn refuse_file(&self, key: &str, file: &str, reason: &str) {
        self.add(key, Problem::File { file: file.to_owned(), reason: reason.to_owned() });
    }

    /// Position of the value of `key`, which may lead into a subtable; otherwise that of the table.
    fn place_of(&self, key: &str) -> Origin {
        let mut table = self.table;
        let mut origin = &self.origin;
        for part in key.split('.') {
            let Some(entry) = table.get(part) else { return origin.clone() };
            match &entry.node.item {
                Item::Table(inner) => (table, origin) = (inner, &entry.origin),
                _ => return entry.node.origin.clone(),
            }
        }
        origin.clone()
    }
}
