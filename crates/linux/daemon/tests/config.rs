//! Host files: what they come to, and what is said of wrong ones. Every error comes at once.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use pullnet_daemon::config::{HostFile, Level, Link, LogForm, MetricsPlace, Usual};
use pullnet_netio::{Dpdk, EalOptions};
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
    assert_eq!((file.access.group.as_deref(), file.access.limits.ring), (Some("staff"), 65536));
    assert_eq!(file.access.users, ["games", "news"]);
    assert_eq!((file.limits.connections, file.limits.send_buffer), (10, 64_000));
    assert_eq!((file.ndp.initial_window, file.ndp.timeout), (Packets(12), Picos::from_millis(2)));
    assert_eq!(file.usual, Usual { window: false, burst: true });
    assert_eq!(file.capture.map(|capture| capture.snap), Some(Bytes(262_144)));
    assert_eq!(file.neighbours, [("fd00::2".parse().unwrap(), Mac([2, 0, 0, 0, 0, 2]))]);
}

#[test]
fn little_is_needed() {
    let text = "backend = \"udp\"\naddress = \"127.0.0.1\"\nrate = \"1 Gbps\"\n";
    let file = HostFile::read("host.toml", text).unwrap();
    assert_eq!((file.link, file.mtu, file.wait), (Link::Udp, None, Wait::Adaptive));
    assert_eq!(file.access.path.to_str(), Some("/run/pullnet/host.sock"));
    assert_eq!(
        (file.access.applications, file.access.limits.channels, file.access.limits.ring),
        (256, 1024, 262_144)
    );
    assert_eq!((file.access.group, file.user.as_str()), (None, "nobody"));
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

#[test]
fn a_device_of_dpdk_is_refused_where_it_cannot_be_had() {
    let rest = "address = \"10.0.0.1\"\nrate = \"1 Gbps\"\n";
    let read = |top: &str, tables: &str| HostFile::read("h.toml", &format!("{top}{rest}{tables}"));
    let good = read(
        "backend = \"dpdk\"\ndevice = \"0000:03:00.0\"\ninterface = \"eth0\"\ncore = 3\n",
        "[dpdk]\nmemory = \"1 GB\"\nhuge_pages = true\n",
    );
    if Dpdk::IS_BUILT_IN {
        let Link::Dpdk { device, interface, environment } = good.unwrap().link else {
            panic!("another link")
        };
        assert_eq!((device.to_string().as_str(), interface.as_deref()), ("0000:03:00.0", Some("eth0")));
        assert_eq!(
            environment,
            EalOptions { memory: 1_000_000_000, huge_pages: true, core: Some(3), cards: vec![device] }
        );
    } else {
        let told: Vec<_> = good.unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "h.toml:1:11: backend: \"dpdk\" needs a program that was built with DPDK; use \"packet\", or build one: \
              apt-get install libdpdk-dev && cargo build --release -p pullnet-daemon --features dpdk (for \
              `pullnet host serve`: .venv/bin/maturin develop --release --features dpdk)"
            ]
        );
    }
    let told = |top: &str, tables: &str| -> Vec<String> {
        let errors = read(top, tables).unwrap_err();
        errors.iter().map(ToString::to_string).filter(|line| !line.contains("built with DPDK")).collect()
    };
    let wrong = told("backend = \"dpdk\"\ndevice = \"eth0\"\n", "[dpdk]\nmemory = \"1 MB\"\n");
    assert!(
        wrong[0].starts_with("h.toml:2:10: device: \"eth0\" is no device of DPDK; write a virtual one"),
        "{wrong:#?}"
    );
    assert!(wrong[1].contains("dpdk.memory: ") && wrong.len() == 2, "{wrong:#?}");
    let missing = told("backend = \"dpdk\"\ninterface = \"eth0\"\n", "");
    assert!(missing[0].contains("device: is missing; write for instance device = "), "{missing:#?}");
    let idle = told("interface = \"eth0\"\ndevice = \"net_null0\"\n", "[dpdk]\ncore = 1\n");
    assert!(idle[0].contains("device: ") && idle[0].contains("has no effect"), "{idle:#?}");
    assert!(
        idle[1].contains("dpdk: ") && idle[1].contains("has no effect without backend = \"dpdk\""),
        "{idle:#?}"
    );
}

