//! The engine agrees with a simulator that does one thing at a time: every flow starts and ends at the same picosecond, and
//! every NIC and port sends, marks, trims, returns, drops and loses the same. Networks have faults and forward by path, hash,
//! chance or load; traffic is open, closed, in sessions of several senders or receivers, or in the steps of a collective
//! operation.

use crate::common::reference::{Counts, Ended, Parcel, Reference};
use crate::common::scenarios::{self, carried_by, fault, fetch, replicate};
use crate::common::{compiled, simulate};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use pullnet_protocols::{PROTOCOLS, ProtocolEntry};
use pullnet_qdisc::{Discipline, with_discipline};
use pullnet_record::RunRecord;
use pullnet_scenario::{Scenario, Stop};
use pullnet_units::Instant;

/// What a run leaves: flows, and the counters of NICs and ports.
type Left = (Vec<Ended>, Vec<Counts>, Vec<Counts>);

/// Packets for a group belong to all of its flows: the first flow of each session has those of all.
fn sum_sessions(flows: &mut [Ended], sessions: &[usize]) {
    for (flow, first) in sessions.iter().enumerate() {
        let sent = core::mem::take(&mut flows[flow].sent);
        flows[*first].sent += sent;
    }
}

fn by_reference<Q: Discipline<Parcel>>(scenario: &Scenario, switch: &Q::Config) -> Left {
    let mut reference = Reference::<Q>::new(scenario, switch);
    let Stop::At(end) = scenario.stop else { panic!("a fixed end") };
    reference.run(end);
    let (nics, ports) = reference.counts();
    let mut flows = reference.flows.clone();
    sum_sessions(&mut flows, &reference.sessions);
    flows.retain(|flow| flow.start < Instant::NEVER);
    (flows, nics, ports)
}

fn by_engine(record: &RunRecord) -> Left {
    let flow = |row: &pullnet_record::FlowRow| Ended {
        start: row.start,
        received: row.received,
        acknowledged: row.acknowledged,
        failed: row.failed.is_some(),
        delivered: row.delivered,
        sent: row.packets_sent.into(),
        lost: row.lost.into(),
    };
    let port = |row: &pullnet_record::PortRow| Counts {
        packets: row.packets,
        bytes: row.bytes,
        lost: row.lost,
        pauses: row.pauses,
        marked: row.marked,
        trimmed: row.trimmed,
        returned: row.returned,
        dropped: row.dropped,
    };
    let sessions: Vec<_> = record.flows.iter().map(|row| row.session as usize).collect();
    let mut flows: Vec<_> = record.flows.iter().map(flow).collect();
    sum_sessions(&mut flows, &sessions);
    let (ports, nics): (Vec<_>, Vec<_>) = record.ports.iter().partition(|row| row.port.is_some());
    let counts = |rows: Vec<&pullnet_record::PortRow>| rows.into_iter().map(port).collect();
    (flows, counts(nics), counts(ports))
}

fn agree(text: &str) -> Result<(), TestCaseError> {
    let scenario = compiled(text, &[]);
    let reference =
        with_discipline!(&scenario.switch, |switch: Q| by_reference::<Q<Parcel>>(&scenario, switch));
    let engine = by_engine(&simulate(&scenario, 1));
    prop_assert_eq!(engine.0.len(), reference.0.len(), "flows\n{}", text);
    for (number, (own, other)) in engine.0.iter().zip(&reference.0).enumerate() {
        prop_assert_eq!(own, other, "flow {}, engine (left) and reference (right)\n{}", number, text);
    }
    for (kind, own, other) in [("NIC", engine.1, reference.1), ("port", engine.2, reference.2)] {
        prop_assert_eq!(own.len(), other.len());
        for (number, (own, other)) in own.iter().zip(&other).enumerate() {
            prop_assert_eq!(own, other, "{} {}, engine (left) and reference (right)\n{}", kind, number, text);
        }
    }
    Ok(())
}

/// A topology, the number of its hosts, and a place where something can go wrong.
fn topology() -> impl Strategy<Value = (String, u32, &'static str)> {
    let link =
        (select(&["1 Gbps", "3 Gbps", "10 Gbps", "100 Gbps"][..]), select(&["300 ns", "1 us", "7 us"][..]))
            .prop_map(|(rate, delay)| format!("{{ rate = \"{rate}\", delay = \"{delay}\" }}"));
    let shape = select(
        &[
            ("kind = \"fat-tree\"\nk = 4\noversubscription = { tor = 2 }", 32, "level agg->tor"),
            ("kind = \"fat-tree\"\nk = 4\ntiers = 2", 8, "switch tor 0"),
            ("kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 4", 12, "all links"),
            ("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 3\nlanes = 2", 6, "host 0"),
            ("kind = \"vl2\"\nda = 4\ndi = 4\nhosts_per_tor = 2", 8, "level tor->agg"),
            ("kind = \"jellyfish\"\nswitches = 6\nports = 5\ndegree = 3\nseed = 4", 12, "host 1"),
            ("kind = \"star\"\nhosts = 9", 9, "host 1"),
            ("kind = \"dumbbell\"\nleft = 4\nright = 3", 7, "all links"),
            ("kind = \"back-to-back\"", 2, "host 0"),
        ][..],
    );
    let switching = select(&["store-and-forward", "cut-through", "cut-through-always"][..]);
    (shape, switching, link.clone(), prop::option::of(link)).prop_map(
        |((shape, hosts, place), switching, link, host)| {
            let own = host
                .filter(|_| !shape.contains("star") && !shape.contains("back"))
                .map_or(String::new(), |host| format!("\nhost_link = {host}"));
            (format!("{shape}\nswitching = \"{switching}\"\nlink = {link}{own}"), hosts, place)
        },
    )
}

