//! Properties of every protocol on any network: each flow ends once, each byte is delivered once, counts are right, and
//! all activity ends.

use crate::common::{End, Flow, Weather, protocols, run, variants};
use pullnet_protocols::{ProtocolConfig, with_protocol};
use pullnet_units::{Instant, Picos};

const SEEDS: std::ops::Range<u64> = 1..13;
const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

/// Flows of many sizes, alternately in both directions.
fn sizes() -> Vec<Flow> {
    let bytes = [1, 999, 1000, 1001, 2000, 10_000, 37_123, 250_000];
    bytes.into_iter().enumerate().map(|(number, bytes)| Flow { from: number % 2, bytes }).collect()
}

/// Runs `flows` with every protocol and seed; says which run it was if one fails.
fn every(flows: &[Flow], weather: Weather, check: impl Fn(&str, &[End])) {
    for config in protocols() {
        SEEDS.for_each(|seed| one(config.name(), &config, flows, weather, seed, &check));
    }
}

fn one(
    name: &str,
    config: &ProtocolConfig,
    flows: &[Flow],
    weather: Weather,
    seed: u64,
    check: impl Fn(&str, &[End]),
) {
    let at = Where { name, weather, seed };
    let ends = with_protocol!(config, |config: P| run::<P>(config, flows, weather, seed));
    check(name, &ends);
    drop(at);
}

/// Tells which run it was that failed.
struct Where<'a> {
    name: &'a str,
    weather: Weather,
    seed: u64,
}

impl Drop for Where<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {} with seed {} in {:?}", self.name, self.seed, self.weather);
        }
    }
}

fn all_complete(protocol: &str, ends: &[End]) {
    assert!(ends.iter().all(|end| matches!(end, End::Completed(_))), "{protocol}: {ends:?}");
}

#[test]
fn flows_of_all_sizes_complete_without_loss() {
    every(&sizes(), Weather::default(), all_complete);
}

#[test]
fn flows_complete_where_one_packet_in_a_hundred_is_lost() {
    every(&sizes(), Weather { lose: 1, ..Weather::default() }, all_complete);
}

#[test]
fn flows_complete_where_one_packet_in_ten_is_lost() {
    every(&sizes(), Weather { lose: 10, ..Weather::default() }, all_complete);
}

#[test]
fn flows_complete_where_three_packets_in_ten_are_lost() {
    every(&sizes(), Weather { lose: 30, ..Weather::default() }, all_complete);
}

#[test]
fn duplicates_are_delivered_once() {
    every(&sizes(), Weather { double: 40, ..Weather::default() }, all_complete);
    every(&sizes(), Weather { double: 40, lose: 5, late: us(100), ..Weather::default() }, all_complete);
}

#[test]
fn reordered_packets_are_delivered_once() {
    every(&sizes(), Weather { late: us(30), ..Weather::default() }, all_complete);
    every(&sizes(), Weather { late: us(3000), ..Weather::default() }, all_complete);
}

#[test]
fn marks_stop_nobody() {
    every(&sizes(), Weather { mark: 30, ..Weather::default() }, all_complete);
    every(&sizes(), Weather { mark: 100, lose: 3, late: us(20), ..Weather::default() }, all_complete);
}

#[test]
fn trimmed_and_returned_packets_come_again() {
    every(&sizes(), Weather { trim: 20, ..Weather::default() }, all_complete);
    every(
        &sizes(),
        Weather { trim: 10, give_back: 10, lose: 5, double: 5, ..Weather::default() },
        all_complete,
    );
}

#[test]
fn many_flows_at_once_complete() {
    let flows: Vec<_> =
        (0..120).map(|number| Flow { from: number % 2, bytes: 1 + 499 * number as u64 }).collect();
    every(&flows, Weather { lose: 1, mark: 10, late: us(5), ..Weather::default() }, all_complete);
}

#[test]
fn a_perfect_network_needs_no_repetition() {
    for bytes in [1, 1000, 37_123, 1_000_000] {
        every(&[Flow { from: 0, bytes }], Weather::default(), |protocol, ends| {
            let [End::Completed(counts)] = ends[..] else { panic!("{protocol}: {ends:?}") };
            assert_eq!((counts.again, counts.timeouts), (0, 0), "{protocol}, {bytes} bytes");
        });
    }
}

#[test]
fn flows_complete_with_settings_turned() {
    let fair = Weather { mark: 10, ..Weather::default() };
    let foul = Weather { lose: 10, double: 5, mark: 10, trim: 5, late: us(20), ..Weather::default() };
    for (name, config) in variants() {
        for (weather, seed) in [(fair, 1), (foul, 2), (foul, 3)] {
            one(&name, &config, &sizes(), weather, seed, all_complete);
        }
    }
}

#[test]
fn a_dead_peer_fails_every_flow_with_a_reason() {
    every(&sizes(), Weather { death: Some(Instant::ZERO), ..Weather::default() }, |protocol, ends| {
        assert!(ends.iter().all(|end| matches!(end, End::Failed(_))), "{protocol}: {ends:?}");
    });
}

#[test]
fn a_peer_that_dies_leaves_no_flow_open() {
    for after in [10, 25, 60, 200, 1000] {
        let death = Some(Instant::ZERO.after(us(after)));
        every(&sizes(), Weather { death, lose: 2, double: 2, ..Weather::default() }, |_, _| ());
    }
}
