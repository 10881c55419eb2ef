//! Two network namespaces joined by veth, created for one test and removed after it.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::time::Duration;

use pullnet_namespaces::{Namespaces, ip, set_up, unless_forbidden, wait_until_up};
use pullnet_netio::{Error, PacketIo, in_namespace};

/// Names of both namespaces; the interface is called `eth` in each.
pub struct Veth {
    pub names: [String; 2],
    /// They are removed with it.
    _made: Namespaces,
}

impl Veth {
    /// `None`, with a message, if the process may not create network namespaces.
    pub fn make(mtu: usize) -> Option<Self> {
        let veth = unless_forbidden(Self::build(mtu))?;
        veth.wait_until_up();
        Some(veth)
    }

    fn build(mtu: usize) -> Result<Self, String> {
        let mut made = Namespaces::new("wire");
        let veth = Self { names: [made.make("a")?, made.make("b")?], _made: made };
        veth.join(mtu)?;
        Ok(veth)
    }

    fn join(&self, mtu: usize) -> Result<(), String> {
        let [a, b] = &self.names;
        ip(&format!("-n {a} link add eth mtu {mtu} type veth peer name eth mtu {mtu} netns {b}"))?;
        for (name, host) in [(a, 1), (b, 2)] {
            ip(&format!("-n {name} address add 10.77.0.{host}/24 dev eth"))?;
            set_up(name, "eth")?;
        }
        Ok(())
    }

    /// Waits until the kernel has noticed that the link is up, which it checks once per second. Before that it drops its own
    /// packets.
    pub fn wait_until_up(&self) {
        (0..2).for_each(|end| self.wait_until_end_is_up(end));
    }

    pub fn wait_until_end_is_up(&self, end: usize) {
        wait_until_up(&self.names[end], "eth");
    }

    /// Sets one end of the link down and up again.
    pub fn interrupt(&self, end: usize) {
        for state in ["down", "up"] {
            ip(&format!("-n {} link set eth {state}", self.names[end])).unwrap();
        }
        self.wait_until_up();
    }

    /// Removes both ends of the link, and makes new ones of the same name.
    pub fn replace(&self, mtu: usize) {
        self.ip(0, "link del eth");
        self.join_again(mtu);
    }

    /// Makes new ends of a link that was removed.
    pub fn join_again(&self, mtu: usize) {
        self.join(mtu).unwrap();
        self.wait_until_up();
    }

    /// Runs an `ip` command in the namespace of one end.
    pub fn ip(&self, end: usize, arguments: &str) {
        ip(&format!("-n {} {arguments}", self.names[end])).unwrap();
    }

    /// Adds the IPv6 addresses fd77::1 and fd77::2, usable at once.
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

    /// Calls `open` in each namespace.
    pub fn open<T: Send>(&self, open: impl Fn() -> Result<T, Error> + Sync) -> Result<[T; 2], Error> {
        let [a, b] = &self.names;
        Ok([in_namespace(a, &open)?, in_namespace(b, &open)?])
    }
}

/// Frames in flight at a time, few enough that no ring overflows.
const BURST: usize = 32;
/// Number of polls for a frame and duration of each: a minute in total.
const LOOKS: (u32, Duration) = (600, Duration::from_millis(100));

/// Sends `frames` from `a` and returns the frames received at `b`; stops early if none arrives for a minute.
pub fn carry(a: &mut dyn PacketIo, b: &mut dyn PacketIo, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    for burst in frames.chunks(BURST) {
        send(a, burst);
        seen.extend(take(b, burst.len()));
    }
    seen
}

/// Sends a burst of frames.
pub fn send(io: &mut dyn PacketIo, frames: &[Vec<u8>]) {
    for frame in frames {
        let fill = &mut |room: &mut [u8]| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        };
        assert!(io.send(fill).unwrap(), "no room although nothing is on its way");
    }
    io.flush().unwrap();
}

/// Returns the next `frames` frames; fewer if none arrives for a minute.
pub fn take(io: &mut dyn PacketIo, frames: usize) -> Vec<Vec<u8>> {
    let (mut seen, mut idle) = (Vec::new(), 0);
    while seen.len() < frames && idle < LOOKS.0 {
        let most = 7.min(frames - seen.len());
        if io.receive(most, &mut |frame| seen.push(frame.to_vec())).unwrap() > 0 {
            idle = 0;
        } else {
            idle += 1;
            io.wait(None, LOOKS.1).unwrap();
        }
    }
    seen
}

/// Whether there is no frame now.
pub fn is_empty(io: &mut dyn PacketIo) -> bool {
    io.receive(1, &mut |_| ()).unwrap() == 0
}
