use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The reason why the daemon does not start, or stops.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel refused.
    #[error("{what}: {source}")]
    Kernel {
        /// The operation that failed.
        what: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A file or socket.
    #[error("{}: {what}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Something at a path is in the way.
    #[error("{}: {why}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The problem, and a value that would work.
        why: String,
    },
    /// The interface.
    #[error("{0}")]
    Network(#[from] pullnet_netio::Error),
    /// The interface was removed while the daemon ran.
    #[error(
        "the interface was removed, and the daemon has stopped: {0}; start it again when the interface is there"
    )]
    Gone(pullnet_netio::Error),
    /// A device of DPDK that is not on the interface of the host.
    #[error(
        "device {device} has the Ethernet address {mac} and interface {interface} {other}: other hosts would send to the interface; \
         name the interface that the device is on, or none"
    )]
    Beneath {
        /// The device.
        device: String,
        /// Its Ethernet address.
        mac: String,
        /// The interface.
        interface: String,
        /// Its Ethernet address.
        other: String,
    },
    /// The host file holds invalid settings.
    #[error("{0}")]
    Engine(pullnet_host::StreamError),
    /// The file of keys, with what is wrong and what would work.
    #[error("{0}")]
    Keys(String),
    /// The address of the metrics.
    #[error("metrics {address}: {source}; use an address that is free")]
    Metrics {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// No such core.
    #[error("core = {0}: this machine has no such core; use one that /sys/devices/system/cpu lists")]
    NoCore(u16),
    /// Packets that are longer than the interface carries.
    #[error(
        "mtu = \"{mtu} B\" is more than interface {interface} carries, {most} B; use at most that, or raise it with `ip link set {interface} mtu {mtu}`"
    )]
    TooLong {
        /// The setting. Bytes.
        mtu: usize,
        /// The interface.
        interface: String,
        /// Its MTU. Bytes.
        most: usize,
    },
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
