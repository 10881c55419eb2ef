//! The long form of `namespaces.rs`, in minutes: `cargo test --release -p pullnet-objects --test soak -- --ignored --nocapture`.
//!
//! `PULLNET_LINK_RATE="20 Mbps"` is for machines that are busy otherwise: the links have to limit, not the processors.

mod common;

use std::fs;
use std::path::Path;

use common::{GROUP, Star};
use serde_json::Value;

const STORES: [usize; 3] = [1, 2, 3];

/// Rate of every link, unless stated otherwise.
fn rate(usual: &'static str) -> &'static str {
    std::env::var("PULLNET_LINK_RATE").map_or(usual, |rate| rate.leak())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn seconds(report: &Value) -> f64 {
    report["seconds"].as_f64().unwrap()
}

#[test]
#[ignore = "a minute, with nothing else running"]
fn a_put_to_three_takes_hardly_longer_than_a_put_to_one() {
    const LONG: usize = 250_000_000;
    let rate = rate("200 Mbps");
    let Some(star) = Star::make(3, rate, "") else { return };
    let (path, hash) = star.file("large", LONG);
    let (code, one) = star.run(&["put", text(&path), "--name", "one"], &[1]);
    assert_eq!(code, 0, "{one:#}");
    let (code, three) = star.run(&["put", text(&path), "--name", "three", "--group", GROUP], &STORES);
    assert_eq!(code, 0, "{three:#}");
    for host in STORES {
        assert_eq!(Star::hash(&star.store_folder(host).join("three")), Some(hash.clone()));
    }
    let (alone, together) = (seconds(&one), seconds(&three));
    println!("250 MB over {rate}: one {alone:.2} s, three {together:.2} s, ratio {:.3}", together / alone);
    let (code, back) = star.run(&["get", "three", "--out", text(&star.folder.join("back"))], &STORES);
    assert_eq!((code, Star::hash(&star.folder.join("back"))), (0, Some(hash)), "{back:#}");
    println!("from three: {:.2} s", seconds(&back));
    assert!(together <= 1.15 * alone);
}

/// Totals of several puts or gets.
#[derive(Default, Debug)]
struct Tally {
    seconds: f64,
    symbols: u64,
    /// Hosts reported as failed although they were not killed.
    wrong: Vec<String>,
}

/// Judges a report: every host but the killed one did its part, and the exit code says so.
fn judge(tally: &mut Tally, round: usize, (code, report): &(i32, Value), killed: Option<usize>) {
    tally.seconds += seconds(report);
    tally.symbols += report["symbols_sent"].as_u64().unwrap() + report["symbols_received"].as_u64().unwrap();
    for (host, row) in STORES.iter().zip(report["hosts"].as_array().unwrap()) {
        if row["ok"] != (killed != Some(*host)) {
            tally.wrong.push(format!("round {round}: host {host}: {row}"));
        }
    }
    assert_eq!(*code, if killed.is_some() { 3 } else { 0 }, "round {round}: {report:#}");
}

/// One frame of a hundred is lost, and in one round of ten a receiver, then a source, is killed half-way.
#[test]
#[ignore = "minutes"]
fn a_hundred_puts_and_gets_are_whole_although_hosts_die() {
    const ROUNDS: usize = 100;
    const LONG: usize = 4_000_000;
    let Some(mut star) = Star::make(3, rate("100 Mbps"), "loss = 0.01") else { return };
    let (mut puts, mut gets) = (Tally::default(), Tally::default());
    for round in 0..ROUNDS {
        let name = format!("object{round}");
        let (path, hash) = star.file(&name, LONG);
        let killed = (round % 10 == 9).then(|| STORES[round / 10 % 3]);
        let put = star.start(&["put", text(&path), "--group", GROUP], &STORES);
        if let Some(host) = killed {
            Star::wait_for_part(&star.store_folder(host), LONG as u64 / 2);
            star.kill(host);
        }
        judge(&mut puts, round, &Star::ends(put), killed);
        for host in STORES.iter().filter(|host| killed != Some(**host)) {
            let stored = star.store_folder(*host).join(&name);
            assert_eq!(Star::hash(&stored).as_ref(), Some(&hash), "round {round}: store {host}");
        }
        if let Some(host) = killed {
            star.serve(host);
            assert_eq!(star.run(&["put", text(&path)], &[host]).0, 0, "round {round}: it is back");
        }
        let folder = star.folder.join(format!("out{round}"));
        fs::create_dir_all(&folder).unwrap();
        let get = star.start(&["get", &name, "--out", text(&folder)], &STORES);
        if let Some(host) = killed {
            Star::wait_for_part(&folder, LONG as u64 / 2);
            star.kill(host);
        }
        judge(&mut gets, round, &Star::ends(get), killed);
        assert_eq!(Star::hash(&folder.join(&name)), Some(hash), "round {round}");
        if let Some(host) = killed {
            star.serve(host);
        }
        fs::remove_dir_all(&folder).unwrap();
        fs::remove_file(&path).unwrap();
    }
    println!("{ROUNDS} puts: {puts:?}\n{ROUNDS} gets: {gets:?}");
    assert!(puts.wrong.is_empty() && gets.wrong.is_empty());
}
