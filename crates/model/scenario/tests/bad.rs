//! Wrong scenarios, topologies, matrices and size distributions, each with the full text of its errors.
//!
//! `tests/bad/NAME.toml` is a scenario with something wrong in it (or in a file under `tests/bad/files`), and `NAME.txt`
//! holds its errors. A line `# --set path=value` in a scenario is an override. With `BLESS=1` in the environment the texts
//! are rewritten instead of compared: read the diff.

use std::fs;
use std::path::{Path, PathBuf};

use pullnet_scenario::{Files, compile};

/// Reads files relative to `tests/bad`, so that no message depends on where the project lies.
struct Bad(PathBuf);

impl Files for Bad {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        pullnet_scenario::Disk.read(&self.0.join(path).to_string_lossy())
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the folder of cases is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut cases: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    cases.sort();
    cases
}

/// The errors of a case, a line each.
fn said_of(case: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(case).expect("a case can be read")).into_owned();
    let set = text.lines().filter_map(|line| line.strip_prefix("# --set ")?.split_once('='));
    let set: Vec<_> = set.map(|(path, value)| (path.to_owned(), value.to_owned())).collect();
    let name = case.file_name().expect("a file").to_string_lossy();
    let errors = compile(&name, &text, &set, &Bad(folder())).err().unwrap_or_default();
    errors.iter().map(|error| format!("{error}\n")).collect()
}

#[test]
fn every_error_has_its_text() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let (said, expected) = (said_of(&case), case.with_extension("txt"));
        if bless {
            fs::write(&expected, &said).expect("an expectation can be written");
        }
        let wanted = fs::read_to_string(&expected).unwrap_or_default();
        if said != wanted {
            wrong.push(format!("{}:\nexpected {wanted}\nsaid     {said}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_case_is_wrong_and_there_are_enough() {
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    for case in cases {
        assert!(!said_of(&case).is_empty(), "{} has no error", case.display());
    }
}

/// Every message names a remedy: an instruction, an example or a question.
#[test]
fn every_message_says_what_would_work() {
    for case in cases() {
        for line in said_of(&case).lines() {
            let words = [
                ";",
                "did you mean",
                "write ",
                "use ",
                "add ",
                "keep ",
                "must ",
                "expected ",
                "is not a whole number",
            ];
            let remedy = words.iter().any(|word| line.contains(word));
            assert!(remedy, "{}: {line}", case.display());
        }
    }
}
