//! Starts, kills and replaces the processes of a soak.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Error, Result, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pullnet_daemon::DaemonStack;
use pullnet_host::{Host, Stack};

use super::child::host;
use super::{KillOptions, Killed};
use crate::keys;
use crate::memory;

/// Number of polls for the start or end of a process, and the pause between two polls.
const LOOKS: u32 = 6000;
const BETWEEN: Duration = Duration::from_millis(10);

/// A child process in a role; killed on drop.
struct Cast {
    process: Child,
    /// Closing this pipe ends the process.
    _alive: ChildStdin,
}

impl Cast {
    fn start(program: &Path, role: &[&str]) -> Result<Self> {
        let mut process = Command::new(program)
            .arg("--child")
            .args(role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let alive = process.stdin.take().ok_or_else(|| Error::other("no pipe"))?;
        Ok(Self { process, _alive: alive })
    }

    /// Waits until the process reports that it is ready.
    fn ready(mut self) -> Result<Self> {
        let said = self.process.stdout.take().ok_or_else(|| Error::other("no pipe"))?;
        match BufReader::new(said).lines().next() {
            Some(Ok(line)) if line == "ready" => Ok(self),
            _ => Err(Error::other("a process ended before it was ready")),
        }
    }

    /// Kills the process and waits for its end.
    fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait().map(|_| ())
    }

    /// Waits until the process has ended by itself.
    fn ends(&mut self) -> Result<()> {
        for _ in 0..LOOKS {
            if self.process.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::park_timeout(BETWEEN);
        }
        Err(Error::other("an application does not notice that its daemon is gone"))
    }
}

impl Drop for Cast {
    fn drop(&mut self) {
        // Fails if the process has already ended.
        let _ = self.kill();
    }
}

/// A daemon and its address.
struct Daemon {
    cast: Cast,
    socket: PathBuf,
    file: PathBuf,
}

impl Daemon {
    /// With a key towards `peer` if streams are encrypted.
    fn start(
        program: &Path,
        folder: &Path,
        name: &str,
        at: SocketAddr,
        peer: Option<SocketAddr>,
    ) -> Result<Self> {
        let (socket, file) = (folder.join(name).join("host.sock"), folder.join(name).with_extension("toml"));
        let mut text = format!(
            "backend = \"udp\"\naddress = \"{}\"\nport = {}\nrate = \"1 Gbps\"\n[socket]\npath = \"{}\"\n",
            at.ip(),
            at.port(),
            socket.display()
        );
        if let Some(peer) = peer {
            let keys = folder.join(name).with_extension("keys");
            write_keys(&keys, at, peer)?;
            text += &format!("[keys]\nfile = \"{}\"\n", keys.display());
        }
        std::fs::write(&file, text)?;
        let cast = Cast::start(program, &["daemon", &file.to_string_lossy()])?;
        Ok(Self { cast, socket, file })
    }

    fn again(&mut self, program: &Path) -> Result<()> {
        self.cast.kill()?;
        self.cast = Cast::start(program, &["daemon", &self.file.to_string_lossy()])?;
        Ok(())
    }

    /// Connects to the daemon as soon as it serves.
    fn stack(&self) -> Result<Arc<dyn Stack>> {
        for _ in 0..LOOKS {
            if let Ok(stack) = DaemonStack::connect(&self.socket) {
                return Ok(Arc::new(stack));
            }
            std::thread::park_timeout(BETWEEN);
        }
        Err(Error::other("a daemon does not serve"))
    }
}

/// Writes the file of keys of the host at `own`, which only its owner may read.
fn write_keys(file: &Path, own: SocketAddr, peer: SocketAddr) -> Result<()> {
    let secret = keys::secret(own.ip(), peer.ip()).map(|byte| format!("{byte:02x}")).concat();
    let (peer, number) = (peer.ip(), keys::NUMBER);
    let text = format!("[[key]]\npeer = \"{peer}\"\nnumber = {number}\nsecret = \"{secret}\"\n");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    file.write_all(text.as_bytes())
}

/// The stacks under the calls.
enum Scene {
    /// One host per process; this is the caller's.
    Hosts { own: SocketAddr, _host: Host },
    /// Daemons of this process and of the called application.
    Daemons([Daemon; 2]),
}

