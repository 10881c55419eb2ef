//! Switch files: results of valid files and errors of invalid ones. All errors are reported at once.

use pullnet_config::Disk;
use pullnet_netio::{Dpdk, DpdkDevice, EalOptions};
use pullnet_switch::config::{Outside, SwitchFile, Wait};
use pullnet_switch::{Effect, Mac, Unknown};
use pullnet_units::{NodeId, PortId};

const GOOD: &str = r#"
name = "pair"
seed = 3
wait = "spin"

[switch]
kind = "trim"
data_queue = "6 packets"
forwarding = "ecmp"

[[port]]
name = "a"
interface = "veth0"
rate = "1 Gbps"
paced = true

[[port]]
name = "up"
peer = "down"
rate = "10 Gbps"
delay = "1 us"

[[port]]
name = "down"
switch = "spine"
peer = "up"
rate = "10 Gbps"

[[forward]]
mac = "02:00:00:00:00:01"
ports = "a"

[[forward]]
switch = "spine"
mac = "02:00:00:00:00:01"
ports = "down"

[learning]
ageing = "300 s"
unknown = "flood"

[[fault]]
port = "up"
from = "1 s"
until = "2 s"
loss = 0.01
down = true

[capture]
file = "out.pcapng"
"#;

fn errors(text: &str) -> Vec<String> {
    let errors = SwitchFile::read("s.toml", text, &Disk).expect_err("it is wrong");
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_comes_to_ports_entries_and_faults() {
    let file = SwitchFile::read("s.toml", GOOD, &Disk).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!((file.name.as_str(), file.fabric.seed, file.wait), ("pair", 3, Wait::Spin));
    assert_eq!(file.ports.len(), 3);
    assert_eq!(
        (&file.ports[0].outside, file.ports[0].settings.paced),
        (&Some(Outside::Interface("veth0".into())), true)
    );
    assert_eq!(
        (file.ports[2].settings.node, file.ports[2].settings.peer),
        (NodeId::new(1), Some(PortId::new(1)))
    );
    assert_eq!((file.entries.len(), file.fabric.unknown), (2, Unknown::Flood));
    let effects: Vec<_> = file.faults.iter().map(|fault| (fault.place.port, fault.effect)).collect();
    assert_eq!(effects, [(PortId::new(1), Effect::Down), (PortId::new(1), Effect::Loss(0.01))]);
    assert_eq!((file.port("down"), file.port("nobody")), (Some(PortId::new(2)), None));
}

#[test]
fn devices_of_dpdk_are_ports_with_io_dpdk_and_nowhere_else() {
    let file = |io: &str, on: [&str; 2], further: &str| {
        let port = |name: &str, on: &str| format!("[[port]]\nname = \"{name}\"\n{on}\nrate = \"1 Gbps\"\n");
        format!("{io}\n[switch]\nkind = \"trim\"\n{}{}{further}", port("a", on[0]), port("b", on[1]))
    };
    let (dpdk, devices) =
        ("io = \"dpdk\"", ["device = \"net_memif0,id=1\"", "device = \"0000:03:00.1\"\nmtu = \"9000 B\""]);
    let good =
        SwitchFile::read("s.toml", &file(dpdk, devices, "[dpdk]\nmemory = \"64 MB\"\ncore = 1\n"), &Disk);
    if Dpdk::IS_BUILT_IN {
        let good = good.unwrap_or_else(|errors| panic!("{errors:#?}"));
        let card: DpdkDevice = "0000:03:00.1".parse().unwrap();
        assert_eq!(good.ports[1].outside, Some(Outside::Device { device: card.clone(), mtu: Some(9000) }));
        let environment =
            EalOptions { memory: 64_000_000, huge_pages: false, core: Some(1), cards: vec![card] };
        assert_eq!(good.dpdk, Some(environment));
        assert!(good.kernel().is_err());
    } else {
        let told: Vec<_> = good.unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "s.toml:1:6: io: \"dpdk\" needs a program that was built with DPDK; use \"packet\", or build one: \
              apt-get install libdpdk-dev && .venv/bin/maturin develop --release --features dpdk"
            ]
        );
    }
    let told = |text: &str| -> Vec<String> {
        errors(text).into_iter().filter(|line| !line.contains("built with DPDK")).collect()
    };
    for (text, words) in [
        (
            file("", devices, ""),
            "port.0.device: \"net_memif0,id=1\" needs io = \"dpdk\"; or name an interface",
        ),
        (file("", ["interface = \"x\"\nmtu = \"900 B\"", "interface = \"y\""], ""), "port.0.mtu: "),
        (
            file("", ["interface = \"x\"", "interface = \"y\""], "[dpdk]\ncore = 0\n"),
            "without io = \"dpdk\"; leave it out",
        ),
        (file(dpdk, ["interface = \"x\"", devices[1]], ""), "write device = \"net_af_packet0,iface=x\""),
        (file(dpdk, ["device = \"eth0\"", devices[1]], ""), "port.0.device: \"eth0\" is no device of DPDK"),
        (
            file(dpdk, [devices[1], "device = \"0000:03:00.1\""], ""),
            "port.1.device: \"0000:03:00.1\" is that of an earlier port",
        ),
        (file(dpdk, [devices[1], "device = \"net_null0\"\npeer = \"a\""], ""), "one too many"),
    ] {
        let told = told(&text);
        assert!(told.iter().any(|line| line.contains(words)), "{words}: {told:#?}");
    }
}

