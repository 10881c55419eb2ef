//! `pullnet-soak`: soaks host stacks under bad networks, and says whether they hold.

use std::process::ExitCode;

use pullnet_soak::{Condition, Options, Report, run};
use pullnet_units::Bytes;

const HELP: &str = "\
Usage: pullnet-soak [OPTIONS] [CONDITION...]

Lets four hosts call each other and send streams both ways, in virtual time, while something goes wrong with the network
or with them. Everything that arrives is checked by hash, and every request is carried out at most once; docs/soak.md
says what is judged. Without a condition: all of them, one after the other.

  --rpcs N       calls with requests and answers of 1 B to 100 kB (default 1000000)
  --bytes SIZE   streams, both ways together (default \"10 GB\")
  --seed N       chance of everything (default 1)
  --json         one line of JSON for each condition instead of text
  --help         print this

Progress goes to standard error. Ends with 1 if something did not hold, and with 2 if the command line is wrong.

Conditions:";

/// What the command line asks for.
struct Asked {
    conditions: Vec<Condition>,
    rpcs: u64,
    bytes: u64,
    seed: u64,
    json: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        for condition in Condition::ALL {
            println!("  {:<14} {}", condition.name(), condition.words());
        }
        return ExitCode::SUCCESS;
    }
    match read(&arguments) {
        Ok(asked) => soak(&asked),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn read(arguments: &[String]) -> Result<Asked, String> {
    let mut asked =
        Asked { conditions: Vec::new(), rpcs: 1_000_000, bytes: 10_000_000_000, seed: 1, json: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().ok_or_else(|| format!("{argument}: a value is missing; --help says more"));
        match argument.as_str() {
            "--rpcs" => asked.rpcs = number(argument, value()?)?,
            "--seed" => asked.seed = number(argument, value()?)?,
            "--bytes" => {
                let text = value()?;
                asked.bytes = text.parse::<Bytes>().map_err(|error| format!("--bytes {text:?} {error}"))?.0;
            }
            "--json" => asked.json = true,
            name => asked.conditions.push(named(name)?),
        }
    }
    if asked.conditions.is_empty() {
        asked.conditions = Condition::ALL.to_vec();
    }
    Ok(asked)
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{name} {text:?}: write a whole number such as 1000"))
}

fn named(name: &str) -> Result<Condition, String> {
    let names: Vec<_> = Condition::ALL.iter().map(|condition| condition.name()).collect();
    Condition::named(name).ok_or_else(|| format!("{name:?} is no condition; there are {}", names.join(", ")))
}

fn soak(asked: &Asked) -> ExitCode {
    let mut holds = true;
    for condition in &asked.conditions {
        let report = measured(&Options {
            condition: *condition,
            rpcs: asked.rpcs,
            bytes: asked.bytes,
            seed: asked.seed,
        });
        holds &= report.holds() && report.is_flat();
        if asked.json {
            println!("{}", serde_json::to_string(&report).unwrap_or_default());
        } else {
            println!("{report}");
        }
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::disallowed_methods, reason = "how long it took")]
fn measured(options: &Options) -> Report {
    let (start, name) = (std::time::Instant::now(), options.condition.name());
    let report = run(options, |done| {
        eprintln!("{name}: {:.0}%, {:.0} s", done * 100.0, start.elapsed().as_secs_f64())
    });
    Report { seconds: start.elapsed().as_secs_f64(), ..report }
}
