//! Random small scenarios as text: what a user could write.

use proptest::prelude::*;
use proptest::sample::select;
use pullnet_protocols::{PROTOCOLS, ProtocolEntry};
use pullnet_qdisc::SWITCHES;
use pullnet_settings::Value;

/// A topology: its text, the number of its hosts, and a place where something can go wrong.
#[derive(Clone, Debug)]
struct Net {
    text: String,
    hosts: u32,
    place: &'static str,
}

fn link() -> impl Strategy<Value = String> {
    let rate = select(&["1 Gbps", "3 Gbps", "10 Gbps", "40 Gbps", "100 Gbps"][..]);
    let delay = select(&["300 ns", "500 ns", "1 us", "3.7 us", "20 us"][..]);
    (rate, delay).prop_map(|(rate, delay)| format!("{{ rate = \"{rate}\", delay = \"{delay}\" }}"))
}

/// The links of a topology: one kind, or one kind with an exception called `other`.
fn links(other: &'static str) -> impl Strategy<Value = String> {
    (link(), prop::option::of(link())).prop_map(move |(link, except)| {
        let except = except.map_or(String::new(), |except| format!("{other} = {except}\n"));
        format!("link = {link}\n{except}")
    })
}

fn fat_tree() -> impl Strategy<Value = Net> {
    let shape = (select(&[2u32, 4, 4, 6][..]), 2u32..=3, 1u32..=3);
    let other = prop_oneof![links("host_link"), links("agg_link")];
    (shape, other, select(&["switch tor 0", "level agg->tor", "link agg 0 - tor 0"][..])).prop_map(
        |((k, tiers, tor), links, place)| {
            let text = format!(
                "kind = \"fat-tree\"\nk = {k}\ntiers = {tiers}\noversubscription = {{ tor = {tor} }}\n"
            );
            // Two tiers: k ToRs of k/2 * tor hosts. Three: k pods of k/2 ToRs.
            let tors = if tiers == 2 { k } else { k * k / 2 };
            let place = if tiers == 2 { "switch tor 0" } else { place };
            Net { text: text + &links, hosts: tors * k / 2 * tor, place }
        },
    )
}

fn leaf_spine() -> impl Strategy<Value = Net> {
    let shape = (1u32..=4, 1u32..=4, 2u32..=6, 1u32..=2);
    (shape, links("spine_link"), select(&["all links", "host 0"][..])).prop_map(
        |((leaves, spines, hosts, lanes), links, place)| {
            let text = format!(
                "kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts}\nlanes = {lanes}\n"
            );
            Net { text: text + &links, hosts: leaves * hosts, place }
        },
    )
}

fn small() -> impl Strategy<Value = Net> {
    let star = (2u32..=12, link()).prop_map(|(hosts, link)| Net {
        text: format!("kind = \"star\"\nhosts = {hosts}\nlink = {link}\n"),
        hosts,
        place: "host 1",
    });
    let pair = link().prop_map(|link| Net {
        text: format!("kind = \"back-to-back\"\nlink = {link}\n"),
        hosts: 2,
        place: "host 0",
    });
    let dumbbell = (1u32..=6, 1u32..=6, links("bottleneck")).prop_map(|(left, right, links)| {
        let text = format!("kind = \"dumbbell\"\nleft = {left}\nright = {right}\n{links}");
        Net { text, hosts: left + right, place: "all links" }
    });
    prop_oneof![2 => star, 1 => pair, 2 => dumbbell]
}

