//! Network namespaces for tests, removed when the test ends.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of looks whether a link is up; each takes some milliseconds.
const UP_LOOKS: u32 = 20_000;
/// Number of attempts to remove a namespace.
const DELETIONS: u32 = 100;

static MADE: AtomicU32 = AtomicU32::new(0);

/// Runs `ip` with these arguments, separated by spaces, and returns what it prints. The error names the command and repeats
/// its message.
pub fn ip(arguments: &str) -> Result<String, String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("ip {arguments}: {}", text(&output.stderr)))
}

/// Waits until a link is up: the kernel may take a second to notice, and drops its own packets before.
///
/// # Panics
///
/// If the link never comes up: the test has failed.
pub fn wait_until_up(namespace: &str, interface: &str) {
    let look = format!("-n {namespace} -oneline link show {interface}");
    let is_up = || ip(&look).is_ok_and(|text| text.contains(" state UP "));
    assert!((0..UP_LOOKS).any(|_| is_up()), "{interface} of {namespace} never comes up");
}

/// Switches IPv6 off on an interface and sets it up, so that only the test sends on its link.
pub fn set_up(namespace: &str, interface: &str) -> Result<(), String> {
    ip(&format!("netns exec {namespace} sysctl -q -w net.ipv6.conf.{interface}.disable_ipv6=1"))?;
    ip(&format!("-n {namespace} link set {interface} up")).map(drop)
}

/// Returns `made`; `None`, with a message, if the process may not create namespaces.
pub fn unless_forbidden<T>(made: Result<T, String>) -> Option<T> {
    made.inspect_err(|why| println!("skipped: needs root and `ip` to make network namespaces ({why})")).ok()
}

/// The namespaces of a test, with names that no other test uses. Removed on drop, with their interfaces.
pub struct Namespaces {
    prefix: String,
    names: Vec<String>,
}

impl Namespaces {
    /// No namespaces yet; `kind` tells those of different tests apart.
    pub fn new(kind: &str) -> Self {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self { prefix: format!("pn-{kind}-{}-{number}", std::process::id()), names: Vec::new() }
    }

    /// Common prefix of their names.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Makes one and returns its name, which ends with `part`.
    pub fn make(&mut self, part: &str) -> Result<String, String> {
        let name = format!("{}{part}", self.prefix);
        ip(&format!("netns add {name}"))?;
        self.names.push(name.clone());
        Ok(name)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            // A process that enters a namespace just now keeps the names of all others for a moment.
            let there = || Path::new("/run/netns").join(name).exists();
            (0..DELETIONS).take_while(|_| there()).for_each(|_| drop(ip(&format!("netns del {name}"))));
        }
    }
}
