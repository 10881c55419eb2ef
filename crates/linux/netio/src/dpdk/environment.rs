use std::ffi::CString;
use std::io;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use super::{DpdkDevice, DpdkOptions, DpdkPort, EalOptions, shim};
use crate::error::Error;
use crate::sys;

/// DPDK's environment: one per process, which runs until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Dpdk(());

/// Result of the first start.
enum Start {
    Failed,
    Running(EalOptions),
}

static STARTED: Mutex<Option<Start>> = Mutex::new(None);

fn refused(what: &'static str, source: io::Error) -> Error {
    Error::Kernel { what, on: String::new(), source }
}

/// The arguments of the environment abstraction layer (EAL). A single logical core keeps DPDK from starting a thread on each
/// core.
fn arguments(options: &EalOptions) -> Result<Vec<String>, Error> {
    let core = match options.core {
        Some(core) => core,
        None => sys::first_core()?,
    };
    let mebibytes = options.memory.div_ceil(1 << 20);
    let mut arguments = vec![
        "pullnet".to_owned(),
        "--no-telemetry".to_owned(),
        "--log-level=error".to_owned(),
        format!("--lcores=0@{core}"),
        "-m".to_owned(),
        mebibytes.to_string(),
    ];
    // Neither shares memory with other processes of DPDK, so that any number of them run side by side.
    match options.huge_pages {
        true => arguments.push("--in-memory".to_owned()),
        false => arguments.extend(["--no-huge", "--no-shconf"].map(str::to_owned)),
    }
    match options.cards[..] {
        [] => arguments.push("--no-pci".to_owned()),
        _ => arguments.extend(options.cards.iter().flat_map(|card| ["-a".to_owned(), card.to_string()])),
    }
    Ok(arguments)
}

fn start(options: &EalOptions) -> Result<(), Error> {
    let text = |text: String| CString::new(text).map_err(|error| Error::Address(error.to_string()));
    let arguments = arguments(options)?.into_iter().map(text).collect::<Result<_, _>>()?;
    // DPDK pins the thread that starts it to its core; a temporary thread keeps ours unpinned.
    let started = thread::scope(|scope| scope.spawn(|| shim::start(arguments)).join());
    let started = started.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    started.map_err(|source| {
        let what = match options.huge_pages {
            true => {
                "cannot start DPDK with huge pages (`grep Huge /proc/meminfo` shows how many are free; virtual devices do without)"
            }
            false => "cannot start DPDK, which says why on the standard error output",
        };
        refused(what, source)
    })
}

impl Dpdk {
    /// Whether this program was built with DPDK.
    pub const IS_BUILT_IN: bool = true;

    /// Starts DPDK, or returns the environment that was started with the same options before. DPDK logs errors on the
    /// standard error output.
    ///
    /// # Errors
    /// If DPDK was started in this process with other options or in vain, or fails to start.
    ///
    /// # Panics
    /// If the system cannot create another thread.
    pub fn start(options: &EalOptions) -> Result<Self, Error> {
        // A panic leaves `None` or a whole value behind.
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        match &*started {
            Some(Start::Running(before)) if before == options => return Ok(Self(())),
            Some(Start::Running(_)) => return Err(Error::DpdkStarted { ran: true }),
            Some(Start::Failed) => return Err(Error::DpdkStarted { ran: false }),
            None => {}
        }
        let result = start(options);
        *started = Some(if result.is_ok() { Start::Running(options.clone()) } else { Start::Failed });
        result.map(|()| Self(()))
    }

    /// Opens a device. Dropping the port removes the device; drop it in the network namespace in which it was opened.
    ///
    /// | device | what it is |
    /// |---|---|
    /// | `net_memif0,role=server,id=0,socket=NAME,bsize=10240` | shared memory with the process that has `role=client`; `bsize` holds a whole frame |
    /// | `net_af_packet0,iface=eth0` | an interface of the calling thread's network namespace; with an MTU of 9000 also `framesz=10240,blocksz=20480` |
    /// | `0000:03:00.0` | a network card that [`EalOptions::cards`] names |
    ///
    /// With memif, drop the port before the other process drops its own: the driver of 22.11 has been seen to crash the
    /// remaining end.
    ///
    /// # Errors
    /// If DPDK does not know the device, the device is already open, or it does not support these options.
    pub fn open(self, device: &DpdkDevice, options: &DpdkOptions) -> Result<DpdkPort, Error> {
        DpdkPort::open(device, options)
    }

    /// Calls `work` in the thread in which DPDK handles interrupts, its only one beside those of the caller: there are rights
    /// that each thread has to give up itself.
    ///
    /// # Errors
    /// If DPDK has no memory for the call.
    pub fn in_its_thread<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, receiver) = mpsc::channel();
        let what = "cannot call DPDK's thread";
        // The receiver waits below, so that the result always arrives.
        let call = Box::new(move || drop(sender.send(work())));
        shim::in_its_thread(call).map_err(|source| refused(what, source))?;
        receiver.recv().map_err(|error| refused(what, io::Error::other(error)))
    }
}
