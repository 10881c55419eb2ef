//! Scenarios that can be run and that deserve a warning; each with its name, its place and a way to silence it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pullnet_protocols::PROTOCOLS;
use pullnet_qdisc::SWITCHES;
use pullnet_scenario::{Disk, Scenario, Warning, compile, template, warning_kinds};
use pullnet_units::Bytes;

const BASE: &str = r#"duration = "1 ms"
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2 }
transport = { kind = "ndp" }
switch = { kind = "trim" }
[[traffic]]
kind = "permutation"
"#;

fn with(text: &str, set: &[(&str, &str)]) -> Scenario {
    let set: Vec<_> = set.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    compile("a.toml", text, &set, &BTreeMap::new()).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

fn warned(set: &[(&str, &str)]) -> Vec<Warning> {
    with(BASE, set).warnings(None)
}

/// The only warning of the base scenario with `set`; none once it is silenced.
fn only(set: &[(&str, &str)]) -> Warning {
    let found = warned(set);
    assert_eq!(found.len(), 1, "{found:?}");
    let key = format!("warnings.{}", found[0].name);
    assert_eq!(warned(&[set, &[(key.as_str(), "false")]].concat()), [], "{key}");
    found[0].clone()
}

#[test]
fn a_plain_scenario_has_no_warning() {
    assert_eq!(warned(&[]), []);
    assert_eq!(with(&template("first"), &[]).warnings(None), []);
}

#[test]
fn the_scenarios_that_come_with_pullnet_have_no_warnings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let files =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let mut seen = 0;
    for path in files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")) {
        let text = fs::read_to_string(&path).expect("a scenario is text");
        let scenario = compile(&path.to_string_lossy(), &text, &[], &Disk).expect("it has no errors");
        assert_eq!(scenario.warnings(None), [], "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn switches_that_do_not_do_what_a_transport_relies_on() {
    let of = |transport: &str, switch: &[(&str, &str)]| {
        let set = [&[("transport.kind", transport)], switch].concat();
        warned(&set).into_iter().filter(|warning| warning.name == "missing_support").collect::<Vec<_>>()
    };
    let tail = ("switch.kind", "drop-tail");
    for transport in ["dctcp", "mdtcp", "d2tcp", "dcqcn", "rdma-dctcp"] {
        let found = of(transport, &[tail]);
        assert_eq!((found.len(), found[0].setting.as_str()), (1, "switch.kind"), "{transport}");
        assert!(found[0].message.contains("marks no packet"), "{}", found[0]);
        assert_eq!(of(transport, &[tail, ("switch.mark_above", "20 packets")]), [], "{transport}");
        assert_eq!(of(transport, &[("switch.kind", "pfc"), ("switch.mark_low", "5 kB")]), [], "{transport}");
        assert_eq!(of(transport, &[("switch.kind", "red")]), [], "{transport}");
    }
    // D3's ports keep nothing of PDQ's flows that they could forget too early.
    let other = [("switch.kind", "d3"), ("switch.epoch", "6 ms"), ("transport.most_probing", "20 ms")];
    assert_eq!(of("pdq", &other).len(), 1);
    for (transport, switch) in [("d3", "d3"), ("rcp", "d3"), ("pdq", "pdq"), ("homa", "priority")] {
        let remedy = format!("use kind = \"{switch}\"");
        assert!(of(transport, &[tail])[0].message.ends_with(&remedy), "{transport}");
        assert_eq!(of(transport, &[("switch.kind", switch)]), [], "{transport}");
    }
    assert_eq!(of("hpcc", &[tail]).len(), 1);
    assert_eq!(of("hpcc", &[tail, ("switch.telemetry", "true")]), []);
    assert_eq!(of("pfabric", &[("switch.kind", "pfabric")]), []);
    assert_eq!(of("pfabric", &[tail]).len(), 1);
    assert_eq!(of("ndp", &[tail]), []);
}

#[test]
fn a_load_above_one_is_no_steady_state() {
    let traffic = BASE
        .replace("kind = \"permutation\"", "kind = \"poisson\"\nload = 1.5\nsizes = { fixed = \"90 kB\" }");
    let found = with(&traffic, &[]).warnings(None);
    assert_eq!((found.len(), found[0].name), (1, "load_above_one"));
    assert_eq!((found[0].place.as_str(), found[0].setting.as_str()), ("a.toml:7:8", "traffic.0.load"));
    assert!(found[0].to_string().ends_with("use less than 1 [load_above_one]"), "{}", found[0]);
    assert_eq!(with(&traffic, &[("traffic.0.load", "1.0")]).warnings(None), []);
    assert_eq!(with(&traffic, &[("warnings.load_above_one", "false")]).warnings(None), []);
}

#[test]
fn flows_of_a_list_that_start_after_the_run() {
    let text = BASE.replace("kind = \"permutation\"", "kind = \"flows\"\nfile = \"a.csv\"");
    let of = |lines: &str, set: &[(&str, &str)]| {
        let list = format!("src,dst,bytes,start\n0,1,9000,0 s\n{lines}");
        let files = BTreeMap::from([("a.csv".to_owned(), list.into_bytes())]);
        let set: Vec<_> = set.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
        let found = compile("a.toml", &text, &set, &files).expect("it has no errors").warnings(None);
        found
            .iter()
            .filter(|warning| warning.name == "late_flows")
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("1,2,9000,999999 ns\n", &[]), [""; 0]);
    let one = "a.toml:7:8: traffic.0.file: 1 flow is left out, the first at \"1 ms\", since the run ends at \"1 ms\"; use a \
               duration above \"1 ms\" [late_flows]";
    assert_eq!(of("1,2,9000,1 ms\n", &[]), [one]);
    let three = "a.toml:7:8: traffic.0.file: 3 flows are left out, the first at \"2 ms\", since the run ends at \"1 ms\"; use a \
                 duration above \"5 ms\" [late_flows]";
    let lines = "1,2,9000,5 ms\n3,2,9000,3 ms\n2,1,9000,2 ms\n";
    assert_eq!(of(lines, &[]), [three]);
    assert_eq!(of(lines, &[("duration", "6 ms")]), [""; 0]);
    assert_eq!(of(lines, &[("warnings.late_flows", "false")]), [""; 0]);
    // The start of a block counts. All receivers of a chain count, although only the first has a time.
    assert_eq!(of("", &[("traffic.0.start", "999 us")]), [""; 0]);
    assert!(of("0,1;2;3,9000,2 ms\n", &[("traffic.0.copies", "chain")])[0].contains(" 3 flows are left out"));
    let coded = [("transport.kind", "scdp"), ("traffic.0.parts", "coded")];
    assert!(of("1;2;3,0,9000,2 ms\n", &coded)[0].contains(" 1 flow is left out"));
}

#[test]
fn a_timeout_is_above_the_round_trip() {
    let found = only(&[("transport.timeout", "20 us")]);
    assert_eq!((found.name, found.place.as_str()), ("timeout_below_round_trip", "--set"));
    // Four links: 7251.2 ns for the packet and 51.2 ns for the header, and 1 us of delay each way on each.
    assert!(found.message.contains("\"20 us\" is below 37.2 us, "), "{}", found.message);
    assert_eq!(warned(&[("transport.timeout", "38 us")]), []);
    let slow = only(&[("topology.spine_link.delay", "500 us")]);
    assert_eq!((slow.name, slow.place.as_str()), ("timeout_below_round_trip", "a.toml"));
}

#[test]
fn a_timeout_is_known_of_every_transport_that_states_one() {
    let (tail, step) = ("{ kind = \"drop-tail\" }", "{ kind = \"drop-tail\", mark_above = \"20 packets\" }");
    let (ranks, strict) = ("{ kind = \"pfabric\" }", "{ kind = \"priority\" }");
    let rows = [
        ("tcp", "initial_rto", tail),
        ("dctcp", "initial_rto", step),
        ("mptcp", "initial_rto", tail),
        ("mdtcp", "initial_rto", step),
        ("go-back-n", "timeout", tail),
        ("pfabric", "timeout", ranks),
        ("homa", "timeout", strict),
        ("fastpass", "resend", strict),
    ];
    for (kind, timeout, switch) in rows {
        let timeout = format!("transport.{timeout}");
        let set = [("transport.kind", kind), ("switch", switch), (timeout.as_str(), "1 us")];
        assert_eq!(only(&set).name, "timeout_below_round_trip", "{kind}");
    }
}

#[test]
fn an_ack_is_not_delayed_beyond_a_timeout() {
    let tail = ("switch", "{ kind = \"drop-tail\" }");
    let of =
        |kind: &str, more: &str| warned(&[("transport", &format!("{{ kind = \"{kind}\", {more} }}")), tail]);
    let found = only(&[("transport", "{ kind = \"tcp\", min_rto = \"40 ms\" }"), tail]);
    assert_eq!((found.name, found.setting.as_str()), ("ack_delay_above_timeout", "transport.ack_delay"));
    assert!(
        found.message.contains("use less, such as \"20 ms\", or delayed_ack = false"),
        "{}",
        found.message
    );
    let found = only(&[("transport", "{ kind = \"mptcp\", ack_delay = \"300 ms\" }"), tail]);
    assert_eq!(found.name, "ack_delay_above_timeout");
    assert_eq!(of("tcp", "min_rto = \"41 ms\""), []);
    assert_eq!(of("tcp", "min_rto = \"1 ms\", delayed_ack = false"), []);
}

#[test]
fn a_first_window_is_not_above_the_largest_one() {
    let rows = [
        ("kind = \"tcp\", initial_window = \"5000 packets\"", "drop-tail"),
        ("kind = \"tcp\", initial_window = \"9 packets\", receive_window = \"8 packets\"", "drop-tail"),
        ("kind = \"pfabric\", initial_window = \"65535 packets\", largest_window = \"9 packets\"", "pfabric"),
    ];
    for (transport, switch) in rows {
        let switch = format!("{{ kind = \"{switch}\" }}");
        let found = only(&[("transport", &format!("{{ {transport} }}")), ("switch", &switch)]);
        assert_eq!((found.name, found.setting.as_str()), ("unused_setting", "transport.initial_window"));
        assert!(found.message.contains("is the largest window; use at most that"), "{}", found.message);
    }
    // Defaults are not warned of.
    let small = "{ kind = \"tcp\", receive_window = \"4 packets\" }";
    assert_eq!(warned(&[("transport", small), ("switch", "{ kind = \"drop-tail\" }")]), []);
}

#[test]
fn headers_are_smaller_than_payload() {
    let found =
        only(&[("transport.mtu", "63 B"), ("switch.trim_to", "64 B"), ("warnings.shallow_trim", "false")]);
    assert_eq!((found.name, found.setting.as_str()), ("header_above_payload", "transport.header"));
}

#[test]
fn a_trim_cuts_most_of_a_packet() {
    let found = only(&[("transport.mtu", "200 B"), ("switch.trim_to", "133 B")]);
    assert_eq!((found.name, found.setting.as_str()), ("shallow_trim", "switch.trim_to"));
    assert_eq!(warned(&[("transport.mtu", "200 B"), ("switch.trim_to", "132 B")]), []);
}

#[test]
fn a_control_queue_holds_ten_headers() {
    for few in ["9 packets", "639 B"] {
        let found = only(&[("switch.control_queue", few)]);
        assert_eq!((found.name, found.setting.as_str()), ("small_control_queue", "switch.control_queue"));
        assert!(found.message.contains("9 headers"), "{}", found.message);
    }
    assert_eq!(warned(&[("switch.control_queue", "640 B")]), []);
}

#[test]
fn headroom_takes_what_arrives_before_a_pause_takes_effect() {
    let lossless = |headroom: &str| {
        let switch = format!("{{ kind = \"pfc\", headroom = \"{headroom}\" }}");
        let link = ("topology.link", "{ rate = \"100 Gbps\", delay = \"2 us\" }");
        warned(&[
            ("transport", "{ kind = \"dcqcn\", mtu = \"1000 B\", header = \"64 B\" }"),
            ("switch", &switch),
            link,
            ("switch.mark_low", "10 kB"),
        ])
    };
    // 100 Gb/s for 4 us, and two packets of 1064 B.
    assert_eq!(lossless("52128 B"), []);
    let found = lossless("52127 B");
    assert_eq!(
        (found.len(), found[0].name, found[0].setting.as_str()),
        (1, "small_headroom", "switch.headroom")
    );
    assert!(found[0].message.contains("use at least \"52128 B\""), "{}", found[0].message);
}

#[test]
fn a_pause_that_no_timer_ends_needs_links_that_lose_nothing() {
    let lossless = |quanta: &str, fault: &str| {
        let switch = format!("{{ kind = \"pfc\", quanta = {quanta} }}");
        warned(&[("transport", "{ kind = \"roce\" }"), ("switch", &switch), ("fault", fault)])
    };
    let [loses, slower] = ["corrupt = 0.01", "rate = \"1 Gbps\""]
        .map(|effect| format!("[{{ place = \"all links\", {effect} }}]"));
    assert_eq!(lossless("65535", &loses), []);
    assert_eq!(lossless("0", &slower), []);
    let found = lossless("0", &loses);
    assert_eq!(
        (found.len(), found[0].name, found[0].setting.as_str()),
        (1, "endless_pause", "switch.quanta")
    );
}

#[test]
fn a_pause_outlasts_the_packet_that_its_repetition_waits_for() {
    let lossless = |quanta: &str| {
        let switch = format!("{{ kind = \"pfc\", quanta = {quanta} }}");
        let transport = "{ kind = \"roce\", mtu = \"1000 B\", header = \"50 B\" }";
        warned(&[("transport", transport), ("switch", &switch)])
    };
    // Half of 33 quanta is the time of 1056 B.
    for lasting in ["0", "33", "65535"] {
        assert_eq!(lossless(lasting), []);
    }
    let found = lossless("32");
    assert_eq!((found.len(), found[0].name, found[0].setting.as_str()), (1, "short_pause", "switch.quanta"));
    assert!(found[0].message.contains("use at least 33"), "{}", found[0].message);
}

#[test]
fn settings_that_another_one_gives_no_effect_are_named() {
    let lossless = "{ kind = \"pfc\", mark_low = \"5 kB\" }";
    let rows = [
        ("kind = \"tcp\", delayed_ack = false, ack_delay = \"7 ms\"", "transport.ack_delay"),
        ("kind = \"tcp\", raise_threshold = false", "transport.raise_threshold"),
        ("kind = \"mptcp\", paths = \"scatter\", subflow_paths = \"random\"", "transport.subflow_paths"),
        ("kind = \"mptcp\", subflows = 1, coupling = \"uncoupled\"", "transport.coupling"),
        ("kind = \"timely\", update = \"round-trip\", segment = \"1 kB\"", "transport.segment"),
        ("kind = \"roce\", recovery = \"selective\", nack_interval = \"1 us\"", "transport.nack_interval"),
        ("kind = \"roce\", window_scales = true", "transport.window_scales"),
        ("kind = \"fastpass\", arbiter = 0, start = \"receipt\", lead = \"1 us\"", "transport.lead"),
    ];
    for (transport, setting) in rows {
        let found =
            only(&[("transport", &format!("{{ {transport} }}")), ("switch", "{ kind = \"shared-buffer\" }")]);
        assert_eq!((found.name, found.setting.as_str()), ("unused_setting", setting));
    }
    let rows = [
        ("kind = \"dcqcn\", notification = \"ack\", cnp_interval = \"1 us\"", "transport.cnp_interval"),
        ("kind = \"dcqcn\", cut_interval = \"1 us\"", "transport.cut_interval"),
        ("kind = \"dctcp\", leave_slow_start = false", "transport.leave_slow_start"),
        ("kind = \"roce\"", "switch.mark_low"),
    ];
    for (transport, setting) in rows {
        let found = only(&[("transport", &format!("{{ {transport} }}")), ("switch", lossless)]);
        assert_eq!((found.name, found.setting.as_str()), ("unused_setting", setting));
    }
    let rows = [
        ("mark_high = \"9 kB\"", "switch.mark_high"),
        ("mark_probability = 0.5", "switch.mark_probability"),
        ("pause_above = \"50 kB\", alpha = 2.0", "switch.alpha"),
    ];
    for (switch, setting) in rows {
        let switch = format!("{{ kind = \"pfc\", {switch} }}");
        let found = only(&[("transport", "{ kind = \"roce\" }"), ("switch", &switch)]);
        assert_eq!((found.name, found.setting.as_str()), ("unused_setting", setting));
    }
    // Of a transport whose packets can be marked, too.
    let found = warned(&[
        ("transport", "{ kind = \"dctcp\" }"),
        ("switch", "{ kind = \"pfc\", mark_high = \"9 kB\" }"),
    ]);
    assert_eq!(
        found.iter().map(|warning| warning.name).collect::<Vec<_>>(),
        ["missing_support", "unused_setting"]
    );
    assert!(found[1].message.contains("switch.mark_low is not set"), "{}", found[1].message);
}

#[test]
fn a_setting_without_effect_names_a_setting_and_a_value_of_its_table() {
    let transports = PROTOCOLS.iter().map(|row| (row.name, row.fields));
    let mut seen = 0;
    for (name, fields) in transports.chain(SWITCHES.iter().map(|row| (row.name, row.fields))) {
        for by in fields.iter().filter_map(|field| field.unused) {
            seen += 1;
            let other = fields.iter().find(|field| field.name == by.setting).expect(name);
            let is_value = match other.kind {
                _ if by.value.is_empty() => other.default.is_empty() && !other.required,
                "choice" => other.choices.contains(&by.value),
                "bool" => ["true", "false"].contains(&by.value),
                _ => by.value.parse::<u32>().is_ok(),
            };
            assert!(is_value, "{name}: {by:?}");
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn hosts_that_hear_of_trimmed_packets_may_do_without_timers() {
    assert_eq!(warned(&[("transport.timeout", "100 s")]), []);
}

#[test]
fn a_least_rate_at_the_rate_of_a_link_keeps_flows_from_slowing_down() {
    let of = |kind: &str, rate: &str, least: &str| {
        let topology = format!("{{ kind = \"star\", hosts = 4, link = {{ rate = \"{rate}\" }} }}");
        let transport = format!("{{ kind = \"{kind}\", min_rate = \"{least}\" }}");
        let switch = ("switch", "{ kind = \"drop-tail\" }");
        let found = warned(&[("topology", &topology), ("transport", &transport), switch]);
        found.into_iter().filter(|warning| warning.name == "min_rate_at_link_rate").collect::<Vec<_>>()
    };
    for kind in ["dcqcn", "rdma-dctcp", "timely", "hpcc"] {
        let found = of(kind, "100 Mbps", "100 Mbps");
        assert_eq!((found.len(), found[0].setting.as_str()), (1, "transport.min_rate"), "{kind}");
        assert!(found[0].message.contains("use less, such as \"1 Mbps\""), "{}", found[0]);
        assert_eq!(of(kind, "100 Mbps", "1 Gbps").len(), 1, "{kind}");
        assert_eq!(of(kind, "100 Mbps", "99 Mbps"), [], "{kind}");
    }
    let lossless = ("switch", "{ kind = \"pfc\" }");
    let found = only(&[("transport", "{ kind = \"timely\", min_rate = \"400 Gbps\" }"), lossless]);
    assert_eq!(found.name, "min_rate_at_link_rate");
}

#[test]
fn settings_that_nothing_uses_are_named() {
    let single = [("topology", "{ kind = \"star\", hosts = 4 }")];
    assert_eq!(warned(&single), [], "defaults are not anybody's settings");
    let defaults =
        [("transport.paths", "permutation"), ("switch.forwarding", "path"), ("switch.mark_at", "enqueue")];
    assert_eq!(warned(&[&single[..], &defaults].concat()), [], "nor are they if they are written");
    let paths = only(&[&single[..], &[("transport.paths", "random")]].concat());
    assert_eq!((paths.name, paths.setting.as_str()), ("unused_setting", "transport.paths"));
    let forwarding = only(&[&single[..], &[("switch.forwarding", "ecmp")]].concat());
    assert_eq!(forwarding.setting, "switch.forwarding");
    let marks = only(&[("switch.mark_above", "4 packets")]);
    assert_eq!(marks.setting, "switch.mark_above");
    assert!(marks.message.contains("packets of ndp are not ECN-capable"), "{}", marks.message);
    let dctcp =
        [("transport.kind", "dctcp"), ("switch", "{ kind = \"drop-tail\", mark_above = \"4 packets\" }")];
    assert_eq!(warned(&dctcp), []);
    let queue = only(&[("topology", "{ kind = \"back-to-back\" }"), ("switch.data_queue", "9 packets")]);
    assert_eq!(queue.setting, "switch.data_queue");
    assert!(queue.message.contains("has no switch"), "{}", queue.message);
    let switching = only(&[("topology", "{ kind = \"back-to-back\", switching = \"cut-through\" }")]);
    assert_eq!(switching.setting, "topology.switching");
}

#[test]
fn memory_is_estimated_before_the_run() {
    let free = |bytes| with(BASE, &[]).warnings(Some(Bytes(bytes)));
    assert_eq!(free(1_000_000_000), []);
    assert_eq!((free(1_000_000)[0].name, free(1_000_000).len()), ("memory", 1));
    let set = [("topology", "{ kind = \"fat-tree\", k = 16 }"), ("traffic.0.kind", "all-to-all")];
    let few = with(BASE, &set).warnings(Some(Bytes(300_000_000)));
    assert!(few[0].message.contains("about 0.4 GB"), "a million flows: {few:?}");
    for probe in ["probes.packets", "probes.incidents"] {
        let set = [(probe, "true"), ("duration", "10 s")];
        assert_eq!(with(BASE, &set).warnings(Some(Bytes(700_000_000)))[0].name, "memory", "{probe}");
    }
    assert_eq!(with(BASE, &[("warnings.memory", "false")]).warnings(Some(Bytes(1))), []);
}

/// The estimate against the peaks that docs/performance.md states, in bytes.
#[test]
fn the_estimate_is_near_what_runs_took() {
    for (k, took) in [("12", 29e6), ("16", 38e6), ("32", 159e6), ("64", 1553e6)] {
        let tree = format!("{{ kind = \"fat-tree\", k = {k} }}");
        let scenario = with(BASE, &[("topology", &tree)]);
        let warns = |bytes: f64| !scenario.warnings(Some(Bytes(bytes as u64))).is_empty();
        assert!(warns(took / 1.5) && !warns(took * 1.5), "k = {k}");
    }
}

#[test]
fn an_unknown_warning_is_an_error_with_the_nearest_name() {
    let set = [("warnings.load_above_two".to_owned(), "false".to_owned())];
    let errors = compile("a.toml", BASE, &set, &BTreeMap::new()).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "--set warnings.load_above_two: is not a setting here; did you mean \"load_above_one\"?"
    );
}

#[test]
fn every_warning_is_listed_and_says_what_it_is() {
    let names: Vec<_> = warning_kinds().iter().map(|row| row.name).collect();
    assert_eq!(names.len(), 20);
    assert!(
        names.contains(&"unfinished_flows")
            && names.contains(&"deadlock")
            && names.contains(&"unchanged_result")
    );
    assert!(warning_kinds().iter().all(|row| row.summary.ends_with('.') && !row.summary.contains('\n')));
}
