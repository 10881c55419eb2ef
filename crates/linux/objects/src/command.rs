//! The commands put, get and store.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::driver::{Driver, Jobs, LinkOptions, STORE_PORT};
use crate::engine::MOST_HOSTS;
use crate::file::{Folder, check_place, hash, open_plain};
use crate::get::Get;
use crate::message::check_name;
use crate::put::{Object, Put};
use crate::report::Report;
use crate::store::Store;

/// Why a command did not begin.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CommandError {
    /// The arguments are wrong: a file is missing, an address is none.
    #[error("{0}")]
    Input(String),
    /// This host cannot do it: an interface, a port or the disk fails.
    #[error("{0}")]
    Host(String),
}

/// Chunks that are read for a hash between two looks at whether to go on.
const LOOK: u32 = 16;

/// Says how far a command is, in bytes; false ends it.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Reads the address of a host, with a port or without.
///
/// # Errors
/// If it is none.
pub fn host_address(text: &str) -> Result<SocketAddr, CommandError> {
    let with_port = text.parse::<SocketAddr>().ok();
    let alone = || text.parse().ok().map(|ip| SocketAddr::new(ip, STORE_PORT));
    let wrong = || {
        CommandError::Input(format!(
            "{text}: is no address of a host, such as 10.0.0.2 or 10.0.0.2:{STORE_PORT}"
        ))
    };
    with_port
        .or_else(alone)
        .filter(|address| !address.ip().is_multicast() && address.port() != 0)
        .ok_or_else(wrong)
}

fn check_hosts(hosts: &[SocketAddr], link: &LinkOptions) -> Result<(), CommandError> {
    let wrong = |text: String| Err(CommandError::Input(text));
    if hosts.is_empty() || hosts.len() > MOST_HOSTS {
        return wrong(format!("{} hosts; name 1 to {MOST_HOSTS}", hosts.len()));
    }
    for (at, host) in hosts.iter().enumerate() {
        if hosts[..at].contains(host) {
            return wrong(format!("{host}: is named twice; name each host once"));
        }
        if host.is_ipv4() != link.address.is_ipv4() {
            return wrong(format!("{host}: is of another family than this host's address {}", link.address));
        }
    }
    Ok(())
}

/// Opens the file that is sent, and reads it for its hash.
fn object(path: &Path, name: Option<String>, watch: Watch<'_>) -> Result<Object, CommandError> {
    let wrong = |what: String| CommandError::Input(format!("{}: {what}", path.display()));
    let file = open_plain(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => wrong("there is no such file; name the file to send".to_owned()),
        _ => wrong(format!("cannot be read: {error}")),
    })?;
    let file = file.ok_or_else(|| wrong("is no plain file; put sends one file".to_owned()))?;
    let own = path.file_name().unwrap_or_default().to_str().map(str::to_owned);
    let name = name.or(own).ok_or_else(|| wrong("its name is not UTF-8; state a --name".to_owned()))?;
    check_name(&name).map_err(CommandError::Input)?;
    let mut chunks = 0;
    let mut goes_on = || {
        chunks += 1;
        chunks % LOOK != 0 || watch(0, 0)
    };
    let (bytes, blake3) = hash(&file, &mut goes_on).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => {
            let ended = "the command was ended while it read the file for its hash";
            CommandError::Host(format!("{}: {ended}", path.display()))
        }
        _ => wrong(format!("cannot be read: {error}")),
    })?;
    Ok(Object { file, name, bytes, blake3 })
}

/// The group and the port at which all of its members listen.
fn group_of(
    group: Option<Ipv4Addr>,
    hosts: &[SocketAddr],
    link: &LinkOptions,
) -> Result<Option<(Ipv4Addr, u16)>, CommandError> {
    let Some(group) = group else { return Ok(None) };
    let wrong = |why: &str| Err(CommandError::Input(format!("--group {group}: {why}")));
    match () {
        () if !group.is_multicast() => {
            wrong("is no multicast address; use one from 224.0.0.0 to 239.255.255.255")
        }
        () if link.address.is_ipv6() => wrong("is for hosts with IPv4 addresses"),
        () if link.interface.is_none() => wrong("needs --interface: UDP sockets do not take part in groups"),
        () if hosts.iter().any(|host| host.port() != hosts[0].port()) => {
            wrong("all hosts of a group listen at the same port")
        }
        () => Ok(Some((group, hosts[0].port()))),
    }
}

