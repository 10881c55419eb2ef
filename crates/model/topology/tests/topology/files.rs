//! Every format: results of valid files, and error texts of invalid ones.

use crate::common::{assert_paths, assert_wired};
use proptest::prelude::*;
use pullnet_topology::{HostLinks, LoadErrors, LoadOptions, Topology, load};
use pullnet_units::{BitsPerSec, HostId, Picos};

const TOML: &str = r#"
name = "triangle"
[defaults]
rate = "10 Gbps"
delay = "1 us"

[[switch]]
name = "x"
[[switch]]
name = "y"
[[host]]
name = "b"
[[host]]
name = "a"

[[link]]
between = ["a", "x"]
[[link]]
between = ["y", "b"]
rate = "25 Gbps"
[[link]]
between = ["x", "y"]
delay = "5 us"
lanes = 2
"#;

const TOPO: &str = "# two pods, double links to the core
NODES 8
Tiers 3
podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 100
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 500
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 2000   # long cables
Switch_Latency_ns 300
Bundle 2";

const HPCC: &str = "5 2 4
1 3
0 1 25Gbps 1000ns 0.000000
2 1 25Gbps 0.001ms 0
4 3 100Gbps 1us 0
1 3 100Gbps 1us 0

what follows is only a comment
";

const SNDLIB: &str = r#"<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta><unit>MBITPERSEC</unit></meta>
 <networkStructure>
  <nodes coordinatesType="geographical"><node id="A"/><node id="B"/><node id="C"/></nodes>
  <links>
   <link id="1"><source>A</source><target>B</target>
    <preInstalledModule><capacity>9920.0</capacity></preInstalledModule>
    <additionalModules><addModule><capacity>40000.0</capacity></addModule></additionalModules></link>
   <link id="2"><source>B</source><target>C</target>
    <additionalModules><addModule><capacity>10</capacity></addModule><addModule><capacity>2500.5</capacity></addModule></additionalModules></link>
  </links>
 </networkStructure>
</network>"#;

fn read(name: &str, text: &str) -> Result<Topology, LoadErrors> {
    load(name, text, &LoadOptions::default())
}

/// The network described by a text.
fn good(name: &str, text: &str) -> Topology {
    let topology = read(name, text).unwrap();
    assert_wired(&topology);
    for src in topology.hosts.ids() {
        topology.hosts.ids().for_each(|dst| assert_paths(&topology, src, dst));
    }
    topology
}

/// The error for a text in which `from` is replaced by `to`.
fn error(name: &str, text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    read(name, &text.replacen(from, to, 1)).unwrap_err().to_string()
}

fn route(topology: &Topology, src: u32, dst: u32, path: u16) -> Vec<String> {
    let route = topology.route(HostId::new(src), HostId::new(dst), path);
    let text = |port| {
        format!(
            "{} {} {}",
            topology.port_name(port),
            topology.ports[port].link.rate,
            topology.ports[port].link.delay
        )
    };
    route.into_iter().map(text).collect()
}

#[test]
fn own_format() {
    let net = good("dir/net.toml", TOML);
    assert_eq!(net.name, "triangle");
    assert_eq!(route(&net, 1, 0, 1), ["x -> y 10 Gbps 5 us", "y -> b 25 Gbps 1 us"]);
    assert_eq!(net.nic_name(HostId::new(0)), "b -> y");
    assert_eq!(net.path_count(net.addr(HostId::new(0)), net.addr(HostId::new(1))), 2);
    assert_eq!(good("dir/net.toml", &TOML.replace("name = \"triangle\"", "")).name, "net");
}

