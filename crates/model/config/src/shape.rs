//! What a table may hold: from this come the reader's checks, the schema and the reference.

use pullnet_settings::Field;

/// The settings and tables that a table may hold.
#[derive(Clone, Default, Debug)]
pub struct Shape {
    /// Rows of settings, in groups.
    pub groups: Vec<&'static [Field]>,
    /// Tables within it.
    pub tables: Vec<SubTable>,
    /// Where `kind` selects the rest: what there is to choose from.
    pub kinds: Vec<Kind>,
}

/// A table within a table.
#[derive(Clone, Debug)]
pub struct SubTable {
    /// Its key.
    pub name: &'static str,
    /// One line of help.
    pub doc: &'static str,
    /// One table, or a list of them.
    pub list: bool,
    /// Whether it may be one table and a list of them alike.
    pub either: bool,
    /// Whether it has to be there.
    pub required: bool,
    /// What it may hold.
    pub shape: Shape,
}

/// One of the forms that a table with a `kind` has.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The value of `kind`.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// What the table may hold beside.
    pub shape: Shape,
}

impl Shape {
    /// Settings in groups.
    pub fn of(groups: &[&'static [Field]]) -> Self {
        Self { groups: groups.to_vec(), ..Self::default() }
    }

    /// With one more table.
    pub fn with(mut self, table: SubTable) -> Self {
        self.tables.push(table);
        self
    }

    /// All settings.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + '_ {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// Every key that the table may hold.
    pub fn keys(&self) -> Vec<&'static str> {
        let kind = (!self.kinds.is_empty()).then_some("kind");
        kind.into_iter()
            .chain(self.fields().map(|f| f.name))
            .chain(self.tables.iter().map(|t| t.name))
            .collect()
    }
}

impl SubTable {
    /// A table that may be there.
    pub fn optional(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        Self { name, doc, list: false, either: false, required: false, shape }
    }

    /// A table that has to be there.
    pub fn required(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        Self { required: true, ..Self::optional(name, doc, shape) }
    }

    /// The same, and it has to be there.
    pub fn and_required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same, and it may be a list of tables as well.
    pub fn or_list(self) -> Self {
        Self { either: true, ..self }
    }

    /// A list of tables.
    pub fn list(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        Self { list: true, ..Self::optional(name, doc, shape) }
    }
}