/// Sends the file `path` to every host, each symbol once for all of them if there is a group.
///
/// # Errors
/// If the arguments are wrong, or this host has no such address or interface. Hosts that fail are in the report.
pub fn put(
    link: &LinkOptions,
    path: &Path,
    name: Option<String>,
    hosts: &[SocketAddr],
    group: Option<Ipv4Addr>,
    watch: Watch<'_>,
) -> Result<Report, CommandError> {
    check_hosts(hosts, link)?;
    let group = group_of(group, hosts, link)?;
    let object = object(path, name, watch)?;
    let mut driver = Driver::open(link).map_err(CommandError::Host)?;
    let missing = driver.resolve(hosts).map_err(CommandError::Host)?;
    let mut task = Put::new(object, hosts, &missing, group);
    driver.run(&mut task, watch).map_err(CommandError::Host)?;
    Ok(task.report(driver.engine()))
}

/// Where the object `name` is written: in the folder `out`, or in the file `out`; of a link, in the file that it leads to.
fn target_of(name: &str, out: &Path) -> Result<PathBuf, CommandError> {
    let wrong = |path: &Path, why: &str| CommandError::Input(format!("{}: {why}", path.display()));
    let no_folder = |path: &Path| wrong(path, "there is no such folder; make it first");
    let target = if out.is_dir() { out.join(name) } else { out.to_owned() };
    if target.as_os_str().as_bytes().ends_with(b"/") {
        return Err(no_folder(out));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(no_folder(folder));
    }
    let target = if target.is_symlink() {
        fs::canonicalize(&target)
            .map_err(|error| wrong(&target, &format!("the link leads nowhere: {error}")))?
    } else {
        target
    };
    check_place(&target).map_err(|error| wrong(&target, &format!("cannot be written: {error}")))?;
    Ok(target)
}

/// Fetches the object `name` from all hosts that have it, into the file `out`.
///
/// # Errors
/// As [`put`].
pub fn get(
    link: &LinkOptions,
    name: &str,
    out: &Path,
    hosts: &[SocketAddr],
    watch: Watch<'_>,
) -> Result<Report, CommandError> {
    check_hosts(hosts, link)?;
    check_name(name).map_err(CommandError::Input)?;
    let target = target_of(name, out)?;
    let mut driver = Driver::open(link).map_err(CommandError::Host)?;
    let missing = driver.resolve(hosts).map_err(CommandError::Host)?;
    let jobs = Jobs::new(driver.waker());
    let mut task = Get::new(name.to_owned(), target, hosts, &missing, jobs);
    let run = driver.run(&mut task, watch);
    task.settle();
    run.map_err(CommandError::Host)?;
    Ok(task.report(driver.engine()))
}

/// Serves the files of `folder` until `watch` returns false; tells by `tell` what it does.
///
/// # Errors
/// If there is no such folder, another store serves it, or this host has no such address or interface.
pub fn store(
    link: &LinkOptions,
    folder: &Path,
    most_bytes: u64,
    tell: Box<dyn FnMut(String) + Send>,
    watch: Watch<'_>,
) -> Result<(), CommandError> {
    let folder = Folder::open(folder).map_err(CommandError::Input)?;
    let mut driver = Driver::open(link).map_err(CommandError::Host)?;
    let jobs = Jobs::new(driver.waker());
    let mut task = Store::new(folder, most_bytes, jobs, tell);
    driver.run(&mut task, watch).map_err(CommandError::Host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_written_to_a_file_and_to_nothing_else() {
        let folder = std::env::temp_dir().join(format!("pullnet-target-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("plain"), b"x").unwrap();
        std::os::unix::fs::symlink("plain", folder.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.join("dangling")).unwrap();
        let of = |out: &str| target_of("name", &folder.join(out)).map_err(|error| error.to_string());
        assert_eq!(of(""), Ok(folder.join("name")));
        assert_eq!(of("new"), Ok(folder.join("new")));
        assert_eq!(of("link"), Ok(fs::canonicalize(&folder).unwrap().join("plain")));
        for (out, why) in [
            ("none/", "no such folder"),
            ("none/file", "no such folder"),
            ("plain/", "no such folder"),
            ("dangling", "leads nowhere"),
            ("/dev/null", "a device"),
        ] {
            assert!(of(out).unwrap_err().contains(why), "{out}: {:?}", of(out));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
