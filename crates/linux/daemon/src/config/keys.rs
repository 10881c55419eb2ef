//! The file of keys: who may read it, what it holds, and what it holds later.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pullnet_config::{Disk, Problem, Reader, Shape, SpecError, SubTable, read};
use pullnet_host::seal::{Key, Keys};
use pullnet_settings::Settings;
use pullnet_wire::PORT;

use super::tables::KeySettings;
use crate::error::Error;

/// Longest file of keys. Bytes.
const LONGEST: u64 = 16 << 20;
/// Bytes of a key.
const KEY: usize = 32;
/// Text that replaces a key in errors.
const HIDDEN: &str = "(not shown)";

/// Where the keys of a host are, and what they are not used for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyTable {
    /// The file.
    pub path: PathBuf,
    /// Services that may be had without encryption.
    pub plain: Vec<u16>,
}

/// A file of keys that is held open: a daemon that has given up its privileges may not open it again.
#[derive(Debug)]
pub(crate) struct KeyFile {
    table: KeyTable,
    address: IpAddr,
    /// The user that the daemon becomes.
    user: u32,
    file: File,
}

fn wrong(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::Keys(format!("{}: {what}", path.display()))
}

impl KeyFile {
    /// Opens the file of `table` for the host at `address`, whose daemon is to be user number `user`.
    pub fn open(table: &KeyTable, address: IpAddr, user: u32) -> Result<Self, Error> {
        // Opening a pipe would block and so stall the daemon; `O_NONBLOCK` prevents that.
        let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&table.path);
        let file = opened.map_err(Error::file(&table.path, "cannot be opened"))?;
        Ok(Self { table: table.clone(), address, user, file })
    }

    /// Reads the keys in the file.
    pub fn read(&mut self) -> Result<Keys, Error> {
        self.check()?;
        let path = &self.table.path;
        let mut bytes = Vec::new();
        self.file.rewind().map_err(Error::file(path, "cannot be read"))?;
        (&self.file).take(LONGEST).read_to_end(&mut bytes).map_err(Error::file(path, "cannot be read"))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            wrong(path, format!("byte {} is not UTF-8; save it as text", error.utf8_error().valid_up_to()))
        })?;
        keys(&path.to_string_lossy(), &text, self.address, &self.table.plain)
    }

    /// Reads the keys that are in the file now. If the file may not be opened any more, reads the descriptor opened at the
    /// start.
    ///
    /// `table` may name another file, or except other services.
    pub fn read_again(&mut self, table: &KeyTable) -> Result<Keys, Error> {
        let same = self.table.path == table.path;
        match Self::open(table, self.address, self.user) {
            Ok(mut opened) => {
                let keys = opened.read()?;
                *self = opened;
                return Ok(keys);
            }
            Err(Error::File { source, .. }) if same && source.kind() == ErrorKind::PermissionDenied => {
                self.check_is_there()?;
                self.table = table.clone();
            }
            Err(error) => return Err(error),
        }
        self.read()
    }

    /// A file that was opened at the start and removed since then says nothing of today's keys.
    fn check_is_there(&self) -> Result<(), Error> {
        let path = &self.table.path;
        let found = self.file.metadata().map_err(Error::file(path, "cannot be looked at"))?;
        if found.nlink() > 0 {
            return Ok(());
        }
        Err(wrong(
            path,
            format!(
                "it was replaced, and user {} may not open the new one; write new keys into the old file, or give the \
                 file and its folder to that user",
                self.user
            ),
        ))
    }

    /// Only root and the daemon may read or write it.
    fn check(&self) -> Result<(), Error> {
        let path = &self.table.path;
        let found = self.file.metadata().map_err(Error::file(path, "cannot be looked at"))?;
        let (mode, owner) = (found.mode() & 0o777, found.uid());
        if !found.is_file() {
            return Err(wrong(path, "it is no file; name a file with keys"));
        }
        if found.len() >= LONGEST {
            return Err(wrong(path, format!("it has {} B; at most {} B are read", found.len(), LONGEST - 1)));
        }
        if mode & 0o077 != 0 {
            let text =
                format!("its mode {mode:04o} lets others at the keys; use chmod 600 {}", path.display());
            return Err(wrong(path, text));
        }
        let own = crate::process::own().uid;
        if ![0, own, self.user].contains(&owner) {
            let text = format!(
                "it belongs to user {owner}, who is neither root nor the daemon's; use chown root {}",
                path.display()
            );
            return Err(wrong(path, text));
        }
        Ok(())
    }
}

/// Names that may stand in an error about a file of keys.
const NAMES: [&str; 4] = ["key", "peer", "number", "secret"];
/// Longest value that is shown: an IPv4 address with its dots.
const SHORT: usize = 15;

