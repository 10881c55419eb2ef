//! Hosts in network namespaces around a software switch. Needs root and `ip`.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pullnet_namespaces::{Namespaces, ip, set_up, unless_forbidden, wait_until_up};
use pullnet_netio::in_namespace;
use pullnet_switch::config::SwitchFile;
use pullnet_switch::live::Live;
use serde_json::Value;

/// Time after which a test is stuck. Nothing is measured by it.
const WATCHDOG: Duration = Duration::from_secs(300);
/// The group of all hosts but the first.
pub const GROUP: &str = "239.1.0.1";
const PROGRAM: &str = env!("CARGO_BIN_EXE_pullnet-objects");

#[expect(clippy::disallowed_methods, reason = "a watchdog")]
pub fn insist<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        assert!(start.elapsed() < WATCHDOG, "{what}");
        std::thread::yield_now();
    }
}

/// A star: host 0 is the client, the others are stores.
pub struct Star {
    made: Namespaces,
    hosts: usize,
    pub folder: PathBuf,
    live: Option<Live>,
    stores: BTreeMap<usize, Child>,
    rate: &'static str,
}

impl Star {
    /// `None`, with a message, if the process may not create network namespaces.
    pub fn make(stores: usize, rate: &'static str, faults: &str) -> Option<Self> {
        let made = Namespaces::new("obj");
        let folder = std::env::temp_dir().join(made.prefix());
        fs::create_dir_all(&folder).unwrap();
        let mut star = Self { made, hosts: stores + 1, folder, live: None, stores: BTreeMap::new(), rate };
        unless_forbidden(star.build())?;
        let text = star.switch_file(faults);
        let file = SwitchFile::read("switch.toml", &text, &BTreeMap::<String, Vec<u8>>::new());
        let file = file.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        star.live = Some(in_namespace(&star.namespace(None), || Ok(Live::start(&file))).unwrap().unwrap());
        (1..star.hosts).for_each(|host| star.serve(host));
        Some(star)
    }

    fn namespace(&self, host: Option<usize>) -> String {
        let prefix = self.made.prefix();
        host.map_or_else(|| format!("{prefix}s"), |host| format!("{prefix}h{host}"))
    }

    pub fn address(host: usize) -> String {
        format!("10.78.0.{}", host + 1)
    }

    fn mac(host: usize) -> String {
        format!("02:70:78:00:00:{:02x}", host + 1)
    }

    fn build(&mut self) -> Result<(), String> {
        let switch = self.made.make("s")?;
        for host in 0..self.hosts {
            let (name, mac) = (self.made.make(&format!("h{host}"))?, Self::mac(host));
            let peer = format!("peer name h{host} mtu 1500 netns {switch}");
            ip(&format!("-n {name} link add eth0 address {mac} mtu 1500 type veth {peer}"))?;
            set_up(&name, "eth0")?;
            set_up(&switch, &format!("h{host}"))?;
            ip(&format!("-n {name} address add {}/24 dev eth0", Self::address(host)))?;
            self.know_neighbours(host)?;
        }
        (0..self.hosts).for_each(|host| wait_until_up(&self.namespace(Some(host)), "eth0"));
        Ok(())
    }

    fn switch_file(&self, faults: &str) -> String {
        let mut text = "idle = \"20 ms\"\n[switch]\nkind = \"scdp\"\n".to_owned();
        for host in 0..self.hosts {
            let (rate, mac) = (self.rate, Self::mac(host));
            write!(
                text,
                "[[port]]\nname = \"h{host}\"\ninterface = \"h{host}\"\nrate = \"{rate}\"\npaced = true\n\
                 [[forward]]\nmac = \"{mac}\"\nports = \"h{host}\"\n"
            )
            .unwrap();
            if !faults.is_empty() {
                writeln!(text, "[[fault]]\nport = \"h{host}\"\ndirection = \"out\"\n{faults}").unwrap();
            }
        }
        let members: Vec<_> = (1..self.hosts).map(|host| format!("h{host}")).collect();
        writeln!(text, "[[group]]\naddress = \"{GROUP}\"\nports = \"{}\"", members.join(" ")).unwrap();
        text
    }

    /// Sets the interface of a host down and up again, with the neighbours that the kernel forgets.
    pub fn flap(&self, host: usize) {
        let name = self.namespace(Some(host));
        ip(&format!("-n {name} link set eth0 down")).unwrap();
        ip(&format!("-n {name} link set eth0 up")).unwrap();
        wait_until_up(&name, "eth0");
        self.know_neighbours(host).unwrap();
    }

