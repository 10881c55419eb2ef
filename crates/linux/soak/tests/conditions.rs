//! A small soak under every condition; the `pullnet-soak` command runs the full ones.

use pullnet_soak::{Condition, Options, Report, run};

fn soak(condition: Condition, encrypted: bool) -> Report {
    let options = Options { condition, rpcs: 400, bytes: 8_000_000, seed: 1, encrypted };
    let report = run(&options, |_| ());
    assert!(report.holds(), "{report}");
    // Failed calls are retried.
    assert_eq!(report.rpcs.answered + report.rpcs.died, 400);
    assert_eq!(report.rpcs.died + report.rpcs.failed > 0, report.streams.died > 0);
    assert!(report.streams.asked > 8);
    report
}

macro_rules! conditions {
    ($($name:ident: $condition:ident, $happened:expr;)+) => { $(
        #[test]
        fn $name() {
            let happened: fn(&Report) -> bool = $happened;
            for encrypted in [false, true] {
                let report = soak(Condition::$condition, encrypted);
                assert!(happened(&report), "nothing went wrong:\n{report}");
            }
        }
    )+ };
}

conditions! {
    nothing_but_traffic: Fine, |report| report.traffic.trimmed > 0;
    frames_are_lost: Loss, |report| report.traffic.lost > 100;
    frames_arrive_twice: Duplication, |report| report.traffic.doubled > 100;
    frames_overtake_each_other: Reordering, |report| report.traffic.sent > 1000;
    bits_turn: Corruption, |report| report.traffic.damaged > 10;
    first_windows_are_trimmed: Trimming, |report| report.traffic.trimmed > 2000;
    switches_start_anew: Restart, |report| report.traffic.lost > 100;
    a_path_is_down: Path, |report| report.traffic.lost > 100;
    hosts_die: Peer, |report| report.rpcs.died > 0;
    applications_die: Application, |report| report.rpcs.died > 0;
}