/// Traffic of flows or sessions of `size` bytes among `hosts` hosts: open in two of three cases.
fn traffic(hosts: u32, size: u32) -> impl Strategy<Value = String> {
    let open = select(
        &[
            "kind = \"permutation\"",
            "kind = \"random\"\nflows_per_host = 2",
            "kind = \"incast\"",
            "kind = \"outcast\"",
            "kind = \"all-to-all\"\nhosts = \"first 2\"",
        ][..],
    );
    let open = open.prop_map(move |kind| format!("{kind}\nsize = \"{size} B\""));
    let more = (0u32..6, 1u32..=3).prop_map(move |(kind, some)| match kind {
        0 => {
            let end = ["acknowledged", "received"][some as usize % 2];
            format!(
                "kind = \"closed-loop\"\nthink = \"{} ns\"\nflows_per_connection = 5\nsizes.fixed = \"{} B\"\nwait_for = \"{end}\"",
                (some - 1) * 700, size / 5 + 1
            )
        }
        1 => format!(
            "kind = \"request-response\"\nrequest = \"{some} B\"\nresponse = \"{} B\"\nrequests_per_connection = 4", size / 3 + 1
        ),
        2 => format!("kind = \"incast\"\nrepeat = {}\nsize = \"{} B\"", some + 1, size / 4 + 1),
        3 => {
            let how = [("all-reduce", "ring"), ("all-gather", "direct"), ("broadcast", "tree")][some as usize - 1];
            format!(
                "kind = \"collective\"\noperation = \"{}\"\nalgorithm = \"{}\"\nsize = \"{} B\"\nhosts = \"first {}\"\nreaction = \"{} ns\"",
                how.0, how.1, size + 6, hosts.min(6), (some - 1) * 900
            )
        }
        4 => replicate(hosts, size, some),
        _ => fetch(hosts, size + 3, some),
    });
    prop_oneof![2 => open, 1 => more]
}

/// The protocols of these names.
fn named(names: &[&str]) -> Vec<ProtocolEntry> {
    PROTOCOLS.iter().filter(|row| names.contains(&row.name)).copied().collect()
}

/// One of `protocols`: its longest payload, its settings, and those for the choice of paths.
fn transport(protocols: Vec<ProtocolEntry>) -> impl Strategy<Value = (u32, String, String)> {
    (select(&[64u32, 700, 1500, 9000][..]), select(&[40u32, 64][..])).prop_flat_map(move |(mtu, header)| {
        let settings = scenarios::transport_among(protocols.clone(), mtu, header);
        (Just(mtu), settings).prop_map(|(mtu, (own, paths))| (mtu, own, paths))
    })
}

