//! Results of valid scenarios: values, defaults, overrides, and a resolved text that means the same.

use std::collections::BTreeMap;

use pullnet_scenario::{Origin, Resolved, Scenario, Stop, compile, reference, template};
use pullnet_topology::CutThrough;
use pullnet_units::{Instant, Picos};

const EXAMPLE: &str = r#"
name = "NDP, 432-host permutation"
seed = 7
duration = "20 ms"
measure = { from = "5 ms", to = "20 ms" }

[topology]
kind = "fat-tree"
k = 12
link = { rate = "10 Gbps", delay = "1 us" }

[transport]
kind = "ndp"
mtu = "9000 B"
initial_window = "23 packets"

[switch]
kind = "trim"
data_queue = "8 packets"

[[traffic]]
kind = "permutation"
size = "endless"
"#;

type Memory = BTreeMap<String, Vec<u8>>;

fn with(text: &str, set: &[(&str, &str)], files: &Memory) -> Scenario {
    let set: Vec<_> = set.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    compile("runs/example.toml", text, &set, files).unwrap_or_else(|errors| {
        panic!("{}\n{text}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

fn compiled(text: &str) -> Scenario {
    with(text, &[], &Memory::new())
}

/// Tables, keys and values, without their origins.
fn values(resolved: &Resolved) -> Vec<(String, String, String)> {
    let rows = |table: &pullnet_scenario::ResolvedTable| {
        let row = |v: &pullnet_scenario::ResolvedValue| (table.path.clone(), v.key.clone(), v.value.clone());
        table.values.iter().map(row).collect::<Vec<_>>()
    };
    resolved.tables.iter().flat_map(rows).collect()
}

#[test]
fn packets_cut_through_after_the_shortest_header() {
    let rule = |switching: &str, transports: &str| {
        let text = EXAMPLE.replace("k = 12\n", &format!("k = 4\nswitching = \"{switching}\"\n"));
        compiled(&text.replace("mtu = \"9000 B\"\n", transports)).topology.cut_through
    };
    let own = "mtu = \"9000 B\"\nheader = \"60 B\"\n";
    assert_eq!(rule("store-and-forward", own), None);
    assert_eq!(rule("cut-through", own), Some(CutThrough { head: 60, to_faster: false }));
    assert_eq!(rule("cut-through-always", own), Some(CutThrough { head: 60, to_faster: true }));
    let text = EXAMPLE.replace("k = 12\n", "k = 4\nswitching = \"cut-through\"\n");
    let (head, tail) = text.split_once("[transport]").expect("a transport");
    let tail = tail.replace("[[traffic]]\n", "[[traffic]]\ntransport = \"ndp\"\n");
    let second = "\n[[traffic]]\ntransport = \"short\"\nkind = \"permutation\"\nsize = \"1 kB\"\n";
    let both = format!(
        "{head}[[transport]]\nname = \"short\"\nkind = \"pfabric\"\nheader = \"40 B\"\n[[transport]]{tail}{second}"
    );
    assert_eq!(compiled(&both).topology.cut_through, Some(CutThrough { head: 40, to_faster: false }));
}

#[test]
fn settings_that_name_hosts_become_addresses_and_racks_are_those_of_the_topology() {
    let config = |topology: &str, keys: &str| {
        let text = format!(
            "duration = \"1 ms\"\n[topology]\n{topology}\n[transport]\nkind = \"fastpass\"\n{keys}\n\
             [switch]\nkind = \"drop-tail\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"1 kB\"\n"
        );
        let scenario = compiled(&text);
        let written = values(&scenario.resolved).into_iter().find(|(_, key, _)| key == "arbiter");
        let value = |key: &str| scenario.transports[0].config.get(key).unwrap();
        (written.unwrap().2, value("arbiter"), value("backup"), value("rack"))
    };
    // Three hosts to a rack have four addresses: host 4 is the second one of rack 1.
    let tree = "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3";
    let own = |values: [&str; 4]| values.map(ToOwned::to_owned).into();
    assert_eq!(config(tree, "arbiter = 4"), own(["4", "5", "", "4"]));
    assert_eq!(config(tree, "arbiter = 8\nbackup = 3\nrack = 2"), own(["8", "10", "4", "2"]));
    let graph = "kind = \"dumbbell\"\nleft = 2\nright = 2";
    assert_eq!(config(graph, "arbiter = 3"), own(["3", "3", "", ""]));
}

#[test]
fn the_example_says_what_it_says() {
    let scenario = compiled(EXAMPLE);
    assert_eq!(scenario.name, "NDP, 432-host permutation");
    assert_eq!(scenario.seed, 7);
    assert_eq!(scenario.topology.hosts.len(), 432);
    assert_eq!(scenario.stop, Stop::At(Instant(20_000_000_000)));
    assert_eq!(scenario.measure, (Instant(5_000_000_000), Instant(20_000_000_000)));
    assert_eq!(scenario.transports[0].config.get("initial_window").unwrap(), "\"23 packets\"");
    assert_eq!(scenario.switch.name(), "trim");
    assert_eq!(scenario.workload.blocks(), 1);
    assert!(scenario.faults.is_empty());
    assert_eq!(scenario.topology.hosts.len(), 432);
}

#[test]
fn every_value_has_an_origin() {
    let scenario = with(EXAMPLE, &[("switch.data_queue", "6 packets")], &Memory::new());
    let origin = |path| scenario.resolved.get(path).unwrap().origin.clone();
    assert_eq!(origin("topology.k"), Origin::Text { line: 9, column: 5 });
    assert_eq!(origin("topology.core_link.delay"), Origin::Text { line: 10, column: 36 });
    assert_eq!(origin("topology.tiers"), Origin::Default);
    assert_eq!(origin("switch.data_queue"), Origin::Override);
    let text = scenario.resolved.to_string();
    assert!(text.contains("k = 12                                      # runs/example.toml:9\n"), "{text}");
    assert!(text.contains("data_queue = \"6 packets\"                    # --set\n"), "{text}");
    assert!(text.contains("forwarding = \"path\"                         # default\n"), "{text}");
}

#[test]
fn a_file_name_with_control_characters_leaves_the_resolved_text_valid() {
    let name = "runs/two\nlines\u{7f}\r.toml";
    let first = compile(name, EXAMPLE, &[], &Memory::new()).expect("the example has no errors");
    let text = first.resolved.to_string();
    assert!(text.contains("# runs/two\u{fffd}lines\u{fffd}\u{fffd}.toml:"), "{text}");
    let again = compile("again.toml", &text, &[], &Memory::new()).expect("its resolved text has none either");
    assert_eq!(values(&again.resolved), values(&first.resolved));
}

#[test]
fn overrides_are_toml_or_bare_words() {
    let set = [
        ("topology.k", "4"),
        ("transport.initial_window", "11 packets"),
        ("transport.mtu", "\"1500 B\""),
        ("switch.return_to_sender", "false"),
        ("traffic.0.size", "90 kB"),
        ("measure", "{ from = \"1 ms\" }"),
        ("probes.series", "{ interval = \"10 us\" }"),
        ("seed", "1"),
        ("seed", "2"),
    ];
    let scenario = with(EXAMPLE, &set, &Memory::new());
    assert_eq!((scenario.topology.hosts.len(), scenario.seed), (16, 2));
    let value = |path| scenario.resolved.get(path).unwrap().value.clone();
    assert_eq!(value("transport.initial_window"), "\"11 packets\"");
    assert_eq!(value("transport.mtu"), "\"1500 B\"");
    assert_eq!(value("switch.return_to_sender"), "false");
    assert_eq!(value("traffic.0.size"), "\"90 kB\"");
    assert_eq!(scenario.measure, (Instant(1_000_000_000), Instant(20_000_000_000)));
    assert_eq!(scenario.probes.series.unwrap().interval, Picos(10_000_000));
}

#[test]
fn links_take_what_they_leave_open_from_link() {
    let text = EXAMPLE.replace("[transport]", "core_link.rate = \"1 Gbps\"\n[transport]");
    let scenario = compiled(&text);
    let value = |path| scenario.resolved.get(path).unwrap().value.clone();
    assert_eq!(value("topology.core_link.rate"), "\"1 Gbps\"");
    assert_eq!(value("topology.core_link.delay"), "\"1 us\"");
    assert_eq!(value("topology.agg_link.rate"), "\"10 Gbps\"");
    assert!(scenario.resolved.get("topology.link.rate").is_none());
}

#[test]
fn a_run_ends_with_its_flows_or_at_its_limit() {
    let text =
        EXAMPLE.replace("duration = \"20 ms\"", "until = \"all flows done\"").replace("endless", "1 MB");
    let scenario = compiled(&text);
    assert_eq!(scenario.stop, Stop::FlowsDone { limit: Instant(10_000_000_000_000) });
    let scenario = compiled(&text.replace(", to = \"20 ms\"", ""));
    assert_eq!(scenario.measure.1, Instant::NEVER);
}

#[test]
fn several_transports_are_named_by_the_traffic_that_they_carry() {
    let transports =
        "[[transport]]\nkind = \"ndp\"\nmtu = \"9000 B\"\n[[transport]]\nname = \"old\"\nkind = \"tcp\"\n";
    let blocks =
        "transport = \"old\"\n[[traffic]]\nkind = \"incast\"\nsize = \"1 MB\"\ntransport = \"ndp\"\n";
    let (head, rest) = EXAMPLE.split_once("[transport]").unwrap();
    let (_, rest) = rest.split_once("[switch]").unwrap();
    let text = format!("{head}{transports}[switch]{rest}")
        .replace("size = \"endless\"\n", &format!("size = \"endless\"\n{blocks}"));
    let scenario = compiled(&text);
    let names: Vec<_> = scenario.transports.iter().map(|t| (t.name.as_str(), t.config.name())).collect();
    assert_eq!(names, [("ndp", "ndp"), ("old", "tcp")]);
    let (mut starts, mut workload) = (Vec::new(), scenario.workload.start(Picos(1)));
    workload.starts_before(Instant(1), &mut starts);
    let carried = |number| starts.iter().filter(|start| start.labels.transport == number).count();
    assert_eq!((carried(1), carried(0)), (432, 431));
    assert_eq!(values(&compiled(&scenario.resolved.to_string()).resolved), values(&scenario.resolved));
}

#[test]
fn files_are_read_beside_the_scenario() {
    let traffic = "kind = \"poisson\"\nload = 0.5\nsizes = { file = \"data/x.csv\", read = \"steps\" }\n";
    let text = EXAMPLE.replace("kind = \"permutation\"\nsize = \"endless\"\n", traffic);
    let files = Memory::from([("runs/data/x.csv".to_owned(), b"bytes,cdf\n100,0.5\n200,1\n".to_vec())]);
    let scenario = with(&text, &[], &files);
    assert!(scenario.inputs.iter().any(|input| input.settings == ["traffic.0.sizes.file"]));
    assert_eq!(
        values(&with(&scenario.resolved.to_string(), &[], &files).resolved),
        values(&scenario.resolved)
    );
}

#[test]
fn files_can_be_found_elsewhere() {
    let block = |file| format!("[[traffic]]\nkind = \"flows\"\nfile = \"{file}\"\n");
    let text = format!("{EXAMPLE}{}{}{}", block("a.csv"), block("b/a.csv"), block("a.csv"));
    let list = b"src,dst,bytes,start\n0,1,9000,0 us\n".to_vec();
    let files = ["runs/a.csv", "runs/b/a.csv"].map(|path| (path.to_owned(), list.clone()));
    let scenario = with(&text, &[], &Memory::from(files));
    let inputs: Vec<_> = scenario.inputs.iter().map(|i| (i.path.as_str(), i.settings.len())).collect();
    assert_eq!(inputs, [("runs/a.csv", 2), ("runs/b/a.csv", 1)]);
    let moved = scenario.with_inputs_at(&["in/1.csv".to_owned(), "in/2.csv".to_owned()]).to_string();
    let files = ["runs/in/1.csv", "runs/in/2.csv"].map(|path| (path.to_owned(), list.clone()));
    let again = with(&moved, &[], &Memory::from(files));
    let value = |path: &str| again.resolved.get(path).unwrap().value.clone();
    assert_eq!(
        [1, 2, 3].map(|n| value(&format!("traffic.{n}.file"))),
        ["in/1.csv", "in/2.csv", "in/1.csv"].map(|name| format!("\"{name}\""))
    );
}

/// The example with other tables in place of its own.
fn variants() -> Vec<String> {
    let traffic = |keys: &str| EXAMPLE.replace("kind = \"permutation\"\nsize = \"endless\"", keys);
    let topology = |keys: &str| EXAMPLE.replace("kind = \"fat-tree\"\nk = 12", keys);
    vec![
        EXAMPLE.to_owned(),
        template("start"),
        topology("kind = \"fat-tree\"\nk = 8\noversubscription = { tor = 4 }"),
        topology("kind = \"fat-tree\"\nk = 8\ntiers = 2\nagg_link.rate = \"40 Gbps\""),
        topology(
            "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8\nspine_link = { rate = \"40 Gbps\" }",
        ),
        topology("kind = \"star\"\nhosts = 9"),
        topology("kind = \"back-to-back\""),
        topology("kind = \"dumbbell\"\nleft = 3\nright = 2\nbottleneck = { rate = \"1 Gbps\" }"),
        EXAMPLE.replace(
            "kind = \"trim\"\ndata_queue = \"8 packets\"",
            "kind = \"drop-tail\"\nforwarding = \"ecmp\"",
        ),
        EXAMPLE.replace("kind = \"trim\"\ndata_queue = \"8 packets\"", "kind = \"shared-buffer\""),
        traffic("kind = \"random\"\nflows_per_host = 2\navoid = \"3\""),
        traffic("kind = \"incast\"\ndegree = 100\nsize = \"450 kB\"\nto = \"last 1\"\nrepeat = 3"),
        traffic("kind = \"outcast\"\ndegree = 4"),
        traffic("kind = \"in-and-out\""),
        traffic("kind = \"all-to-all\"\nsize = \"10 kB\"\nhosts = \"0..7\""),
        traffic("kind = \"poisson\"\nload = 0.6\nsizes = { distribution = \"web-search\" }\ntag = \"web\""),
        traffic(
            "kind = \"closed-loop\"\nthink = \"1 ms\"\nsizes.fixed = \"90 kB\"\nfrom = \"0\"\nto = \"1\"",
        ),
        traffic("kind = \"request-response\"\nresponse = \"90 kB\"\npriority = 1\nstart = \"1 ms\""),
        format!(
            "{EXAMPLE}[[fault]]\nplace = \"link core 0 - agg 0\"\ndown = true\nfrom = \"1 ms\"\nuntil = \"2 ms\"\n"
        ),
        format!("{EXAMPLE}[[fault]]\nplace = \"level agg->core\"\nloss = 0.01\nrate = \"1 Gbps\"\n"),
        format!("{EXAMPLE}[probes]\nports = true\nseries = {{ interval = \"100 us\", per = \"tag\" }}\n"),
    ]
}

#[test]
fn the_resolved_text_says_the_same() {
    for text in variants() {
        let first = compiled(&text).resolved;
        let second = compiled(&first.to_string()).resolved;
        assert_eq!(values(&second), values(&first), "{text}");
        assert!(values(&first).iter().all(|(_, _, value)| !value.is_empty()));
    }
}

#[test]
fn line_ends_of_windows_are_line_ends() {
    let windows = EXAMPLE.replace('\n', "\r\n");
    assert_eq!(compiled(&windows).resolved.get("topology.k"), compiled(EXAMPLE).resolved.get("topology.k"));
}

#[test]
fn faults_reach_their_links() {
    let text =
        format!("{EXAMPLE}[[fault]]\nplace = \"link core 0 - agg 0\"\nloss = 0.5\nrate = \"1 Gbps\"\n");
    let scenario = compiled(&text);
    assert_eq!(scenario.faults.len(), 2);
    let state = scenario.faults.iter().next().unwrap().1.at(Instant(1));
    assert_eq!((state.rate.get(), state.loss), (1_000_000_000, 0.5));
}

#[test]
fn the_reference_has_every_key_once_with_help() {
    let rows = reference();
    let mut keys: Vec<_> = rows.iter().map(|row| (&row.table, row.of_kind, row.field.name)).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count);
    assert!(
        rows.iter().all(|row| row.field.doc.trim().ends_with(['.', ')', ':']) || !row.field.doc.is_empty())
    );
    assert!(rows.iter().any(|row| row.table == "topology.link" && row.field.name == "rate"));
    assert!(
        rows.iter().any(|row| row.table == "transport" && row.of_kind == "ndp" && row.field.name == "mtu")
    );
}