#[test]
fn a_link_can_differ_by_direction() {
    let text = TOML.replace("lanes = 2", "lanes = 2\nback = { rate = \"1 Gbps\", delay = \"7 us\" }");
    let text =
        text.replace("between = [\"a\", \"x\"]", "between = [\"a\", \"x\"]\nback = { delay = \"3 us\" }");
    let topology = good("asymmetric.toml", &text);
    let link = |from: &str, to: &str| {
        let named = |link: &pullnet_topology::LinkRef| {
            let (one, other) = topology.link_ends(*link);
            topology.node_name(one) == from && topology.node_name(other) == to
        };
        let found: Vec<_> = topology.links().filter(named).map(|link| topology.link(link)).collect();
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "parallel links are alike");
        (found[0].rate, found[0].delay)
    };
    let gbps = BitsPerSec::gbps;
    assert_eq!(link("x", "y"), (gbps(10), Picos::from_micros(5)));
    assert_eq!(link("y", "x"), (gbps(1), Picos::from_micros(7)));
    assert_eq!(link("a", "x"), (gbps(10), Picos::from_micros(1)));
    assert_eq!(link("x", "a"), (gbps(10), Picos::from_micros(3)));
    assert_eq!(topology.inbound(topology.host_named("a")).delay, Picos::from_micros(3));
    let b = topology.host_named("b");
    let there = topology.ideal_fct(topology.host_named("a"), b, 8936, 8936, 64);
    let back = topology.ideal_fct(b, topology.host_named("a"), 8936, 8936, 64);
    // 9000 B: 7.2 us at 10 Gb/s, 2.88 us at 25 Gb/s, 72 us at 1 Gb/s.
    assert_eq!(there, Picos::from_nanos(7_200 + 1_000 + 7_200 + 5_000 + 2_880 + 1_000));
    assert_eq!(back, Picos::from_nanos(2_880 + 1_000 + 72_000 + 7_000 + 7_200 + 3_000));
    assert!(
        error("a.toml", &text, "delay = \"7 us\"", "lanes = 2").contains("unknown key \"lanes\" in back")
    );
    assert!(error("a.toml", &text, "delay = \"7 us\"", "delay = \"0 us\"").contains("a link needs a delay"));
    assert!(
        error("a.toml", &text, "back = { delay = \"3 us\" }", "back = 3").contains("is not a table [back]")
    );
}

trait HostNamed {
    fn host_named(&self, name: &str) -> HostId;
}

impl HostNamed for Topology {
    fn host_named(&self, name: &str) -> HostId {
        let host = |id: &HostId| self.node_name(self.hosts[*id].node) == name;
        self.hosts.ids().find(host).expect("a host of that name")
    }
}

#[test]
fn own_format_refusals() {
    let wrong = |from, to| error("net.toml", TOML, from, to);
    assert_eq!(
        wrong("lanes = 2", "lane = 2"),
        "net.toml:24: unknown key \"lane\" in link; use one of between, rate, delay, back, lanes"
    );
    assert_eq!(
        wrong("lanes = 2", "lanes = 0"),
        "net.toml:24: lanes = 0 is not a whole number from 1 to 65535; write a whole number from 1 to 65535"
    );
    assert_eq!(
        wrong("\"25 Gbps\"", "\"25\""),
        "net.toml:20: rate = \"25\" has no unit; use one of bps, kbps, Mbps, Gbps, Tbps, \
         for instance \"10 Gbps\""
    );
    assert_eq!(
        wrong("\"25 Gbps\"", "25"),
        "net.toml:20: rate = 25 is not a text in quotes; write a text in quotes"
    );
    assert_eq!(
        wrong("\"5 us\"", "\"0 us\""),
        "net.toml:21: link between \"x\" and \"y\": delay = 0; a link needs a delay, for instance \"1 us\""
    );
    assert_eq!(
        wrong("[\"a\", \"x\"]", "[\"a\", \"z\"]"),
        "net.toml:16: there is no node \"z\"; name a host or switch of this file"
    );
    assert!(wrong("[\"a\", \"x\"]", "[\"a\"]").contains("between = [\"a\"] is not a pair of names"));
    assert_eq!(
        wrong("delay = \"1 us\"", ""),
        "net.toml:16: link has no delay; write for instance delay = \"1 us\"\n\
         net.toml:18: link has no delay; write for instance delay = \"1 us\""
    );
    assert!(wrong("[defaults]", "[defaults").starts_with("net.toml:3: not TOML: "));
    assert_eq!(
        wrong("name = \"a\"", "name = \"b\""),
        "net.toml:13: there are two nodes named \"b\"; rename one of them"
    );
    assert_eq!(
        read("net.toml", "host = [1]").unwrap_err().to_string(),
        "net.toml:1: host = 1 is not a list of tables [[host]]; write a list of tables [[host]]"
    );
    assert_eq!(
        wrong("between = [\"a\", \"x\"]", "between = [\"x\", \"y\"]"),
        "net.toml: host \"a\" has no link; add a link or remove it"
    );
    assert_eq!(
        read("net.gml", "").unwrap_err().to_string(),
        "net.gml:1: ending \".gml\" names no format; use .toml (own format), .topo (htsim), .txt (HPCC) or .xml (SNDlib)"
    );
    for bare in ["net", "folder.d/net", ".toml"] {
        let error = read(bare, "").unwrap_err().to_string();
        assert!(error.contains("a file name without ending names no format; use .toml"), "{error}");
    }
}

