//! The socket at which applications find the daemon, and its access rules.
//!
//! The socket belongs to the daemon's user and the group of the file, mode 0660: the kernel rejects all others. The peer
//! credentials from the kernel (SO_PEERCRED, SO_PEERGROUPS) are checked against the same rule again, since a socket may be
//! handed on, and against the users that the file names.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::config;
use crate::error::Error;
use crate::failure::is_without_descriptors;
use crate::process::{self, Account};
use crate::sys;

/// Mode of the socket if the file names users: all users may connect, and are checked afterwards.
const ALL_USERS: u32 = 0o666;
/// Mode of the socket otherwise: user and group.
const GROUP: u32 = 0o660;

/// Users and group that may connect.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Allowed {
    uids: Vec<u32>,
    gid: u32,
}

impl Allowed {
    fn of(access: &config::Access, daemon: &Account) -> Result<Self, Error> {
        let gid = access.group.as_deref().map(process::group).transpose()?.unwrap_or(process::own().gid);
        Ok(Self { uids: Self::uids(access, daemon)?, gid })
    }

    fn uids(access: &config::Access, daemon: &Account) -> Result<Vec<u32>, Error> {
        let named = access.users.iter().map(|name| process::user(name).map(|account| account.uid));
        let mut uids = named.collect::<Result<Vec<_>, _>>()?;
        uids.extend([0, daemon.uid]);
        Ok(uids)
    }

    fn admits(&self, uid: u32, gid: u32, groups: &[u32]) -> bool {
        self.uids.contains(&uid) || gid == self.gid || groups.contains(&self.gid)
    }
}

/// The process at the other end of a connection, as the kernel names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PeerCred {
    pub pid: i32,
    pub uid: u32,
}

/// The listening socket.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    listener: UnixListener,
    allowed: Allowed,
    path: PathBuf,
    /// Held as long as the daemon lives.
    _lock: File,
    /// A spare file descriptor. It is closed to accept and drop a connection when no other descriptor is left: otherwise
    /// that connection would stay in the queue, and the daemon would poll it again and again.
    reserve: Option<OwnedFd>,
}

/// A connection attempt.
#[derive(Debug)]
pub(crate) enum Attempt {
    Admitted(UnixStream, PeerCred),
    /// Not a member of the group, and not named.
    Forbidden(PeerCred),
    /// No file descriptor was left but the spare one, which this connection has.
    NoDescriptor(UnixStream),
    /// The kernel could not identify the peer, or accept the connection.
    Failed(io::Error),
}

impl ControlSocket {
    /// Opens the socket; `daemon` is the account that the daemon switches to.
    pub fn open(access: &config::Access, daemon: &Account) -> Result<Self, Error> {
        let allowed = Allowed::of(access, daemon)?;
        let path = access.path.clone();
        make_folder(&path, daemon)?;
        let lock = lock(&path)?;
        check_replaceable(&path, "[socket] path")?;
        let mode = if access.users.is_empty() { GROUP } else { ALL_USERS };
        let listener = listen(&path, daemon.uid, allowed.gid, mode)?;
        Ok(Self { listener, allowed, path, _lock: lock, reserve: reserve() })
    }

    /// The group whose members may connect.
    pub fn group(&self) -> u32 {
        self.allowed.gid
    }

    /// Replaces the users that may connect. Connected applications stay.
    pub fn set_users(&mut self, access: &config::Access, daemon: &Account) -> Result<(), Error> {
        let uids = Allowed::uids(access, daemon)?;
        let mode = if access.users.is_empty() { GROUP } else { ALL_USERS };
        let set = fs::set_permissions(&self.path, Permissions::from_mode(mode));
        set.map_err(Error::file(&self.path, "cannot change who may connect"))?;
        self.allowed.uids = uids;
        Ok(())
    }

