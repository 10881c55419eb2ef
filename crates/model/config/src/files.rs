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
        if is_named_pipe(path) {
            return Err("it is a named pipe, which may have no writer; name a file".to_owned());
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

/// Whether `path` names a pipe in a folder: reading one that no process writes to would wait for ever.
///
/// Pipes without a name (/dev/stdin, `<(...)` of a shell) have a writer; their canonical path does not exist.
fn is_named_pipe(path: &str) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let found = std::fs::canonicalize(path).and_then(std::fs::metadata);
        found.is_ok_and(|found| found.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
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

#[cfg(all(test, unix))]
mod tests {
    use super::{Disk, Files};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_named_pipe_without_a_writer_is_refused_at_once() {
        let path = std::env::temp_dir().join(format!("pullnet-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let (tell, told) = channel();
        let name = path.to_string_lossy().into_owned();
        std::thread::spawn(move || tell.send(Disk.read(&name)));
        let answer = told.recv_timeout(Duration::from_secs(10));
        std::fs::remove_file(&path).unwrap();
        let error = answer.expect("reading waits for a writer").unwrap_err();
        assert_eq!(error, "it is a named pipe, which may have no writer; name a file");
    }

    #[test]
    fn a_pipe_without_a_name_is_read() {
        use std::io::Write;
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"src,dst").unwrap();
        drop(writer);
        assert_eq!(Disk.read(&format!("/proc/self/fd/{}", reader.as_raw_fd())).unwrap(), b"src,dst");
    }
}
