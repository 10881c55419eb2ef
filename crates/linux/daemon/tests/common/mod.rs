//! Daemons as processes, over the kernel's UDP on loopback addresses of their own: no privilege is needed.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pullnet_daemon::DaemonStack;
use pullnet_host::Stack;

/// Time after which a test is stuck. Nothing is measured by it.
pub const WATCHDOG: Duration = Duration::from_secs(300);

/// A daemon that the machine has no time for is not given up.
const PATIENT: &str = "[ndp]\ngive_up = \"120 s\"\n";

static MADE: AtomicU32 = AtomicU32::new(0);

/// A daemon that serves. It is killed at the end.
pub struct Daemon {
    pub child: Child,
    pub address: SocketAddr,
    /// Lines that it logged until it served.
    pub at_start: String,
    folder: PathBuf,
    lines: Arc<Mutex<Vec<String>>>,
}

/// Where a daemon is, whether it runs or not.
pub struct Installation {
    address: SocketAddr,
    folder: PathBuf,
}

impl Installation {
    /// One that no other test has.
    pub fn new() -> Self {
        let (pid, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed) as u8);
        let address = SocketAddr::from(([127, 1 + (pid >> 8) as u8 % 250, pid as u8, 1 + number], 61199));
        let folder = std::env::temp_dir().join(format!("pullnet-daemon-{pid}-{number}"));
        Self { address, folder }
    }

    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its file with further lines: first those of the top table.
    fn config(&self, further: &str) -> PathBuf {
        let backend = if further.contains("backend") { "" } else { "backend = \"udp\"\n" };
        let farewell = if further.contains("farewell") { "" } else { "farewell = \"100 ms\"\n" };
        let mut text = format!(
            "{backend}address = \"{}\"\nrate = \"1 Gbps\"\nidle = \"20 us\"\n{farewell}",
            self.address.ip()
        );
        let (top, tables) = further.split_at(further.find('[').unwrap_or(further.len()));
        let socket = format!("[socket]\npath = \"{}\"", self.folder.join("host.sock").display());
        let tables = if tables.contains("[socket]") {
            tables.replace("[socket]", &socket)
        } else {
            format!("{socket}\n{tables}")
        };
        let patient = if tables.contains("[ndp]") { "" } else { PATIENT };
        write!(text, "{top}\n{tables}\n{patient}").unwrap();
        let path = self.folder.with_extension("toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The same with an address of an interface.
    pub fn at(address: [u8; 4]) -> Self {
        Self { address: (address, 61199).into(), ..Self::new() }
    }

    /// Starts a daemon; it serves when this returns.
    pub fn start(&self, further: &str) -> Daemon {
        self.start_by(Command::new(env!("CARGO_BIN_EXE_pullnetd")), further)
    }

    /// The same in a network namespace.
    pub fn start_in(&self, namespace: &str, further: &str) -> Daemon {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, env!("CARGO_BIN_EXE_pullnetd")]);
        self.start_by(command, further)
    }

    /// Starts a daemon that fails in a network namespace, and returns what it says.
    pub fn fails_in(&self, namespace: &str, further: &str) -> String {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, env!("CARGO_BIN_EXE_pullnetd")]);
        let output = command.arg(self.config(further)).output().unwrap();
        let _ = std::fs::remove_file(self.folder.with_extension("toml"));
        assert!(!output.status.success(), "it has started and stopped");
        String::from_utf8(output.stderr).unwrap()
    }

    pub fn start_by(&self, mut command: Command, further: &str) -> Daemon {
        let mut child = command.arg(self.config(further)).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut seen = String::new();
        loop {
            let line = log.next().unwrap_or_else(|| panic!("the daemon has ended:\n{seen}")).unwrap();
            writeln!(seen, "{line}").unwrap();
            if line.contains(" serves ") || line.contains("\"serves\"") {
                break;
            }
        }
        // Later output is kept for the analysis of a failed test.
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&lines);
        std::thread::spawn(move || {
            log.map_while(Result::ok).for_each(|line| {
                println!("pullnetd: {line}");
                kept.lock().unwrap().push(line);
            });
        });
        Daemon { child, address: self.address, at_start: seen, folder: self.folder.clone(), lines }
    }
}

impl Daemon {
    pub fn start(further: &str) -> Self {
        Installation::new().start(further)
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("host.sock")
    }

    /// An application of its own.
    pub fn stack(&self) -> Arc<dyn Stack> {
        Arc::new(DaemonStack::connect(&self.socket()).unwrap())
    }

    /// Lines that it has logged since it serves.
    pub fn log_lines(&self) -> usize {
        self.lines.lock().unwrap().len()
    }

    /// Whether it has logged a line with `text` in it since it serves.
    pub fn has_logged(&self, text: &str) -> bool {
        self.lines.lock().unwrap().iter().any(|line| line.contains(text))
    }

    /// Waits for a line that it logs with `text` in it.
    pub fn logged(&self, text: &str) -> String {
        insist(|| self.lines.lock().unwrap().iter().find(|line| line.contains(text)).cloned())
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Rewrites its file with these further lines.
    pub fn configure(&self, further: &str) {
        Installation { address: self.address, folder: self.folder.clone() }.config(further);
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asserts that none of its threads has a capability, could gain one, or is root.
    pub fn has_no_rights(&self) {
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap() {
            let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            let none = "0000000000000000";
            for (name, value) in [("CapEff", none), ("CapPrm", none), ("CapBnd", none), ("NoNewPrivs", "1")] {
                assert!(
                    status.contains(&format!("\n{name}:\t{value}\n")),
                    "{name} is not {value}:\n{status}"
                );
            }
            assert!(!status.contains("\nUid:\t0"), "{status}");
        }
    }

    /// A line of what the kernel says of the process.
    pub fn kernel_says(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":"));
        line.unwrap_or_else(|| panic!("no {name} in:\n{status}")).trim().to_owned()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_file(self.folder.with_extension("toml"));
    }
}

/// Whether this process is root; says so where it is not.
pub fn is_root() -> bool {
    let root =
        std::fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0);
    if !root {
        println!("skipped: needs root to become other users");
    }
    root
}

/// Tries until there is a result.
#[expect(clippy::disallowed_methods, reason = "a watchdog")]
pub fn insist<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        assert!(start.elapsed() < WATCHDOG, "it never worked");
        std::thread::yield_now();
    }
}

/// Bytes that say where they belong.
pub fn pattern(long: usize) -> Vec<u8> {
    (0..long).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}
