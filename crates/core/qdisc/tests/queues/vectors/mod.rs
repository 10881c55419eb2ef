//! Golden vectors: what a queue was given, and what it did. Every switch of the project must do the same.
//!
//! The files lie in `vectors/qdisc/` in the root folder, with a schema and a README. Each test replays a file line by line.
//! `BLESS=1 cargo test -p pullnet-qdisc --test queues vectors` rewrites the files: look at the difference.

mod files;
mod ops;
mod switch;

use std::fs;
use std::path::{Path, PathBuf};

use pullnet_qdisc::{CutPayloadConfig, DropTailConfig, SharedBufferConfig, TrimConfig};
use pullnet_settings::Settings;
use serde_json::{Value, json};

use files::files;
use switch::run;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/qdisc")
}

fn text(head: &Value, lines: &[Value]) -> String {
    std::iter::once(head).chain(lines).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_queues_do_what_the_vectors_say() {
    if std::env::var_os("BLESS").is_some() {
        for (name, head, ops) in files() {
            fs::write(folder().join(name).with_extension("jsonl"), text(&head, &run(&head, &ops))).unwrap();
        }
    }
    let mut names: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    names.sort();
    assert!(names.len() >= 32, "{names:?}");
    for path in names {
        replay(&path);
    }
}

fn replay(path: &Path) {
    let lines: Vec<Value> =
        fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (head, lines) = lines.split_first().expect("a first line");
    assert_eq!(
        (&head["format"], &head["version"]),
        (&json!("pullnet-qdisc"), &json!(1)),
        "{}",
        path.display()
    );
    for (number, (done, expected)) in (2..).zip(run(head, lines).iter().zip(lines)) {
        assert_eq!(done, expected, "done (left) and expected (right) at {}:{number}", path.display());
    }
}

#[test]
fn the_vectors_are_what_this_file_makes() {
    for (name, head, ops) in files() {
        let path = folder().join(name).with_extension("jsonl");
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text(&head, &run(&head, &ops)),
            "{} is not up to date; BLESS=1 writes it",
            path.display()
        );
    }
}

#[test]
fn the_defaults_that_vectors_rely_on_are_those_of_the_settings() {
    let default = |fields: &[pullnet_settings::Field], name: &str| {
        fields.iter().find(|field| field.name == name).map(|field| field.default)
    };
    assert_eq!(default(TrimConfig::FIELDS, "data_queue"), Some("8 packets"));
    assert_eq!(default(TrimConfig::FIELDS, "control_queue"), Some("72 kB"));
    assert_eq!(default(TrimConfig::FIELDS, "control_per_data"), Some("10"));
    assert_eq!(default(TrimConfig::FIELDS, "trim_to"), Some("64 B"));
    assert_eq!(default(CutPayloadConfig::FIELDS, "trim_to"), Some("64 B"));
    assert_eq!(default(DropTailConfig::FIELDS, "queue"), Some("200 packets"));
    assert_eq!(default(SharedBufferConfig::FIELDS, "alpha"), Some("1.0"));
}
