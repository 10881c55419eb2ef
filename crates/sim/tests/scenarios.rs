//! Every example runs to the same fingerprint with any number of threads, with and without probes, and in every
//! build: `vectors/fingerprints.json` is also what the released program is compared with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pullnet_probes::{Direction, PacketRow};
use pullnet_record::RunRecord;
use pullnet_scenario::{Disk, compile};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn examples() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("scenarios")).expect("a folder of scenarios");
    let files = folder.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

fn run(file: &Path, threads: usize, set: &[(&str, &str)]) -> RunRecord {
    let text = std::fs::read_to_string(file).expect("a readable scenario");
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let name = file.to_str().expect("a printable name");
    let scenario = compile(name, &text, &set, &Disk).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let mut run = pullnet_sim::start(&Arc::new(scenario), threads);
    while !run.advance(1 << 12).ended {}
    run.finish()
}

const ALL_PROBES: &[(&str, &str)] = &[
    ("probes.ports", "true"),
    ("probes.latency", "true"),
    ("probes.control", "true"),
    ("probes.packets", "true"),
    ("probes.hops.every", "3"),
    ("probes.series.interval", "10 us"),
    ("probes.series.per", "flow"),
];
const NO_PROBES: &[(&str, &str)] = &[("probes", "{}")];

/// The fingerprint of an example, which is the same for any number of threads and any probes.
fn fingerprint(file: &Path) -> u64 {
    let record = run(file, 1, &[]);
    assert!(record.complete, "{}: did not reach its stated end", file.display());
    for (threads, set) in [(2, &[] as &[_]), (2, ALL_PROBES), (1, NO_PROBES)] {
        let other = run(file, threads, set);
        let place = || format!("{}: {threads} threads, {set:?}", file.display());
        assert_eq!(other.fingerprint, record.fingerprint, "{}", place());
        assert_eq!(other.flows, record.flows, "{}", place());
    }
    record.fingerprint
}

/// Fingerprints of all examples by the names of their files, with as many examples at a time as there are processors.
fn fingerprints() -> BTreeMap<String, String> {
    let (files, next, seen) = (examples(), AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = file.file_name().and_then(|name| name.to_str()).expect("a printable name").to_owned();
            let found = format!("{:016x}", fingerprint(file));
            seen.lock().unwrap().insert(name, found);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    seen.into_inner().unwrap()
}

#[test]
fn examples_keep_their_fingerprints() {
    let path = root().join("vectors/fingerprints.json");
    let seen = fingerprints();
    if std::env::var_os("BLESS").is_some() {
        let text = serde_json::to_string_pretty(&seen).expect("plain text");
        std::fs::write(&path, text + "\n").expect("a writable vector");
    }
    let golden = std::fs::read_to_string(&path).expect("vectors/fingerprints.json");
    let golden: BTreeMap<String, String> = serde_json::from_str(&golden).expect("a table of fingerprints");
    assert_eq!(
        seen, golden,
        "if the change of behaviour is meant: BLESS=1 cargo test -p pullnet-sim --test scenarios"
    );
}

#[test]
fn the_packet_probe_has_every_packet_once_at_each_end() {
    let file = root().join("scenarios/testbed/star.toml");
    let record = run(&file, 1, &[("probes.packets", "true")]);
    let count = |direction, data, fate: Option<&str>| {
        let wanted = |row: &&PacketRow| {
            row.direction == direction
                && (row.kind == "data") == data
                && fate.is_none_or(|fate| row.fate == fate)
        };
        record.recorded.packets().iter().filter(wanted).count() as u64
    };
    let totals = &record.totals;
    assert!(totals.packets.trimmed > 0, "nothing was trimmed");
    assert_eq!(count(Direction::Sent, true, None), totals.packets.data_sent);
    assert_eq!(count(Direction::Received, true, Some("whole")), totals.packets.data_delivered);
    assert_eq!(count(Direction::Received, true, Some("trimmed")), totals.packets.headers_delivered);
    assert!(record.recorded.packets().is_sorted_by_key(|row| (row.host, row.at)));
    let sent = |row: &PacketRow| {
        let same =
            |other: &&PacketRow| (other.words, other.kind, other.peer) == (row.words, row.kind, row.host);
        record
            .recorded
            .packets()
            .iter()
            .filter(same)
            .any(|other| other.direction == Direction::Sent && other.at < row.at)
    };
    let received = record.recorded.packets().iter().filter(|row| row.direction == Direction::Received);
    assert!(received.step_by(100).all(sent), "received, but never sent");
}