    /// A socket without a path in the file system, and a client connected to it.
    #[cfg(any(test, feature = "hostile"))]
    pub fn without_a_file() -> (Self, UnixStream) {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::SocketAddr;
        use std::sync::atomic::{AtomicU64, Ordering};

        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("pullnet-hostile-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let address = SocketAddr::from_abstract_name(name).expect("a short name");
        let listener = UnixListener::bind_addr(&address).expect("an unused name");
        listener.set_nonblocking(true).expect("a socket of ours");
        let client = UnixStream::connect_addr(&address).expect("a listening socket");
        let allowed = Allowed { uids: vec![process::own().uid], gid: process::own().gid };
        let lock = File::from(sys::memory_file(0).expect("descriptors are left"));
        (Self { listener, allowed, path: PathBuf::new(), _lock: lock, reserve: reserve() }, client)
    }

    /// Accepts the next connection.
    pub fn accept_peer(&mut self) -> Option<Attempt> {
        let socket = match self.listener.accept() {
            Ok((socket, _)) => socket,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) if is_without_descriptors(&error) => return self.accept_with_reserve(error),
            Err(error) => return Some(Attempt::Failed(error)),
        };
        let Ok(peer) = sys::peer(socket.as_fd()) else {
            return Some(Attempt::Failed(io::Error::last_os_error()));
        };
        let admitted = self.allowed.admits(peer.uid, peer.gid, &sys::peer_groups(socket.as_fd()));
        let peer = PeerCred { pid: peer.pid, uid: peer.uid };
        Some(if admitted { Attempt::Admitted(socket, peer) } else { Attempt::Forbidden(peer) })
    }

    /// Accepts the connection with the spare file descriptor; [`Self::restore_reserve`] opens another one.
    /// The kernel reports that no descriptor is left before it checks for a waiting connection: `None` if there is none.
    fn accept_with_reserve(&mut self, error: io::Error) -> Option<Attempt> {
        if self.reserve.take().is_none() {
            self.restore_reserve();
            return Some(Attempt::Failed(error));
        }
        let taken = self.listener.accept();
        if taken.is_err() {
            self.restore_reserve();
        }
        match taken {
            Ok((socket, _)) => Some(Attempt::NoDescriptor(socket)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => Some(Attempt::Failed(error)),
        }
    }

    /// Opens the spare file descriptor again, once the connection that had it is closed.
    pub fn restore_reserve(&mut self) {
        self.reserve = reserve();
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes the socket of a daemon that ends. In a folder of another owner the kernel does not let it; the next daemon replaces it.
pub(crate) fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() == ErrorKind::PermissionDenied
    {
        tracing::warn!("{} stays, since its folder belongs to another user: {error}", path.display());
    }
}

/// Makes the socket's folder if it is missing: owned by the daemon's user, searchable by all.
fn make_folder(path: &Path, daemon: &Account) -> Result<(), Error> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
    else {
        return Ok(());
    };
    let failed = || Error::file(folder, "cannot make the folder of the socket");
    fs::DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(failed())?;
    if process::own().uid == daemon.uid {
        return Ok(());
    }
    chown(folder, Some(daemon.uid), Some(daemon.gid)).map_err(failed())
}

/// Locks the path: only one daemon may run on it.
fn lock(path: &Path) -> Result<File, Error> {
    let beside = with_ending(path, ".lock");
    let open = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&beside);
    let file = open.map_err(Error::file(&beside, "cannot open the lock file of the socket"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Path {
            path: path.to_path_buf(),
            why: "a daemon serves this socket already; stop it, or give this one another [socket] path"
                .to_owned(),
        }),
        Err(TryLockError::Error(error)) => {
            Err(Error::file(&beside, "cannot lock the lock file of the socket")(error))
        }
    }
}

/// Checks that the path may be replaced. An existing socket belongs to a dead daemon, since the lock is ours; other files
/// are left alone.
fn check_replaceable(path: &Path, setting: &'static str) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => Err(Error::Path {
            path: path.to_path_buf(),
            why: format!(
                "is no socket, and is not replaced by one; move it away, or choose another {setting}"
            ),
        }),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::file(path, "cannot look at the place of the socket")(error))
        }
        _ => Ok(()),
    }
}

/// Makes a socket at `path` for the user of the daemon and a group, with its folder if that is missing.
pub(crate) fn listen_for_group(path: &Path, daemon: &Account, gid: u32) -> Result<UnixListener, Error> {
    make_folder(path, daemon)?;
    check_replaceable(path, "metrics")?;
    listen(path, daemon.uid, gid, GROUP)
}

