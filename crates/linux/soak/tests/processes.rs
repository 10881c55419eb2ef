//! Small soaks with real processes; kills some of them during calls and streams.

use std::path::PathBuf;

use pullnet_soak::{KillOptions, Killed, Report, kill};

fn soak(killed: Killed, encrypted: bool) -> Report {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_pullnet-soak"));
    let options = KillOptions { killed, rpcs: 400, bytes: 20_000_000, kills: 4, seed: 1, encrypted, program };
    let report = kill(&options, |_| ()).unwrap();
    assert!(report.holds(), "{report}");
    // Failed calls are retried until the requested number is answered.
    assert_eq!(report.rpcs.answered, 400, "{report}");
    assert!(report.streams.bytes >= 20_000_000, "{report}");
    report
}

#[test]
fn a_process_with_its_host_is_killed() {
    for encrypted in [false, true] {
        soak(Killed::Peer, encrypted);
    }
}

#[test]
fn an_application_is_killed() {
    for encrypted in [false, true] {
        soak(Killed::Application, encrypted);
    }
}

#[test]
fn daemons_are_killed() {
    for encrypted in [false, true] {
        let report = soak(Killed::Daemon, encrypted);
        assert!(report.errors.keys().any(|error| error.contains("the daemon is gone")), "{report}");
    }
}
