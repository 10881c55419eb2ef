//! Plans of measurements.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use pullnet_units::{Bytes, Picos};
use serde::Deserialize;

use super::Failed;
use super::head::{Amount, LARGEST, LONG};

/// Longest time of a part.
const LONGEST: Picos = Picos::from_secs(24 * 3600);
/// Most streams, and most callers.
pub const MOST: usize = 512;

/// Which way the bytes of streams go, as the measuring side sees it.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// To the other host.
    Out,
    /// From the other host.
    In,
    /// Both at the same time, on the same streams.
    Both,
}

/// A kind of load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Load {
    Streams,
    Calls,
}

/// A plan: loads, and how often each is measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The other host.
    pub to: SocketAddr,
    /// Service of the server there; over TCP, its port.
    pub service: u16,
    /// Streams at the same time; 0: streams are left out.
    pub streams: usize,
    /// Which way they go.
    pub direction: Direction,
    /// How much each of them carries in each direction.
    pub amount: Amount,
    /// Callers at the same time, each with one call after the other; 0: calls are left out.
    pub callers: usize,
    /// Calls of each caller; `None`: as many as there is time for.
    pub calls: Option<u64>,
    /// Time for calls. With an amount of time, that of streams too.
    pub time: Duration,
    /// Length of a request. Bytes.
    pub request: u64,
    /// Length of an answer. Bytes.
    pub answer: u64,
    /// Whether the calls of a caller follow each other on one stream, instead of having one each.
    pub kept: bool,
    /// Whether everything is done over kernel TCP as well, by turns.
    pub tcp: bool,
    /// How often everything is done.
    pub rounds: u32,
}

/// A plan as it is written: quantities with their units.
#[derive(Clone, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The other host, with its home port unless that is the usual one.
    pub to: String,
    /// Service of the server there; over TCP, its port.
    pub service: u16,
    /// Streams at the same time.
    pub streams: usize,
    /// Which way they go.
    pub direction: Direction,
    /// Bytes of each stream in each direction, instead of a time.
    pub bytes: Option<String>,
    /// Callers at the same time.
    pub callers: usize,
    /// Calls of each caller, instead of a time.
    pub calls: Option<u64>,
    /// Time of streams and of calls.
    pub time: String,
    /// Length of a request.
    pub request: String,
    /// Length of an answer.
    pub answer: String,
    /// Whether calls of a caller share a stream.
    pub kept: bool,
    /// Whether to measure kernel TCP too.
    pub tcp: bool,
    /// How often.
    pub rounds: u32,
}

impl Wish {
    /// Reads the quantities.
    ///
    /// # Errors
    /// Every value that cannot be read.
    pub fn plan(&self) -> Result<Plan, Failed> {
        let mut wrong = Vec::new();
        let mut size = |option: &str, text: &str| {
            let read = text.parse::<Bytes>().map(|bytes| bytes.0);
            read.unwrap_or_else(|error| {
                wrong.push(format!("--{option} \"{text}\" {error}"));
                1
            })
        };
        let bytes = self.bytes.as_deref().map(|text| size("bytes", text));
        let (request, answer) = (size("request", &self.request), size("answer", &self.answer));
        let time = self.time.parse::<Picos>().map_err(|error| error.to_string());
        let time = time.and_then(|time| match time {
            time if time.0 == 0 || time > LONGEST => Err("is out of range; use 1 ns to 24 hours".to_owned()),
            time => Ok(Duration::from_nanos(time.0.div_ceil(1000))),
        });
        let time = time.map_err(|error| wrong.push(format!("--time \"{}\" {error}", self.time)));
        let to = address(&self.to).map_err(|error| wrong.push(error));
        let (Ok(time), Ok(to), true) = (time, to, wrong.is_empty()) else { return Err(Failed::Plan(wrong)) };
        let &Self { service, streams, direction, callers, calls, kept, tcp, rounds, .. } = self;
        let amount = bytes.map_or(Amount::Time(time), Amount::Bytes);
        let plan = Plan {
            to,
            service,
            streams,
            direction,
            amount,
            callers,
            calls,
            time,
            request,
            answer,
            kept,
            tcp,
            rounds,
        };
        plan.check().map(|()| plan)
    }
}