pub(super) struct Stage {
    program: PathBuf,
    folder: PathBuf,
    killed: Killed,
    encrypted: bool,
    kills: u64,
    pub to: SocketAddr,
    scene: Scene,
    server: Cast,
}

fn serve(program: &Path, folder: &Path, to: SocketAddr, scene: &Scene, encrypted: bool) -> Result<Cast> {
    let journal = folder.join("journal");
    let journal = journal.to_string_lossy();
    let cast = match scene {
        Scene::Hosts { own, .. } if encrypted => {
            Cast::start(program, &["host", &to.to_string(), &journal, &own.to_string()])
        }
        Scene::Hosts { .. } => Cast::start(program, &["host", &to.to_string(), &journal]),
        Scene::Daemons([_, there]) => {
            // The application can start once its daemon serves.
            drop(there.stack()?);
            Cast::start(program, &["application", &there.socket.to_string_lossy(), &journal])
        }
    };
    cast?.ready()
}

impl Stage {
    /// Starts all processes and waits until they serve. Also returns the stack for the callers.
    pub fn new(options: &KillOptions) -> Result<(Self, Arc<dyn Stack>)> {
        let pid = std::process::id();
        let folder =
            std::env::temp_dir().join(format!("pullnet-soak-{pid}-{}", options.killed.described().0));
        std::fs::create_dir_all(&folder)?;
        // Loopback addresses that no concurrent run uses.
        let ip =
            |last| Ipv4Addr::new(127, 1 + (pid >> 8) as u8 % 250, pid as u8, last + options.killed as u8);
        let [from, to] = [10, 20].map(|last| SocketAddr::from((ip(last), pullnet_wire::PORT)));
        let program = &options.program;
        let (scene, stack) = if options.killed == Killed::Peer {
            let peer = options.encrypted.then_some(to);
            let host = host(from, peer).map_err(|error| Error::other(error.to_string()))?;
            let stack = Arc::clone(host.stack());
            (Scene::Hosts { own: from, _host: host }, stack)
        } else {
            let daemons = [("here", from, to), ("there", to, from)].map(|(name, at, peer)| {
                Daemon::start(program, &folder, name, at, options.encrypted.then_some(peer))
            });
            let [here, there] = daemons;
            let (here, there) = (here?, there?);
            let stack = here.stack()?;
            (Scene::Daemons([here, there]), stack)
        };
        let encrypted = options.encrypted;
        let server = serve(program, &folder, to, &scene, encrypted)?;
        let (program, killed) = (program.clone(), options.killed);
        Ok((Self { program, folder, killed, encrypted, kills: 0, to, scene, server }, stack))
    }

    /// Kills a process, and waits until its replacement serves. Returns a new stack for the callers if theirs was affected.
    pub fn kill(&mut self) -> Result<Option<Arc<dyn Stack>>> {
        self.kills += 1;
        match (&mut self.scene, self.killed) {
            // Alternates between the caller's daemon and that of the called application.
            (Scene::Daemons([here, _]), Killed::Daemon) if self.kills % 2 == 1 => {
                here.again(&self.program)?;
                return here.stack().map(Some);
            }
            (Scene::Daemons([_, there]), Killed::Daemon) => {
                there.again(&self.program)?;
                self.server.ends()?;
            }
            _ => self.server.kill()?,
        }
        self.server = serve(&self.program, &self.folder, self.to, &self.scene, self.encrypted)?;
        Ok(None)
    }

    /// Resident memory of the processes that are never killed. Bytes.
    pub fn resident(&self) -> u64 {
        let daemons = match &self.scene {
            Scene::Daemons(daemons) if self.killed == Killed::Application => daemons.as_slice(),
            _ => &[],
        };
        let of = |daemon: &Daemon| memory::resident_of(&daemon.cast.process.id().to_string());
        memory::resident() + daemons.iter().map(of).sum::<u64>()
    }

    /// The numbers of all carried-out requests.
    pub fn journal(&self) -> Result<Vec<u64>> {
        let bytes = std::fs::read(self.folder.join("journal"))?;
        let number = |word: &[u8]| word.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        Ok(bytes.chunks(8).map(number).collect())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