/// Fabrics whose paths stand in tables.
fn fabric() -> impl Strategy<Value = Net> {
    let vl2 =
        (select(&[(2u32, 2u32), (2, 4), (4, 3), (4, 4)][..]), 2u32..=3).prop_map(|((da, di), hosts)| {
            (
                format!("kind = \"vl2\"\nda = {da}\ndi = {di}\nhosts_per_tor = {hosts}\n"),
                da * di / 4 * hosts,
                "level tor->agg",
            )
        });
    let jellyfish = (2u32..=4, 1u32..=2, any::<u32>()).prop_map(|(half, hosts, seed)| {
        let (switches, ports) = (2 * half, 3 + hosts);
        let text = format!("switches = {switches}\nports = {ports}\ndegree = 3\nseed = {seed}\n");
        let longer = seed.is_multiple_of(2);
        let text = format!("{text}longer_paths = {longer}\nmax_paths = 8\n");
        (format!("kind = \"jellyfish\"\n{text}"), switches * hosts, "level switch->switch")
    });
    let jupiter = (1u32..=2, 1u32..=2, 1u32..=2, 2u32..=3).prop_map(|(blocks, lanes, middle, spine)| {
        let text = format!("blocks = {blocks}\ntors_per_block = 2\nhosts_per_tor = 2\ntor_lanes = {lanes}\n");
        let text = format!("{text}middle_blocks = {middle}\nspine_blocks = {spine}\nblock_lanes = {lanes}\n");
        (format!("kind = \"jupiter\"\n{text}"), blocks * 4, "level middle->spine")
    });
    let planes = (1u32..=3, 1u32..=2, 1u32..=2, 2u32..=3).prop_map(|(planes, leaves, spines, hosts)| {
        let text = format!("leaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts}\n");
        (format!("kind = \"planes\"\nplanes = {planes}\n{text}"), leaves * hosts, "level leaf->spine")
    });
    let ab_fat_tree = Just(("kind = \"ab-fat-tree\"\nk = 4\n".to_owned(), 16, "level agg->core"));
    let shape = prop_oneof![vl2, jellyfish, jupiter, planes, ab_fat_tree];
    (shape, links("host_link"), select(&[Some("all links"), Some("host 1"), None][..])).prop_map(
        |((text, hosts, level), links, place)| Net {
            text: text + &links,
            hosts,
            place: place.unwrap_or(level),
        },
    )
}

fn topology() -> impl Strategy<Value = Net> {
    let net = prop_oneof![2 => fat_tree(), 1 => leaf_spine(), 1 => small(), 1 => fabric()];
    let stored = "store-and-forward";
    let switching = prop_oneof![2 => Just(stored), 1 => Just("cut-through"), 1 => Just("cut-through-always")];
    (net, switching)
        .prop_map(|(net, how)| Net { text: format!("{}switching = \"{how}\"\n", net.text), ..net })
}

/// Whether and when packets are marked.
fn mark() -> impl Strategy<Value = &'static str> {
    select(&["", "", "mark_above = \"1 packets\"\n", "mark_above = \"9 kB\"\nmark_at = \"dequeue\"\n"][..])
}

/// Lossless switches whose pauses last one of `quanta`; some of them
/// drop packets all the same because they have little headroom.
pub fn pfc(quanta: &'static [u32]) -> impl Strategy<Value = String> {
    // Memory, reserve and headroom in kB: what all ports set aside fits, also where headroom grows with the rate. The reserve has room
    // for a packet, where thresholds may be smaller than that.
    let memory = [(300, 10, 0), (400, 10, 0), (300, 10, 1), (1000, 10, 5), (4000, 10, 20)];
    let memory = select(memory.to_vec());
    let rest = (select(&["0.01", "0.125", "1.0", "8.0"][..]), any::<bool>(), any::<bool>(), select(quanta));
    (memory, rest, mark_ramp()).prop_map(|((buffer, reserve, headroom), (alpha, link, strict, quanta), mark)| {
        let pause = if link { "link" } else { "priority" };
        let schedule = if strict { "strict" } else { "round-robin" };
        format!(
            "kind = \"pfc\"\nbuffer = \"{buffer} kB\"\nreserve = \"{reserve} kB\"\nheadroom = \"{headroom} kB\"\n\
             alpha = {alpha}\npause = \"{pause}\"\nschedule = \"{schedule}\"\nquanta = {quanta}\n{mark}"
        )
    })
}