#[test]
fn groups_are_ports_of_a_switch_and_form_no_ring() {
    let group = "[[group]]\naddress = \"239.1.0.1\"\nports = \"a up\"\n[learning]";
    let good = GOOD.replacen("[learning]", group, 1);
    let file = SwitchFile::read("s.toml", &good, &Disk).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!(
        file.groups,
        [(NodeId::new(0), Mac::of_group([239, 1, 0, 1].into()), vec![PortId::new(0), PortId::new(1)])]
    );
    let kernel = file.kernel().unwrap_err();
    assert!(kernel.iter().any(|why| why.ends_with("group: it copies nothing")), "{kernel:?}");
    let wrong = |group: &str| errors(&GOOD.replacen("[learning]", &format!("{group}\n[learning]"), 1));
    let told = wrong(
        "[[group]]\naddress = \"10.0.0.1\"\nports = \"a a down nobody\"\n[[group]]\nswitch = \"x\"\naddress = \"239.1.0.1\"\nports = \"a\"",
    );
    for what in [
        "is no IPv4 multicast address; use one from 224.0.0.0 to 239.255.255.255",
        "names \"a\" twice",
        "names \"down\", which is a port of another switch",
        "names \"nobody\", which is no port",
        "has no port; name a switch that has one",
    ] {
        assert!(told.iter().any(|error| error.contains(what)), "{what}: {told:#?}");
    }
    let twice = "[[group]]\naddress = \"239.1.0.1\"\nports = \"a\"\n[[group]]\naddress = \"238.129.0.1\"\nports = \"up\"";
    assert!(wrong(twice)[0].contains("Ethernet address of an earlier group"), "the low 23 bits are alike");
    let line = |name: &str, switch: &str, peer: &str| {
        format!("[[port]]\nname = \"{name}\"\nswitch = \"{switch}\"\npeer = \"{peer}\"\nrate = \"1 Gbps\"\n")
    };
    let second = line("up2", "switch", "down2") + &line("down2", "spine", "up2");
    let ring =
        second + "[[group]]\naddress = \"239.1.0.1\"\nports = \"a up up2\"\n[learning]\nunknown = \"drop\"";
    let told = errors(&GOOD.replacen("[learning]", &ring, 1).replacen("unknown = \"flood\"", "", 1));
    assert!(told.len() == 1 && told[0].contains("go round for ever"), "{told:#?}");
}

