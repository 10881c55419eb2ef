use std::io;

use thiserror::Error;

/// Why frames cannot be sent or received.
#[derive(Error, Debug)]
pub enum Error {
    /// There is no such interface.
    #[error("there is no interface \"{0}\" in this network namespace; `ip link` lists those that there are")]
    NoInterface(String),
    /// The kernel refused.
    #[error("{what}{on}: {source}{}", hint(source))]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// On what, with a word before it, or nothing.
        on: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// The interface carries longer frames than the backend can.
    #[error("interface \"{name}\" has an MTU of {mtu} B; {what} carries at most {most} B")]
    Mtu {
        /// The interface.
        name: String,
        /// Its MTU.
        mtu: usize,
        /// What can carry less.
        what: &'static str,
        /// How much that is.
        most: usize,
    },
    /// The BPF program was refused.
    #[error("the kernel refused the XDP program: {source}; it says:\n{log}")]
    Program {
        /// What the kernel says.
        source: io::Error,
        /// What its verifier says.
        log: String,
    },
    /// DPDK starts once in a process.
    #[cfg(feature = "dpdk")]
    #[error(
        "DPDK starts once in a process, and was started before; open every port with what that start returned"
    )]
    DpdkStarted,
    /// An address that does not fit.
    #[error("{0}")]
    Address(String),
}

/// What would work.
fn hint(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            " (needs root, or CAP_NET_RAW, for AF_XDP also CAP_BPF and CAP_NET_ADMIN; UDP sockets need no privilege)"
        }
        Some(libc::ENOBUFS | libc::ENOMEM) => " (fewer or smaller buffers need less memory)",
        Some(libc::EBUSY) => " (another program uses it)",
        Some(libc::EADDRNOTAVAIL) => " (no interface of this network namespace has the address)",
        Some(libc::ENETDOWN) => " (`ip link set NAME up` brings it up)",
        _ => "",
    }
}

impl Error {
    /// The last system call failed while doing `what`.
    pub(crate) fn last(what: &'static str) -> Self {
        Self::Kernel { what, on: String::new(), source: io::Error::last_os_error() }
    }

    /// The same on interface `name`.
    pub(crate) fn on_interface(self, name: &str) -> Self {
        match self {
            Self::Kernel { what, source, .. } => {
                Self::Kernel { what, on: format!(" on interface \"{name}\""), source }
            }
            other => other,
        }
    }

    /// The number of the kernel's error, if it is one.
    #[must_use]
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Self::Kernel { source, .. } | Self::Program { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the program lacks a privilege.
    #[must_use]
    pub fn is_permission(&self) -> bool {
        matches!(self.os_error(), Some(libc::EPERM | libc::EACCES))
    }
}
