//! Network namespaces around a bridge, made for one test and removed after it.

use pullnet_namespaces::{Namespaces, ip, unless_forbidden, wait_until_up};
use pullnet_netio::{PacketIo, PacketOptions, PacketSocket, Protocol, in_namespace};
use pullnet_wire::Mac;

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
    _made: Namespaces,
}

impl Site {
    /// `None`, with a message, where the process may not make network namespaces.
    pub fn make(hosts: usize) -> Option<Self> {
        unless_forbidden(Self::build(hosts))
    }

    fn build(hosts: usize) -> Result<Self, String> {
        let mut made = Namespaces::new("attack");
        let hub = made.make("hub")?;
        let hosts: Result<Vec<_>, _> = (0..hosts).map(|host| made.make(&format!("h{host}"))).collect();
        let hosts = hosts?;
        ip(&format!("netns exec {hub} sysctl -q -w net.ipv6.conf.default.disable_ipv6=1"))?;
        ip(&format!("-n {hub} link add name bridge0 type bridge forward_delay 0 stp_state 0"))?;
        ip(&format!("-n {hub} link set bridge0 up"))?;
        for (host, name) in hosts.iter().enumerate() {
            ip(&format!("netns exec {name} sysctl -q -w net.ipv6.conf.default.disable_ipv6=1"))?;
            ip(&format!("-n {hub} link add p{host} type veth peer name eth netns {name}"))?;
            ip(&format!("-n {hub} link set p{host} master bridge0 up"))?;
            ip(&format!("-n {name} link set eth address {} up", mac(host)))?;
            let [a, b, c, d] = address(host);
            ip(&format!("-n {name} address add {a}.{b}.{c}.{d}/16 dev eth"))?;
        }
        for (host, name) in hosts.iter().enumerate() {
            wait_until_up(&hub, &format!("p{host}"));
            wait_until_up(name, "eth");
        }
        Ok(Self { hosts, hub, _made: made })
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