/// The address of a host.
fn address(text: &str) -> Result<SocketAddr, String> {
    let usual = |ip: IpAddr| SocketAddr::new(ip, pullnet_wire::PORT);
    text.parse().or_else(|_| text.parse().map(usual)).map_err(|_| {
        format!(
            "{text}: is no address of a host; write for instance 10.0.0.2, or 10.0.0.2:61199 with its port"
        )
    })
}

impl Plan {
    pub(super) fn loads(&self) -> Vec<Load> {
        let streams = (self.streams > 0).then_some(Load::Streams);
        streams.into_iter().chain((self.callers > 0).then_some(Load::Calls)).collect()
    }

    /// The number of calls of each caller, or the time for them.
    pub(super) fn amount_of_calls(&self) -> Result<u64, Duration> {
        self.calls.ok_or(self.time)
    }

    pub(super) fn check(&self) -> Result<(), Failed> {
        let mut wrong = Vec::new();
        if self.streams == 0 && self.callers == 0 {
            wrong.push(
                "--streams 0 and --callers 0 leave nothing to measure; use 1 or more of either".to_owned(),
            );
        }
        for (option, count) in [("--streams", self.streams), ("--callers", self.callers)] {
            if count > MOST {
                wrong.push(format!("{option} {count} is too many; use {MOST} at most"));
            }
        }
        let least = if self.kept { 1 } else { LONG as u64 };
        if self.callers > 0 && !(least..=LARGEST).contains(&self.request) {
            wrong.push(format!(
                "--request \"{} B\": use {least} B to 1 GiB; a request on a stream of its own begins with {LONG} B that say \
                 what is asked",
                self.request
            ));
        }
        if self.callers > 0 && !(1..=LARGEST).contains(&self.answer) {
            wrong.push(format!("--answer \"{} B\": use 1 B to 1 GiB", self.answer));
        }
        if self.rounds == 0 {
            wrong.push("--rounds 0 measures nothing; use 1 or more".to_owned());
        }
        if wrong.is_empty() { Ok(()) } else { Err(Failed::Plan(wrong)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish() -> Wish {
        Wish {
            to: "10.0.0.2".into(),
            service: 7,
            streams: 1,
            direction: Direction::Out,
            bytes: None,
            callers: 1,
            calls: None,
            time: "2 s".into(),
            request: "1 kB".into(),
            answer: "2 kB".into(),
            kept: false,
            tcp: false,
            rounds: 1,
        }
    }

    #[test]
    fn quantities_are_read() {
        let plan = wish().plan().unwrap();
        assert_eq!(plan.to, "10.0.0.2:61199".parse().unwrap());
        assert_eq!((plan.request, plan.answer), (1000, 2000));
        assert_eq!(plan.amount, Amount::Time(Duration::from_secs(2)));
        let bytes = Wish { bytes: Some("1 GB".into()), to: "[fd00::2]:9".into(), ..wish() }.plan().unwrap();
        assert_eq!((bytes.amount, bytes.to.port()), (Amount::Bytes(1_000_000_000), 9));
    }

    #[test]
    fn every_error_names_its_option() {
        let wrong = Wish {
            to: "nowhere".into(),
            bytes: Some("1".into()),
            time: "0 s".into(),
            request: "much".into(),
            ..wish()
        };
        let said = wrong.plan().unwrap_err().to_string();
        let starts = [
            "--bytes \"1\" ",
            "--request \"much\" ",
            "--time \"0 s\" is out of range",
            "nowhere: is no address",
        ];
        for (line, start) in said.lines().zip(starts) {
            assert!(line.starts_with(start), "{said}");
        }
        assert_eq!(said.lines().count(), starts.len());
        let greedy =
            Wish { streams: 0, callers: 600, request: "8 B".into(), answer: "2 GB".into(), ..wish() };
        assert_eq!(greedy.plan().unwrap_err().to_string().lines().count(), 3);
    }
}