/// Marks with a rising probability, or none; thresholds by rate, or fixed ones.
fn mark_ramp() -> impl Strategy<Value = &'static str> {
    select(
        &[
            "",
            "mark_low = \"2 packets\"\nmark_high = \"9 packets\"\nmark_probability = 0.3\n",
            "mark_low = \"3 kB\"\nmark_high = \"9 kB\"\nreference_rate = \"10 Gbps\"\n",
            "pause_above = \"20 kB\"\n",
        ][..],
    )
}

/// A switch; the second part says whether the sender chooses the path.
fn switch(mtu: u32, header: u32) -> impl Strategy<Value = (String, bool)> {
    let of = |name| discipline(name, mtu, header);
    let kind = prop_oneof![
        5 => of("trim"),
        1 => of("drop-tail"),
        1 => of("cut-payload"),
        1 => of("pfabric"),
        1 => of("priority"),
        1 => of("red"),
        1 => of("shared-buffer"),
        1 => of("split"),
        2 => of("pfc"),
    ];
    let listed = prop_oneof![12 => kind, 1 => of("d3"), 1 => of("pdq")];
    let others = others();
    if others.is_empty() {
        return forwarded(listed.boxed()).boxed();
    }
    let other = select(others).prop_map(|name| format!("kind = \"{name}\"\n"));
    forwarded(prop_oneof![13 => listed, 1 => other].boxed()).boxed()
}

/// A discipline with random settings where [`WITH_SETTINGS`] has it, with its defaults otherwise.
fn discipline(name: &'static str, mtu: u32, header: u32) -> BoxedStrategy<String> {
    match name {
        "trim" => trim(mtu, header).boxed(),
        "cut-payload" => cut_payload(mtu, header).boxed(),
        "d3" => d3().boxed(),
        "drop-tail" => (2u32..100, mark())
            .prop_map(|(packets, mark)| {
                format!("kind = \"drop-tail\"\nqueue = \"{packets} packets\"\n{mark}")
            })
            .boxed(),
        "pdq" => pdq().boxed(),
        "pfabric" => (1u32..40)
            .prop_map(move |packets| format!("kind = \"pfabric\"\nqueue = \"{} B\"\n", packets * (mtu + 200)))
            .boxed(),
        "priority" => (2u32..100, mark(), select(&["port", "class"][..]))
            .prop_map(|(packets, mark, sharing)| {
                format!("kind = \"priority\"\nqueue = \"{packets} packets\"\nsharing = \"{sharing}\"\n{mark}")
            })
            .boxed(),
        "red" => red().boxed(),
        "scdp" => scdp(mtu, header).boxed(),
        "shared-buffer" => (2u32..100, select(&[0.1, 1.0, 8.0][..]))
            .prop_map(move |(packets, alpha)| {
                format!(
                    "kind = \"shared-buffer\"\npool = \"{} B\"\nalpha = {alpha:?}\n",
                    packets * (mtu + 1000)
                )
            })
            .boxed(),
        "pfc" => pfc(&[40, 65_535]).boxed(),
        "split" => split(mtu, header).boxed(),
        other => Just(format!("kind = \"{other}\"\n")).boxed(),
    }
}

/// Room for some packets, in packets or in bytes.
fn queue(mtu: u32) -> impl Strategy<Value = String> {
    (1u32..=10, any::<bool>()).prop_map(move |(packets, bytes)| {
        if bytes { format!("\"{} B\"", packets * (mtu + 200)) } else { format!("\"{packets} packets\"") }
    })
}

