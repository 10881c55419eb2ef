//! The files that a file of settings names, kept as they were read, so that a result can carry them.

use std::cell::RefCell;
use std::sync::Arc;

use crate::files::Files;

/// A file that another one names, and what was read from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Where it was read from: its name as seen from the folder of the file that names it.
    pub path: String,
    /// Paths of the settings that name it, for instance `traffic.0.sizes.file`.
    pub settings: Vec<String>,
    /// What was read.
    pub bytes: Arc<[u8]>,
}

/// Collects the files that one file names; each is read once.
#[derive(Default)]
pub(crate) struct Inputs(RefCell<Vec<Input>>);

impl Inputs {
    /// The content of `path`, which `setting` names.
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
