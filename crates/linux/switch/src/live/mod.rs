//! Runs a fabric on real interfaces and in real time.

mod engine;
mod outer;
mod status;

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pullnet_netio::Error;
use pullnet_qdisc::{Discipline, with_discipline};
use pullnet_units::PortId;
use thiserror::Error;

pub use status::{InterfaceStatus, Lateness, PortStatus, Status};

use crate::capture::{Capture, Captured};
use crate::config::{Recording, SwitchFile};
use crate::fabric::Fabric;
use crate::fault::Fault;
use crate::item::Slot;
use crate::ndp::Ndp;
use crate::settings::{PortSettings, WrongPort};
use engine::Engine;
use outer::Outer;

/// Commands to a running switch.
pub(crate) enum Command {
    /// Adds a fault; its times count from now.
    Fault(Fault),
    /// Removes all faults of a port.
    Clear(PortId),
    /// Requests the status.
    Status(Sender<Status>),
}

/// The capture of a running switch.
pub(crate) type FileCapture = Option<Capture<BufWriter<File>>>;

/// Errors of a running switch.
#[derive(Debug, Error)]
pub enum LiveError {
    /// An interface cannot be used.
    #[error("port \"{port}\": {error}")]
    Port {
        /// The port.
        port: String,
        /// The reason.
        error: Error,
    },
    /// DPDK cannot be started.
    #[error("{0}")]
    Dpdk(Error),
    /// The capture file cannot be written.
    #[error("capture \"{file}\": {error}; choose another place or leave the capture out")]
    Capture {
        /// The file.
        file: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// Peers of ports do not match. A file that passed its checks has no such ports.
    #[error("port {} names port {} as its peer, which does not name it", .0.port.get(), .0.peer.get())]
    Joined(WrongPort),
    /// The switch's thread ended unexpectedly (a bug).
    #[error("the thread of the switch ended unexpectedly")]
    Ended,
    /// The operating system refused to create the thread.
    #[error("cannot start the thread of the switch: {0}")]
    Thread(io::Error),
}

/// Timeout of a reply. The thread answers within microseconds unless the machine is overloaded.
const PATIENCE: Duration = Duration::from_secs(60);

/// A switch running in a thread of its own.
#[derive(Debug)]
pub struct Live {
    thread: Option<JoinHandle<Result<Status, LiveError>>>,
    commands: Sender<Command>,
    stop: Arc<AtomicBool>,
    /// Kernel thread id, for schedulers and affinity; 0 if unknown.
    pub thread_id: u32,
}

impl Live {
    /// Opens the interfaces of `file` and starts its switches.
    pub fn start(file: &SwitchFile) -> Result<Self, LiveError> {
        with_discipline!(&file.discipline, |config: Q| start::<Q<Slot>>(file, config))
    }

    fn tell(&self, command: Command) -> Result<(), LiveError> {
        self.commands.send(command).map_err(|_| LiveError::Ended)
    }

    /// Adds a fault; the times of `fault` count from now.
    pub fn fault(&self, fault: Fault) -> Result<(), LiveError> {
        self.tell(Command::Fault(fault))
    }

    /// Removes all faults of a port.
    pub fn clear(&self, port: PortId) -> Result<(), LiveError> {
        self.tell(Command::Clear(port))
    }

    /// Requests the current status.
    pub fn status(&self) -> Result<Status, LiveError> {
        let (sender, receiver) = mpsc::channel();
        self.tell(Command::Status(sender))?;
        receiver.recv_timeout(PATIENCE).map_err(|_| LiveError::Ended)
    }

    /// Whether the thread is still running.
    pub fn runs(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Stops the switch and drops the frames that it holds. Returns the final status.
    pub fn stop(mut self) -> Result<Status, LiveError> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().ok_or(LiveError::Ended)?;
        thread.join().map_err(|_| LiveError::Ended)?
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn start<Q>(file: &SwitchFile, config: &Q::Config) -> Result<Live, LiveError>
where
    Q: Discipline<Slot> + Send + 'static,
    Q::Rules: 'static,
    Q::Shared: 'static,
{
    let ports: Vec<PortSettings> = file.ports.iter().map(|port| port.settings).collect();
    let capture = file.recording.as_ref().map(|recording| capture(file, recording)).transpose()?;
    let codec = Ndp { marks: file.marks, clears_checksum: true };
    let fabric = Fabric::<Q, Ndp, FileCapture>::new(config, file.fabric, &ports, codec, capture);
    let mut fabric = fabric.map_err(LiveError::Joined)?;
    for (node, mac, entry) in &file.entries {
        fabric.forward(*node, *mac, entry.clone());
    }
    for (node, mac, ports) in &file.groups {
        fabric.group(*node, *mac, ports.clone());
    }
    file.faults.iter().for_each(|fault| fabric.fault(*fault));
    let outer = Outer::open_all(file)?;
    let (stop, (commands, told)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
    let (ids, id) = mpsc::channel();
    let (file, ends) = (file.clone(), Arc::clone(&stop));
    let run = move || {
        // The receiver may be gone; then the id is not needed.
        let _ = ids.send(own_thread_id());
        run(Engine::new(fabric, outer, file), &told, &ends)
    };
    let thread =
        thread::Builder::new().name("pullnet-switch".into()).spawn(run).map_err(LiveError::Thread)?;
    let thread_id = id.recv().unwrap_or(0);
    Ok(Live { thread: Some(thread), commands, stop, thread_id })
}

fn run<Q: Discipline<Slot>>(
    mut engine: Engine<Q>,
    told: &Receiver<Command>,
    stop: &AtomicBool,
) -> Result<Status, LiveError> {
    while !stop.load(Ordering::Relaxed) {
        for command in told.try_iter() {
            engine.obey(command);
        }
        engine.turn();
    }
    engine.finish()
}

fn capture(file: &SwitchFile, recording: &Recording) -> Result<Capture<BufWriter<File>>, LiveError> {
    let fails = |error| LiveError::Capture { file: recording.file.clone(), error };
    let outer = |port: &crate::config::NamedPort| {
        port.outside.as_ref().map(|_| Captured { name: port.name.clone(), rate: port.settings.rate })
    };
    let ports: Vec<_> = file.ports.iter().map(outer).collect();
    let out = BufWriter::with_capacity(1 << 20, File::create(&recording.file).map_err(fails)?);
    Capture::new(out, &ports, recording.snap.0 as usize, since_1970()).map_err(fails)
}

/// Wall-clock time in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "captures carry the time of day")]
fn since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

/// Kernel id of the calling thread; 0 if unknown.
fn own_thread_id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").ok();
    let name = link.as_ref().and_then(|link| link.file_name()?.to_str()?.parse().ok());
    name.unwrap_or(0)
}