fn scenario() -> impl Strategy<Value = String> {
    let switch = prop_oneof![
        3 => (1u32..9, select(&["1 packets", "3 packets", "640 B", "72 kB"][..]), any::<bool>()).prop_map(|(data, control, back)| format!(
            "kind = \"trim\"\ndata_queue = \"{data} packets\"\ncontrol_queue = \"{control}\"\nreturn_to_sender = {back}"
        )),
        1 => (2u32..40).prop_map(|packets| format!("kind = \"drop-tail\"\nqueue = \"{packets} packets\"")),
        1 => (2u32..40).prop_map(|packets| format!("kind = \"drop-tail\"\nqueue = \"{packets} packets\"\nmark_above = \"3 packets\"")),
        1 => (2u32..40).prop_map(|packets| format!("kind = \"pfabric\"\nqueue = \"{packets} packets\"")),
        1 => (2u32..40, any::<bool>()).prop_map(|(packets, own)| format!(
            "kind = \"priority\"\nqueue = \"{packets} packets\"\nsharing = \"{}\"\nmark_above = \"3 packets\"", if own { "class" } else { "port" }
        )),
        1 => (5u32..40).prop_map(|packets| format!("kind = \"red\"\nqueue = \"{packets} packets\"\nweight = 0.1\nprobability = 0.3")),
        1 => (1u32..9, select(&[0.2, 0.5][..])).prop_map(|(data, share)| format!("kind = \"split\"\ndata_queue = \"{data} packets\"\nqueue = \"30 packets\"\nmark_above = \"9 kB\"\ntrim_share = {share:?}")),
        1 => (20u32..200).prop_map(|kilo| format!("kind = \"shared-buffer\"\npool = \"{kilo} kB\"\nalpha = 2.0")),
        2 => scenarios::pfc(&[0, 40, 65_535]),
    ];
    // The switches of SCDP, for its transports only, and others for any two transports.
    let joint = prop_oneof![
        8 => (switch, prop::collection::vec(transport(PROTOCOLS.to_vec()), 1..=2)),
        1 => (scenarios::scdp(700, 40), prop::collection::vec(transport(named(&["scdp", "polyraptor"])), 1)),
    ];
    let choice = select(&["path", "path", "random", "ecmp", "least-loaded"][..]);
    let parts = (topology(), joint, choice, 1u32..150_000, any::<u32>());
    parts.prop_flat_map(|((topology, hosts, place), (switch, transports), choice, size, seed)| {
        // Small packets: fewer of them.
        let blocks: Vec<_> =
            transports.iter().map(|(mtu, ..)| traffic(hosts, size.min(mtu * 60)).boxed()).collect();
        (blocks, prop::collection::vec(fault(place), 0..=1)).prop_map(move |(traffic, faults)| {
            let (mut all, mut blocks) = (String::new(), String::new());
            // One transport, or two: traffic that starts a little later has the second.
            for (number, (traffic, (_, own, paths))) in traffic.iter().zip(&transports).enumerate() {
                // Two classes at the switch: one for each transport.
                let class =
                    if switch.contains("split") { format!("class = {number}\n") } else { String::new() };
                let paths = if choice == "path" { paths } else { "" };
                all += &format!("[[transport]]\nname = \"number {number}\"\n{class}{own}{paths}");
                let traffic = carried_by(own, traffic);
                blocks += &format!(
                    "[[traffic]]\n{traffic}\nstart = \"{number} us\"\ntransport = \"number {number}\"\n"
                );
            }
            format!(
                "seed = {seed}\nduration = \"3 ms\"\n[topology]\n{topology}\n{all}[switch]\n{switch}\n\
                 forwarding = \"{choice}\"\n{blocks}{}",
                faults.concat()
            )
        })
    })
}

/// The same scenarios every time, unless the environment says otherwise.
fn config() -> ProptestConfig {
    let stated = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { stated.cases } else { 60 };
    let rng_seed = if stated.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { stated.rng_seed };
    ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 200, ..stated }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn engine_and_reference_agree(text in scenario()) {
        agree(&text)?;
    }
}

/// A fat tree of 32 hosts whose links fail, lose or are slow for a while.
fn rare(transport: &str, switch: &str, traffic: &str, rest: &str) -> String {
    format!(
        "seed = 5\nduration = \"3 ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\noversubscription = {{ tor = 2 }}\n\
         link = {{ rate = \"3 Gbps\", delay = \"1 us\" }}\n[transport]\n{transport}\n[switch]\n{switch}\n[[traffic]]\n{traffic}\n{rest}"
    )
}

/// Random scenarios seldom have these.
#[test]
fn engine_and_reference_agree_on_what_is_rare() {
    let (link, host) =
        ("[[fault]]\nplace = \"link agg 0 - tor 0\"\nfrom = \"20 us\"\n", "[[fault]]\nplace = \"host 3\"\n");
    let random = "kind = \"random\"\nsize = \"60 kB\"\nflows_per_host = 2";
    let (to_several, from_several) = (
        "kind = \"replicate\"\nsize = \"60 kB\"\nreceivers = 4\nsessions = 20",
        "kind = \"fetch\"\nsize = \"60 kB\"\nsources = 3\nsessions = 20",
    );
    // Switches leave out the ports of links that are down, at once and as long as they are.
    for forwarding in ["ecmp", "random", "least-loaded"] {
        for state in
            ["down = true\nuntil = \"400 us\"\n", "loss = 0.2\ncorrupt = 0.1\n", "rate = \"100 Mbps\"\n"]
        {
            let switch =
                format!("kind = \"drop-tail\"\nqueue = \"8 packets\"\nforwarding = \"{forwarding}\"");
            agree(&rare("kind = \"ndp\"", &switch, random, &format!("{link}{state}"))).unwrap();
        }
    }
    // Groups have several trees, which go round links that are down; any of several senders may be the last.
    for faults in ["", &format!("{link}down = true\nuntil = \"400 us\"\n"), &format!("{host}loss = 0.3\n")] {
        for traffic in [to_several, from_several] {
            for switch in [
                "kind = \"scdp\"\ndata_queue = \"4 packets\"",
                "kind = \"pfc\"\nquanta = 40\nbuffer = \"400 kB\"\nheadroom = \"0 kB\"\nreserve = \"10 kB\"",
            ] {
                agree(&rare("kind = \"scdp\"\npaths = \"permutation\"", switch, traffic, faults)).unwrap();
            }
        }
    }
}

/// Compares the scenario in the file that `REFERENCE_SCENARIO` names, to look for the cause of a difference.
#[test]
#[ignore = "needs a scenario"]
fn engine_and_reference_agree_on_a_file() {
    let file = std::env::var("REFERENCE_SCENARIO").expect("REFERENCE_SCENARIO=FILE");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    agree(&text).unwrap_or_else(|difference| panic!("{difference}"));
}
