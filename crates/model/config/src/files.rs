//! Where files are read from.

use std::collections::BTreeMap;
use std::path::Path;

/// Where the files that a file of settings names are read from.
pub trait Files {
    /// The content of `path`, or why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// The file system.
#[derive(Clone, Copy, Default, Debug)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
            std::io::ErrorKind::PermissionDenied => "it may not be read; check its permissions".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// Files held in memory, by path.
impl Files for BTreeMap<String, Vec<u8>> {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.get(path).cloned().ok_or_else(|| "there is no such file".to_owned())
    }
}

/// `file` as seen from the folder of the file `from`.
pub(crate) fn beside(from: &str, file: &str) -> String {
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    folder.join(file).to_string_lossy().into_owned()
}