fn trim(mtu: u32, header: u32) -> impl Strategy<Value = String> {
    let control = select(&["1 packets", "2 packets", "4 packets", "40 packets", "300 B", "72 kB"][..]);
    let cut = (select(&[64u32, 72, 101, 256][..]), mark());
    (queue(mtu), control, select(&[1u32, 3, 10][..]), any::<bool>(), any::<bool>(), cut).prop_map(
        move |(data, control, ratio, coin, back, (trimmed, mark))| {
            let victim = if coin { "coin" } else { "arriving" };
            // Not less than a header, and less than a full packet.
            let trimmed = trimmed.clamp(header, mtu + header - 1);
            format!(
                "kind = \"trim\"\ndata_queue = {data}\ncontrol_queue = \"{control}\"\ncontrol_per_data = {ratio}\n\
                 victim = \"{victim}\"\nreturn_to_sender = {back}\ntrim_to = \"{trimmed} B\"\n{mark}"
            )
        },
    )
}

fn cut_payload(mtu: u32, header: u32) -> impl Strategy<Value = String> {
    (queue(mtu), any::<bool>(), 2u32..100, select(&[64u32, 101, 256][..])).prop_map(
        move |(threshold, all, packets, trimmed)| {
            let trimmed = trimmed.clamp(header, mtu + header - 1);
            let occupancy = if all { "all" } else { "data" };
            format!(
                "kind = \"cut-payload\"\nthreshold = {threshold}\noccupancy = \"{occupancy}\"\n\
                 queue = \"{packets} packets\"\ntrim_to = \"{trimmed} B\"\n"
            )
        },
    )
}

fn red() -> impl Strategy<Value = String> {
    (2u32..100, any::<bool>()).prop_map(|(packets, even)| {
        format!(
            "kind = \"red\"\nqueue = \"{packets} packets\"\nweight = 0.3\nprobability = 0.2\neven = {even}\n"
        )
    })
}

fn split(mtu: u32, header: u32) -> impl Strategy<Value = String> {
    (1u32..=10, select(&[0.1, 0.5, 0.8][..]), mark()).prop_map(move |(packets, share, mark)| {
        let trimmed = 101.clamp(header, mtu + header - 1);
        format!(
            "kind = \"split\"\ndata_queue = \"{packets} packets\"\ntrim_share = {share:?}\ntrim_to = \"{trimmed} B\"\n{mark}"
        )
    })
}

/// Disciplines of [`switch`] with random settings, and `scdp`, which serves one transport only.
const WITH_SETTINGS: &[&str] = &[
    "trim",
    "cut-payload",
    "d3",
    "drop-tail",
    "pdq",
    "pfabric",
    "priority",
    "red",
    "scdp",
    "shared-buffer",
    "pfc",
    "split",
];

/// Every other discipline of the list; it runs with its defaults.
fn others() -> Vec<&'static str> {
    SWITCHES.iter().map(|row| row.name).filter(|name| !WITH_SETTINGS.contains(name)).collect()
}

/// D3 switches. Epochs are longer than the hosts' leases and shorter than most runs.
fn d3() -> impl Strategy<Value = String> {
    let times = (select(&["20 us", "500 us"][..]), select(&["6 ms", "10 ms"][..]));
    (2u32..100, times, select(&[800u32, 1000][..])).prop_map(|(packets, (interval, epoch), target)| {
        format!(
            "kind = \"d3\"\nqueue = \"{packets} packets\"\ninterval = \"{interval}\"\nepoch = \"{epoch}\"\ntarget = {target}\n"
        )
    })
}

/// PDQ switches, also with lists that are too short for all flows.
fn pdq() -> impl Strategy<Value = String> {
    let flows = select(&[(1u32, 2u32), (2, 4), (16, 1024)][..]);
    let times =
        (select(&["20 us", "200 us"][..]), select(&["0 s", "50 us"][..]), select(&["100 us", "5 ms"][..]));
    let rest = (select(&[0u32, 200][..]), select(&[0u32, 20][..]), select(&[0u32, 50, 300][..]));
    (2u32..100, flows, times, rest).prop_map(
        |(packets, (least, most), (interval, dampening, forget), (early, probing, share))| {
            format!(
                "kind = \"pdq\"\nqueue = \"{packets} packets\"\nleast_flows = {least}\nmost_flows = {most}\n\
                 interval = \"{interval}\"\ndampening = \"{dampening}\"\nforget_sending = \"{forget}\"\n\
                 early_start = {early}\nprobing = {probing}\nleast_share = {share}\n"
            )
        },
    )
}

