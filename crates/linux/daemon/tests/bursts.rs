//! Daemons that send bursts, through a software switch that trims, and beside daemons that send none. Needs root and `ip`.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;

use common::{Daemon, Installation, WATCHDOG, insist, pattern};
use pullnet_host::{NdpListener, NdpStream};
use pullnet_namespaces::{Namespaces, ip, set_up, unless_forbidden};
use pullnet_netio::in_namespace;
use pullnet_switch::config::SwitchFile;
use pullnet_switch::live::{Live, PortStatus};

const SERVICE: u16 = 7;

/// Two hosts, each in a namespace and on a port of a switch in a third one.
struct Site {
    made: Namespaces,
    live: Option<Live>,
}

impl Site {
    /// `None`, with a message, if the process may not create network namespaces. `faults`: those of every port.
    fn make(faults: &str) -> Option<Self> {
        let mut site = Self { made: Namespaces::new("burst"), live: None };
        unless_forbidden(site.build())?;
        let mut text = "idle = \"20 ms\"\n[switch]\nkind = \"trim\"\n".to_owned();
        for host in 0..2 {
            write!(
                text,
                "[[port]]\nname = \"h{host}\"\ninterface = \"h{host}\"\nrate = \"200 Mbps\"\n\
                 [[forward]]\nmac = \"{}\"\nports = \"h{host}\"\n",
                Self::mac(host)
            )
            .unwrap();
            if !faults.is_empty() {
                writeln!(text, "[[fault]]\nport = \"h{host}\"\ndirection = \"out\"\n{faults}").unwrap();
            }
        }
        let file = SwitchFile::read("switch.toml", &text, &BTreeMap::<String, Vec<u8>>::new());
        let file = file.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let open = || Ok(Live::start(&file));
        site.live = Some(in_namespace(&site.switch(), open).unwrap().unwrap());
        Some(site)
    }

    fn mac(host: usize) -> String {
        format!("02:70:79:00:00:0{host}")
    }

    fn switch(&self) -> String {
        format!("{}s", self.made.prefix())
    }

    fn host(&self, host: usize) -> String {
        format!("{}h{host}", self.made.prefix())
    }

    fn build(&mut self) -> Result<(), String> {
        let switch = self.made.make("s")?;
        for host in 0..2 {
            let (name, mac, other) = (self.made.make(&format!("h{host}"))?, Self::mac(host), 1 - host);
            ip(&format!("-n {name} link add eth address {mac} type veth peer name h{host} netns {switch}"))?;
            set_up(&name, "eth")?;
            set_up(&switch, &format!("h{host}"))?;
            ip(&format!("-n {name} address add 10.79.0.{host}/24 dev eth"))?;
            let to = Self::mac(other);
            ip(&format!("-n {name} neigh add 10.79.0.{other} lladdr {to} dev eth nud permanent"))?;
        }
        Ok(())
    }

    fn daemon(&self, host: usize, further: &str) -> Daemon {
        let place = Installation::at([10, 79, 0, host as u8]);
        insist(|| ip(&format!("-n {} neigh show dev eth", self.host(host))).ok());
        place.start_in(&self.host(host), further)
    }

    fn ports(&self) -> Vec<PortStatus> {
        self.live.as_ref().unwrap().status().unwrap().ports
    }

    /// Bursts that have arrived at the switch.
    fn bursts(&self) -> [u64; 2] {
        let ports = self.ports();
        [0, 1].map(|port: usize| ports[port].io.as_ref().unwrap().counters.received_bursts)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.live.take().into_iter().for_each(|live| drop(live.stop()));
    }
}

/// Sends a megabyte there and back, and compares it.
fn exchange(a: &Daemon, b: &Daemon) {
    let (here, there) = (a.stack(), b.stack());
    let listener = NdpListener::bind(&there, SERVICE).unwrap();
    listener.set_accept_timeout(Some(WATCHDOG));
    let sent = pattern(1_000_000);
    let mut stream = NdpStream::connect(&here, b.address, SERVICE).unwrap();
    stream.set_read_timeout(Some(WATCHDOG));
    stream.set_write_timeout(Some(WATCHDOG));
    let asking = {
        let (stream, sent) = (stream.clone(), sent.clone());
        std::thread::spawn(move || stream.write_last(&sent).unwrap())
    };
    let (mut taken, _) = listener.accept().unwrap();
    taken.set_read_timeout(Some(WATCHDOG));
    taken.set_write_timeout(Some(WATCHDOG));
    let mut all = Vec::new();
    taken.read_to_end(&mut all).unwrap();
    assert!(all == sent, "{} B have arrived, or others", all.len());
    let answering = std::thread::spawn(move || taken.write_last(&all).unwrap());
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    asking.join().unwrap();
    answering.join().unwrap();
    assert!(back == sent, "{} B have come back, or others", back.len());
}

#[test]
fn bursts_are_trimmed_packet_by_packet_and_all_bytes_arrive() {
    let Some(site) = Site::make("") else { return };
    // A whole first window leaves in one burst, five times as fast as the switch sends it on.
    let settings = "backend = \"packet\"\ninterface = \"eth\"\npaths = 1\n";
    let (a, b) = (site.daemon(0, settings), site.daemon(1, settings));
    exchange(&a, &b);
    let trimmed: u64 = site.ports().iter().map(|port| port.counters.trim_packets).sum();
    let [there, back] = site.bursts();
    assert!(trimmed > 0 && there > 0 && back > 0, "{trimmed} trimmed, {there} and {back} bursts");
}

#[test]
fn a_daemon_without_bursts_and_one_over_the_kernels_udp_understand_one_with_them() {
    for other in ["backend = \"packet\"\ninterface = \"eth\"\nbursts = false\n", "backend = \"udp\"\n"] {
        let Some(site) = Site::make("") else { return };
        let (a, b) = (site.daemon(0, "backend = \"packet\"\ninterface = \"eth\"\n"), site.daemon(1, other));
        exchange(&a, &b);
        let [there, back] = site.bursts();
        assert!(there > 0 && back == 0, "{other}: {there} and {back} bursts");
    }
}

#[test]
fn all_bytes_arrive_over_a_switch_that_loses_packets() {
    let Some(site) = Site::make("loss = 0.02\n") else { return };
    let settings = "backend = \"packet\"\ninterface = \"eth\"\npaths = 4\n[ndp]\nburst = \"8 packets\"\ngive_up = \"120 s\"\n";
    let (a, b) = (site.daemon(0, settings), site.daemon(1, settings));
    exchange(&a, &b);
    let lost: u64 = site.ports().iter().map(|port| port.counters.fault_lost_packets).sum();
    assert!(lost > 0 && site.bursts().iter().all(|bursts| *bursts > 0), "{lost} lost");
}
