//! Files that appear whole or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use blake3::{Hash, Hasher};

/// Ending of the name of a file that is not complete; a name that begins with a dot is no name of an object.
const PART: &str = ".pullnet-part";
/// The file that a store locks, in its folder.
const LOCK: &str = ".pullnet-store.lock";
/// Characters of a file's name in that of its part.
const NAMED: usize = 50;
/// Bytes read at a time for a hash.
const CHUNK: usize = 1 << 20;

static MADE: AtomicU32 = AtomicU32::new(0);

/// A file that is being received, under a name of its own beside its place.
#[derive(Debug)]
pub struct Part {
    file: File,
    path: PathBuf,
    target: PathBuf,
    bytes: u64,
    hasher: Hasher,
    /// Bytes from the beginning that the hash has seen.
    hashed: u64,
    /// Blocks written beyond them, by offset.
    beyond: BTreeMap<u64, u64>,
    kept: bool,
}

impl Part {
    /// Creates the part of a file of `bytes` bytes that is to appear at `target`.
    ///
    /// # Errors
    /// If the folder does not exist or may not be written, or something that is no plain file has the name.
    pub fn create(target: &Path, bytes: u64) -> io::Result<Self> {
        check_place(target)?;
        let name = target.file_name().ok_or_else(|| io::Error::other("there is no name of a file"))?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        // A part of the name: that of a file may be as long as the kernel allows.
        let begin: String = name.to_string_lossy().chars().take(NAMED).collect();
        let unique = format!(".{begin}.{}-{number}{PART}", std::process::id());
        let path = target.with_file_name(unique);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let (hasher, beyond) = (Hasher::new(), BTreeMap::new());
        Ok(Self { file, path, target: target.to_owned(), bytes, hasher, hashed: 0, beyond, kept: false })
    }

    /// Writes a block.
    ///
    /// # Errors
    /// If the disk is full or broken.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)?;
        if offset != self.hashed {
            self.beyond.insert(offset, bytes.len() as u64);
            return Ok(());
        }
        self.hasher.update(bytes);
        self.hashed += bytes.len() as u64;
        while let Some(long) = self.beyond.remove(&self.hashed) {
            let mut block = vec![0; long as usize];
            self.file.read_exact_at(&mut block, self.hashed)?;
            self.hasher.update(&block);
            self.hashed += long;
        }
        Ok(())
    }

    /// Checks the content, writes it to the disk, and gives it its name. Returns the version of the file.
    ///
    /// # Errors
    /// If the content is not what was announced, or cannot be written.
    pub fn finish(mut self, expected: &Hash) -> Result<Version, String> {
        let found = self.hasher.finalize();
        if self.hashed != self.bytes || found != *expected {
            return Err(format!(
                "the content has the BLAKE3 {found} instead of {expected}; it was discarded"
            ));
        }
        let target = self.target.clone();
        self.keep().map_err(|error| cannot_write(&target, &error))
    }

    fn keep(&mut self) -> io::Result<Version> {
        self.file.sync_all()?;
        check_place(&self.target)?;
        fs::rename(&self.path, &self.target)?;
        self.kept = true;
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Version::of(&self.file)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing more can be done about a part that stays; a store removes it when it starts.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether a file may get the name `place`: nothing has it, or a plain file that is replaced. A link, a pipe or a device is not.
///
/// # Errors
/// If something else has it.
pub fn check_place(place: &Path) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(found) if !found.is_file() => Err(io::Error::other(format!(
            "it is {}, which a file must not replace; use another name",
            kind_of(found.file_type())
        ))),
        _ => Ok(()),
    }
}

fn kind_of(found: fs::FileType) -> &'static str {
    match () {
        () if found.is_dir() => "a folder",
        () if found.is_symlink() => "a symbolic link",
        () if found.is_fifo() => "a named pipe",
        () if found.is_socket() => "a socket",
        () => "a device",
    }
}

/// Opens a plain file to read it; `None` if it is something else. Does not wait for the writer of a named pipe.
///
/// # Errors
/// If it is missing or may not be read.
pub fn open_plain(path: &Path) -> io::Result<Option<File>> {
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    // The name may have changed hands since.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

/// The text of an error while writing.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be written: {error}", path.display())
}

