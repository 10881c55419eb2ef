//! Sources of files.

use std::collections::BTreeMap;
use std::path::Path;

/// Source of the files that a settings file refers to.
pub trait Files {
    /// Returns the content of `path`, or the reason why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// The file system.
#[derive(Clone, Copy, Default, Debug)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if std::fs::metadata(path).is_ok_and(|found| is_device(&found)) {
            return Err("it is a device and has no end; name a file".to_owned());
        }
        std::fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
            std::io::ErrorKind::PermissionDenied => "it may not be read; check its permissions".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// Whether the file is a device, so that reading might never end.
fn is_device(found: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        found.file_type().is_char_device() || found.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        false
    }
}

/// Files held in memory, by path.
impl Files for BTreeMap<String, Vec<u8>> {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.get(path).cloned().ok_or_else(|| "there is no such file".to_owned())
    }
}

/// Path of `file` relative to the folder of the file `from`.
pub(crate) fn beside(from: &str, file: &str) -> String {
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    folder.join(file).to_string_lossy().into_owned()
}