#[test]
fn htsim_tree() {
    let tree = good("tree.topo", TOPO);
    assert_eq!((tree.hosts.len(), tree.parts), (8, 2));
    assert_eq!(tree.path_count(tree.addr(HostId::new(0)), tree.addr(HostId::new(7))), 8);
    assert_eq!(
        route(&tree, 0, 7, 7),
        [
            "tor 0 -> agg 1 200 Gbps 500 ns",
            "agg 1 -> core 3 100 Gbps 2300 ns",
            "core 3 -> agg 3 100 Gbps 2 us",
            "agg 3 -> tor 3 200 Gbps 600 ns",
            "tor 3 -> host 7 200 Gbps 1 us"
        ]
    );
    assert_eq!(tree.hosts[HostId::new(0)].link.delay, Picos::from_nanos(1100));
    let flat = "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\n\
        Downlink_Latency_ns 1000\nOversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n";
    let flat = good("flat.topo", flat);
    assert_eq!((flat.hosts.len(), flat.nodes.len()), (32, 32 + 4 + 2));
}

#[test]
fn htsim_refusals() {
    let wrong = |from, to| error("t.topo", TOPO, from, to);
    assert_eq!(
        wrong("NODES 8", "NODES 9"),
        "t.topo:2: nodes = 9, but the radices make it 8; use 8 or change the radices"
    );
    assert_eq!(wrong("NODES 8", "NODES x"), "t.topo:2: nodes = \"x\" is no number; write a number");
    assert_eq!(wrong("NODES 8", ""), "t.topo:1: the header has no nodes; add a line \"nodes <number>\"");
    assert_eq!(wrong("Tiers 3", "Tiers 4"), "t.topo:3: tiers = 4 is not possible; use 2 or 3");
    assert_eq!(wrong("Tiers 3", "Tiers 2"), "t.topo:16: Tier 2 of 2 tiers; remove the block or raise Tiers");
    assert_eq!(wrong("Tier 2", "Tier 1"), "t.topo:16: Tier 1 is there twice; keep one of the blocks");
    assert_eq!(wrong("Tier 2", "Tier 3"), "t.topo:16: Tier 3; use 0 (ToR), 1 (aggregation) or 2 (core)");
    assert_eq!(
        wrong("Bundle 2", "Bundle 3"),
        "t.topo:18: radix_down = 4 is not a multiple of the bundle of 3 links; use a multiple of 3"
    );
    assert_eq!(
        wrong("Bundle 2", "Bundle 2 3"),
        "t.topo:21: \"3\" after Bundle 2; write one key and one number per line"
    );
    assert_eq!(wrong("Bundle 2", "Bundle"), "t.topo:21: Bundle has no value; write a number");
    assert_eq!(
        wrong("Bundle 2", "Radix_Up 2"),
        "t.topo:21: radix_up = 2 of the highest tier; remove the line; nothing is above it"
    );
    assert_eq!(
        wrong("Bundle 2", "Queue_Up 100"),
        "t.topo:21: queue_up 100 has no effect here; remove the line and set the queues in the scenario's [switch] table"
    );
    assert!(
        wrong("Bundle 2", "Bundel 2")
            .starts_with("t.topo:21: unknown key \"bundel\"; use one of downlink_speed_gbps")
    );
    assert_eq!(
        wrong("Radix_Up 2", "Radix_Up 0"),
        "t.topo:8: radix_up = 0 is out of range; use 1 to 16777216"
    );
    assert_eq!(
        wrong("Switch_Latency_ns 100", "Oversubscribed 2"),
        "t.topo:10: oversubscribed = 2, but there are 2 links down and 2 up; change it or the radices"
    );
    assert_eq!(
        wrong("Downlink_Latency_ns 500", "Downlink_Latency_ns 0"),
        "t.topo:15: downlink_latency_ns = 0; a link needs a delay, for instance 1000"
    );
    assert!(
        wrong("Downlink_speed_Gbps 100", "Downlink_speed_Gbps 0")
            .starts_with("t.topo:17: downlink_speed_gbps = \"0 Gbps\" is out of range")
    );
    let options = LoadOptions { max_paths: Some(4), ..LoadOptions::default() };
    assert_eq!(
        load("t.topo", TOPO, &options).unwrap_err().to_string(),
        "t.topo:1: max_paths has no effect on this format; leave it out; a tree has all its paths"
    );
}

