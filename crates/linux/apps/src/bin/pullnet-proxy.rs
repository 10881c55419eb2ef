//! `pullnet-proxy`: TCP connections over NDP, through the daemon of this machine, until SIGINT or SIGTERM.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pullnet_apps::proxy::{LIMIT, Options, Proxy, Route};
use pullnet_daemon::config::MetricsPlace;
use pullnet_daemon::metrics::Endpoint;
use pullnet_daemon::{DaemonStack, Signals, raise_descriptors};

const HELP: &str = "\
Usage: pullnet-proxy --listen ADDRESS:PORT --to HOST:SERVICE [OPTION...]
       pullnet-proxy --serve SERVICE --to ADDRESS:PORT [OPTION...]

The first form accepts TCP connections and carries each on a stream to a service of another host; the second one runs there,
and opens a TCP connection for each stream. Runs until SIGINT or SIGTERM, or until its daemon is gone.

  --listen ADDRESS:PORT  TCP address at which connections are accepted, such as 127.0.0.1:8080
  --serve SERVICE        service of this host at which streams are accepted, 0 to 65535
  --to HOST:SERVICE      with --listen: the service, such as 10.0.0.2:80, or 10.0.0.2:61200/80 with the home port of the host
  --to ADDRESS:PORT      with --serve: the TCP server
  --raw                  the other side is no proxy, but a program that uses NDP itself; a client has to speak first then
  --limit N              connections at a time; more are reset (default 512)
  --farewell SECONDS     time for open connections after SIGTERM; a second signal ends it (default 5)
  --metrics PLACE        where Prometheus finds the counters: the path of a socket, or a loopback address
  --socket PATH          where the daemon is found (default /run/pullnet/host.sock)
  --version              print the version
  --help                 print this

The counters are printed to standard error at the end. docs/host.md says more.";

/// Exit code if the command line is wrong.
const WRONG_INPUT: u8 = 2;
/// Interval between two looks whether the proxy still works.
const LOOK: Duration = Duration::from_millis(250);

/// The command line.
struct Asked {
    listen: Option<String>,
    serve: Option<u16>,
    to: Option<String>,
    options: Options,
    farewell: Duration,
    metrics: Option<MetricsPlace>,
    socket: PathBuf,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    if arguments == ["--version"] {
        println!("pullnet-proxy {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let route = read(&arguments).and_then(|asked| {
        let to = asked.to.as_deref().ok_or("where do connections lead? Say --to; --help says more")?;
        let route = Route::read(asked.listen.as_deref(), asked.serve, to);
        Ok((route.map_err(|error| error.to_string())?, asked))
    });
    match route {
        Ok((route, asked)) => match run(&route, &asked) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(WRONG_INPUT)
        }
    }
}

fn read(arguments: &[String]) -> Result<Asked, String> {
    let mut asked = Asked {
        listen: None,
        serve: None,
        to: None,
        options: Options { limit: LIMIT, raw: false },
        farewell: Duration::from_secs(5),
        metrics: None,
        socket: "/run/pullnet/host.sock".into(),
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .cloned()
                .ok_or_else(|| format!("{argument}: a value is missing; --help says more"))
        };
        let wrong = |text: &str, words: &str| format!("{argument} {text}: {words}");
        match argument.as_str() {
            "--listen" => asked.listen = Some(value()?),
            "--to" => asked.to = Some(value()?),
            "--raw" => asked.options.raw = true,
            "--socket" => asked.socket = value()?.into(),
            "--metrics" => {
                let text = value()?;
                asked.metrics = Some(MetricsPlace::read(&text).map_err(|words| wrong(&text, words))?);
            }
            "--serve" => {
                let text = value()?;
                let number =
                    text.parse().map_err(|_| wrong(&text, "write the number of a service, 0 to 65535"))?;
                asked.serve = Some(number);
            }
            "--limit" => {
                let text = value()?;
                let limit = text.parse().ok().filter(|limit| *limit > 0);
                asked.options.limit = limit.ok_or_else(|| wrong(&text, "write a whole number from 1"))?;
            }
            "--farewell" => {
                let text = value()?;
                let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                asked.farewell = seconds.ok_or_else(|| wrong(&text, "write seconds, such as 5 or 0.5"))?;
            }
            _ => return Err(format!("{argument}: there is no such option; --help says which there are")),
        }
    }
    Ok(asked)
}

fn run(route: &Route, asked: &Asked) -> Result<(), String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    // A connection takes one and its stream three, more than a shell allows for the default limit of connections.
    raise_descriptors();
    let signals = Signals::block().map_err(|error| words(&error))?;
    let stack = Arc::new(DaemonStack::connect(&asked.socket).map_err(|error| words(&error))?);
    let mut proxy = Proxy::start(&stack, route, asked.options).map_err(|error| words(&error))?;
    let endpoint = asked.metrics.as_ref().map(Endpoint::open).transpose().map_err(|error| words(&error))?;
    let _shown = endpoint.map(|endpoint| proxy.show(endpoint)).transpose().map_err(|error| words(&error))?;
    eprintln!("carries {route}");
    let problem = loop {
        if signals.wait(LOOK).map_err(|error| words(&error))? {
            break None;
        }
        if let Some(problem) = proxy.problem() {
            break Some(problem);
        }
    };
    proxy.stop(asked.farewell, || signals.wait(Duration::ZERO).unwrap_or(true));
    let counts = serde_json::to_string(&proxy.counts()).map_err(|error| words(&error))?;
    eprintln!("{counts}");
    problem.map_or(Ok(()), Err)
}