/// Size and BLAKE3 of a file. Reading may take minutes; it ends early when `goes_on`, called for every [`CHUNK`] bytes,
/// returns false.
///
/// # Errors
/// If it cannot be read; [`io::ErrorKind::Interrupted`] once `goes_on` says no.
pub fn hash(mut file: &File, goes_on: &mut dyn FnMut() -> bool) -> io::Result<(u64, Hash)> {
    let (mut hasher, mut chunk, mut bytes) = (Hasher::new(), vec![0; CHUNK], 0);
    while goes_on() {
        match file.read(&mut chunk)? {
            0 => return Ok((bytes, hasher.finalize())),
            long => {
                hasher.update(&chunk[..long]);
                bytes += long as u64;
            }
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// Version of a file: inode number, length, and the times of its last change. Programs can set the modification time at
/// will, but not the change time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version(u64, u64, [(i64, i64); 2]);

impl Version {
    /// The version of an open file.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        let times = [(found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())];
        Ok(Self(found.ino(), found.len(), times))
    }
}

/// The folder of a store, locked against other stores.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Locks the folder, and removes parts that a killed store has left.
    ///
    /// # Errors
    /// If there is no such folder, it may not be written, or another store serves it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let fails = |error: io::Error| format!("{}: cannot be served: {error}", path.display());
        if !path.is_dir() {
            return Err(format!("{}: there is no such folder; make it first", path.display()));
        }
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path.join(LOCK));
        let lock = lock.map_err(fails)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!("{}: another store serves this folder; stop it first", path.display()));
            }
            Err(TryLockError::Error(error)) => return Err(fails(error)),
        }
        for entry in fs::read_dir(path).map_err(fails)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') && name.ends_with(PART) {
                fs::remove_file(entry.path()).map_err(fails)?;
            }
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the object `name` is.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("pullnet-objects-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn names(path: &Path) -> Vec<String> {
        let all = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        all.filter(|name| name != LOCK).collect()
    }

    #[test]
    fn a_file_appears_when_its_content_is_right_and_never_otherwise() {
        let path = folder("part");
        let target = path.join("object");
        fs::write(&target, b"before").unwrap();
        let whole: Vec<u8> = (0..3000u32).map(|at| at as u8).collect();
        for right in [false, true] {
            let mut part = Part::create(&target, 3000).unwrap();
            for block in [2, 1, 0] {
                part.write(block * 1000, &whole[block as usize * 1000..][..1000]).unwrap();
            }
            assert_eq!(fs::read(&target).unwrap(), b"before");
            let expected = blake3::hash(if right { &whole } else { b"other" });
            assert_eq!(part.finish(&expected).is_ok(), right);
        }
        assert_eq!((fs::read(&target).unwrap(), names(&path)), (whole, vec!["object".to_owned()]));
        let mut short = Part::create(&target, 10).unwrap();
        short.write(0, b"12345").unwrap();
        assert!(short.finish(&blake3::hash(b"12345")).unwrap_err().contains("instead of"), "not all of it");
        assert_eq!(names(&path), ["object"], "the part is gone");
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn only_plain_files_are_read_and_replaced() {
        let path = folder("kinds");
        let (pipe, link, plain) = (path.join("pipe"), path.join("link"), path.join("plain"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::write(&plain, b"x").unwrap();
        std::os::unix::fs::symlink(&plain, &link).unwrap();
        assert!(open_plain(&pipe).unwrap().is_none() && open_plain(&path).unwrap().is_none());
        assert!(open_plain(Path::new("/dev/null")).unwrap().is_none());
        assert!(open_plain(&plain).unwrap().is_some() && open_plain(&link).unwrap().is_some());
        assert_eq!(open_plain(&path.join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        for (place, kind) in [(&pipe, "a named pipe"), (&link, "a symbolic link"), (&path, "a folder")] {
            assert!(Part::create(place, 1).unwrap_err().to_string().contains(kind), "{}", place.display());
        }
        assert!(check_place(Path::new("/dev/null")).unwrap_err().to_string().contains("a device"));
        // It becomes a pipe while the part is written.
        let mut part = Part::create(&plain, 1).unwrap();
        part.write(0, b"y").unwrap();
        fs::rename(&pipe, &plain).unwrap();
        assert!(part.finish(&blake3::hash(b"y")).unwrap_err().contains("a named pipe"));
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_file_may_have_the_longest_name_of_all() {
        let path = folder("long");
        for name in ["n".repeat(255), "\u{1f4be}".repeat(63)] {
            let mut part = Part::create(&path.join(&name), 1).unwrap();
            part.write(0, b"x").unwrap();
            part.finish(&blake3::hash(b"x")).unwrap();
            assert_eq!(fs::read(path.join(&name)).unwrap(), b"x");
        }
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_hash_that_is_not_wanted_any_more_is_not_finished() {
        let path = folder("hash");
        let whole = vec![7; 3 * CHUNK + 1];
        fs::write(path.join("file"), &whole).unwrap();
        let file = File::open(path.join("file")).unwrap();
        let mut asked = 0;
        let mut twice = || {
            asked += 1;
            asked <= 2
        };
        assert_eq!(hash(&file, &mut twice).unwrap_err().kind(), io::ErrorKind::Interrupted);
        let file = File::open(path.join("file")).unwrap();
        assert_eq!(hash(&file, &mut || true).unwrap(), (whole.len() as u64, blake3::hash(&whole)));
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_file_that_was_changed_in_place_is_another_version_whatever_time_it_shows() {
        let path = folder("version");
        let place = path.join("file");
        fs::write(&place, b"before").unwrap();
        let file = File::options().read(true).write(true).open(&place).unwrap();
        let (before, time) = (Version::of(&file).unwrap(), file.metadata().unwrap().modified().unwrap());
        // Until the clock of the file system has moved on.
        let changed = (0..1_000_000).any(|_| {
            file.write_all_at(b"behind", 0).unwrap();
            file.set_modified(time).unwrap();
            Version::of(&file).unwrap() != before
        });
        assert!(changed && file.metadata().unwrap().modified().unwrap() == time);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_folder_has_one_store_and_loses_what_a_killed_one_left() {
        let path = folder("store");
        fs::write(path.join(".a.1-0.pullnet-part"), b"x").unwrap();
        fs::write(path.join("a"), b"x").unwrap();
        let folder = Folder::open(&path).unwrap();
        assert_eq!(names(&path), ["a"]);
        assert!(Folder::open(&path).unwrap_err().contains("another store"));
        drop(folder);
        assert!(Folder::open(&path).is_ok());
        assert!(Folder::open(&path.join("nowhere")).unwrap_err().contains("no such folder"));
        fs::remove_dir_all(&path).unwrap();
    }
}