/// The error without anything that may be a key, or a part of one: a secret may stand at the place of a name or an address, or without
/// quotes.
fn without_secrets(error: SpecError) -> SpecError {
    let known = |part: &&str| NAMES.contains(part) || part.parse::<u16>().is_ok();
    let path: Vec<_> = error.path.split('.').map(|part| if known(&part) { part } else { HIDDEN }).collect();
    let path = if error.path.is_empty() { String::new() } else { path.join(".") };
    let harmless = |value: &str| {
        let bare = value.trim_matches('"');
        bare.len() <= SHORT || bare.parse::<IpAddr>().is_ok() || bare.parse::<SocketAddr>().is_ok()
    };
    let problem = match error.problem {
        Problem::Syntax { .. } => Problem::Syntax {
            message: "is not TOML; write [[key]], and below it peer, number and secret, for instance number = 1 and \
                      peer = \"10.0.0.2\""
                .to_owned(),
        },
        Problem::UnknownKey { .. } => {
            Problem::UnknownKey { remedy: "use peer, number and secret".to_owned(), meant: None }
        }
        Problem::Value { value, reason } if !path.ends_with("secret") && harmless(&value) => {
            Problem::Value { value, reason }
        }
        Problem::Value { reason, .. } => Problem::Value { value: HIDDEN.to_owned(), reason },
        other => other,
    };
    SpecError { path, problem, ..error }
}

fn shape() -> Shape {
    Shape::of(&[]).with(SubTable::list("key", "Keys.", Shape::of(&[KeySettings::FIELDS])))
}

/// The keys of the file `text`, called `name`, for the host at `address`.
fn keys(name: &str, text: &str, address: IpAddr, plain: &[u16]) -> Result<Keys, Error> {
    let mut keys = Keys::default();
    plain.iter().for_each(|service| keys.leave_plain(*service));
    let told = |errors: Vec<SpecError>| {
        let lines: Vec<_> = errors.into_iter().map(|error| without_secrets(error).to_string()).collect();
        Error::Keys(lines.join("\n"))
    };
    let all = |root: &Reader<'_>| {
        let mut seen: Vec<[u8; KEY]> = Vec::new();
        let list = root.list("key");
        if list.is_empty() {
            root.missing("key", "write for instance [[key]] with peer, number and secret".to_owned());
        }
        for reader in list {
            let Some((peer, number, secret)) = key(&reader, address) else { continue };
            if seen.contains(&secret) {
                reader.refuse_as(
                    "secret",
                    HIDDEN,
                    "is there twice; make one of its own for each pair of hosts and number",
                );
            } else if !keys.add(peer, number, Key::new(secret)) {
                reader
                    .refuse("number", format!("is there twice for {peer}; give the newer key a higher one"));
            }
            seen.push(secret);
        }
        Some(())
    };
    read(name, text, &Disk, &shape(), all).map_err(told)?;
    Ok(keys)
}

fn key(reader: &Reader<'_>, address: IpAddr) -> Option<(SocketAddr, u16, [u8; KEY])> {
    reader.no_other_keys_than(&Shape::of(&[KeySettings::FIELDS]));
    let found = reader.read::<KeySettings>();
    let peer = found.has_read(&["peer"]).then(|| peer(reader, &found.value.peer, address)).flatten();
    let secret = found.has_read(&["secret"]).then(|| secret(reader, &found.value.secret)).flatten();
    Some((peer?, found.value.number, secret?)).filter(|_| found.good())
}

fn peer(reader: &Reader<'_>, text: &str, own: IpAddr) -> Option<SocketAddr> {
    let usual = |ip| SocketAddr::new(ip, PORT);
    let parsed = text.parse().ok().or_else(|| text.parse().ok().map(usual));
    let Some(peer): Option<SocketAddr> = parsed else {
        reader.refuse(
            "peer",
            "is not the address of a host; write for instance \"10.0.0.2\", or \"10.0.0.2:61199\" with its port",
        );
        return None;
    };
    if peer.is_ipv4() != own.is_ipv4() {
        reader.refuse("peer", format!("is not of the family of this host, {own}; use its other address"));
        return None;
    }
    Some(peer)
}

fn secret(reader: &Reader<'_>, text: &str) -> Option<[u8; KEY]> {
    const REMEDY: &str = "use 64 hexadecimal digits, for instance what `openssl rand -hex 32` prints";
    let digits = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<_>>>();
    let Some(digits) = digits.filter(|digits| digits.len() == 2 * KEY) else {
        let long = text.chars().count();
        let reason = format!("has {long} characters, or some that are no hexadecimal digits; {REMEDY}");
        reader.refuse_as("secret", HIDDEN, reason);
        return None;
    };
    let bytes: [u8; KEY] = core::array::from_fn(|at| (digits[2 * at] << 4 | digits[2 * at + 1]) as u8);
    if bytes.iter().all(|byte| *byte == bytes[0]) {
        reader.refuse_as("secret", HIDDEN, format!("is one byte again and again; {REMEDY}"));
        return None;
    }
    Some(bytes)
}

/// The table `keys` of a host file called `name`.
pub(super) fn table(root: &Reader<'_>, name: &str) -> Option<Option<KeyTable>> {
    if !root.has("keys") {
        return Some(None);
    }
    let settings = pullnet_switch::config::table::<super::tables::KeysSettings>(root, "keys")?;
    let text = settings.plain.unwrap_or_default();
    let plain: Result<Vec<u16>, _> = text.split_whitespace().map(str::parse).collect();
    let Ok(plain) = plain else {
        let reason = "is not a list of services; write numbers from 0 to 65535 with spaces between them";
        root.table("keys", "...")?.refuse("plain", reason);
        return None;
    };
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    Some(Some(KeyTable { path: folder.join(settings.file), plain }))
}
