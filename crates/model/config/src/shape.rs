//! The allowed contents of a table: the basis of the reader's checks, the schema and the reference.

use pullnet_settings::Field;

/// The allowed settings and subtables of a table.
#[derive(Clone, Default, Debug)]
pub struct Shape {
    /// Rows of settings, in groups.
    pub groups: Vec<&'static [Field]>,
    /// Subtables.
    pub tables: Vec<SubTable>,
    /// If `kind` selects further contents: the available kinds.
    pub kinds: Vec<Kind>,
}

/// A subtable.
#[derive(Clone, Debug)]
pub struct SubTable {
    /// Its key.
    pub name: &'static str,
    /// One line of help.
    pub doc: &'static str,
    /// Whether it is a list of tables.
    pub list: bool,
    /// Whether both a single table and a list are allowed.
    pub either: bool,
    /// Whether it is required.
    pub required: bool,
    /// Its allowed contents.
    pub shape: Shape,
}

/// A kind of table, selected by `kind`.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The value of `kind`.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// Further contents of the table.
    pub shape: Shape,
}

impl Shape {
    /// A shape with these groups of settings.
    pub fn of(groups: &[&'static [Field]]) -> Self {
        Self { groups: groups.to_vec(), ..Self::default() }
    }

    /// Adds a subtable.
    pub fn with(mut self, table: SubTable) -> Self {
        self.tables.push(table);
        self
    }

    /// All settings.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + '_ {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// All allowed keys.
    pub fn keys(&self) -> Vec<&'static str> {
        let kind = (!self.kinds.is_empty()).then_some("kind");
        kind.into_iter()
            .chain(self.fields().map(|f| f.name))
            .chain(self.tables.iter().map(|t| t.name))
            .collect()
    }
}

impl SubTable {
    /// An optional table.
    pub fn optional(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        Self { name, doc, list: false, either: false, required: false, shape }
    }

    /// A required table.
    pub fn required(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        Self { required: true, ..Self::optional(name, doc, shape) }
    }

    /// Makes the table required.
    pub fn and_required(self) -> Self {
        Self { required: true, ..self }
    }

    /// Allows a list of tables as well.
    pub fn or_list(self) -> Self {
        Self { either: true, ..self }
    }

    /// A list of tables.
    pub fn list(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        Self { list: true, ..Self::optional(name, doc, shape) }
    }
}
