//! `pullnetd CONFIG.toml`: serves streams of NDP to the applications of this machine until SIGINT or SIGTERM.

use std::process::ExitCode;

use pullnet_daemon::config::HostFile;

const HELP: &str = "\
Usage: pullnetd [--check] CONFIG.toml

Serves streams of NDP to the applications of this machine until SIGINT or SIGTERM; docs/host.md says what the file holds.

  --check    only name every error in the file, and what it names that this machine lacks
  --version  print the version
  --help     print this";

/// Exit code if the file was wrong, or could not be read.
const WRONG_INPUT: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--help" | "-h"] => say(HELP),
        ["--version"] => say(concat!("pullnetd ", env!("CARGO_PKG_VERSION"))),
        ["--check", path] => with_file(path, HostFile::check_machine),
        [path] if !path.starts_with('-') => with_file(path, pullnet_daemon::serve),
        _ => {
            eprintln!("error: say which file: pullnetd CONFIG.toml; --help says more");
            ExitCode::from(WRONG_INPUT)
        }
    }
}

fn say(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

fn with_file(path: &str, act: impl FnOnce(&HostFile) -> Result<(), pullnet_daemon::Error>) -> ExitCode {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: {path}: cannot be read: {error}");
            return ExitCode::from(WRONG_INPUT);
        }
    };
    let file = match HostFile::read(path, &text) {
        Ok(file) => file,
        Err(errors) => {
            errors.iter().for_each(|error| eprintln!("error: {error}"));
            return ExitCode::from(WRONG_INPUT);
        }
    };
    match act(&file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.to_string().lines().for_each(|line| eprintln!("error: {line}"));
            ExitCode::FAILURE
        }
    }
}
