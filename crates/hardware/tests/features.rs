//! Generates the table in `docs/hardware.md` of the parts of the rule that each implementation has. Columns come from tests:
//! those of the software switch and the P4 programs from this file, those of the RTL and of the kernel switch from
//! `hardware/features/rtl.json` (`tools/hardware.sh features`) and `xdp.json` (`python/tests/test_switch_kernel.py`), whose
//! tests compare their results with these files. `BLESS=1` regenerates the table.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pullnet_hardware::agreement::Profile;
use pullnet_hardware::features::{self, Column, PROBES, ndp_port, published_port, replay, software_frames};
use pullnet_hardware::p4::{NDP, PUBLISHED};
use serde_json::json;

const BEGIN: &str = "<!-- features: made by BLESS=1 cargo test -p pullnet-hardware --test features -->\n";
const END: &str = "<!-- end of features -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Vectors of the trimming switch and of the reference switch: subject and text, in the order of their names.
fn vectors() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join("vectors/qdisc")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("trim-") || name.starts_with("drop-tail-")
    });
    files.sort();
    let named = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    files.iter().map(named).collect()
}

fn p4_column(
    text: &str,
    port: fn(&serde_json::Value) -> Result<features::Ported, features::WrongVector>,
) -> Column {
    let mut column = features::p4(text).unwrap();
    for (name, text) in vectors() {
        column.insert(name, replay(&text, port).unwrap());
    }
    column
}

fn stored(name: &str) -> Column {
    let path = root().join("hardware/features").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

fn table() -> String {
    let columns: [(&str, Column); 4] = [
        ("RTL", stored("rtl.json")),
        ("XDP", stored("xdp.json")),
        ("P4-16", p4_column(NDP, ndp_port)),
        ("paper's P4", p4_column(PUBLISHED, published_port)),
    ];
    let abouts = vectors().into_iter().map(|(name, text)| {
        let head: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        (name.clone(), format!("`{name}`: {}", head["about"].as_str().unwrap()), true)
    });
    let frames = PROBES.iter().map(|probe| (probe.name.to_owned(), probe.name.to_owned(), false));
    let mut text = String::from("| part of the rule | simulator | software switch");
    columns.iter().for_each(|(name, _)| text += &format!(" | {name}"));
    text += &format!(" |\n|{}\n", " --- |".repeat(3 + columns.len()));
    for (key, about, vector) in abouts.chain(frames) {
        // The discipline of the simulator and the software switch generates the vectors, and their own tests replay them
        // line by line. The simulator has no bytes; the software switch is the reference for frames.
        text += &format!("| {about} | {} | yes", if vector { "yes" } else { "no bytes" });
        for (_, column) in &columns {
            text += &format!(" | {}", column.get(&key).map_or("not tried", String::as_str));
        }
        text += " |\n";
    }
    text
}

#[test]
fn the_table_is_what_the_tests_find() {
    let path = root().join("docs/hardware.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the place where the table begins");
    let (found, after) = rest.split_once(END).expect("the place where it ends");
    let table = table();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, table, "BLESS=1 cargo test -p pullnet-hardware --test features writes it anew");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Exports the frames of the probes with the software switch's results, for implementations that Rust code cannot call.
#[test]
fn the_frames_are_those_of_the_software_switch() {
    let entries = Profile::entries().map(|(mac, entry)| {
        let ports: Vec<_> = entry.ports.iter().map(|port| port.get()).collect();
        json!({ "mac": mac.to_string(), "ports": ports, "shift": entry.selection.shift, "mask": entry.selection.mask })
    });
    let probes = PROBES.iter().map(|probe| {
        let given: Vec<_> = probe.frames().iter().map(|(port, bytes)| json!([port, hex(bytes)])).collect();
        let left: Vec<Vec<_>> =
            software_frames(probe).iter().map(|port| port.iter().map(|bytes| hex(bytes)).collect()).collect();
        json!({ "name": probe.name, "rooms": probe.profile().rooms(), "given": given, "left": left })
    });
    let found = json!({ "entries": entries.collect::<Vec<_>>(), "probes": probes.collect::<Vec<_>>() });
    let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
    let path = root().join("hardware/features/frames.json");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, text).unwrap();
    } else {
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "BLESS=1 writes {} anew", path.display());
    }
}

#[test]
fn both_programs_do_what_the_paper_says() {
    for program in [features::Published::Paper, features::Published::Ours] {
        assert!(features::functional(program).unwrap(), "{program:?}");
    }
}

/// The programs support exactly the parts that the text of `docs/hardware.md` lists.
#[test]
fn programs_follow_the_rule_as_far_as_they_can() {
    let column: BTreeMap<_, _> = p4_column(NDP, ndp_port);
    for name in PROBES.iter().map(|probe| probe.name).filter(|name| !name.contains("artifact")) {
        let expected = if name.contains("learned") || name.contains("flooding") { "no" } else { "yes" };
        assert_eq!(column[name], expected, "{name}");
    }
    assert_eq!(column["trim-arriving"], "yes");
}
