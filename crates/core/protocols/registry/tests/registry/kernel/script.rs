//! Scripts and what a kernel did under them: `vectors/kernel/*.json`, which `tools/kernel/windows.py` records.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A packet as scripts name it: subflow, number, and which copy of it, from 1.
type Copy = (usize, u32, u32);

/// The packets of a flow, and their fate in the network.
#[derive(Clone, Debug)]
pub struct Script {
    pub name: String,
    pub title: String,
    pub protocol: String,
    pub sack: bool,
    pub delayed_ack: bool,
    pub packets: u64,
    pub rounds: usize,
    lose: BTreeSet<Copy>,
    /// Round trip and place there of packets that are lost.
    lose_places: BTreeSet<(usize, usize)>,
    mark: BTreeSet<Copy>,
    /// Round trips in which packets are marked, and how many of them are: one in `mark_every`.
    mark_rounds: BTreeSet<u32>,
    mark_every: usize,
}

impl Script {
    fn of(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_else(|| panic!("{key} of {value}")).to_owned();
        let flag = |key: &str| value[key].as_bool().unwrap_or_else(|| panic!("{key} of {value}"));
        let number = |key: &str| value[key].as_u64().unwrap_or_else(|| panic!("{key} of {value}"));
        let listed = |key: &str| {
            value[key].as_array().expect("a list").iter().map(|text| text.as_str().expect("text"))
        };
        let rounds = listed("mark").filter_map(|text| text.strip_prefix("round "));
        Self {
            name: text("name"),
            title: text("title"),
            protocol: text("protocol"),
            sack: flag("sack"),
            delayed_ack: flag("delayed_ack"),
            packets: number("packets"),
            rounds: number("rounds") as usize,
            lose: listed("lose").filter(|text| !text.contains('@')).flat_map(copies_of).collect(),
            lose_places: listed("lose").filter_map(place_of).collect(),
            mark: listed("mark").filter(|text| !text.starts_with("round ")).flat_map(copies_of).collect(),
            mark_rounds: rounds.flat_map(copies_of).map(|(_, round, _)| round).collect(),
            mark_every: number("mark_every") as usize,
        }
    }

    /// Whether a copy is lost; `place` is its number among the packets of round trip `round`.
    pub fn loses(&self, copy: Copy, round: usize, place: usize) -> bool {
        self.lose.contains(&copy) || self.lose_places.contains(&(round, place))
    }

    /// Whether it is marked.
    pub fn marks(&self, copy: Copy, round: usize, place: usize) -> bool {
        let by_round = self.mark_rounds.contains(&(round as u32)) && place.is_multiple_of(self.mark_every);
        by_round || self.mark.contains(&copy)
    }
}

/// "1:40-60/2#2": the second copies of every second packet from 40 to 60 of the second subflow.
fn copies_of(text: &str) -> Vec<Copy> {
    let (subflow, rest) = text.split_once(':').unwrap_or(("0", text));
    let (numbers, copy) = rest.split_once('#').unwrap_or((rest, "1"));
    let (limits, step) = numbers.split_once('/').unwrap_or((numbers, "1"));
    let (first, last) = limits.split_once('-').unwrap_or((limits, limits));
    let number = |part: &str| part.parse::<u32>().unwrap_or_else(|error| panic!("{text}: {error}"));
    let (subflow, copy) = (number(subflow) as usize, number(copy));
    (number(first)..=number(last))
        .step_by(number(step) as usize)
        .map(|packet| (subflow, packet, copy))
        .collect()
}

/// "round 8@10": packet 10 of round trip 8, both counted from 0.
fn place_of(text: &str) -> Option<(usize, usize)> {
    let (round, place) = text.strip_prefix("round ")?.split_once('@')?;
    Some((round.parse().ok()?, place.parse().ok()?))
}

/// One round trip of one subflow: what was sent, and the state of congestion control at its end.
#[derive(Clone, PartialEq, Debug)]
pub struct Round {
    /// Numbers of the packets in the order in which they left: "40 70-72".
    pub sent: String,
    /// The congestion window, packets.
    pub window: f64,
    /// The threshold of slow start, packets; infinite at first.
    pub threshold: f64,
    /// DCTCP's estimate of the share of marked packets.
    pub alpha: Option<f64>,
    /// Whether the sender is reducing its window or recovers from a loss: Linux's states CWR and Recovery.
    pub reducing: bool,
}

/// The round trips of each subflow.
pub type Rounds = Vec<Vec<Round>>;

/// The recording of one kernel.
pub struct Kernel {
    pub release: String,
    pub runs: BTreeMap<String, (Script, Rounds)>,
}

impl Kernel {
    pub fn read(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let runs = value["scripts"].as_object().expect("scripts by name");
        let run = |value: &Value| (Script::of(&value["script"]), rounds(&value["rounds"]));
        Self {
            release: value["kernel"].as_str().expect("a release").to_owned(),
            runs: runs.iter().map(|(name, value)| (name.clone(), run(value))).collect(),
        }
    }
}

fn rounds(value: &Value) -> Rounds {
    let rows = value.as_array().expect("a list of round trips");
    let subflows = rows[0]["window"].as_array().expect("a window for each subflow").len();
    let round = |row: &Value, subflow: usize| Round {
        sent: row["sent"][subflow].as_str().expect("numbers").to_owned(),
        window: row["window"][subflow].as_f64().expect("a number"),
        threshold: row["threshold"][subflow].as_f64().unwrap_or(f64::INFINITY),
        alpha: row["alpha"].as_f64().map(|alpha| alpha / 1024.0),
        reducing: matches!(row["state"][subflow].as_u64(), Some(2 | 3)),
    };
    (0..subflows).map(|subflow| rows.iter().map(|row| round(row, subflow)).collect()).collect()
}

/// Numbers in their order: "40 70-72".
pub fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let text = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(" ")
}
