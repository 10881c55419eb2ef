//! `pullnet-objects put|get|store`: what `pullnet host put`, `get` and `store` do, without Python.

use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use pullnet_netio::Signals;
use pullnet_objects::command::{self, CommandError, host_address};
use pullnet_objects::{LinkOptions, Report, STORE_PORT, local_address};
use pullnet_units::{BitsPerSec, Bytes};

const HELP: &str = "\
Usage: pullnet-objects put FILE HOST... [--name NAME] [--group ADDRESS] [OPTIONS]
       pullnet-objects get NAME HOST... --out FILE [OPTIONS]
       pullnet-objects store DIR --address ADDRESS [--port PORT] [--most SIZE] [OPTIONS]

Sends a file to stores as symbols of RaptorQ over SCDP, fetches it from all stores that have it, or is a store until
SIGINT or SIGTERM. docs/objects.md says more.

  --address ADDRESS  address of this host; put and get find it by their route to the first HOST
  --interface NAME   AF_PACKET on this interface instead of the kernel's UDP; groups need it
  --rate RATE        rate of this host's link (default \"1 Gbps\")
  --group ADDRESS    multicast group that switches copy to the hosts: each symbol is sent once
  --json             print the report as JSON
  --help             print this

Ends with 2 if the command line or a file is wrong, and with 3 if a host failed or a signal ended a put or get.";

/// Exit codes.
const WRONG_INPUT: u8 = 2;
const FAILED: u8 = 3;

/// The parsed command line.
struct Asked {
    words: Vec<String>,
    address: Option<IpAddr>,
    interface: Option<String>,
    rate: BitsPerSec,
    port: u16,
    group: Option<Ipv4Addr>,
    name: Option<String>,
    out: Option<PathBuf>,
    most: Bytes,
    json: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match read(&arguments).and_then(|asked| run(&asked)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(error) => {
            eprintln!("error: {error}");
            let code = if matches!(error, CommandError::Input(_)) { WRONG_INPUT } else { FAILED };
            ExitCode::from(code)
        }
    }
}

fn wrong<T>(text: String) -> Result<T, CommandError> {
    Err(CommandError::Input(text))
}

fn value<T: FromStr>(name: &str, text: &str, example: &str) -> Result<T, CommandError> {
    text.parse().or_else(|_| wrong(format!("{name} {text:?}: write for instance {example}")))
}

fn read(arguments: &[String]) -> Result<Asked, CommandError> {
    let mut asked = Asked {
        words: Vec::new(),
        address: None,
        interface: None,
        rate: BitsPerSec::gbps(1),
        port: STORE_PORT,
        group: None,
        name: None,
        out: None,
        most: Bytes(100_000_000_000),
        json: false,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let name = argument.as_str();
        if name == "--json" {
            asked.json = true;
            continue;
        }
        if !name.starts_with("--") {
            asked.words.push(argument.clone());
            continue;
        }
        let missing = || CommandError::Input(format!("{name}: a value is missing; --help says more"));
        let text = arguments.next().ok_or_else(missing)?;
        match name {
            "--address" => asked.address = Some(value(name, text, "10.0.0.1")?),
            "--interface" => asked.interface = Some(text.clone()),
            "--rate" => asked.rate = value(name, text, "\"1 Gbps\"")?,
            "--port" => asked.port = value(name, text, "61200")?,
            "--group" => asked.group = Some(value(name, text, "239.1.0.1")?),
            "--name" => asked.name = Some(text.clone()),
            "--out" => asked.out = Some(text.into()),
            "--most" => asked.most = value(name, text, "\"10 GB\"")?,
            _ => return wrong(format!("{name}: is no option; --help lists them")),
        }
    }
    Ok(asked)
}

fn run(asked: &Asked) -> Result<bool, CommandError> {
    let words: Vec<&str> = asked.words.iter().map(String::as_str).collect();
    // Before any thread is started: a signal then ends a command by its `Watch`, which removes the part of a file.
    let signals = Signals::block().map_err(|error| CommandError::Host(error.to_string()))?;
    let ended = || signals.wait(Duration::ZERO).unwrap_or(true);
    match words[..] {
        ["put", file, _, ..] => {
            let (hosts, link) = hosts(asked)?;
            let (name, group) = (asked.name.clone(), asked.group);
            let report = command::put(&link, file.as_ref(), name, &hosts, group, &mut watch(ended))?;
            Ok(tell(asked, &report))
        }
        ["get", name, _, ..] => {
            let (hosts, link) = hosts(asked)?;
            let Some(out) = &asked.out else { return wrong("get: say where to, with --out FILE".into()) };
            Ok(tell(asked, &command::get(&link, name, out, &hosts, &mut watch(ended))?))
        }
        ["store", folder] => {
            let Some(address) = asked.address else {
                return wrong("store: say at which address, with --address ADDRESS".into());
            };
            let link = link(asked, address, asked.port);
            let say = Box::new(|line: String| eprintln!("{line}"));
            command::store(&link, folder.as_ref(), asked.most.0, say, &mut |_, _| !ended())?;
            Ok(true)
        }
        _ => wrong("say what: put FILE HOST..., get NAME HOST..., or store DIR; --help says more".into()),
    }
}

fn link(asked: &Asked, address: IpAddr, port: u16) -> LinkOptions {
    LinkOptions { address, port, interface: asked.interface.clone(), rate: asked.rate, mtu: None }
}

/// The hosts of a put or get, and the link to them.
fn hosts(asked: &Asked) -> Result<(Vec<SocketAddr>, LinkOptions), CommandError> {
    let hosts = asked.words[2..].iter().map(|text| host_address(text)).collect::<Result<Vec<_>, _>>()?;
    let address = match asked.address {
        Some(address) => address,
        None => local_address(hosts[0]).map_err(CommandError::Input)?,
    };
    Ok((hosts, link(asked, address, 0)))
}

/// Shows the progress on a terminal, until `ended`.
fn watch(ended: impl Fn() -> bool) -> impl FnMut(u64, u64) -> bool {
    let shows = std::io::stderr().is_terminal();
    move |done, all| {
        if shows && all > 0 {
            eprint!("\r{:3.0} %", 100.0 * done as f64 / all as f64);
        }
        !ended()
    }
}

/// Prints the report; returns whether all is well.
fn tell(asked: &Asked, report: &Report) -> bool {
    if asked.json {
        println!("{}", serde_json::to_string_pretty(report).unwrap_or_default());
    } else {
        report.lines().iter().for_each(|line| println!("{line}"));
    }
    report.ok()
}