/// The switch of SCDP, for its transports only.
pub fn scdp(mtu: u32, header: u32) -> impl Strategy<Value = String> {
    let trimmed = select(&[64u32, 101][..]);
    (1u32..=10, select(&["3 packets", "72 kB"][..]), trimmed).prop_map(move |(data, control, trimmed)| {
        let trimmed = trimmed.clamp(header, mtu + header - 1);
        format!(
            "kind = \"scdp\"\ndata_queue = \"{data} packets\"\ncontrol_queue = \"{control}\"\ntrim_to = \"{trimmed} B\"\n"
        )
    })
}

/// A switch with a choice of paths; the second part says whether the sender chooses.
fn forwarded(kind: impl Strategy<Value = String>) -> impl Strategy<Value = (String, bool)> {
    (kind, select(&["path", "path", "random", "ecmp", "least-loaded"][..]))
        .prop_map(|(kind, choice)| (format!("{kind}forwarding = \"{choice}\"\n"), choice == "path"))
}

/// Values that settings of transports may take, by name: a protocol has those of them that it knows and accepts. Timers are
/// short, so that small scenarios see them run out.
const VALUES: &[(&str, &[&str])] = &[
    ("initial_window", &["1 packets", "3 packets", "10 packets", "30 packets", "100 packets"]),
    ("window", &["1 packets", "7 packets", "40 packets", "30 kB"]),
    ("timeout", &["200 us", "1 ms", "4 ms"]),
    ("give_up", &["1 s", "5 s"]),
    ("piggyback", &["true", "false"]),
    ("pull_rate", &["0.5", "1.0", "1.3"]),
    ("min_rto", &["500 us", "2 ms"]),
    ("initial_rto", &["2 ms", "8 ms"]),
    ("max_rto", &["10 ms", "40 ms"]),
    ("rto_granularity", &["1 us", "100 us"]),
    ("ack_delay", &["50 us", "1 ms"]),
    ("delayed_ack", &["true", "false"]),
    ("sack", &["true", "false"]),
    ("handshake", &["true", "false"]),
    ("limited_transmit", &["true", "false"]),
    ("duplicate_threshold", &["1", "3"]),
    ("receive_window", &["5 packets", "4096 packets"]),
    ("time_wait", &["10 ms", "50 ms"]),
    ("retries", &["8", "15"]),
    ("initial_alpha", &["0.0", "1.0"]),
    ("variant", &["paper", "slides", "authors", "ndp"]),
    ("free_tokens", &["0 packets", "1 packets", "8 packets", "30 packets"]),
    ("token_life", &["0.5", "1.5", "100.0"]),
    ("priorities", &["0", "1", "2"]),
    ("source", &["srpt", "edf", "lru", "round-robin"]),
    ("destination", &["srpt", "edf", "lru", "round-robin"]),
    ("rts_timeout", &["50 us", "200 us"]),
    ("unscheduled", &["1 packets", "7 packets"]),
    ("overcommitment", &["0", "1", "3"]),
    ("probe_after", &["0", "1", "5"]),
    ("ecn_handshake", &["true", "false"]),
    ("arbiter", &["0", "1"]),
    ("backup", &["0", "1"]),
    ("matching", &["srpt", "max-min", "edf"]),
    ("start", &["aligned", "receipt"]),
    ("dispatch", &["slots", "address"]),
    ("lead", &["0 us", "8 us", "100 us"]),
    ("clock_offset", &["0 us", "1 us", "50 us"]),
    ("recovery", &["go-back-n", "selective"]),
    ("window_scales", &["true", "false"]),
    ("nack_interval", &["20 us", "500 us"]),
    ("notification", &["cnp", "ack"]),
    ("reaction", &["notification", "timer"]),
    ("byte_counter", &["0 B", "30 kB", "10 MB"]),
    ("update", &["segment", "round-trip"]),
    ("late", &["quench", "fair-share", "extend"]),
    ("allowance", &["0", "2"]),
    ("ask_interval", &["20 us", "100 us"]),
    ("lease", &["200 us", "5 ms"]),
    ("early_termination", &["true", "false"]),
    ("least_probing", &["1 us", "30 us"]),
    ("most_probing", &["300 us", "20 ms"]),
];
/// The same of settings that count only where the sender chooses the path.
const PATHS: &[(&str, &[&str])] = &[
    ("paths", &["permutation", "random", "single", "scatter"]),
    ("scoreboard", &["true", "false"]),
    ("burst", &["1 packets", "8 packets", "64 packets"]),
];