#[test]
fn every_error_is_told_with_its_place_and_what_would_work() {
    let text = r#"
sed = 1
[switch]
kind = "trim"
[[port]]
name = "a"
interface = "veth0"
rate = "1"
[[port]]
name = "b"
interface = "veth0"
rate = "1 Gbps"
[[port]]
name = "b"
rate = "1 Gbps"
[[port]]
name = "c"
interface = "veth0"
peer = "a"
rate = "1 Gbps"
[[port]]
name = "d"
peer = "b"
rate = "1 Gbps"
paced = true
[[port]]
name = "e"
peer = "f"
rate = "1 Gbps"
[[forward]]
mac = "02:00"
ports = "b nobody"
[[forward]]
switch = "other"
mac = "02:00:00:00:00:01"
ports = "b"
[[fault]]
port = "z"
loss = 0.5
[[fault]]
port = "b"
from = "2 s"
until = "1 s"
[[fault]]
port = "b"
rate = "2 Gbps"
[marks]
data = 7
"#;
    assert_eq!(
        errors(text),
        [
            "s.toml:2:1: sed: is not a setting here; did you mean \"seed\"?",
            "s.toml:8:8: port.0.rate: \"1\" has no unit; use one of bps, kbps, Mbps, Gbps, Tbps, for instance \"10 Gbps\"",
            "s.toml:13:1: port.2: is on no interface and has no peer; give it one of the two",
            "s.toml:14:8: port.2.name: \"b\" is the name of an earlier port; give it another one",
            "s.toml:19:8: port.3.peer: \"a\" is one too many beside an interface; leave one of the two out",
            "s.toml:23:8: port.4.peer: \"b\" does not name this port as its peer; give it peer = \"d\"",
            "s.toml:25:9: port.4.paced: true has no effect: a line inside the file is exact by itself; leave it out",
            "s.toml:28:8: port.5.peer: \"f\" is no port; there is \"b\", \"b\", \"c\", \"d\", \"e\"",
            "s.toml:31:7: forward.0.mac: \"02:00\" is not an Ethernet address; write six pairs of hexadecimal digits, for instance \"02:00:00:00:00:01\"",
            "s.toml:32:9: forward.0.ports: \"b nobody\" names \"nobody\", which is no port; there is \"b\", \"c\", \"d\", \"e\"",
            "s.toml:34:10: forward.1.switch: \"other\" has no port; name a switch that has one",
            "s.toml:36:9: forward.1.ports: \"b\" names \"b\", which is a port of another switch",
            "s.toml:38:8: fault.0.port: \"z\" is no port; there is \"b\", \"c\", \"d\", \"e\"",
            "s.toml:40:1: fault.1: does not say what goes wrong; add down = true, rate, loss, corrupt or duplicate",
            "s.toml:43:9: fault.1.until: \"1 s\" is not after the beginning; use a later end or none",
            "s.toml:46:8: fault.2.rate: \"2 Gbps\" is no slower than the port, which has 1 Gbps; use a lower rate",
            "s.toml:47:2: marks: two of the four DSCP values are alike; use four different ones",
        ]
    );
}

#[test]
fn flooding_round_a_ring_is_refused() {
    let ring = "[switch]\nkind = \"drop-tail\"\n[learning]\nunknown = \"flood\"\n".to_owned()
        + &[("a", "s", "b"), ("b", "t", "a"), ("c", "s", "d"), ("d", "t", "c")]
            .map(|(name, switch, peer)| {
                format!("[[port]]\nname = \"{name}\"\nswitch = \"{switch}\"\npeer = \"{peer}\"\nrate = \"1 Gbps\"\n")
            })
            .concat();
    assert_eq!(errors(&ring).len(), 1);
    assert!(errors(&ring)[0].contains("round for ever"), "{:?}", errors(&ring));
    assert!(SwitchFile::read("s.toml", &ring.replace("flood", "drop"), &Disk).is_ok());
}

#[test]
fn a_file_without_ports_is_refused() {
    assert_eq!(
        errors("[switch]\nkind = \"trim\"\n"),
        ["s.toml:1:1: port: is missing; write for instance [[port]] with name, interface and rate"]
    );
}

#[test]
fn what_the_switch_inside_the_kernel_cannot_do_is_said() {
    let file = SwitchFile::read("s.toml", GOOD, &Disk).unwrap();
    let refused = file.kernel().unwrap_err();
    let keys: Vec<_> = refused.iter().map(|text| text.split(": ").nth(1).unwrap()).collect();
    assert_eq!(keys, ["port", "port.delay", "port.paced", "fault", "capture", "learning"]);
    let simple = "[switch]\nkind = \"trim\"\n[[port]]\nname = \"a\"\ninterface = \"a\"\nrate = \"1 Gbps\"\n";
    let told = SwitchFile::read("s.toml", simple, &Disk).unwrap().kernel().unwrap();
    assert_eq!(
        (told["packets"].as_u64(), told["trim_to"].as_u64(), told["overhead"].as_u64()),
        (Some(8), Some(64), Some(0))
    );
    assert_eq!(told["forwarding"], "path");
}
