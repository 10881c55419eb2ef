use std::io;

use thiserror::Error;

/// Why frames cannot be sent or received.
#[derive(Error, Debug)]
pub enum Error {
    /// There is no such interface.
    #[error("there is no interface \"{0}\" in this network namespace; `ip link` lists those that there are")]
    NoInterface(String),
    /// The kernel refused a call.
    #[error("{what}{on}: {source}{}", hint(source))]
    Kernel {
        /// The attempted operation.
        what: &'static str,
        /// The object of the operation with a preposition, for example " on eth0"; may be empty.
        on: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The interface carries longer frames than the backend supports.
    #[error("interface \"{name}\" has an MTU of {mtu} B; {what} carries at most {most} B")]
    Mtu {
        /// The interface.
        name: String,
        /// Its MTU.
        mtu: usize,
        /// The backend or device with the lower limit.
        what: &'static str,
        /// Its limit. Bytes.
        most: usize,
    },
    /// The BPF program was refused.
    #[error("the kernel refused the XDP program: {source}; it says:\n{log}")]
    Program {
        /// The kernel's error.
        source: io::Error,
        /// The verifier's log.
        log: String,
    },
    /// DPDK cannot open a device.
    #[error("DPDK cannot open \"{device}\": {why}")]
    Device {
        /// The device.
        device: String,
        /// The reason, and what would work.
        why: String,
    },
    /// DPDK was started in this process before, with other options or in vain.
    #[error(
        "DPDK starts once in a process, and {}",
        if *.ran { "runs with other settings already; use the same for all its ports" } else { "has failed to; start the program again" }
    )]
    DpdkStarted {
        /// Whether it runs.
        ran: bool,
    },
    /// The program was built without DPDK.
    #[error("this program was built without DPDK; build it with the feature dpdk")]
    NoDpdk,
    /// An address that does not fit.
    #[error("{0}")]
    Address(String),
}

/// The remedy for an error.
fn hint(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            " (needs root, or CAP_NET_RAW, for AF_XDP also CAP_BPF and CAP_NET_ADMIN; UDP sockets need no privilege)"
        }
        Some(libc::ENOBUFS | libc::ENOMEM) => " (fewer or smaller buffers need less memory)",
        Some(libc::EBUSY) => " (another program uses it)",
        Some(libc::EADDRINUSE) => " (another program has it, perhaps a daemon that runs already)",
        Some(libc::EADDRNOTAVAIL) => " (no interface of this network namespace has the address)",
        Some(libc::EMSGSIZE) => {
            " (the MTU of the interface was lowered: raise it again, or start again with a smaller `mtu`)"
        }
        Some(libc::ENETDOWN) => " (`ip link set NAME up` brings it up)",
        _ => "",
    }
}

impl Error {
    /// The last system call failed while doing `what`.
    pub(crate) fn last(what: &'static str) -> Self {
        Self::Kernel { what, on: String::new(), source: io::Error::last_os_error() }
    }

    /// Adds the interface `name` to the error.
    pub(crate) fn on_interface(self, name: &str) -> Self {
        match self {
            Self::Kernel { what, source, .. } => {
                Self::Kernel { what, on: format!(" on interface \"{name}\""), source }
            }
            other => other,
        }
    }

    /// The kernel's error number, if the error came from the kernel.
    #[must_use]
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Self::Kernel { source, .. } | Self::Program { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the same call may succeed later: an interface that is down comes up again, an MTU is raised.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self.os_error(), Some(libc::ENETDOWN | libc::EMSGSIZE | libc::ENOBUFS))
    }

    /// Whether the program lacks a privilege.
    #[must_use]
    pub fn is_permission(&self) -> bool {
        matches!(self.os_error(), Some(libc::EPERM | libc::EACCES))
    }
}
