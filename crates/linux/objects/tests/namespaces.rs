//! Put and get between processes in network namespaces, over the software switch. Needs root and `ip`.

mod common;

use std::path::Path;
use std::process::Stdio;

use common::{GROUP, Star};
use serde_json::Value;

const STORES: [usize; 3] = [1, 2, 3];
const LONG: usize = 8_000_000;
/// Symbols of 1412 B: an MTU of 1500 B less the headers of IPv4, UDP and SCDP.
const SYMBOLS: u64 = (LONG as u64).div_ceil(1412);
const LOSS: &str = "loss = 0.01";

/// The hosts that did not do what was asked.
fn failed(report: &Value) -> Vec<&str> {
    let hosts = report["hosts"].as_array().unwrap();
    let failed = hosts.iter().filter(|host| host["ok"] == false);
    failed.map(|host| host["host"].as_str().unwrap().split(':').next().unwrap()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn everyone_has(star: &Star, stores: &[usize], name: &str, hash: &str) {
    for host in stores {
        assert_eq!(Star::hash(&star.store_folder(*host).join(name)).as_deref(), Some(hash), "store {host}");
    }
}

#[test]
fn three_stores_get_a_file_of_which_each_symbol_is_sent_once() {
    let Some(star) = Star::make(3, "200 Mbps", "") else { return };
    let (path, hash) = star.file("eight", LONG);
    let (code, report) = star.run(&["put", text(&path), "--group", GROUP], &STORES);
    assert_eq!((code, report["blake3"].as_str()), (0, Some(hash.as_str())), "{report:#}");
    assert!(report["hosts"].as_array().unwrap().iter().all(|host| host["way"] == "group"), "{report:#}");
    everyone_has(&star, &STORES, "eight", &hash);
    let sent = report["symbols_sent"].as_u64().unwrap();
    assert!((SYMBOLS..SYMBOLS + SYMBOLS / 5).contains(&sent), "{SYMBOLS} symbols, sent {sent}");
    // The sender's link carries a symbol once, and so does the link of each receiver.
    let carried = star.counter(0, "if_in_non_ucast_pkts");
    assert!(carried >= SYMBOLS && carried <= sent, "{carried} of {sent}");
    let copies = STORES.map(|host| star.counter(host, "if_out_non_ucast_pkts"));
    assert_eq!(copies, [carried; 3]);

    let out = star.folder.join("back");
    let (code, report) = star.run(&["get", "eight", "--out", text(&out)], &STORES);
    assert_eq!((code, Star::hash(&out)), (0, Some(hash)), "{report:#}");
    assert!(failed(&report).is_empty());
}

#[test]
fn one_host_is_a_put_and_a_get_like_any_other() {
    let Some(star) = Star::make(1, "200 Mbps", "") else { return };
    for (name, long) in [("empty", 0), ("one", 1), ("some", 100_000)] {
        let (path, hash) = star.file(name, long);
        let (code, report) = star.run(&["put", text(&path)], &[1]);
        assert_eq!(code, 0, "{report:#}");
        everyone_has(&star, &[1], name, &hash);
        let out = star.folder.join("out");
        let (code, report) = star.run(&["get", name, "--out", text(&out)], &[1]);
        assert_eq!((code, Star::hash(&out)), (0, Some(hash)), "{report:#}");
    }
    let (code, report) = star.run(&["get", "nothing", "--out", text(&star.folder.join("out"))], &[1]);
    assert_eq!(code, 3);
    assert_eq!(report["hosts"][0]["error"], "it has no object \"nothing\"");
    let (code, _) = star.run(&["put", "/nowhere/file"], &[1]);
    assert_eq!(code, 2, "no such file");
}

#[test]
fn without_a_group_at_the_switch_every_store_gets_a_copy() {
    let Some(star) = Star::make(3, "200 Mbps", "") else { return };
    let (path, hash) = star.file("copied", 1_000_000);
    let (code, report) = star.run(&["put", text(&path), "--group", "239.9.9.9"], &STORES);
    assert_eq!(code, 0, "{report:#}");
    assert!(report["hosts"].as_array().unwrap().iter().all(|host| host["way"] == "copy"), "{report:#}");
    everyone_has(&star, &STORES, "copied", &hash);
}

#[test]
fn one_frame_of_a_hundred_may_be_lost() {
    let Some(star) = Star::make(3, "200 Mbps", LOSS) else { return };
    let (path, hash) = star.file("lossy", LONG);
    let (code, report) = star.run(&["put", text(&path), "--group", GROUP], &STORES);
    assert_eq!(code, 0, "{report:#}");
    everyone_has(&star, &STORES, "lossy", &hash);
    let out = star.folder.join("back");
    let (code, report) = star.run(&["get", "lossy", "--out", text(&out)], &STORES);
    assert_eq!((code, Star::hash(&out)), (0, Some(hash)), "{report:#}");
    assert!((1..4).all(|host| star.counter(host, "fault_lost_packets") > 0));
}

#[test]
fn an_interface_that_is_down_for_a_moment_ends_neither_store_nor_put() {
    let Some(star) = Star::make(2, "50 Mbps", "") else { return };
    let (path, hash) = star.file("flapped", LONG);
    let put = star.start(&["put", text(&path)], &[1, 2]);
    Star::wait_for_part(&star.store_folder(1), LONG as u64 / 4);
    star.flap(1);
    star.flap(0);
    let (code, report) = Star::ends(put);
    assert_eq!(code, 0, "{report:#}");
    everyone_has(&star, &[1, 2], "flapped", &hash);
}

#[test]
fn an_interface_that_is_removed_ends_a_store() {
    let Some(mut star) = Star::make(1, "50 Mbps", "") else { return };
    assert_eq!(star.loses_interface(1), Some(3));
}

#[test]
fn a_store_that_is_killed_half_way_is_named_and_the_others_have_the_file() {
    let Some(mut star) = Star::make(3, "50 Mbps", LOSS) else { return };
    let (path, hash) = star.file("killed", LONG);
    let put = star.start(&["put", text(&path), "--group", GROUP], &STORES);
    Star::wait_for_part(&star.store_folder(2), LONG as u64 / 3);
    star.kill(2);
    let (code, report) = Star::ends(put);
    assert_eq!((code, failed(&report)), (3, vec!["10.78.0.3"]), "{report:#}");
    everyone_has(&star, &[1, 3], "killed", &hash);
    // The store comes back without what it had half of.
    star.serve(2);
    assert_eq!(std::fs::read_dir(star.store_folder(2)).unwrap().count(), 1, "only its lock");
    let (code, report) = star.run(&["get", "killed", "--out", text(&star.folder.join("back"))], &STORES);
    assert_eq!((code, failed(&report)), (3, vec!["10.78.0.3"]), "it has no such object: {report:#}");
    assert_eq!(Star::hash(&star.folder.join("back")), Some(hash));
}

#[test]
fn a_source_that_is_killed_half_way_is_named_and_the_file_is_whole() {
    let Some(mut star) = Star::make(3, "50 Mbps", LOSS) else { return };
    let (path, hash) = star.file("source", LONG);
    let (code, report) = star.run(&["put", text(&path), "--group", GROUP], &STORES);
    assert_eq!(code, 0, "{report:#}");
    let folder = star.folder.join("out");
    std::fs::create_dir_all(&folder).unwrap();
    let get = star.start(&["get", "source", "--out", text(&folder)], &STORES);
    Star::wait_for_part(&folder, LONG as u64 / 3);
    star.kill(3);
    let (code, report) = Star::ends(get);
    assert_eq!((code, failed(&report)), (3, vec!["10.78.0.4"]), "{report:#}");
    assert_eq!(Star::hash(&folder.join("source")), Some(hash));
}

#[test]
fn a_signal_ends_a_get_and_leaves_nothing_of_it() {
    let Some(star) = Star::make(1, "50 Mbps", "") else { return };
    let (path, _) = star.file("ended", LONG);
    let (code, report) = star.run(&["put", text(&path)], &[1]);
    assert_eq!(code, 0, "{report:#}");
    let folder = star.folder.join("out");
    std::fs::create_dir_all(&folder).unwrap();
    for signal in ["TERM", "INT"] {
        let get = star.start(&["get", "ended", "--out", text(&folder)], &[1]);
        Star::wait_for_part(&folder, LONG as u64 / 8);
        Star::signal(&get, signal);
        let (code, report) = Star::ends(get);
        assert_eq!((code, &report["error"]), (3, &Value::from("the command was ended before")), "{report:#}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "SIG{signal} leaves a part");
    }
    let put = star.start(&["put", text(&path), "--name", "half"], &[1]);
    Star::wait_for_part(&star.store_folder(1), LONG as u64 / 8);
    Star::signal(&put, "TERM");
    let (code, report) = Star::ends(put);
    assert_eq!((code, failed(&report)), (3, vec!["10.78.0.2"]), "{report:#}");
}

#[test]
fn a_store_that_is_ended_removes_what_it_has_half_of() {
    let Some(mut star) = Star::make(1, "50 Mbps", "") else { return };
    let (path, _) = star.file("ended", LONG);
    let put = star.start(&["put", text(&path)], &[1]);
    Star::wait_for_part(&star.store_folder(1), LONG as u64 / 8);
    assert_eq!(star.end_store(1, "TERM"), Some(0));
    assert_eq!(std::fs::read_dir(star.store_folder(1)).unwrap().count(), 1, "only its lock");
    assert_eq!(Star::ends(put).0, 3);
}

#[test]
fn a_put_over_udp_keeps_to_the_mtu_of_its_interface() {
    let Some(mut star) = Star::make(1, "50 Mbps", "") else { return };
    let (path, hash) = star.file("narrow", LONG / 8);
    assert_eq!(star.end_store(1, "TERM"), Some(0));
    [0, 1].into_iter().for_each(|host| star.set_mtu(host, 1300));
    star.serve(1);
    let words = ["put", text(&path), &Star::address(1), "--json"];
    let put = star.over_udp(0, &words).stdout(Stdio::piped()).spawn().unwrap();
    let (code, report) = Star::ends(put);
    assert_eq!(code, 0, "{report:#}");
    everyone_has(&star, &[1], "narrow", &hash);
}

/// The error of the only host of a put during which the MTU of the interface of `host` was lowered.
fn error_of_a_put_with_a_lowered_mtu(host: usize) -> Option<String> {
    let star = Star::make(1, "50 Mbps", "")?;
    let (path, _) = star.file("long", LONG);
    let put = star.start(&["put", text(&path)], &[1]);
    Star::wait_for_part(&star.store_folder(1), LONG as u64 / 8);
    star.set_mtu(host, 1400);
    let (code, report) = Star::ends(put);
    assert_eq!(code, 3, "{report:#}");
    Some(report["hosts"][0]["error"].as_str().unwrap().to_owned())
}

#[test]
fn an_mtu_that_is_lowered_during_a_put_is_named() {
    for host in [0, 1] {
        let Some(error) = error_of_a_put_with_a_lowered_mtu(host) else { return };
        let where_and_what = format!(
            "the MTU of interface eth0 at {} is 1400 B, and packets have 1500 B: `ip link set eth0 mtu 1500`",
            Star::address(host)
        );
        assert!(error.contains(&where_and_what), "{error}");
    }
}
