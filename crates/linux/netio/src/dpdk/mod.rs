//! DPDK 22.11 through a thin C shim: network cards driven from user space, and virtual devices. One of those, memif,
//! connects two processes through shared memory, without the kernel.

mod port;
#[expect(unsafe_code, reason = "calls of C")]
mod shim;

use std::ffi::CString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::error::Error;

pub use port::{DpdkOptions, DpdkPort};

/// DPDK's environment; at most one per process. It ends when this handle and all its ports are dropped, and cannot be
/// started again.
#[derive(Clone, Debug)]
pub struct Dpdk(Arc<Environment>);

#[derive(Debug)]
struct Environment;

static STARTED: AtomicBool = AtomicBool::new(false);

fn refused(what: &'static str, on: String, source: io::Error) -> Error {
    Error::Kernel { what, on, source }
}

fn text(text: &str) -> Result<CString, Error> {
    CString::new(text)
        .map_err(|_| Error::Address(format!("{text:?} has a byte of 0, which DPDK cannot read")))
}

impl Dpdk {
    /// Starts DPDK. `arguments` are those of its environment abstraction layer (EAL), without the program name: for instance
    /// `["--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--no-shconf"]` for virtual devices without privileges.
    /// Concurrent processes need `--no-shconf` or different values of `--file-prefix`. DPDK logs to stderr, and exits the
    /// process on `--help`.
    ///
    /// # Errors
    /// If DPDK was started in this process before, successfully or not, or fails to start.
    ///
    /// # Panics
    /// If the system cannot create another thread.
    pub fn start(arguments: &[&str]) -> Result<Self, Error> {
        let arguments: Vec<CString> =
            ["pullnet"].iter().chain(arguments).map(|one| text(one)).collect::<Result<_, _>>()?;
        if STARTED.swap(true, Ordering::Relaxed) {
            return Err(Error::DpdkStarted);
        }
        // DPDK pins the thread that starts it to one core; a temporary thread keeps ours unpinned.
        let started = thread::scope(|scope| scope.spawn(|| shim::start(arguments)).join());
        let started = started.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        started.map_err(|source| refused("cannot start DPDK", String::new(), source))?;
        Ok(Self(Arc::new(Environment)))
    }

    /// Opens a device. `device` is its name with arguments, as DPDK's `--vdev` takes them, or the PCI address of a supported
    /// network card. Dropping the port removes the device.
    ///
    /// | device | what it is |
    /// |---|---|
    /// | `net_memif0,role=server,id=0,socket=NAME,bsize=10240` | shared memory with the process that has `role=client`; `bsize` holds a whole frame |
    /// | `net_af_packet0,iface=eth0` | an interface of the calling thread's network namespace; with an MTU of 9000 also `framesz=10240,blocksz=20480` |
    /// | `0000:03:00.0` | a network card |
    ///
    /// With memif, drop the port before the other process drops its own: the driver of 22.11 has been seen to crash the
    /// remaining end.
    ///
    /// # Errors
    /// If DPDK does not know the device, the device is already open, or it does not support these options.
    pub fn open(&self, device: &str, options: &DpdkOptions) -> Result<DpdkPort, Error> {
        DpdkPort::open(Arc::clone(&self.0), device, options)
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        shim::stop();
    }
}
