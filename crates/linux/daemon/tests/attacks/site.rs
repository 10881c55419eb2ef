//! Network namespaces around a bridge, made for one test and removed after it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use pullnet_netio::{PacketIo, PacketOptions, PacketSocket, Protocol, in_namespace};
use pullnet_wire::Mac;

static MADE: AtomicU32 = AtomicU32::new(0);
/// How often it is looked whether a link is up; each time takes some milliseconds.
const UP_LOOKS: u32 = 20_000;
/// How often it is tried to remove a namespace.
const DELETIONS: u32 = 100;

fn ip(arguments: &str) -> Result<String, String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("ip {arguments}: {}", text(&output.stderr)))
}

/// Address of host `host`. All of 10.78.0.0/16 is on the link.
pub fn address(host: usize) -> [u8; 4] {
    [10, 78, 0, host as u8 + 1]
}

pub fn mac(host: usize) -> Mac {
    Mac([2, 0, 0, 0x78, 0, host as u8 + 1])
}

/// A namespace for each host, whose interface is called `eth`, and one for the bridge, with a port `p0`, `p1` ... to each.
pub struct Site {
    pub hosts: Vec<String>,
    hub: String,
}

impl Site {
    /// `None`, with a message, where the process may not make network namespaces.
    pub fn make(hosts: usize) -> Option<Self> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = |part: &str| format!("pn-attack-{}-{number}{part}", std::process::id());
        let site =
            Self { hosts: (0..hosts).map(|host| name(&format!("h{host}"))).collect(), hub: name("hub") };
        match site.build() {
            Ok(()) => Some(site),
            Err(why) => {
                println!("skipped: needs root and `ip` to make network namespaces ({why})");
                None
            }
        }
    }

    fn build(&self) -> Result<(), String> {
        let hub = &self.hub;
        ip(&format!("netns add {hub}"))?;
        ip(&format!("netns exec {hub} sysctl -q -w net.ipv6.conf.default.disable_ipv6=1"))?;
        ip(&format!("-n {hub} link add name bridge0 type bridge forward_delay 0 stp_state 0"))?;
        ip(&format!("-n {hub} link set bridge0 up"))?;
        for (host, name) in self.hosts.iter().enumerate() {
            ip(&format!("netns add {name}"))?;
            ip(&format!("netns exec {name} sysctl -q -w net.ipv6.conf.default.disable_ipv6=1"))?;
            ip(&format!("-n {hub} link add p{host} type veth peer name eth netns {name}"))?;
            ip(&format!("-n {hub} link set p{host} master bridge0 up"))?;
            ip(&format!("-n {name} link set eth address {} up", mac(host)))?;
            let [a, b, c, d] = address(host);
            ip(&format!("-n {name} address add {a}.{b}.{c}.{d}/16 dev eth"))?;
        }
        let ports = (0..self.hosts.len()).map(|host| (hub, format!("p{host}")));
        for (namespace, device) in ports.chain(self.hosts.iter().map(|name| (name, "eth".to_string()))) {
            let is_up = || ip(&format!("-n {namespace} -oneline link show {device}"));
            (0..UP_LOOKS)
                .find(|_| is_up().is_ok_and(|text| text.contains(" state UP ")))
                .ok_or("a link never comes up")?;
        }
        Ok(())
    }

    /// An interface of host `host`, past its kernel.
    pub fn raw(&self, host: usize) -> PacketSocket {
        let open = || PacketSocket::open("eth", &PacketOptions::default());
        in_namespace(&self.hosts[host], open).expect("a namespace of ours")
    }

    /// A socket at the bridge that sees the frames sent by host `host`.
    pub fn tap(&self, host: usize) -> PacketSocket {
        let options = PacketOptions { protocol: Protocol::All, frames: 16_384, bursts: false };
        let open = || PacketSocket::open(&format!("p{host}"), &options);
        in_namespace(&self.hub, open).expect("a namespace of ours")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for name in self.hosts.iter().chain([&self.hub]) {
            // A process that enters a namespace just now keeps the names of all others for a moment.
            let there = || Path::new("/run/netns").join(name).exists();
            (0..DELETIONS).take_while(|_| there()).for_each(|_| drop(ip(&format!("netns del {name}"))));
        }
    }
}

/// Every frame that has been seen by now and is IPv4.
pub fn seen(tap: &mut PacketSocket) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let is_ipv4 = |frame: &[u8]| frame.get(12..14) == Some(&[8, 0]);
    while tap
        .receive(64, &mut |frame| frames.extend(is_ipv4(frame).then(|| frame.to_vec())))
        .expect("a tap of ours")
        > 0
    {}
    frames
}
