//! The engine agrees with a simulator that does one thing at a time: every flow ends at the same picosecond, and every
//! port sends, trims, returns and drops the same.

use crate::common::reference::{Counts, Ended, Parcel, Reference};
use crate::common::{compiled, simulate};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use pullnet_qdisc::{Discipline, with_discipline};
use pullnet_record::RunRecord;
use pullnet_scenario::{Scenario, Stop};

fn by_reference<Q: Discipline<Parcel>>(scenario: &Scenario, switch: &Q::Config) -> (Vec<Ended>, Vec<Counts>) {
    let mut reference = Reference::<Q>::new(scenario, switch);
    let Stop::At(end) = scenario.stop else { panic!("a fixed end") };
    reference.run(end);
    (reference.flows.clone(), reference.counts())
}

fn by_engine(record: &RunRecord) -> (Vec<Ended>, Vec<Counts>) {
    let flow = |row: &pullnet_record::FlowRow| Ended {
        received: row.received,
        acknowledged: row.acknowledged,
        sent: row.packets_sent.into(),
    };
    let port = |row: &pullnet_record::PortRow| Counts {
        packets: row.packets,
        bytes: row.bytes,
        marked: row.marked,
        trimmed: row.trimmed,
        returned: row.returned,
        dropped: row.dropped,
    };
    let ports = record.ports.iter().filter(|row| row.port.is_some()).map(port);
    (record.flows.iter().map(flow).collect(), ports.collect())
}

fn agree(text: &str) -> Result<(), TestCaseError> {
    let scenario = compiled(text, &[]);
    let (flows, ports) =
        with_discipline!(&scenario.switch, |switch: Q| by_reference::<Q<Parcel>>(&scenario, switch));
    let (own_flows, own_ports) = by_engine(&simulate(&scenario, 1));
    prop_assert_eq!(own_ports.len(), ports.len());
    for (number, (own, other)) in own_flows.iter().zip(&flows).enumerate() {
        prop_assert_eq!(own, other, "flow {}, engine (left) and reference (right)\n{}", number, text);
    }
    // The engine lets ports be late until what they do matters elsewhere: their counts are compared where all is quiet.
    let quiet = flows.iter().all(|flow| flow.acknowledged.is_some());
    for (number, (own, other)) in own_ports.iter().zip(&ports).enumerate().filter(|_| quiet) {
        prop_assert_eq!(own, other, "port {}, engine (left) and reference (right)\n{}", number, text);
    }
    Ok(())
}

fn topology() -> impl Strategy<Value = String> {
    let link =
        (select(&["1 Gbps", "3 Gbps", "10 Gbps", "100 Gbps"][..]), select(&["300 ns", "1 us", "7 us"][..]))
            .prop_map(|(rate, delay)| format!("{{ rate = \"{rate}\", delay = \"{delay}\" }}"));
    let shape = select(
        &[
            "kind = \"fat-tree\"\nk = 4\noversubscription = { tor = 2 }",
            "kind = \"fat-tree\"\nk = 4\ntiers = 2",
            "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 4",
            "kind = \"star\"\nhosts = 9",
            "kind = \"dumbbell\"\nleft = 4\nright = 3",
            "kind = \"back-to-back\"",
        ][..],
    );
    let switching = select(&["store-and-forward", "cut-through", "cut-through-always"][..]);
    (shape, switching, link.clone(), prop::option::of(link)).prop_map(|(shape, switching, link, host)| {
        let own = host
            .filter(|_| !shape.contains("star") && !shape.contains("back"))
            .map_or(String::new(), |host| format!("\nhost_link = {host}"));
        format!("{shape}\nswitching = \"{switching}\"\nlink = {link}{own}")
    })
}

/// A transport with its settings, and its longest payload.
fn transport() -> impl Strategy<Value = (u32, String)> {
    (select(&[64u32, 700, 1500, 9000][..]), select(&[40u32, 64][..])).prop_flat_map(|(mtu, header)| {
        let settings = crate::common::scenarios::transport(mtu, header);
        (Just(mtu), settings.prop_map(|(own, paths)| own + &paths))
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
        2 => crate::common::scenarios::pfc(&[0, 40, 65_535]),
    ];
    let traffic = select(
        &[
            "kind = \"permutation\"",
            "kind = \"random\"\nflows_per_host = 2",
            "kind = \"incast\"",
            "kind = \"outcast\"",
            "kind = \"all-to-all\"\nhosts = \"first 2\"",
        ][..],
    );
    // One transport, or two: traffic that starts a little later has the second.
    let second = prop::option::of((traffic.clone(), transport()));
    (topology(), switch, traffic, transport(), second, 1u32..150_000, any::<u32>()).prop_map(
        |(topology, switch, traffic, (mtu, first), second, size, seed)| {
            let (mut transports, mut blocks) = (String::new(), String::new());
            let all = [Some((traffic, (mtu, first))), second];
            for (number, (traffic, (mtu, transport))) in all.into_iter().flatten().enumerate() {
                // Small packets: fewer of them.
                let size = size.min(mtu * 60);
                // Two classes at the switch: one for each transport.
                let class = if switch.contains("split") { format!("class = {number}\n") } else { String::new() };
                transports += &format!("[[transport]]\nname = \"number {number}\"\n{class}{transport}");
                blocks += &format!(
                    "[[traffic]]\n{traffic}\nsize = \"{size} B\"\nstart = \"{number} us\"\ntransport = \"number {number}\"\n"
                );
            }
            format!(
                "seed = {seed}\nduration = \"3 ms\"\n[topology]\n{topology}\n{transports}[switch]\n{switch}\n{blocks}"
            )
        },
    )
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
