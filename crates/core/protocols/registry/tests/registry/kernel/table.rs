//! The generated part of `docs/kernel.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::Compared;
use super::reasons::{self, Reason, reason};
use super::script::Round;

/// The reasons, and the windows of every script.
pub fn markdown(all: &[Compared]) -> String {
    let mut text = String::from("\n## Reasons\n\n| | rule in which Linux differs |\n|---|---|\n");
    for reason in reasons::ALL {
        writeln!(text, "| {} | {} |", reason.letter(), reason.text()).expect("a string takes all");
    }
    for (protocol, title) in [("tcp", "TCP"), ("dctcp", "DCTCP"), ("mptcp", "MPTCP")] {
        write!(text, "\n## {title}\n").expect("a string takes all");
        let mut scripts: Vec<&str> = Vec::new();
        for compared in all.iter().filter(|compared| compared.script.protocol == protocol) {
            if !scripts.contains(&compared.script.name.as_str()) {
                scripts.push(&compared.script.name);
            }
        }
        for name in scripts {
            let of: Vec<_> = all.iter().filter(|compared| compared.script.name == name).collect();
            text += &script(&of);
        }
    }
    text
}

/// One script on every kernel.
fn script(all: &[&Compared]) -> String {
    let first = all[0];
    let mut text = format!("\n### {}\n\n`{}`\n\n```text\n", capital(&first.script.title), first.script.name);
    for subflow in 0..first.theirs.len() {
        if first.theirs.len() > 1 {
            writeln!(text, "subflow {subflow}").expect("a string takes all");
        }
        for compared in all {
            row(&mut text, &format!("Linux {}", short(&compared.kernel)), &compared.theirs[subflow], shown);
        }
        row(&mut text, "here", &first.ours[subflow], shown);
        if first.theirs[subflow][0].alpha.is_some() {
            row(&mut text, "alpha, Linux", &first.theirs[subflow], alpha);
            row(&mut text, "alpha, here", &first.ours[subflow], alpha);
        }
    }
    text += "```\n\n";
    let differences: Vec<_> = all.iter().filter_map(|compared| differences(compared)).collect();
    text + &if differences.is_empty() { "Equal.\n".to_owned() } else { differences.join("  \n") + "\n" }
}

fn row(text: &mut String, name: &str, rounds: &[Round], value: impl Fn(&Round) -> String) {
    let values: Vec<_> = rounds.iter().map(value).collect();
    writeln!(text, "{name:14} {}", values.join(" ")).expect("a string takes all");
}

fn shown(round: &Round) -> String {
    format!("{:3}", round.window.floor())
}

fn alpha(round: &Round) -> String {
    let hundredths = round.alpha.map_or(0.0, |alpha| (alpha * 100.0).round());
    if hundredths >= 100.0 { "1.0".to_owned() } else { format!(".{hundredths:02}") }
}

/// "Linux 6.1: A in round trip 2, B in 5-7".
fn differences(compared: &Compared) -> Option<String> {
    let mut found: BTreeMap<Reason, BTreeSet<u32>> = BTreeMap::new();
    for (place, rounds) in compared.rounds() {
        if let Some(why) = reason(&place, rounds).filter(|_| !reasons::agree(rounds[0], rounds[1])) {
            found.entry(why).or_default().insert(place.round as u32);
        }
    }
    let part = |(reason, rounds): (&Reason, &BTreeSet<u32>)| {
        let rounds: Vec<u32> = rounds.iter().copied().collect();
        format!("{} in {}", reason.letter(), super::script::ranges(&rounds).replace(' ', ", "))
    };
    let parts: Vec<_> = found.iter().map(part).collect();
    (!parts.is_empty()).then(|| format!("Linux {}: {}", short(&compared.kernel), parts.join("; ")))
}

/// "6.1" of "6.1.176".
fn short(release: &str) -> String {
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}