/// Lines with one value each for the settings in `values` that `protocol` has; `pick` chooses.
fn settings(
    protocol: &ProtocolEntry,
    values: &[(&str, &[&str])],
    pick: &mut impl FnMut() -> usize,
) -> String {
    let mut lines = String::new();
    for (name, values) in values {
        let Some(field) = protocol.fields.iter().find(|field| field.name == *name) else { continue };
        let first = pick();
        for value in (0..values.len()).map(|n| values[(first + n) % values.len()]) {
            let typed = match field.kind {
                "bool" => Value::Bool(value == "true"),
                "integer" => Value::Integer(value.parse().unwrap()),
                "number" => Value::Float(value.parse().unwrap()),
                _ => Value::Text(value),
            };
            if matches!((protocol.default)().set(name, typed), Some(Ok(()))) {
                let quote = if matches!(typed, Value::Text(_)) { "\"" } else { "" };
                lines += &format!("{name} = {quote}{value}{quote}\n");
                break;
            }
        }
    }
    lines
}

/// The hosts' settings for any protocol of the registry, and those for the choice of paths.
pub fn transport(mtu: u32, header: u32) -> impl Strategy<Value = (String, String)> {
    transport_among(PROTOCOLS.to_vec(), mtu, header)
}

/// As [`transport`], for one of `protocols`.
pub fn transport_among(
    protocols: Vec<ProtocolEntry>,
    mtu: u32,
    header: u32,
) -> impl Strategy<Value = (String, String)> {
    (select(protocols), any::<u64>()).prop_map(move |(protocol, mut seed)| {
        let mut pick = || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 40) as usize
        };
        let name = protocol.name;
        let text = format!("kind = \"{name}\"\nmtu = \"{mtu} B\"\nheader = \"{header} B\"\n");
        (text + &settings(&protocol, VALUES, &mut pick), settings(&protocol, PATHS, &mut pick))
    })
}

