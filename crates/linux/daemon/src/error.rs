use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why the daemon does not start, or goes no further.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel refused.
    #[error("{what}: {source}")]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// What the kernel says.
        source: io::Error,
    },
    /// A file or socket.
    #[error("{}: {what}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Something at a path is in the way.
    #[error("{}: {why}", path.display())]
    Path {
        /// Where.
        path: PathBuf,
        /// What is wrong, and what would work.
        why: &'static str,
    },
    /// The interface.
    #[error("{0}")]
    Network(#[from] pullnet_netio::Error),
    /// What the file says of the host cannot be.
    #[error("{0}")]
    Engine(pullnet_host::StreamError),
    /// The file of keys, with what is wrong and what would work.
    #[error("{0}")]
    Keys(String),
    /// No such user or group.
    #[error("there is no {kind} \"{name}\" on this machine; use another name, or add it")]
    NoAccount {
        /// "user" or "group".
        kind: &'static str,
        /// Its name.
        name: String,
    },
}

impl Error {
    /// The last system call failed while doing `what`.
    pub(crate) fn last(what: &'static str) -> Self {
        Self::Kernel { what, source: io::Error::last_os_error() }
    }

    /// Doing `what` with a file failed.
    pub(crate) fn file(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, what, source }
    }
}
