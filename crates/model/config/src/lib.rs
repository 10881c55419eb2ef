//! Reads settings files: TOML to checked values, or all errors with their positions.
//!
//! The text is parsed into a tree that records the position of every value. A [`Reader`] takes tables of settings from the
//! tree, each described once with [`pullnet_settings::settings!`], and reports all problems at once, in the order of their
//! position. A [`Shape`] lists what a file may contain. It is the basis for rejecting unknown keys and for the tables in the
//! documents. The files of scenarios, switches and hosts are read here.
//!
//! ```
//! use pullnet_config::{Disk, Shape, read};
//!
//! pullnet_settings::settings! {
//!     /// A table of one row.
//!     pub struct Own {
//!         /// How long.
//!         wait: pullnet_units::Picos = "1 ms",
//!     }
//! }
//! let shape = Shape::of(&[<Own as pullnet_settings::Settings>::FIELDS]);
//! let errors = read("own.toml", "wait = 3", &Disk, &shape, |root| Some(root.read::<Own>().value)).unwrap_err();
//! assert!(errors[0].to_string().starts_with("own.toml:1:8: wait: 3 has no unit"));
//! ```

mod adapt;
mod document;
mod error;
mod files;
mod inputs;
mod listing;
mod messages;
mod overrides;
mod report;
mod resolved;
mod shape;
mod suggest;
mod switch;
mod table;

use std::cell::RefCell;

pub use adapt::Chosen;
pub use document::shortened;
pub use error::{Origin, Problem, SpecError};
pub use files::{Disk, Files};
pub use inputs::Input;
pub use listing::listing;
pub use messages::kind_example;
pub use resolved::{Resolved, ResolvedTable, ResolvedValue};
pub use shape::{Kind, Shape, SubTable};
pub use suggest::{listed, remedy};
pub use switch::{Forwarding, PathSettings, read_switch, switch_shape};
pub use table::{Located, Origins, Reader, Unread};

use crate::error::Errors;
use crate::inputs::Inputs;
use crate::table::Context;

/// The result of reading a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Document<T> {
    /// The value returned by the reader.
    pub value: T,
    /// Every value in effect, with its origin.
    pub resolved: Resolved,
    /// The files that it refers to, as they were read.
    pub inputs: Vec<Input>,
}

/// Reads the TOML file `text`, called `name`, with the contents allowed by `shape`. `read` receives the top-level table; any
/// problem that it reports, or a return of `None`, is an error.
pub fn read<T>(
    name: &str,
    text: &str,
    files: &dyn Files,
    shape: &Shape,
    read: impl FnOnce(&Reader<'_>) -> Option<T>,
) -> Result<T, Vec<SpecError>> {
    read_document(name, text, &[], files, shape, read).map(|document| document.value)
}

/// Like [`read()`], with `overrides` as `("topology.k", "8")`, and with a record of the values. Errors in overrides come
/// last. Referenced files are read through `files`, relative to the folder of `name`.
pub fn read_document<T>(
    name: &str,
    text: &str,
    overrides: &[(String, String)],
    files: &dyn Files,
    shape: &Shape,
    read: impl FnOnce(&Reader<'_>) -> Option<T>,
) -> Result<Document<T>, Vec<SpecError>> {
    let resolved = RefCell::new(Resolved { file: name.to_owned(), tables: Vec::new() });
    let context =
        Context { file: name, errors: Errors::new(name), resolved, files, inputs: Inputs::default() };
    let Some(mut table) = document::parse(text, &context.errors) else {
        return Err(context.errors.into_sorted());
    };
    for (path, value) in overrides {
        overrides::apply(&mut table, path, value, &context.errors);
    }
    let root = Reader::root(&context, &table);
    root.no_other_keys_than(shape);
    let value = read(&root);
    match value {
        Some(value) if context.errors.is_empty() => {
            let (resolved, inputs) = (context.resolved.into_inner(), context.inputs.into_inner());
            Ok(Document { value, resolved, inputs })
        }
        _ => Err(context.errors.into_sorted()),
    }
}