/// A traffic block that needs `hosts` hosts or fewer; `size` is that of its flows.
fn traffic(hosts: u32, mtu: u32) -> impl Strategy<Value = String> {
    let most = if hosts > 16 { 8u32 } else { 25 };
    let size = (0..=most, 1..=mtu).prop_map(move |(packets, rest)| packets * mtu + rest);
    let least = if hosts >= 6 { 13u32 } else { 12 };
    let deadline = select(&["", "", "deadline = \"60 us\"\n", "deadline = \"2 ms\"\n"][..]);
    let when = (0u64..20, deadline);
    (0..least, size, 1u32..=3, when, 0u8..3).prop_map(move |(kind, size, some, (start, deadline), priority)| {
        let few = hosts.min(6);
        let own = match kind {
            0 => format!("kind = \"permutation\"\nsize = \"{size} B\""),
            1 => format!("kind = \"random\"\nsize = \"{size} B\"\nflows_per_host = {some}"),
            2 => format!("kind = \"incast\"\nsize = \"{size} B\""),
            3 => format!("kind = \"incast\"\nsize = \"{size} B\"\nrepeat = {}", some + 1),
            4 => format!("kind = \"outcast\"\nsize = \"{size} B\""),
            5 => format!("kind = \"all-to-all\"\nsize = \"{size} B\"\nhosts = \"first {few}\""),
            6 => {
                // Smaller ones would arrive faster than the picosecond tells apart.
                let (load, flows, size) = (some * 3, some * 20, size.max(100));
                format!("kind = \"poisson\"\nload = 0.{load}\nflows = {flows}\nsizes.fixed = \"{size} B\"")
            }
            7 => format!(
                "kind = \"closed-loop\"\nthink = \"{some} us\"\nflows_per_connection = {some}\nsizes.fixed = \"{size} B\""
            ),
            8 => format!(
                "kind = \"request-response\"\nrequest = \"{some} B\"\nresponse = \"{size} B\"\nrequests_per_connection = {some}"
            ),
            9 => {
                let how = [("all-reduce", "ring"), ("all-gather", "direct"), ("all-to-all", "pairwise")][some as usize - 1];
                format!(
                    "kind = \"collective\"\noperation = \"{}\"\nalgorithm = \"{}\"\nsize = \"{} B\"\nhosts = \"first {few}\"",
                    how.0, how.1, size + few
                )
            }
            10 => replicate(hosts, size, some),
            11 => fetch(hosts, size + some, some),
            _ => format!("kind = \"in-and-out\"\nsize = \"{size} B\""),
        };
        format!("\n[[traffic]]\n{own}\nstart = \"{start} us\"\npriority = {priority}\n{deadline}")
    })
}

/// One-to-many of `size` bytes, among `hosts` hosts. Who knows the transport writes [`COPIES`].
pub fn replicate(hosts: u32, size: u32, some: u32) -> String {
    let many = (some + 1).min(hosts - 1);
    format!(
        "kind = \"replicate\"\nsize = \"{size} B\"\nreceivers = {many}\nsessions = {some}\noutside_rack = false\n{COPIES}"
    )
}

/// Many-to-one of `size` bytes, among `hosts` hosts. Who knows the transport writes [`PARTS`].
pub fn fetch(hosts: u32, size: u32, some: u32) -> String {
    let many = some.min(hosts - 1);
    format!(
        "kind = \"fetch\"\nsize = \"{size} B\"\nsources = {many}\nsessions = {some}\noutside_rack = false\n{PARTS}"
    )
}

/// Stands for how a session with several receivers is carried.
const COPIES: &str = "copies = ?";
/// Stands for how a session with several senders is carried.
const PARTS: &str = "parts = ?";

/// The traffic block `block` as `transport` carries it: in packets that switches copy and symbols that any sender may send if it
/// knows how, in flows of their own otherwise.
pub fn carried_by(transport: &str, block: &str) -> String {
    let joint = ["scdp", "polyraptor"].iter().any(|name| transport.contains(&format!("\"{name}\"")));
    // Every other session of the others is a chain, by the length of the text.
    let apart = if block.len().is_multiple_of(2) { "unicast" } else { "chain" };
    let (copies, parts) = if joint { ("multicast", "coded") } else { (apart, "plain") };
    let block = block.replace(COPIES, &format!("copies = \"{copies}\""));
    block.replace(PARTS, &format!("parts = \"{parts}\""))
}

/// Something that goes wrong at `place`.
pub fn fault(place: &'static str) -> impl Strategy<Value = String> {
    let what = select(
        &[
            "loss = 0.01",
            "loss = 0.2",
            "corrupt = 0.05",
            "down = true\nuntil = \"900 us\"",
            "rate = \"300 Mbps\"",
            "rate = \"100 Mbps\"\nuntil = \"400 us\"",
            "loss = 0.5\nuntil = \"300 us\"",
        ][..],
    );
    (what, 0u32..30).prop_map(move |(what, from)| {
        format!("\n[[fault]]\nplace = \"{place}\"\nfrom = \"{from} us\"\n{what}\n")
    })
}