/// A folder with a host file that names keys, and the file of keys with this text and mode.
struct Folder(std::path::PathBuf);

impl Folder {
    fn with(name: &str, text: &str, mode: u32) -> Self {
        let folder = std::env::temp_dir().join(format!("pullnet-keys-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let keys = folder.join("keys.toml");
        std::fs::write(&keys, text).unwrap();
        std::fs::set_permissions(&keys, Permissions::from_mode(mode)).unwrap();
        Self(folder)
    }

    /// Loads the keys and returns the error, with the folder left out.
    fn told(&self) -> Result<(), String> {
        let text = "backend = \"udp\"\naddress = \"10.0.0.1\"\nrate = \"1 Gbps\"\n[keys]\nfile = \"keys.toml\"\nplain = \"80 443\"\n";
        let file = HostFile::read(&self.0.join("h.toml").to_string_lossy(), text).unwrap();
        assert_eq!(file.keys.as_ref().unwrap().plain, [80, 443]);
        let folder = format!("{}/", self.0.display());
        file.check_machine().map_err(|error| error.to_string().replace(&folder, ""))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const KEYS: &str = "[[key]]\npeer = \"10.0.0.2\"\nnumber = 1\nsecret = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n\
[[key]]\npeer = \"10.0.0.2:700\"\nnumber = 1\nsecret = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff\"\n";

#[test]
fn keys_are_read_if_nobody_else_may_read_them() {
    assert_eq!(Folder::with("good", KEYS, 0o600).told(), Ok(()));
    for mode in [0o640, 0o604, 0o620] {
        let told = Folder::with("mode", KEYS, mode).told().unwrap_err();
        let expected =
            format!("keys.toml: its mode {mode:04o} lets others at the keys; use chmod 600 keys.toml");
        assert_eq!(told, expected);
    }
    let folder = Folder::with("gone", KEYS, 0o600);
    std::fs::remove_file(folder.0.join("keys.toml")).unwrap();
    assert!(folder.told().unwrap_err().starts_with("keys.toml: cannot be opened: No such file"));
    std::fs::create_dir(folder.0.join("keys.toml")).unwrap();
    assert_eq!(folder.told(), Err("keys.toml: it is no file; name a file with keys".to_owned()));
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        let folder = Folder::with("owner", KEYS, 0o600);
        std::os::unix::fs::chown(folder.0.join("keys.toml"), Some(12_345), None).unwrap();
        let told = folder.told().unwrap_err();
        assert!(told.starts_with("keys.toml: it belongs to user 12345, who is neither root"), "{told}");
    }
}

#[test]
fn every_error_in_keys_is_told_with_its_place_and_without_the_key() {
    let secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let text = format!(
        "[[key]]\npeer = \"there\"\nnumber = 0\nsecret = \"{secret}\"\n\
         [[key]]\npeer = \"fd00::2\"\nnumber = 1\nsecret = \"{}\"\n\
         [[key]]\npeer = \"10.0.0.2\"\nnumber = 1\nsecret = \"{secret}\"\n\
         [[key]]\npeer = \"10.0.0.3\"\nnumber = 1\nsecret = \"{secret}\"\ncolour = 1\n\
         [[key]]\npeer = \"10.0.0.2\"\nnumber = 1\nsecret = \"{}\"\n\
         [[key]]\npeer = \"10.0.0.2\"\nnumber = 2\nsecret = \"{}\"\n",
        &secret[1..],
        secret.replace('1', "2"),
        "77".repeat(32),
    );
    let told = Folder::with("errors", &text, 0o600).told().unwrap_err();
    let lines: Vec<&str> = told.lines().collect();
    let expected = [
        "keys.toml:2:8: key.0.peer: \"there\" is not the address of a host; write for instance \"10.0.0.2\"",
        "keys.toml:3:10: key.0.number: 0 is out of range; use 1 to 65535",
        "keys.toml:6:8: key.1.peer: \"fd00::2\" is not of the family of this host, 10.0.0.1",
        "keys.toml:8:10: key.1.secret: (not shown) has 63 characters, or some that are no hexadecimal digits; use 64",
        "keys.toml:16:10: key.3.secret: (not shown) is there twice; make one of its own for each pair",
        "keys.toml:17:1: key.3.(not shown): is not a setting here; use peer, number and secret",
        "keys.toml:20:10: key.4.number: 1 is there twice for 10.0.0.2:61199; give the newer key a higher one",
        "keys.toml:25:10: key.5.secret: (not shown) is one byte again and again; use 64 hexadecimal digits",
    ];
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
    }
    assert_eq!(lines.len(), expected.len(), "{told}");
    assert!(!told.contains(&secret[2..]), "{told}");
    let none = Folder::with("none", "", 0o600).told().unwrap_err();
    assert!(none.contains("key: is missing; write for instance [[key]]"), "{none}");
    let settings =
        "backend = \"udp\"\naddress = \"127.0.0.1\"\nrate = \"1 Gbps\"\n[keys]\nplain = \"http\"\n";
    let told = errors(settings);
    assert!(told[0].contains("keys.file: is missing") && told.len() == 1, "{told:#?}");
    let told = errors(&settings.replace("plain", "file = \"k\"\nplain"));
    assert_eq!(
        told,
        [
            "h.toml:6:9: keys.plain: \"http\" is not a list of services; write numbers from 0 to 65535 with spaces between them"
        ]
    );
}

#[test]
fn no_error_shows_a_part_of_a_key_wherever_it_stands() {
    let secret = "0f1e2d3c4b5a69788796a5b4c3d2e1f00123456789abcdeffedcba9876543210";
    let whole = |rest: &str| format!("[[key]]\npeer = \"10.0.0.2\"\nnumber = 1\n{rest}\n");
    let good = whole(&format!("secret = \"{secret}\""));
    for (name, text) in [
        ("hexadecimal", whole(&format!("secret = 0x{secret}"))),
        ("bare", whole(&format!("secret = {secret}"))),
        ("open", whole(&format!("secret = \"{secret}"))),
        ("list", whole(&format!("secret = [\"{secret}\"]"))),
        ("peer", format!("[[key]]\npeer = \"{secret}\"\nnumber = 1\nsecret = \"10.0.0.2\"\n")),
        ("number", format!("[[key]]\npeer = \"10.0.0.2\"\nnumber = \"{secret}\"\nsecret = \"1\"\n")),
        ("name", whole(&format!("\"{secret}\" = \"secret\""))),
        ("table", format!("{good}[{secret}]\n")),
        ("top", format!("{good}{secret} = 1\n")),
        ("first", format!("secret = \"{secret}\"\n{good}")),
        ("twice", format!("{good}secret = \"{secret}\"\n")),
        ("key", format!("key = \"{secret}\"\n")),
        ("half", whole(&format!("secret = \"{}\"", &secret[..32]))),
    ] {
        let told = Folder::with(&format!("hidden-{name}"), &text, 0o600).told().unwrap_err();
        let shows = (0..secret.len() - 8).any(|at| told.contains(&secret[at..at + 8]));
        assert!(!shows && told.contains("keys.toml"), "{name}: {told}");
    }
}

#[test]
fn metrics_are_at_a_socket_or_at_a_loopback_address() {
    let read = |place: &str| {
        let text = format!(
            "backend = \"udp\"\naddress = \"127.0.0.1\"\nrate = \"1 Gbps\"\nmetrics = \"{place}\"\nlog_form = \"json\"\n"
        );
        HostFile::read("host.toml", &text).map_err(|errors| errors[0].to_string())
    };
    let file = read("/run/pullnet/metrics.sock").unwrap();
    assert_eq!(file.metrics, Some(MetricsPlace::Socket("/run/pullnet/metrics.sock".into())));
    assert_eq!(file.log_form, LogForm::Json);
    assert_eq!(
        read("[::1]:9464").unwrap().metrics,
        Some(MetricsPlace::Loopback("[::1]:9464".parse().unwrap()))
    );
    for (place, words) in [
        ("10.0.0.1:9464", "is no loopback address"),
        ("9464", "is neither a path nor an address; write for instance"),
    ] {
        let told = read(place).unwrap_err();
        assert!(told.contains("metrics: ") && told.contains(words), "{told}");
    }
}

#[test]
fn addresses_sockets_and_neighbours_that_cannot_work_are_refused() {
    let with = |address: &str, further: &str| {
        let text = format!(
            "backend = \"packet\"\ninterface = \"eth\"\naddress = \"{address}\"\nrate = \"1 Gbps\"\n{further}"
        );
        HostFile::read("h.toml", &text).map_err(|errors| errors[0].to_string())
    };
    let long = format!("/run/{}", "x".repeat(120));
    let there = "[[neighbour]]\naddress = \"10.0.0.2\"\nmac = \"02:00:00:00:00:02\"\n";
    for (address, further, words) in [
        ("0.0.0.0", String::new(), "address: \"0.0.0.0\" is no address of one host"),
        ("::", String::new(), "address: \"::\" is no address of one host"),
        ("224.0.0.1", String::new(), "is the address of a group"),
        ("ff02::1", String::new(), "is the address of a group"),
        ("255.255.255.255", String::new(), "is the address of every host"),
        ("127.0.0.1", String::new(), "is a loopback address"),
        ("::1", String::new(), "is a loopback address"),
        (
            "10.0.0.1",
            "metrics = \"/run/pullnet/host.sock\"\n".to_owned(),
            "metrics: \"/run/pullnet/host.sock\" is the place of the socket of applications",
        ),
        ("10.0.0.1", "metrics = \"/run/pullnet/host.sock.lock\"\n".to_owned(), "or of its lock"),
        ("10.0.0.1", format!("metrics = \"{long}\"\n"), "is too long for a socket; use at most 103 B"),
        ("10.0.0.1", format!("[socket]\npath = \"{long}\"\n"), "is too long for a socket; use at most 103 B"),
        ("10.0.0.1", format!("{there}{there}"), "neighbour.1.address: \"10.0.0.2\" is there twice"),
        (
            "10.0.0.1",
            there.replace("02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff"),
            "neighbour.0.mac: \"ff:ff:ff:ff:ff:ff\" is no address of one host",
        ),
        ("10.0.0.1", there.replace("02:00:00:00:00:02", "00:00:00:00:00:00"), "is no address of one host"),
        (
            "10.0.0.1",
            there.replace("10.0.0.2", "224.0.0.2"),
            "neighbour.0.address: \"224.0.0.2\" is no address of one host",
        ),
    ] {
        let told = with(address, &further).unwrap_err();
        assert!(told.contains(words), "{told}\nhas no\n{words}");
    }
    with("10.0.0.1", there).unwrap();
    let name = "backend = \"packet\"\ninterface = \"a-very-long-interface\"\naddress = \"10.0.0.1\"\nrate = \"1 Gbps\"\n";
    assert!(
        errors(name)[0].contains("is no name of an interface: they have at most 15 B"),
        "{:?}",
        errors(name)
    );
    HostFile::read("h.toml", "backend = \"udp\"\naddress = \"127.0.0.1\"\nrate = \"1 Gbps\"\n").unwrap();
}

#[test]
fn accounts_and_cores_that_this_machine_lacks_are_named() {
    let told = |further: &str| {
        let text = format!("backend = \"udp\"\naddress = \"127.0.0.1\"\nrate = \"1 Gbps\"\n{further}");
        HostFile::read("h.toml", &text).unwrap().check_machine().map_err(|error| error.to_string())
    };
    told("core = 0\n[socket]\nusers = \"root nobody\"\n").unwrap();
    assert!(told("core = 500\n").unwrap_err().contains("core = 500: this machine has no such core"));
    assert!(told("[socket]\nusers = \"root nosuch\"\n").unwrap_err().contains("no user \"nosuch\""));
    assert!(told("[socket]\ngroup = \"nosuch\"\n").unwrap_err().contains("no group \"nosuch\""));
}