/// Makes the socket under a temporary name, and renames it once its owner and mode are set.
fn listen(path: &Path, uid: u32, gid: u32, mode: u32) -> Result<UnixListener, Error> {
    let beside = with_ending(path, ".new");
    let made = || -> io::Result<UnixListener> {
        if let Err(error) = fs::remove_file(&beside)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
        let listener = UnixListener::bind(&beside)?;
        fs::set_permissions(&beside, Permissions::from_mode(0o600))?;
        let own = process::own();
        if (own.uid, own.gid) != (uid, gid) {
            chown(&beside, Some(uid), Some(gid))?;
        }
        fs::set_permissions(&beside, Permissions::from_mode(mode))?;
        listener.set_nonblocking(true)?;
        fs::rename(&beside, path)?;
        Ok(listener)
    };
    made().map_err(Error::file(path, "cannot make the socket"))
}

/// Opens the spare file descriptor.
fn reserve() -> Option<OwnedFd> {
    File::open("/dev/null").ok().map(OwnedFd::from)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that exists as long as the test runs.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn settings(name: &str) -> (Folder, config::Access) {
        let folder =
            std::env::temp_dir().join(format!("pullnet-control-socket-{}-{name}", std::process::id()));
        let path = folder.join("host.sock");
        let users = Vec::new();
        let access = config::Access { path, users, ..config::Access::default() };
        (Folder(folder), access)
    }

    #[test]
    fn a_socket_is_for_user_and_group() {
        let (_folder, settings) = settings("mode");
        let own = process::own();
        let mut control = ControlSocket::open(&settings, &own).unwrap();
        let mode = fs::metadata(&settings.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        assert!(control.accept_peer().is_none());
        let _client = UnixStream::connect(&settings.path).unwrap();
        let Some(Attempt::Admitted(_, peer)) = control.accept_peer() else { panic!("a member of the group") };
        assert_eq!((peer.uid, peer.pid), (own.uid, std::process::id() as i32));
        drop(control);
        assert!(!settings.path.exists());
    }

    #[test]
    fn a_living_daemon_keeps_its_socket_and_a_dead_one_does_not() {
        let (_folder, settings) = settings("lives");
        let own = process::own();
        let control = ControlSocket::open(&settings, &own).unwrap();
        let refused = ControlSocket::open(&settings, &own).unwrap_err().to_string();
        assert!(refused.contains("a daemon serves this socket already"), "{refused}");
        drop(control);
        // The socket file left by a killed daemon.
        drop(UnixListener::bind(&settings.path).unwrap());
        let mut control = ControlSocket::open(&settings, &own).unwrap();
        let _client = UnixStream::connect(&settings.path).unwrap();
        assert!(matches!(control.accept_peer(), Some(Attempt::Admitted(..))));
    }

    #[test]
    fn a_file_at_the_path_stays() {
        let (_folder, settings) = settings("file");
        fs::create_dir_all(settings.path.parent().unwrap()).unwrap();
        fs::write(&settings.path, "precious").unwrap();
        let refused = ControlSocket::open(&settings, &process::own()).unwrap_err().to_string();
        assert!(refused.contains("is no socket"), "{refused}");
        assert_eq!(fs::read(&settings.path).unwrap(), b"precious");
    }

    #[test]
    fn other_users_are_rejected() {
        let allowed = Allowed { uids: vec![0, 100], gid: 7 };
        assert!(allowed.admits(0, 0, &[]) && allowed.admits(100, 1, &[]));
        assert!(allowed.admits(5, 7, &[]) && allowed.admits(5, 1, &[3, 7]));
        assert!(!allowed.admits(5, 1, &[3]));
        let (_folder, mut settings) = settings("others");
        settings.users = vec!["nobody-of-this-name".into()];
        let refused = ControlSocket::open(&settings, &process::own()).unwrap_err().to_string();
        assert!(refused.starts_with("there is no user \"nobody-of-this-name\""), "{refused}");
    }
}