    /// Removes the interface of a store, and returns the exit code of the store.
    pub fn loses_interface(&mut self, host: usize) -> Option<i32> {
        ip(&format!("-n {} link del eth0", self.namespace(Some(host)))).unwrap();
        let mut child = self.stores.remove(&host).unwrap();
        let ended = insist("the store goes on", || child.try_wait().unwrap());
        ended.code()
    }

    /// Tells the kernel of a host where the others are.
    fn know_neighbours(&self, host: usize) -> Result<(), String> {
        let name = self.namespace(Some(host));
        for other in (0..self.hosts).filter(|other| *other != host) {
            let (to, mac) = (Self::address(other), Self::mac(other));
            ip(&format!("-n {name} neigh replace {to} lladdr {mac} dev eth0 nud permanent"))?;
        }
        Ok(())
    }

    pub fn store_folder(&self, host: usize) -> PathBuf {
        self.folder.join(format!("store{host}"))
    }

    fn command(&self, host: usize, words: &[&str]) -> Command {
        let mut command = self.over_udp(host, words);
        command.args(["--interface", "eth0"]);
        command
    }

    /// A command that uses UDP sockets.
    pub fn over_udp(&self, host: usize, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(Some(host)), PROGRAM]).args(words);
        command.args(["--rate", self.rate, "--address", &Self::address(host)]);
        command
    }

    /// Starts the store of a host; it serves when this returns.
    pub fn serve(&mut self, host: usize) {
        let folder = self.store_folder(host);
        fs::create_dir_all(&folder).unwrap();
        let mut command = self.command(host, &["store", folder.to_str().unwrap()]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().map(Result::unwrap);
        assert!(first.as_ref().is_some_and(|line| line.starts_with("serves ")), "{first:?}");
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| println!("store {host}: {line}"))
        });
        self.stores.insert(host, child);
    }

    pub fn kill(&mut self, host: usize) {
        let mut child = self.stores.remove(&host).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Sends a signal to a command. `ip netns exec` becomes the command, so that it is the same process.
    pub fn signal(child: &Child, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Ends a store by a signal, and returns its exit code.
    pub fn end_store(&mut self, host: usize, signal: &str) -> Option<i32> {
        let mut child = self.stores.remove(&host).unwrap();
        Self::signal(&child, signal);
        child.wait().unwrap().code()
    }

    /// Sets the MTU of the interface of a host.
    pub fn set_mtu(&self, host: usize, mtu: usize) {
        ip(&format!("-n {} link set eth0 mtu {mtu}", self.namespace(Some(host)))).unwrap();
    }

    /// Starts a command of the client with the addresses of `hosts`.
    pub fn start(&self, words: &[&str], hosts: &[usize]) -> Child {
        let addresses: Vec<_> = hosts.iter().map(|host| Self::address(*host)).collect();
        let words: Vec<&str> = words.iter().copied().chain(addresses.iter().map(String::as_str)).collect();
        self.command(0, &words).arg("--json").stdout(Stdio::piped()).spawn().unwrap()
    }

    /// The exit code and the report of a command.
    pub fn ends(child: Child) -> (i32, Value) {
        let output = child.wait_with_output().unwrap();
        let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output.status.code().unwrap_or(-1), report)
    }

    pub fn run(&self, words: &[&str], hosts: &[usize]) -> (i32, Value) {
        Self::ends(self.start(words, hosts))
    }

    /// Waits until the only unfinished file of a folder has `bytes` bytes.
    pub fn wait_for_part(folder: &Path, bytes: u64) {
        let long = || {
            fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
                let part = entry.file_name().to_string_lossy().ends_with(".pullnet-part");
                entry.metadata().ok().filter(|found| part && found.len() >= bytes).map(|_| ())
            })
        };
        insist("nothing is written", long);
    }

    /// A counter of the switch's port to a host.
    pub fn counter(&self, host: usize, name: &str) -> u64 {
        let status = self.live.as_ref().unwrap().status().unwrap().json();
        status["ports"][host]["counters"][name].as_u64().unwrap()
    }

    /// Writes a file of `long` bytes that differs from others; returns its path and its BLAKE3.
    pub fn file(&self, name: &str, long: usize) -> (PathBuf, String) {
        let mut bytes = vec![0; long];
        blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut bytes);
        let path = self.folder.join(name);
        fs::write(&path, &bytes).unwrap();
        (path, blake3::hash(&bytes).to_string())
    }

    pub fn hash(path: &Path) -> Option<String> {
        Some(blake3::hash(&fs::read(path).ok()?).to_string())
    }
}

impl Drop for Star {
    fn drop(&mut self) {
        for child in self.stores.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(live) = self.live.take() {
            let _ = live.stop();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
