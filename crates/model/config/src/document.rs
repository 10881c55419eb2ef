//! The text as a tree that records the position of every key and value.

use pullnet_settings::{Setting, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Errors, Origin, Problem};

/// Maximum nesting of tables and arrays, deeper than any scenario needs. Deeper files are rejected.
pub(crate) const MAX_DEPTH: u32 = 16;

/// A value with its position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub origin: Origin,
    pub item: Item,
}

#[derive(Clone, Debug)]
pub(crate) enum Item {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// A date, or an integer beyond 64 bits; no setting accepts these.
    Other(String),
    Array(Vec<Node>),
    Table(TomlTable),
}

/// A table with its keys in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct TomlTable {
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub name: String,
    /// Position of the key.
    pub origin: Origin,
    pub node: Node,
}

impl TomlTable {
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.name == name)
    }
}

impl Node {
    /// The value in the form read by settings; `None` for tables, arrays and unsupported types.
    pub fn value(&self) -> Option<Value<'_>> {
        match &self.item {
            Item::Text(text) => Some(Value::Text(text)),
            Item::Integer(value) => Some(Value::Integer(*value)),
            Item::Float(value) => Some(Value::Float(*value)),
            Item::Bool(value) => Some(Value::Bool(*value)),
            Item::Other(_) | Item::Array(_) | Item::Table(_) => None,
        }
    }

    /// The value for an error message, shortened if long.
    pub fn shown(&self) -> String {
        match &self.item {
            Item::Text(text) => shortened(text).write(),
            Item::Integer(value) => value.to_string(),
            Item::Float(value) => format!("{value:?}"),
            Item::Bool(value) => value.to_string(),
            Item::Other(text) => shortened(text),
            Item::Array(_) => "an array".to_owned(),
            Item::Table(_) => "a table".to_owned(),
        }
    }
}

/// Most characters of a text that a message repeats.
const SHOWN: usize = 80;

/// `text`, or its beginning if it is long.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Parses TOML; syntax errors go to `errors`.
pub(crate) fn parse(text: &str, errors: &Errors) -> Option<TomlTable> {
    let lines = Lines::of(text);
    let (table, problems) = DeTable::parse_recoverable(text);
    for problem in &problems {
        let span = problem.span().unwrap_or(0..0);
        let origin = lines.origin(span.start);
        let culprit = text.get(span).unwrap_or("").trim();
        errors.add(&origin, "", Problem::Syntax { message: syntax_message(problem.message(), culprit) });
    }
    if problems.is_empty() { lines.table(table.get_ref(), 0, errors) } else { None }
}

/// Parses the value of `--set`: TOML, or a bare word that stands for a string.
pub(crate) fn parse_override(text: &str) -> Item {
    let assignment = format!("value = {text}");
    let quiet = Errors::new("");
    let table = parse(&assignment, &quiet).filter(|table| table.entries.len() == 1);
    let mut entries = table.map(|table| table.entries).unwrap_or_default();
    match entries.pop() {
        Some(mut entry) if entry.name == "value" => {
            mark_override(&mut entry.node);
            entry.node.item
        }
        _ => Item::Text(text.to_owned()),
    }
}

fn mark_override(node: &mut Node) {
    node.origin = Origin::Override;
    match &mut node.item {
        Item::Array(items) => items.iter_mut().for_each(mark_override),
        Item::Table(table) => {
            for entry in &mut table.entries {
                entry.origin = Origin::Override;
                mark_override(&mut entry.node);
            }
        }
        _ => {}
    }
}

/// The parser's message, with the most frequent remedy. `culprit` is the piece of text that the message is about.
fn syntax_message(message: &str, culprit: &str) -> String {
    if message.contains("duplicate key") && !culprit.is_empty() {
        return format!("is not TOML: the key `{}` occurs twice; keep one of them", shortened(culprit));
    }
    let hint = if message.contains("recurs") {
        "no setting lies that deep"
    } else if message.contains("basic string") {
        "close the text with the quote that began it, on the same line"
    } else if message.contains("quoted") {
        "quantities and words are text in quotes, for instance \"10 Gbps\""
    } else {
        "write key = value, one to a line"
    };
    format!("is not TOML: {}; {hint}", message.trim().replace('\n', "; "))
}

/// Converts byte offsets to lines and columns.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    fn origin(&self, offset: usize) -> Origin {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let before = self.text.get(self.starts[line - 1]..offset).unwrap_or("");
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Origin::Text { line: count(line), column: count(before.chars().count() + 1) }
    }

    fn table(&self, table: &DeTable<'_>, depth: u32, errors: &Errors) -> Option<TomlTable> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let read = |(key, value): (&Spanned<_>, &_)| self.entry(key, value, depth, errors);
        Some(TomlTable { entries: entries.into_iter().map(read).collect::<Option<_>>()? })
    }

    fn entry(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        depth: u32,
        errors: &Errors,
    ) -> Option<Entry> {
        let origin = self.origin(key.span().start);
        Some(Entry { name: key.get_ref().to_string(), node: self.node(value, depth + 1, errors)?, origin })
    }

    fn node(&self, value: &Spanned<DeValue<'_>>, depth: u32, errors: &Errors) -> Option<Node> {
        let origin = self.origin(value.span().start);
        if depth > MAX_DEPTH {
            let message =
                format!("tables and arrays are nested deeper than {MAX_DEPTH}; no setting lies that deep");
            errors.add(&origin, "", Problem::Syntax { message });
            return None;
        }
        let item = match value.get_ref() {
            DeValue::String(text) => Item::Text(text.to_string()),
            DeValue::Integer(digits) => integer(digits.as_str(), digits.radix()),
            DeValue::Float(digits) => float(digits.as_str()),
            DeValue::Boolean(value) => Item::Bool(*value),
            DeValue::Datetime(date) => Item::Other(date.to_string()),
            DeValue::Array(items) => Item::Array(
                items.iter().map(|item| self.node(item, depth + 1, errors)).collect::<Option<_>>()?,
            ),
            DeValue::Table(table) => Item::Table(self.table(table, depth, errors)?),
        };
        Some(Node { origin, item })
    }
}

fn integer(digits: &str, radix: u32) -> Item {
    i64::from_str_radix(digits, radix).map_or_else(|_| Item::Other(digits.to_owned()), Item::Integer)
}

fn float(digits: &str) -> Item {
    digits.parse().map_or_else(|_| Item::Other(digits.to_owned()), Item::Float)
}
