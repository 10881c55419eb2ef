//! Host files: what they come to, and what is said of wrong ones. Every error comes at once.

use pullnet_daemon::config::{HostFile, Level, Link};
use pullnet_switch::config::Wait;
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos};
use pullnet_wire::Mac;

const GOOD: &str = r#"
backend = "xdp"
interface = "eth0"
address = "fd00::1"
rate = "25 Gbps"
mtu = "9000 B"
paths = 16
wait = "spin"
core = 3
log = "debug"
user = "daemon"

[socket]
path = "/run/pullnet/a.sock"
group = "staff"
users = "games news"

[limits]
streams = 10
send_buffer = "64 kB"
ring = "65536 B"

[ndp]
initial_window = "12 packets"
timeout = "2 ms"

[marks]
data = 10

[capture]
file = "host.pcapng"

[[neighbour]]
address = "fd00::2"
mac = "02:00:00:00:00:02"
"#;

#[test]
fn a_file_comes_to_a_host() {
    let file = HostFile::read("host.toml", GOOD).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!(file.link, Link::Xdp("eth0".into()));
    assert_eq!((file.address.to_string().as_str(), file.port, file.paths), ("fd00::1", 61199, 16));
    assert_eq!((file.rate, file.mtu, file.core), (BitsPerSec::gbps(25), Some(9000), Some(3)));
    assert_eq!((file.wait, file.log, file.user.as_str()), (Wait::Spin, Level::Debug, "daemon"));
    assert_eq!((file.door.group.as_deref(), file.door.ring), (Some("staff"), 65536));
    assert_eq!(file.door.users, ["games", "news"]);
    assert_eq!((file.limits.connections, file.limits.send_buffer), (10, 64_000));
    assert_eq!((file.ndp.initial_window, file.ndp.timeout), (Packets(12), Picos::from_millis(2)));
    assert_eq!(file.capture.map(|capture| capture.snap), Some(Bytes(262_144)));
    assert_eq!(file.neighbours, [("fd00::2".parse().unwrap(), Mac([2, 0, 0, 0, 0, 2]))]);
}

#[test]
fn little_is_needed() {
    let text = "backend = \"udp\"\naddress = \"127.0.0.1\"\nrate = \"1 Gbps\"\n";
    let file = HostFile::read("host.toml", text).unwrap();
    assert_eq!((file.link, file.mtu, file.wait), (Link::Udp, None, Wait::Adaptive));
    assert_eq!(file.door.path.to_str(), Some("/run/pullnet/host.sock"));
    assert_eq!((file.door.applications, file.door.channels, file.door.ring), (256, 1024, 262_144));
    assert_eq!((file.door.group, file.user.as_str()), (None, "nobody"));
}

fn errors(text: &str) -> Vec<String> {
    let errors = HostFile::read("h.toml", text).expect_err("it is wrong");
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn every_error_is_told_with_its_place_and_what_would_work() {
    let told = errors(
        r#"address = "here"
rate = "fast"
paths = 0
speed = 3
[limits]
ring = "5000 B"
[ndp]
mtu = "1500 B"
[marks]
data = 11
[[neighbour]]
address = "10.0.0.1"
mac = "02"
"#,
    );
    let expected = [
        "h.toml:1:11: address: \"here\" is not an IP address; write for instance \"10.0.0.1\" or \"fd00::1\"",
        "h.toml:2:8: rate: \"fast\" ",
        "h.toml:3:9: paths: 0 is out of range; use 1 to 16384",
        "h.toml:4:1: speed",
        "h.toml:6:8: limits.ring: \"5000 B\" is no power of two; use \"4096 B\" or \"8192 B\"",
        "h.toml:8:7: ndp.mtu: \"1500 B\" has no effect here, for it follows from the mtu of the host; leave it out",
        "h.toml:9:2: marks: two of the four DSCP values are alike",
        "h.toml:13:7: neighbour.0.mac: \"02\" is not an Ethernet address",
    ];
    let interface = "interface: is missing; write for instance interface = \"eth0\", or backend = \"udp\"";
    let (missing, others): (Vec<_>, Vec<_>) = told.iter().partition(|line| line.contains(interface));
    for (line, expected) in others.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
    }
    assert_eq!(missing.len(), 1, "{told:#?}");
    assert_eq!(told.len(), expected.len() + 1, "{told:#?}");
}

#[test]
fn a_transport_that_carries_no_streams_is_refused() {
    let told = |name: &str| errors(&format!("transport = \"{name}\"\n{GOOD}"));
    for name in ["tcp", "dctcp", "go-back-n"] {
        let expected = format!("h.toml:1:13: transport: \"{name}\" carries no streams of services: ");
        let told = told(name);
        assert!(
            told[0].starts_with(&expected) && told[0].contains("use \"ndp\"") && told.len() == 1,
            "{told:#?}"
        );
    }
    assert_eq!(told("tpc"), ["h.toml:1:13: transport: \"tpc\" is no transport; use \"ndp\""]);
    assert!(HostFile::read("h.toml", &format!("transport = \"ndp\"\n{GOOD}")).is_ok());
}

#[test]
fn settings_without_effect_are_refused() {
    let told = errors(
        "backend = \"udp\"\ninterface = \"eth0\"\naddress = \"127.0.0.1\"\nrate = \"1 Gbps\"\n[limits]\nring = \"4096 B\"\nbacklog = 5000\n",
    );
    assert_eq!(
        told,
        [
            "h.toml:2:13: interface: \"eth0\" has no effect with backend = \"udp\"; leave it out",
            "h.toml:7:11: limits.backlog: 5000 is more than the 4096 B of a ring; use at most that",
        ]
    );
}
