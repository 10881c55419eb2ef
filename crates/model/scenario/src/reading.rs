//! The reader of scenarios for other files of settings: the same words, the same errors, all of them at once.
//!
//! ```
//! use pullnet_scenario::reading::{Shape, read};
//! use pullnet_scenario::Disk;
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

use std::cell::RefCell;

pub use crate::listing::listing;
pub use crate::shape::{Kind, Shape, SubTable};
pub use crate::switch::{read as read_switch, shape as switch_shape};
pub use crate::table::{Context, Located, Origins, Reader, Unread};

use crate::document;
use crate::error::{Errors, SpecError};
use crate::files::Files;
use crate::inputs::Inputs;
use crate::resolved::Resolved;

/// Reads the TOML file `text`, called `name`, that may hold what `shape` says. `read` gets the top of it; what it reports
/// and what it does not return for is an error.
pub fn read<T>(
    name: &str,
    text: &str,
    files: &dyn Files,
    shape: &Shape,
    read: impl FnOnce(&Reader<'_>) -> Option<T>,
) -> Result<T, Vec<SpecError>> {
    let resolved = RefCell::new(Resolved { file: name.to_owned(), tables: Vec::new() });
    let context =
        Context { file: name, errors: Errors::new(name), resolved, files, inputs: Inputs::default() };
    let Some(table) = document::parse(text, &context.errors) else {
        return Err(context.errors.into_sorted());
    };
    let root = Reader::root(&context, &table);
    root.no_other_keys_than(shape);
    let value = read(&root);
    match value {
        Some(value) if context.errors.is_empty() => Ok(value),
        _ => Err(context.errors.into_sorted()),
    }
}
