//! The testbed of a scenario carries frames as the scenario's network does.

#[path = "../../switch/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use pullnet_qdisc::Trim;
use pullnet_scenario::{Disk, Scenario, compile};
use pullnet_switch::config::SwitchFile;
use pullnet_switch::{Fabric, Kind, Slot};
use pullnet_testbed::plan::{NoPlan, Plan};
use pullnet_units::{HostId, Instant};

fn scenario(topology: &str) -> Scenario {
    let text = format!(
        "name = \"bed\"\nuntil = \"all flows done\"\ntopology = {{ {topology} }}\ntransport = {{ kind = \"ndp\" }}\n\
         switch = {{ kind = \"trim\" }}\n[[traffic]]\nkind = \"incast\"\ndegree = 1\nsize = \"9 kB\"\n"
    );
    compile("bed.toml", &text, &[], &BTreeMap::new()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

const LINK: &str = "link = { rate = \"1 Gbps\", delay = \"1 us\" }";

fn read(plan: &Plan) -> SwitchFile {
    SwitchFile::read("switch.toml", &plan.switch_file, &Disk)
        .unwrap_or_else(|errors| panic!("{errors:#?}\n{}", plan.switch_file))
}

/// Sends a frame from every host to every other on every path; each arrives at its host after the delay of its path.
fn everybody_reaches_everybody(topology: &str) -> (usize, usize) {
    let scenario = scenario(topology);
    let plan = Plan::of(&scenario).unwrap();
    let file = read(&plan);
    let ports: Vec<_> = file.ports.iter().map(|port| port.settings).collect();
    let config = pullnet_qdisc::TrimConfig::default();
    let mut fabric =
        Fabric::<Trim<Slot>, _, _>::new(&config, file.fabric, &ports, common::Toy, common::Log::default())
            .unwrap();
    for (node, mac, entry) in &file.entries {
        fabric.forward(*node, *mac, entry.clone());
    }
    let network = &scenario.topology;
    let mut frames = 0;
    for from in network.hosts.ids() {
        for to in network.hosts.ids().filter(|to| *to != from) {
            let [a, b] = [from, to].map(|host| network.addr(host));
            for path in 0..network.path_count(a, b) {
                let label = network.label(a, b, path);
                let mut frame = common::Frame {
                    from: 0,
                    to: 0,
                    kind: Kind::Data,
                    label: label.get(),
                    id: 1,
                    length: 500,
                }
                .bytes();
                frame[..6].copy_from_slice(&bytes(&plan, to));
                frame[6..12].copy_from_slice(&bytes(&plan, from));
                let (start, before) = (fabric.now(), sent(&fabric));
                fabric.arrive(file.port(&plan.hosts[from.get() as usize].port).unwrap(), start, &frame);
                fabric.advance(Instant(start.0 + 1_000_000_000));
                let gone = fabric.poll_departure().expect("it arrives");
                assert_eq!(file.ports[gone.port.get() as usize].name, plan.hosts[to.get() as usize].port);
                let links = network.route(from, to, path).len() as u64 + 1;
                assert_eq!(gone.at.since(start).0, links * (4_000_000 + 1_000_000), "{from:?} {to:?} {path}");
                let taken =
                    sent(&fabric).into_iter().zip(&before).filter(|(now, before)| now > *before).count();
                assert_eq!(taken as u64, links - 1, "no other port sent anything");
                for port in network.route(from, to, path) {
                    // Ports are numbered as in the simulator.
                    assert_eq!(
                        sent(&fabric)[port.get() as usize] - before[port.get() as usize],
                        1,
                        "{port:?}"
                    );
                }
                fabric.release(gone.frame);
                frames += 1;
            }
        }
    }
    (plan.hosts.len(), frames)
}

/// Frames that each port has sent.
fn sent(fabric: &Fabric<Trim<Slot>, common::Toy, common::Log>) -> Vec<u64> {
    let ports = 0..fabric.ports() as u32;
    ports.map(|port| fabric.counters(pullnet_units::PortId::new(port)).if_out_ucast_pkts).collect()
}

fn bytes(plan: &Plan, host: HostId) -> [u8; 6] {
    let text = plan.hosts[host.get() as usize].mac.to_string();
    let parts: Vec<u8> = text.split(':').map(|part| u8::from_str_radix(part, 16).unwrap()).collect();
    parts.try_into().unwrap()
}

#[test]
fn frames_take_the_paths_of_the_scenario() {
    assert_eq!(everybody_reaches_everybody(&format!("kind = \"star\", hosts = 8, {LINK}")), (8, 56));
    // The paper's testbed: 8 servers, four leaves and two spines of four ports each.
    let paper = format!("kind = \"leaf-spine\", leaves = 4, spines = 2, hosts_per_leaf = 2, {LINK}");
    assert_eq!(everybody_reaches_everybody(&paper), (8, 8 + 48 * 2));
    assert_eq!(everybody_reaches_everybody(&format!("kind = \"fat-tree\", k = 4, {LINK}")).0, 16);
    assert_eq!(
        everybody_reaches_everybody(&format!("kind = \"dumbbell\", left = 2, right = 3, {LINK}")),
        (5, 20)
    );
}

#[test]
fn two_hosts_back_to_back_have_a_line_between_them() {
    let plan = Plan::of(&scenario(&format!("kind = \"back-to-back\", {LINK}"))).unwrap();
    let file = read(&plan);
    assert_eq!((file.ports.len(), file.discipline.name()), (2, "drop-tail"));
    assert!(file.ports.iter().all(|port| !port.settings.paced));
}

#[test]
fn a_network_beyond_a_machine_is_refused() {
    assert_eq!(Plan::of(&scenario(&format!("kind = \"fat-tree\", k = 12, {LINK}"))), Err(NoPlan::Hosts(432)));
}

#[test]
fn cut_through_switches_are_refused() {
    let text = format!("kind = \"star\", hosts = 3, switching = \"cut-through\", {LINK}");
    assert_eq!(Plan::of(&scenario(&text)), Err(NoPlan::CutThrough));
}

#[test]
fn the_scenarios_for_testbeds_are_good() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/testbed");
    let mut hosts = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let (name, text) = (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        let scenario = compile(&name, &text, &[], &Disk).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let plan = Plan::of(&scenario).unwrap();
        let switches = read(&plan)
            .ports
            .iter()
            .map(|port| port.switch.clone())
            .collect::<std::collections::BTreeSet<_>>();
        hosts.insert(
            path.file_name().unwrap().to_string_lossy().into_owned(),
            (plan.hosts.len(), switches.len()),
        );
    }
    let expected = [
        ("back-to-back.toml", (2, 1)),
        ("paper.toml", (8, 6)),
        ("star-drop-tail.toml", (8, 1)),
        ("star.toml", (8, 1)),
    ];
    assert_eq!(hosts, expected.map(|(name, sizes)| (name.to_owned(), sizes)).into());
}
