//! Reads settings from a table, with their origins, and reports problems.

use std::cell::RefCell;
use std::sync::Arc;

use pullnet_settings::{AnySettings, Field, Settings, Value};

use crate::document::{Entry, Item, Node, TomlTable};
use crate::error::{Errors, Origin};
use crate::files::{Files, beside};
use crate::inputs::Inputs;
use crate::messages::{example, kind_in_words, with_remedy};
use crate::resolved::Resolved;
use crate::shape::Shape;
use crate::suggest::{listed, remedy};

/// State shared by all readers of one file.
pub(crate) struct Context<'a> {
    pub(crate) file: &'a str,
    pub(crate) errors: Errors,
    pub(crate) resolved: RefCell<Resolved>,
    pub(crate) files: &'a dyn Files,
    pub(crate) inputs: Inputs,
}

/// A table at a path.
#[derive(Clone)]
pub struct Reader<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) path: String,
    /// Position of the table's key.
    pub(crate) origin: Origin,
    pub(crate) table: &'a TomlTable,
    /// Whether the values read are recorded as in effect.
    record: bool,
}

/// The origin of each setting of a table.
pub type Origins = Vec<(&'static str, Origin)>;

/// Settings that could not be read or are missing. They have their defaults, which must not be used in further checks.
pub type Unread = Vec<&'static str>;

/// Settings together with their origins.
pub struct Located<S> {
    /// The settings.
    pub value: S,
    /// Origin of each setting.
    pub origins: Origins,
    /// Settings that could not be read.
    pub unread: Unread,
}

impl<S> Located<S> {
    /// Origin of `field`.
    pub fn origin(&self, field: &str) -> Origin {
        let found = self.origins.iter().find(|(name, _)| *name == field);
        found.map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// Whether all settings could be read.
    pub fn good(&self) -> bool {
        self.unread.is_empty()
    }

    /// Whether all of `fields` could be read.
    pub fn has_read(&self, fields: &[&str]) -> bool {
        !self.unread.iter().any(|unread| fields.contains(unread))
    }

    /// Whether `field` is written in the file or an override, as opposed to a default.
    pub fn is_written(&self, field: &str) -> bool {
        self.origin(field) != Origin::Default
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn root(context: &'a Context<'a>, table: &'a TomlTable) -> Self {
        Self {
            context,
            path: String::new(),
            origin: Origin::Text { line: 1, column: 1 },
            table,
            record: true,
        }
    }

    /// Name of the file.
    pub fn file_name(&self) -> &str {
        self.context.file
    }

    /// Number of errors found in the file so far.
    pub fn errors(&self) -> usize {
        self.context.errors.count()
    }

    /// Path of this table; empty for the top level.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path of `key` in this table.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The same table without recording; other settings inherit its values.
    pub fn unrecorded(self) -> Self {
        Self { record: false, ..self }
    }

    /// Reads one group of settings.
    pub fn read<S: Settings>(&self) -> Located<S> {
        self.read_after(S::default(), &[])
    }

    /// Reads settings, where some already have a value; `before` holds the origins of these values.
    pub fn read_after<S: Settings>(&self, mut value: S, before: &[(&'static str, Origin)]) -> Located<S> {
        let (origins, unread) = self.read_into(&mut value, before);
        Located { value, origins, unread }
    }

    /// Reads settings whose type was chosen by a registry. Returns their origins, and the settings that could not be read.
    pub fn read_into(
        &self,
        settings: &mut dyn AnySettings,
        before: &[(&'static str, Origin)],
    ) -> (Origins, Unread) {
        if self.record {
            self.context.resolved.borrow_mut().open(&self.path);
        }
        let (mut origins, mut unread) = (Vec::new(), Vec::new());
        for field in settings.fields() {
            let unwritten =
                || before.iter().find(|(name, _)| *name == field.name).map(|(_, origin)| origin.clone());
            let errors = self.context.errors.count();
            let written = self.read_field(field, settings);
            if self.context.errors.count() > errors || self.context.errors.meant(&self.path_of(field.name)) {
                unread.push(field.name);
            }
            let origin = written.or_else(unwritten).unwrap_or(Origin::Default);
            self.resolve(field.name, settings, &origin);
            origins.push((field.name, origin));
        }
        (origins, unread)
    }

    fn resolve(&self, name: &str, settings: &dyn AnySettings, origin: &Origin) {
        let text = settings.get_field(name).unwrap_or_default();
        if !text.is_empty() && text != "\"\"" {
            self.put(name, text, origin.clone());
        }
    }

    /// Records a value.
    pub fn put(&self, key: &str, value: String, origin: Origin) {
        if self.record {
            self.context.resolved.borrow_mut().put(&self.path, key, value, origin);
        }
    }

    /// Origin of the field if it was written; errors are reported.
    fn read_field(&self, field: &Field, settings: &mut dyn AnySettings) -> Option<Origin> {
        let Some(Entry { node, .. }) = self.table.get(field.name) else {
            if field.required {
                self.missing(field.name, format!("write for instance {}", example(field)));
            }
            return None;
        };
        let refused = match node.value() {
            Some(Value::Text("")) if field.required => {
                Some(format!("is empty; write for instance {}", example(field)))
            }
            Some(Value::Text("")) => Some("is empty; leave the key out or give it a value".to_owned()),
            Some(value) => {
                let refused = settings.set_field(field.name, value)?.err();
                refused.map(|refused| with_remedy(refused.0, field, value))
            }
            None => Some(format!("is not {}; write for instance {}", kind_in_words(field), example(field))),
        };
        if let Some(reason) = refused {
            self.refuse_node(field.name, node, reason);
        }
        Some(node.origin.clone())
    }

    /// Whether `key` is present.
    pub fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// The table `key`, if it is present and a table.
    pub fn table(&self, key: &str, example: &str) -> Option<Reader<'a>> {
        let entry = self.table.get(key)?;
        match &entry.node.item {
            Item::Table(table) => Some(self.child(key, entry.origin.clone(), table)),
            _ => {
                let reason = format!("is not a table; write for instance {key} = {{ {example} }}");
                self.refuse_node(key, &entry.node, reason);
                None
            }
        }
    }

    /// The table `key`; an error if it is missing.
    pub fn required_table(&self, key: &str, example: &str) -> Option<Reader<'a>> {
        if !self.has(key) {
            self.missing(key, format!("write for instance {key} = {{ {example} }}"));
        }
        self.table(key, example)
    }

    /// The tables of the list `key`.
    pub fn list(&self, key: &str) -> Vec<Reader<'a>> {
        let Some(entry) = self.table.get(key) else { return Vec::new() };
        let Item::Array(items) = &entry.node.item else {
            self.refuse(key, format!("is not a list; begin each block with [[{key}]]"));
            return Vec::new();
        };
        items.iter().enumerate().filter_map(|(index, node)| self.list_entry(key, index, node)).collect()
    }

    /// Whether `key` is a list.
    pub fn is_list(&self, key: &str) -> bool {
        self.node(key).is_some_and(|node| matches!(node.item, Item::Array(_)))
    }

    /// Whether `key` is a list without entries.
    pub fn is_empty_list(&self, key: &str) -> bool {
        self.node(key).is_some_and(|node| matches!(&node.item, Item::Array(items) if items.is_empty()))
    }

    fn list_entry(&self, key: &str, index: usize, node: &'a Node) -> Option<Reader<'a>> {
        let key = format!("{key}.{index}");
        match &node.item {
            Item::Table(table) => Some(self.child(&key, node.origin.clone(), table)),
            _ => {
                self.refuse_node(&key, node, "is not a table; write { key = value, ... }".to_owned());
                None
            }
        }
    }

    fn child(&self, key: &str, origin: Origin, table: &'a TomlTable) -> Reader<'a> {
        Reader { context: self.context, path: self.path_of(key), origin, table, record: self.record }
    }

    /// An empty table in place of a missing one, so that its defaults are recorded.
    pub fn unwritten(&self, key: &str) -> Reader<'a> {
        static EMPTY: TomlTable = TomlTable { entries: Vec::new() };
        self.child(key, self.origin.clone(), &EMPTY)
    }

    /// Index in `shape.kinds` of the kind named by the key `kind`. Reports keys that this kind does not have.
    pub fn kind(&self, shape: &Shape, example: &str) -> Option<usize> {
        let names: Vec<_> = shape.kinds.iter().map(|kind| kind.name).collect();
        let Some(Entry { node, .. }) = self.table.get("kind") else {
            self.missing(
                "kind",
                format!("write for instance kind = \"{example}\"; there is {}", listed(&names)),
            );
            return None;
        };
        let Item::Text(written) = &node.item else {
            self.refuse_node("kind", node, format!("is not text; there is {}", listed(&names)));
            return None;
        };
        let Some(found) = names.iter().position(|name| name == written) else {
            self.refuse_node("kind", node, format!("is not known; {}", remedy(written, &names)));
            return None;
        };
        self.put("kind", node.shown(), node.origin.clone());
        self.no_other_keys_than_of(shape, Some(&shape.kinds[found]));
        Some(found)
    }

    /// The bytes of the file named by `key`; an unreadable file is an error.
    pub fn file(&self, key: &str, file: &str) -> Option<Arc<[u8]>> {
        let (path, context) = (beside(self.context.file, file), self.context);
        match context.inputs.read(context.files, path, self.path_of(key)) {
            Ok(bytes) => Some(bytes),
            Err(reason) => {
                self.refuse_file(
                    key,
                    file,
                    &format!("{reason}; names are relative to the folder of the scenario"),
                );
                None
            }
        }
    }

    /// The text of the file named by `key`.
    pub fn text_of_file(&self, key: &str, file: &str) -> Option<String> {
        let text = str::from_utf8(&self.file(key, file)?).map(str::to_owned);
        text.map_err(|error| {
            let at = error.valid_up_to();
            self.refuse_file(key, file, &format!("byte {at} is not UTF-8; save it as text"));
        })
        .ok()
    }
}
