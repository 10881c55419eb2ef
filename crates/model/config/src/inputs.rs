//! The files that a settings file refers to, kept in memory so that a result can include them.

use std::cell::RefCell;
use std::sync::Arc;

use crate::files::Files;

/// A referenced file with its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Path of the file, relative to the folder of the referring file.
    pub path: String,
    /// Paths of the settings that refer to it, for instance `traffic.0.sizes.file`.
    pub settings: Vec<String>,
    /// Content of the file.
    pub bytes: Arc<[u8]>,
}

/// Collects the files that a file refers to; each is read once.
#[derive(Default)]
pub(crate) struct Inputs(RefCell<Vec<Input>>);

impl Inputs {
    /// The content of `path`, referred to by `setting`.
    pub fn read(&self, files: &dyn Files, path: String, setting: String) -> Result<Arc<[u8]>, String> {
        let mut inputs = self.0.borrow_mut();
        if let Some(input) = inputs.iter_mut().find(|input| input.path == path) {
            input.settings.push(setting);
            return Ok(input.bytes.clone());
        }
        let bytes: Arc<[u8]> = files.read(&path)?.into();
        inputs.push(Input { path, settings: vec![setting], bytes: bytes.clone() });
        Ok(bytes)
    }

    pub fn into_inner(self) -> Vec<Input> {
        self.0.into_inner()
    }
}