#[test]
fn hpcc() {
    let net = good("mix/five.txt", HPCC);
    assert_eq!((net.hosts.len(), net.name.as_str()), (3, "five"));
    assert_eq!(route(&net, 1, 2, 0), ["node 1 -> node 3 100 Gbps 1 us", "node 3 -> node 4 100 Gbps 1 us"]);
    assert_eq!(net.nic_name(HostId::new(1)), "node 2 -> node 1");
}

#[test]
fn hpcc_refusals() {
    let wrong = |from, to| error("h.txt", HPCC, from, to);
    assert_eq!(wrong("5 2 4", "5 2"), "h.txt:1: number of links is missing; write a number");
    assert_eq!(
        wrong("5 2 4", "5 3 4"),
        "h.txt:2: 2 switch ids, but the first line says 3; correct the one or the other"
    );
    assert_eq!(wrong("1 3", "1 7"), "h.txt:2: switch id 7 of 5 nodes; use ids from 0 to 4");
    assert_eq!(wrong("1 3", "1 1"), "h.txt:2: switch id 1 is there twice; name each switch once");
    assert_eq!(
        wrong("25Gbps", "25"),
        "h.txt:3: rate = \"25\" has no unit; use one of bps, kbps, Mbps, Gbps, Tbps, for instance \"10 Gbps\""
    );
    assert_eq!(
        wrong("0.000000", "0.01"),
        "h.txt:3: error_rate = 0.01; use 0 and describe the loss by a [[fault]] of the scenario"
    );
    assert!(
        wrong("0 1 25Gbps", "0 25Gbps")
            .starts_with("h.txt:3: \"0 25Gbps 1000ns 0.000000\" is no link; write \"a b rate")
    );
    assert_eq!(
        wrong("2 1 25Gbps", "0 3 25Gbps"),
        "h.txt:4: link between \"node 0\" and \"node 3\": host \"node 0\" has a link already; \
         a host has one NIC; keep one link (host_links = \"first\" does so for all hosts), or use all of them by host_links = \"all\""
    );
    assert_eq!(
        wrong("4 3 100", "9 3 100"),
        "h.txt:5: there is no node \"node 9\"; name a host or switch of this file"
    );
    assert!(wrong("5 2 4", "5 2 400").starts_with("h.txt:1: number of links = 400; the file has "));
    assert!(
        wrong("5 2 4", "999999 2 4")
            .starts_with("h.txt:1: number of nodes = 999999, but 4 links join at most 8")
    );
    assert!(wrong("5 2 4", "5 2 6").starts_with("h.txt:8: \"what follows is only a comment\" is no link"));
    let options = LoadOptions { delay: Some(Picos(1)), ..LoadOptions::default() };
    assert_eq!(
        load("h.txt", HPCC, &options).unwrap_err().to_string(),
        "h.txt:1: delay has no effect on this format; leave it out"
    );
}

