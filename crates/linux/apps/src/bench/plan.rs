//! What is to be measured.

use std::net::SocketAddr;
use std::time::Duration;

use super::Failed;
use super::head::{Amount, LARGEST, LONG};

/// Most streams, and most callers.
pub const MOST: usize = 512;

/// Which way the bytes of streams go, as the measuring side sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// What is to be measured, and how often.
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
    /// Callers at the same time, each of which makes one call after the other; 0: calls are left out.
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