/// Condition that ends the run.
fn stop() -> impl Strategy<Value = String> {
    let until = "until = \"all flows done\"\nlimit = \"60 s\"\n".to_owned();
    let duration = (200u32..3000).prop_map(|micros| format!("duration = \"{micros} us\"\n"));
    prop_oneof![3 => Just(until), 1 => duration]
}

fn blocks(hosts: u32, mtu: u32) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(traffic(hosts, mtu), 1..=2)
}

/// Transports and traffic: one transport that carries everything, or one for each of two blocks.
fn carried(transports: &[String], blocks: &[String]) -> (String, String) {
    let all =
        |transport: &String| blocks.iter().map(|block| carried_by(transport, block)).collect::<String>();
    let [first, second] = transports else {
        return (format!("[transport]\n{}", transports[0]), all(&transports[0]));
    };
    let [one, two] = blocks else { return (format!("[transport]\n{first}"), all(first)) };
    let (one, two) = (&carried_by(first, one), &carried_by(second, two));
    let name = |number: u32| format!("\"number {number}\"");
    let transport = |number, text| format!("[[transport]]\nname = {}\n{text}", name(number));
    let block = |number, text| format!("{text}transport = {}\n", name(number));
    (transport(1, first) + &transport(2, second), block(1, one) + &block(2, two))
}

/// Transports with their settings for paths, and a switch with whether the sender chooses the path.
type Equipment = (Vec<(String, String)>, (String, bool));

/// Any small scenario.
pub fn any_scenario() -> impl Strategy<Value = String> {
    scenario_with(|mtu, header| {
        let transports = || prop_oneof![2 => prop::collection::vec(transport(mtu, header), 1), 1 => prop::collection::vec(transport(mtu, header), 2)];
        // Transports that rely on one kind of switch, on these switches.
        let with = |names: &[&str]| {
            let named = PROTOCOLS.iter().filter(|row| names.contains(&row.name)).copied().collect();
            prop::collection::vec(transport_among(named, mtu, header), 1..=2)
        };
        let pairs = prop_oneof![
            8 => (transports(), switch(mtu, header)),
            1 => (with(&["d3", "rcp"]), forwarded(d3())),
            1 => (with(&["pdq"]), forwarded(pdq())),
            1 => (with(&["scdp", "polyraptor"]), forwarded(scdp(mtu, header))),
        ];
        pairs.boxed()
    })
}

/// Any small scenario of this protocol over switches of this discipline.
pub fn scenario_of(protocol: ProtocolEntry, kind: &'static str) -> impl Strategy<Value = String> {
    scenario_with(move |mtu, header| {
        let transports = prop::collection::vec(transport_among(vec![protocol], mtu, header), 1);
        (transports, forwarded(discipline(kind, mtu, header))).boxed()
    })
}

/// Any small scenario with the equipment that `pairs` makes for packets of a payload and a header.
fn scenario_with(pairs: impl Fn(u32, u32) -> BoxedStrategy<Equipment>) -> impl Strategy<Value = String> {
    let mtu = prop_oneof![select(&[64u32, 1500, 9000][..]), 64u32..=9000];
    let header = select(&[20u32, 58, 64, 64, 100][..]);
    (topology(), mtu, header, stop(), any::<u32>()).prop_flat_map(move |(net, mtu, header, stop, seed)| {
        let faults = prop::collection::vec(fault(net.place), 0..=1);
        let rest = (pairs(mtu, header), blocks(net.hosts, mtu), faults);
        rest.prop_map(move |((transports, (switch, chooses)), blocks, faults)| {
            let text = |(own, paths): (String, String)| if chooses { own + &paths } else { own };
            let transports: Vec<_> = transports.into_iter().map(text).collect();
            let (transports, blocks) = carried(&transports, &blocks);
            format!(
                "seed = {seed}\n{stop}\n[topology]\n{}\n{transports}\n[switch]\n{switch}{blocks}{}",
                net.text,
                faults.concat()
            )
        })
    })
}
