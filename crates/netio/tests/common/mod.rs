//! Two network namespaces with a veth between them, made for one test and removed after it.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pullnet_netio::{Error, PacketIo, in_namespace};

static MADE: AtomicU32 = AtomicU32::new(0);
/// How often it is tried to remove a namespace.
const DELETIONS: u32 = 100;

/// The names of both namespaces; the interface is called `eth` in each.
pub struct Veth {
    pub names: [String; 2],
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    if output.status.success() { Ok(()) } else { Err(format!("ip {arguments}: {said}")) }
}

impl Veth {
    /// `None`, with a message, where the process may not make network namespaces.
    pub fn make(mtu: usize) -> Option<Self> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = |side| format!("pn-wire-{}-{number}{side}", std::process::id());
        let veth = Self { names: [name("a"), name("b")] };
        match veth.build(mtu) {
            Ok(()) => Some(veth),
            Err(why) => {
                println!("skipped: needs root and `ip` to make network namespaces ({why})");
                None
            }
        }
    }

    fn build(&self, mtu: usize) -> Result<(), String> {
        let [a, b] = &self.names;
        ip(&format!("netns add {a}"))?;
        ip(&format!("netns add {b}"))?;
        ip(&format!("-n {a} link add eth mtu {mtu} type veth peer name eth mtu {mtu} netns {b}"))?;
        for (name, host) in [(a, 1), (b, 2)] {
            // Nothing but the test shall be on this link.
            ip(&format!("netns exec {name} sysctl -q -w net.ipv6.conf.eth.disable_ipv6=1"))?;
            ip(&format!("-n {name} address add 10.77.0.{host}/24 dev eth"))?;
            ip(&format!("-n {name} link set eth up"))?;
        }
        Ok(())
    }

    /// Gives each side an address of IPv6 as well, fd77::1 and fd77::2, that may be used at once.
    pub fn add_ipv6(&self) {
        for (name, host) in self.names.iter().zip(1..) {
            for command in [
                format!("netns exec {name} sysctl -q -w net.ipv6.conf.eth.disable_ipv6=0"),
                format!("-n {name} address add fd77::{host}/64 dev eth nodad"),
            ] {
                ip(&command).unwrap();
            }
        }
    }

    /// Opens something at each side.
    pub fn open<T: Send>(&self, open: impl Fn() -> Result<T, Error> + Sync) -> Result<[T; 2], Error> {
        let [a, b] = &self.names;
        Ok([in_namespace(a, &open)?, in_namespace(b, &open)?])
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        for name in &self.names {
            // A process that enters a namespace just now keeps the names of all others for a moment.
            let there = || Path::new("/run/netns").join(name).exists();
            (0..DELETIONS).take_while(|_| there()).for_each(|_| drop(ip(&format!("netns del {name}"))));
        }
    }
}

/// Sends `frames` from `a` and returns what arrives at `b`, in turns so that no ring overflows. Ends if nothing comes for
/// two seconds.
pub fn carry(a: &mut dyn PacketIo, b: &mut dyn PacketIo, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    for burst in frames.chunks(32) {
        for frame in burst {
            let fill = &mut |room: &mut [u8]| {
                room[..frame.len()].copy_from_slice(frame);
                frame.len()
            };
            assert!(a.send(fill).unwrap(), "no room although nothing is on its way");
        }
        a.flush().unwrap();
        let (before, mut idle) = (seen.len(), 0);
        while seen.len() < before + burst.len() && idle < 20 {
            let got = b.receive(7, &mut |frame| seen.push(frame.to_vec())).unwrap();
            idle = if got == 0 { idle + 1 } else { 0 };
            if got == 0 {
                b.wait(None, Duration::from_millis(100)).unwrap();
            }
        }
    }
    seen
}
