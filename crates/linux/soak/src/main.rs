//! `pullnet-soak`: runs host stacks under network faults and reports whether the guarantees held.

use std::process::ExitCode;
use std::str::FromStr;

use pullnet_soak::{Condition, KillOptions, Killed, Options, Report};
use pullnet_units::Bytes;

const HELP: &str = "\
Usage: pullnet-soak [OPTIONS] [CONDITION...]

Lets four hosts call each other and send streams both ways, in virtual time, while something goes wrong with the network
or with them; or lets processes do so by loopback addresses, and kills some. Everything that arrives is checked
by hash, and every request is carried out at most once; docs/soak.md says what is judged. Without a condition: all of
them, one after the other.

  --rpcs N       calls with requests and answers of 1 B to 100 kB (default 1000000)
  --bytes SIZE   streams, both ways together (default \"10 GB\")
  --seed N       chance of everything (default 1)
  --kills N      how often a process is killed (default 20)
  --encrypted    hosts share keys, and encrypt all streams
  --json         one line of JSON for each condition instead of text
  --help         print this

Progress goes to standard error. Ends with 1 if something did not hold, and with 2 if the command line is wrong.

Conditions:";

/// The fault: in virtual time or with real processes.
#[derive(Clone, Copy)]
enum Wrong {
    Virtual(Condition),
    Processes(Killed),
}

impl Wrong {
    fn all() -> impl Iterator<Item = Self> {
        Condition::ALL.into_iter().map(Self::Virtual).chain(Killed::ALL.into_iter().map(Self::Processes))
    }

    const fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Virtual(condition) => condition.described(),
            Self::Processes(killed) => killed.described(),
        }
    }
}

/// The parsed command line.
struct Asked {
    wrongs: Vec<Wrong>,
    kills: u32,
    rpcs: u64,
    bytes: u64,
    seed: u64,
    encrypted: bool,
    json: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        for (name, words) in Wrong::all().map(Wrong::described) {
            println!("  {name:<20} {words}");
        }
        return ExitCode::SUCCESS;
    }
    let done = match arguments.split_first() {
        Some((first, role)) if first == "--child" => return child(role),
        _ => read(&arguments)
            .map_err(|error| (error, 2))
            .and_then(|asked| soak(&asked).map_err(|error| (error, 1))),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err((error, code)) => {
            eprintln!("error: {error}");
            ExitCode::from(code)
        }
    }
}

/// A child process, started by this program to be killed.
fn child(role: &[String]) -> ExitCode {
    pullnet_soak::child(role).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn read(arguments: &[String]) -> Result<Asked, String> {
    let mut asked = Asked {
        wrongs: Vec::new(),
        kills: 20,
        rpcs: 1_000_000,
        bytes: 10_000_000_000,
        seed: 1,
        encrypted: false,
        json: false,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().ok_or_else(|| format!("{argument}: a value is missing; --help says more"));
        match argument.as_str() {
            "--rpcs" => asked.rpcs = number(argument, value()?)?,
            "--seed" => asked.seed = number(argument, value()?)?,
            "--kills" => asked.kills = number(argument, value()?)?,
            "--bytes" => {
                let text = value()?;
                asked.bytes = text.parse::<Bytes>().map_err(|error| format!("--bytes {text:?} {error}"))?.0;
            }
            "--encrypted" => asked.encrypted = true,
            "--json" => asked.json = true,
            option if option.starts_with('-') => {
                return Err(format!("{option:?} is no option; --help lists them"));
            }
            name => asked.wrongs.push(named(name)?),
        }
    }
    if asked.wrongs.is_empty() {
        asked.wrongs = Wrong::all().collect();
    }
    Ok(asked)
}

fn number<N: FromStr>(name: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{name} {text:?}: write a whole number such as 1000"))
}

fn named(name: &str) -> Result<Wrong, String> {
    let names = || Wrong::all().map(|wrong| wrong.described().0).collect::<Vec<_>>().join(", ");
    let found = Wrong::all().find(|wrong| wrong.described().0 == name);
    found.ok_or_else(|| format!("{name:?} is no condition; there are {}", names()))
}

/// Returns whether the guarantees held.
fn soak(asked: &Asked) -> Result<bool, String> {
    let mut holds = true;
    for wrong in &asked.wrongs {
        let report = measured(asked, *wrong).map_err(|error| error.to_string())?;
        holds &= report.holds() && report.is_flat();
        if asked.json {
            println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
        } else {
            println!("{report}");
        }
    }
    Ok(holds)
}

#[expect(clippy::disallowed_methods, reason = "how long it took")]
fn measured(asked: &Asked, wrong: Wrong) -> std::io::Result<Report> {
    let (start, (name, _)) = (std::time::Instant::now(), wrong.described());
    let told = |done: f64| eprintln!("{name}: {:.0}%, {:.0} s", done * 100.0, start.elapsed().as_secs_f64());
    let Asked { rpcs, bytes, seed, kills, encrypted, .. } = *asked;
    let report = match wrong {
        Wrong::Virtual(condition) => {
            pullnet_soak::run(&Options { condition, rpcs, bytes, seed, encrypted }, told)
        }
        Wrong::Processes(killed) => {
            let program = std::env::current_exe()?;
            pullnet_soak::kill(&KillOptions { killed, rpcs, bytes, kills, seed, encrypted, program }, told)?
        }
    };
    Ok(Report { seconds: start.elapsed().as_secs_f64(), ..report })
}