#[test]
fn sndlib() {
    let net = good("abc.xml", SNDLIB);
    assert_eq!(net.hosts.len(), 3);
    assert_eq!(
        route(&net, 0, 2, 0),
        ["A -> B 9920 Mbps 1 ms", "B -> C 2500500 kbps 1 ms", "C -> host C 2500500 kbps 1 ms"]
    );
    assert_eq!(net.hosts[HostId::new(1)].link.rate, BitsPerSec::new(12_420_500_000).unwrap());
    let rate = BitsPerSec::new(7_000);
    let options = LoadOptions { delay: Some(Picos(3)), host_rate: rate, ..LoadOptions::default() };
    let net = load("abc.xml", SNDLIB, &options).unwrap();
    assert_eq!(
        (net.hosts[HostId::new(0)].link.rate, net.hosts[HostId::new(0)].link.delay),
        (rate.unwrap(), Picos(3))
    );
}

#[test]
fn sndlib_refusals() {
    let wrong = |from, to| error("n.xml", SNDLIB, from, to);
    assert_eq!(
        wrong("<unit>MBITPERSEC</unit>", ""),
        "n.xml:2: the file states no unit of capacity that is a rate; \
         state what capacity 1 means, for instance capacity_unit = \"1 Gbps\""
    );
    let twice = LoadOptions { capacity_unit: BitsPerSec::new(1000), ..LoadOptions::default() };
    assert_eq!(
        load("n.xml", SNDLIB, &twice).unwrap_err().to_string(),
        "n.xml:3: the file states a unit of capacity, and so does capacity_unit; leave capacity_unit out"
    );
    assert!(wrong("</nodes>", "").starts_with("n.xml:13: not XML: "));
    assert_eq!(
        wrong("<target>B", "<target>Z"),
        "n.xml:7: there is no node \"Z\"; name a host or switch of this file"
    );
    assert_eq!(
        wrong("<target>B", "<target>A"),
        "n.xml:7: link between \"A\" and \"A\": both ends are the same node; name two nodes"
    );
    assert_eq!(wrong("<target>C", "<target>A"), "n.xml:5: node \"C\" has no link; add a link or remove it");
    assert_eq!(
        wrong("<source>A</source>", ""),
        "n.xml:7: <link> has no <source>; use an SNDlib network as it was published"
    );
    assert_eq!(wrong("9920.0", "many"), "n.xml:8: capacity = \"many\" is no number; write a number");
    assert_eq!(wrong("9920.0", "-1"), "n.xml:8: capacity = -1 is out of range; use 0 to 1000 Tbps");
    assert_eq!(wrong("9920.0", "1e99"), "n.xml:8: capacity = 1e99 is out of range; use 0 to 1000 Tbps");
}

