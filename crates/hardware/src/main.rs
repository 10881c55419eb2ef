//! `pullnet-hardware agreement SIMULATION FRAMES [SEED] [PROFILE]`: compares the simulated RTL with the software switch;
//! `reference` in place of `agreement` does so for the reference switch.
//! `pullnet-hardware p4`: checks the paper's claims about its P4 program on both P4 programs, as JSON.
//! `pullnet-hardware frames FRAMES [SEED]`: random frames with the software switch's outcomes, for the switch inside the kernel.
//! `pullnet-hardware features SIMULATION`: which parts of the rule the simulated RTL has, as JSON.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use pullnet_hardware::agreement::{PROFILES, Profile, REFERENCE_PROFILES, compare};
use pullnet_hardware::features;
use pullnet_hardware::kernel::{self, Outcome};

const USAGE: &str = "usage: pullnet-hardware agreement|reference SIMULATION FRAMES [SEED] [PROFILE]
       pullnet-hardware features SIMULATION
       pullnet-hardware frames FRAMES [SEED]
       pullnet-hardware p4";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["agreement", program, frames, rest @ ..] if rest.len() <= 2 => {
            agreement(&PROFILES, program, frames, rest)
        }
        ["reference", program, frames, rest @ ..] if rest.len() <= 2 => {
            agreement(&REFERENCE_PROFILES, program, frames, rest)
        }
        ["p4"] => p4_programs(),
        ["features", program] => rtl_features(program),
        ["frames", count, rest @ ..] if rest.len() <= 1 => frames(count, rest),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("pullnet-hardware: {why}");
            ExitCode::FAILURE
        }
    }
}

fn p4_programs() -> Result<(), String> {
    let [ours, paper] = [features::Published::Ours, features::Published::Paper].map(features::functional);
    let (ours, paper) = (ours.map_err(|why| why.to_string())?, paper.map_err(|why| why.to_string())?);
    println!("{{\"ours\": {ours}, \"paper\": {paper}}}");
    Ok(())
}

fn rtl_features(program: &str) -> Result<(), String> {
    let column = features::rtl(Path::new(program)).map_err(|why| why.to_string())?;
    let text = serde_json::to_string(&column).map_err(|why| why.to_string())?;
    println!("{text}");
    Ok(())
}

/// A line for each frame: its port and bytes, and what becomes of it where there is room for data and where there is none:
/// `-` for dropped, else a port and the bytes that leave, `=` for the same bytes.
fn frames(count: &str, rest: &[&str]) -> Result<(), String> {
    let count = number(count, "FRAMES")?;
    let seed = rest.first().map_or(Ok(1), |text| number(text, "SEED"))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for case in kernel::cases(seed, count) {
        let [room, full] = [&case.room, &case.full].map(|outcome| match outcome {
            Outcome::Dropped => "-".to_owned(),
            Outcome::Left(port, bytes) if *bytes == case.bytes => format!("{port}="),
            Outcome::Left(port, bytes) => format!("{port}{}", hex(bytes)),
        });
        let port = case.port;
        writeln!(out, "{port} {} {room} {full}", hex(&case.bytes)).map_err(|why| why.to_string())?;
    }
    out.flush().map_err(|why| why.to_string())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn number(text: &str, what: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{what} {text:?} is not a number from 0 to {}", u64::MAX))
}

fn agreement(known: &[Profile], program: &str, frames: &str, rest: &[&str]) -> Result<(), String> {
    let frames = number(frames, "FRAMES")?;
    let seed = rest.first().map_or(Ok(1), |text| number(text, "SEED"))?;
    let profiles = match rest.get(1) {
        None => known.to_vec(),
        Some(name) => vec![*known.iter().find(|profile| profile.name == *name).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|profile| profile.name).collect();
            format!("PROFILE {name:?} is not there; there are {}", names.join(", "))
        })?],
    };
    let share = frames.div_ceil(profiles.len() as u64);
    println!("{{");
    for (at, profile) in (1..).zip(&profiles) {
        let tally = compare(Path::new(program), profile, seed, share)
            .map_err(|why| format!("profile {}, seed {seed}: {why}", profile.name))?;
        let comma = if at < profiles.len() { "," } else { "" };
        println!(
            "  \"{}\": {{\"frames\": {}, \"refused\": {}, \"left\": {}, \"trimmed\": {}, \"returned\": {}, \
             \"dropped\": {}, \"marked\": {}, \"events\": {}, \"cycles\": {}}}{comma}",
            profile.name,
            tally.frames,
            tally.refused,
            tally.left,
            tally.trimmed,
            tally.returned,
            tally.dropped,
            tally.marked,
            tally.events,
            tally.cycles
        );
    }
    println!("}}");
    Ok(())
}
