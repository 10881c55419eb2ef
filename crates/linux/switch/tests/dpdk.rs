//! Switches on devices of DPDK, between network namespaces.

#[path = "../../netio/tests/common/mod.rs"]
mod common;
#[path = "../../netio/tests/common/crossing.rs"]
mod crossing;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Veth, send, take};
use crossing::{everything_crosses, frame};
use pullnet_config::Disk;
use pullnet_netio::{Interface, PacketIo, PacketOptions, PacketSocket, Protocol, in_namespace};
use pullnet_switch::config::SwitchFile;
use pullnet_switch::live::{Live, PortStatus};
use pullnet_wire::{Mac, Marks, PORT};

static MADE: AtomicU32 = AtomicU32::new(0);

/// A switch with two ports, of which `b` has this rate. Tests run in one process, so that each has devices of its own.
fn file(rate: &str, further: &str) -> SwitchFile {
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let text = format!(
        "io = \"dpdk\"\n[switch]\nkind = \"trim\"\ndata_queue = \"40 packets\"\n\
         [[port]]\nname = \"a\"\ndevice = \"net_af_packet_{number}a,iface=eth\"\nrate = \"10 Gbps\"\n\
         [[port]]\nname = \"b\"\ndevice = \"net_af_packet_{number}b,iface=eth2\"\nrate = \"{rate}\"\n\
         [learning]\nageing = \"300 s\"\nunknown = \"flood\"\n{further}"
    );
    SwitchFile::read("switch.toml", &text, &Disk).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// Two hosts, and a namespace with the other ends of their links: `eth` and `eth2`.
struct Site {
    links: [Veth; 2],
}

impl Site {
    fn make() -> Option<Self> {
        let links = [Veth::make(1500)?, Veth::make(1500)?];
        let switch = &links[0].names[1];
        links[1].ip(1, &format!("link set eth netns {switch} name eth2"));
        links[0].ip(1, "link set eth2 up");
        // The kernel of the switch would answer frames to its addresses.
        links[0].ip(1, "address flush dev eth");
        links[1].wait_until_end_is_up(0);
        Some(Self { links })
    }

    fn start(&self, file: &SwitchFile) -> Live {
        in_namespace(&self.links[0].names[1], || Ok(Live::start(file).unwrap())).unwrap()
    }

    /// Everything that arrives at each host.
    fn hosts(&self) -> [PacketSocket; 2] {
        let options = PacketOptions { protocol: Protocol::All, bursts: false, ..PacketOptions::default() };
        self.links
            .each_ref()
            .map(|link| in_namespace(&link.names[0], || PacketSocket::open("eth", &options)).unwrap())
    }

    fn macs(&self) -> [Mac; 2] {
        self.links.each_ref().map(|link| in_namespace(&link.names[0], || Interface::find("eth")).unwrap().mac)
    }
}

/// The DSCP of a frame of IPv4.
fn dscp(frame: &[u8]) -> u8 {
    frame[15] >> 2
}

fn port(switch: &Live, name: &str) -> PortStatus {
    switch.status().unwrap().ports.into_iter().find(|port| port.name == name).unwrap()
}

/// Sends a frame until it arrives, at most for a minute.
fn until_it_passes([a, b]: &mut [PacketSocket; 2], wanted: &[u8]) {
    let passes = (0..600).any(|_| {
        send(a, std::slice::from_ref(&wanted.to_vec()));
        let mut seen = false;
        b.wait(None, Duration::from_millis(100)).unwrap();
        b.receive(4096, &mut |frame| seen |= frame == wanted).unwrap();
        seen
    });
    assert!(passes, "the frame does not pass");
}

#[test]
fn frames_of_every_length_pass_between_devices() {
    let Some(site) = Site::make() else { return };
    let switch = site.start(&file("10 Gbps", ""));
    let [mut a, mut b] = site.hosts();
    everything_crosses(1500, &site.links[0], [&mut a, &mut b]);
    let status = switch.stop().unwrap();
    let counters = |port: usize| status.ports[port].io.as_ref().unwrap().counters;
    assert_eq!((counters(0).missed, counters(1).refused), (0, 0));
    assert!(counters(0).received >= 600 && counters(1).sent >= 600);
}

#[test]
fn a_slow_port_trims() {
    let Some(site) = Site::make() else { return };
    let switch = site.start(&file("1 Mbps", ""));
    let [mut a, mut b] = site.hosts();
    let frames: Vec<_> = (0..64).map(|seq| frame(site.macs(), PORT, seq, 1000)).collect();
    send(&mut a, &frames);
    let seen = take(&mut b, frames.len());
    assert_eq!(seen.len(), frames.len());
    let trimmed =
        seen.iter().filter(|frame| dscp(frame) == Marks::default().dscp(pullnet_wire::Mark::Trimmed));
    let (count, short) = (trimmed.clone().count(), trimmed.clone().all(|frame| frame.len() < 200));
    assert!((15..30).contains(&count) && short, "{count} headers");
    assert!(seen.iter().filter(|frame| frames.contains(frame)).count() == frames.len() - count);
    assert_eq!(port(&switch, "b").counters.trim_packets, count as u64);
}

#[test]
fn a_port_is_back_when_its_interface_is() {
    let Some(site) = Site::make() else { return };
    let switch = site.start(&file("10 Gbps", ""));
    let trouble = |words: &str| {
        let told = (0..600).find_map(|_| {
            let trouble = port(&switch, "a").io.unwrap().trouble.filter(|text| text.contains(words));
            std::thread::park_timeout(Duration::from_millis(if trouble.is_some() { 0 } else { 100 }));
            trouble
        });
        assert!(told.is_some(), "no \"{words}\" in {:?}", port(&switch, "a").io.unwrap().trouble);
    };
    let wanted = frame(site.macs(), PORT, 1, 500);
    until_it_passes(&mut site.hosts(), &wanted);
    site.links[0].ip(1, "link set eth down");
    trouble("ip link set NAME up");
    site.links[0].ip(1, "link set eth up");
    until_it_passes(&mut site.hosts(), &wanted);
    site.links[0].ip(1, "link del eth");
    trouble("there is no interface");
    site.links[0].join_again(1500);
    until_it_passes(&mut site.hosts(), &wanted);
    switch.stop().unwrap();
}

#[test]
fn an_error_names_the_port_and_a_second_environment_is_refused() {
    let told = Live::start(&file("1 Gbps", "")).unwrap_err().to_string();
    assert!(told.starts_with("port \"a\": ") && told.contains("\"eth\""), "{told}");
    let other = file("1 Gbps", "[dpdk]\nmemory = \"64 MB\"\n");
    let told = Live::start(&other).unwrap_err().to_string();
    assert!(told.contains("runs with other settings already"), "{told}");
}
