//! Congestion windows under scripted losses and marks beside those of Linux. `docs/kernel.md` has the table of all of them; a
//! difference without a reason fails.

mod arithmetic;
mod ours;
mod reasons;
mod script;
mod table;

use std::path::PathBuf;

use reasons::{RoundTrip, reason};
use script::{Kernel, Round, Rounds, Script};

/// Recordings of `tools/kernel/windows.py`.
const RECORDINGS: [&str; 2] = ["linux-6.1.json", "linux-6.18.json"];

fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../..").join(path)
}

fn read(path: &str) -> String {
    let path = root(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn kernels() -> Vec<Kernel> {
    RECORDINGS.iter().map(|name| Kernel::read(&read(&format!("vectors/kernel/{name}")))).collect()
}

/// A script in three worlds.
struct Compared {
    kernel: String,
    script: Script,
    theirs: Rounds,
    ours: Rounds,
    /// Ours with Linux's arithmetic.
    whole: Rounds,
}

impl Compared {
    /// The round trips of all three worlds, subflow by subflow. A flow that is complete in one has no further ones.
    fn rounds(&self) -> impl Iterator<Item = (RoundTrip<'_>, [&Round; 3])> {
        let subflows = self.theirs.iter().zip(&self.ours).zip(&self.whole).enumerate();
        subflows.flat_map(move |(subflow, ((theirs, ours), whole))| {
            let rounds = theirs.iter().zip(ours).zip(whole).enumerate();
            rounds.map(move |(round, ((theirs, ours), whole))| {
                let place = RoundTrip { kernel: &self.kernel, script: &self.script, subflow, round };
                (place, [theirs, ours, whole])
            })
        })
    }
}

/// Names of scripts, in their order.
fn names() -> Vec<String> {
    let text = read("vectors/kernel/scripts.toml");
    let names = text.lines().filter_map(|line| line.strip_prefix("name = "));
    names.map(|name| name.trim_matches('"').to_owned()).collect()
}

/// Every script on every kernel that has its protocol.
fn all() -> Vec<Compared> {
    let kernels = kernels();
    let compare = |kernel: &Kernel, name: &String| {
        let (script, theirs) = kernel.runs.get(name)?.clone();
        let (ours, whole) = (ours::run(&script), ours::run_with_linux_arithmetic(&script));
        Some(Compared { kernel: kernel.release.clone(), script, theirs, ours, whole })
    };
    let names = names();
    names.iter().flat_map(|name| kernels.iter().filter_map(move |kernel| compare(kernel, name))).collect()
}

#[test]
fn every_difference_from_linux_has_a_reason() {
    let all = all();
    let mut unexplained = Vec::new();
    for (place, rounds) in all.iter().flat_map(Compared::rounds) {
        if !reasons::agree(rounds[0], rounds[1]) && reason(&place, rounds).is_none() {
            let [theirs, ours, whole] = rounds;
            let line = format!(
                "{place}:\n  Linux   {theirs:?}\n  pullnet {ours:?}\n  with Linux's arithmetic {whole:?}"
            );
            unexplained.push(line);
        }
    }
    assert!(unexplained.is_empty(), "{} differences:\n{}", unexplained.len(), unexplained.join("\n"));
}

#[test]
fn every_reason_explains_a_difference() {
    let all = all();
    let used: Vec<_> = all
        .iter()
        .flat_map(Compared::rounds)
        .filter(|(_, [theirs, ours, _])| !reasons::agree(theirs, ours))
        .filter_map(|(place, rounds)| reason(&place, rounds))
        .collect();
    for known in reasons::ALL {
        assert!(used.contains(&known), "{known:?} explains nothing: remove it");
    }
    for entry in reasons::LISTED {
        let covers = |(place, rounds): (RoundTrip<'_>, [&Round; 3])| {
            entry.covers(&place) && !reasons::agree(rounds[0], rounds[1])
        };
        assert!(all.iter().flat_map(Compared::rounds).any(covers), "{entry:?} covers nothing: remove it");
    }
}

#[test]
fn the_scripts_were_run_as_they_are() {
    let names = names();
    assert!(names.len() >= 30, "{} scripts", names.len());
    let recorded: Vec<_> = kernels().into_iter().flat_map(|kernel| kernel.runs.into_values()).collect();
    for name in names {
        assert!(recorded.iter().any(|(script, _)| script.name == name), "{name} was not recorded");
    }
}

#[test]
fn the_table_is_up_to_date() {
    const PATH: &str = "docs/kernel.md";
    const BEGIN: &str = "<!-- generated from here on -->\n";
    let text = read(PATH);
    let (written, _) = text.split_once(BEGIN).expect("a line at which the generated part begins");
    let new = format!("{written}{BEGIN}{}", table::markdown(&all()));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(root(PATH), &new).expect("docs/ can be written");
        return;
    }
    assert!(
        new == text,
        "{PATH} is not what the runs say: BLESS=1 cargo test -p pullnet-protocols --test registry kernel"
    );
}