/// A text of some format with a piece removed, duplicated or replaced.
fn damaged() -> impl Strategy<Value = (&'static str, String)> {
    let formats =
        prop::sample::select(vec![("a.toml", TOML), ("a.topo", TOPO), ("a.txt", HPCC), ("a.xml", SNDLIB)]);
    let pieces = prop::sample::select(vec![
        "",
        "0",
        "-1",
        "99999999999",
        "16777216",
        "65535",
        "\n",
        "[",
        "<",
        "\"",
        "é",
        "NaN",
        "Tier 1\n",
    ]);
    let place = any::<prop::sample::Index>();
    (formats, prop::collection::vec((place, 0usize..12, pieces), 1..4)).prop_map(|((name, text), edits)| {
        let mut text: Vec<char> = text.chars().collect();
        for (at, length, piece) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, piece.chars());
        }
        (name, text.into_iter().collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn damaged_files_are_read_or_refused((name, text) in damaged()) {
        match read(name, &text) {
            Ok(topology) => assert_wired(&topology),
            Err(error) => prop_assert!(error.to_string().starts_with(name), "{error}"),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(name in "[ab]\\.(toml|topo|txt|xml|csv)", text in "\\PC{0,60}") {
        prop_assert!(read(&name, &text).is_err());
    }
}

/// Hosts with two NICs, as in HPCC's larger network.
#[test]
fn of_several_links_of_a_host_the_first_can_be_used() {
    let links = ["0 2 25Gbps", "0 3 10Gbps", "1 3 25Gbps", "1 2 10Gbps", "2 3 100Gbps"];
    let text = format!("4 2 5\n2 3\n{}", links.map(|link| format!("{link} 1us 0\n")).concat());
    let refused = load("two.txt", &text, &LoadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("two.txt:4: link between \"node 0\" and \"node 3\""), "{refused}");
    assert!(refused.contains("host_links = \"first\""), "{refused}");
    let options = LoadOptions { host_links: HostLinks::First, ..LoadOptions::default() };
    let topology = load("two.txt", &text, &options).unwrap();
    let rates: Vec<_> = topology.hosts.iter().map(|host| host.link.rate).collect();
    assert_eq!(rates, [BitsPerSec::gbps(25); 2]);
    let second = "4 2 4\n2 3\n0 2 25Gbps 1us 0\n0 3 25Gbps 1us 0\n1 2 25Gbps 1us 0\n1 3 25Gbps 1us 0\n";
    let alone = load("two.txt", second, &options).unwrap_err().to_string();
    assert!(alone.contains("switch \"node 3\" has no link; add a link or remove it; host_links"), "{alone}");
}

#[test]
fn all_errors_of_a_file_come_at_once() {
    let lines = |name: &str, text: &str| -> Vec<String> {
        let told = read(name, text).unwrap_err().to_string();
        told.lines().map(|line| line[..line.find(' ').unwrap()].to_owned()).collect()
    };
    let wrong = TOML
        .replace("name = \"triangle\"", "nmae = 1")
        .replace("25 Gbps", "25")
        .replace("lanes = 2", "lanes = 0");
    assert_eq!(lines("net.toml", &wrong), ["net.toml:2:", "net.toml:20:", "net.toml:24:"]);
    let wrong = TOPO.replace("Tiers 3", "Tiers").replace("Tier 1", "Tier 7").replace("Bundle 2", "Bundel 2");
    assert_eq!(lines("t.topo", &wrong), ["t.topo:3:", "t.topo:11:", "t.topo:21:"]);
    let wrong = HPCC.replace("25Gbps 1000ns", "25 1000ns").replace("4 3 100Gbps 1us 0", "4 9 100Gbps 1us 0");
    assert_eq!(lines("h.txt", &wrong), ["h.txt:3:", "h.txt:5:"]);
    let wrong = SNDLIB.replace("<target>B", "<target>D").replace("<source>B", "<source>E");
    assert_eq!(lines("n.xml", &wrong).len(), 3); // A is alone, too
    let many = format!("{TOML}{}", "[[link]]\nbetween = [\"a\", \"z\"]\n".repeat(30));
    let told = read("net.toml", &many).unwrap_err().to_string();
    assert_eq!(told.lines().count(), 21);
    assert!(told.ends_with("and 10 more errors from here on; mend those above first"), "{told}");
}
