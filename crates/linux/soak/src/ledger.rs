//! What was asked for and what came of it.

use std::collections::BTreeMap;

use pullnet_host::StreamError;
use pullnet_rng::{Seed, Stream};
use pullnet_units::Instant;
use pullnet_wire::Reason;
use serde::Serialize;

use crate::Options;
use crate::message::Head;
use crate::network::HOSTS;
use crate::report::{Report, Traffic};

/// Most bytes in the body of a request or of an answer. 1 byte to that many, each power of two as likely as any other.
const LONGEST_CALL: u64 = 100_000;
/// Most bytes that a stream carries each way.
const LONGEST_STREAM: u64 = 8 << 20;
/// No soak of so few bytes has one stream only.
const STREAMS: u64 = 64;

/// That the answer of a number arrived; below it is counted how often the number was carried out.
const ANSWERED: u8 = 0x80;

/// What became of calls, or of streams.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Outcomes {
    /// Begun.
    pub asked: u64,
    /// Answered with what was to be answered.
    pub answered: u64,
    /// Ended with an error.
    pub failed: u64,
    /// Ended with whoever had begun it.
    pub died: u64,
    /// Bytes of bodies that arrived, both ways.
    pub bytes: u64,
}

impl Outcomes {
    /// Begun and not ended.
    pub(crate) const fn open(&self) -> u64 {
        self.asked - self.answered - self.failed - self.died
    }
}

/// Whoever a session is with, as it was when the session began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    host: u32,
    deaths: u64,
    away: bool,
}

/// All numbers that were given, and what is known of each.
pub(crate) struct Ledger {
    pub seed: Seed,
    chance: Stream,
    rpcs: u64,
    stream_bytes: u64,
    longest_stream: u64,
    /// Calls, and bytes of streams, that are still to be begun.
    calls_left: u64,
    bytes_left: u64,
    /// By number: how often it was carried out, and whether it was answered.
    known: Vec<u8>,
    pub calls: Outcomes,
    pub streams: Outcomes,
    /// When one of them ended last.
    pub latest: Instant,
    /// By host: how often it died, and whether it is away.
    deaths: [u64; HOSTS as usize],
    away: [bool; HOSTS as usize],
    /// By host: sessions that may still be refused since the host died last, because their openers do not know of it.
    stale_left: [u64; HOSTS as usize],
    /// Errors that somebody saw, in words.
    pub errors: BTreeMap<String, u64>,
    /// What must not happen, in words.
    pub complaints: BTreeMap<String, u64>,
}

impl Ledger {
    pub fn new(options: &Options) -> Self {
        let seed = Seed(options.seed);
        Self {
            seed,
            chance: seed.stream("soak", 0),
            rpcs: options.rpcs,
            stream_bytes: options.bytes,
            longest_stream: (options.bytes / STREAMS).clamp(1, LONGEST_STREAM),
            calls_left: options.rpcs,
            bytes_left: options.bytes,
            known: Vec::new(),
            calls: Outcomes::default(),
            streams: Outcomes::default(),
            latest: Instant::ZERO,
            deaths: [0; HOSTS as usize],
            away: [false; HOSTS as usize],
            stale_left: [0; HOSTS as usize],
            errors: BTreeMap::new(),
            complaints: BTreeMap::new(),
        }
    }

    /// The next call, with bodies of chance lengths; `None`: there were enough.
    pub fn next_call(&mut self) -> Option<Head> {
        self.calls_left = self.calls_left.checked_sub(1)?;
        self.calls.asked += 1;
        let [long, answer] = [(); 2].map(|()| (LONGEST_CALL as f64).powf(self.chance.unit()).ceil() as u64);
        Some(self.number(Head { id: 0, long, answer, both_ways: false }))
    }

    /// The next stream.
    pub fn next_stream(&mut self) -> Option<Head> {
        (self.bytes_left > 0).then_some(())?;
        self.streams.asked += 1;
        let most = self.longest_stream as u32;
        let [long, answer] = [(); 2].map(|()| {
            let bytes = (1 + u64::from(self.chance.below(most))).min(self.bytes_left);
            self.bytes_left -= bytes;
            bytes
        });
        // An answer without a body would be taken for none.
        Some(self.number(Head { id: 0, long, answer: answer.max(1), both_ways: true }))
    }

    fn number(&mut self, head: Head) -> Head {
        self.known.push(0);
        Head { id: self.known.len() as u64 - 1, ..head }
    }

    /// Another host than `host`.
    pub fn another(&mut self, host: u32) -> u32 {
        (host + 1 + self.chance.below(HOSTS - 1)) % HOSTS
    }

    /// How much is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        let part = |left: f64, all: u64| (1.0 - left / all.max(1) as f64).max(0.0);
        let calls = part((self.calls_left + self.calls.open()) as f64, self.rpcs);
        let open = self.longest_stream as f64 * self.streams.open() as f64;
        let streams = part(self.bytes_left as f64 + open, self.stream_bytes);
        match (self.rpcs, self.stream_bytes) {
            (0, _) => streams,
            (_, 0) => calls,
            _ => calls.midpoint(streams),
        }
    }

    /// Nothing more is begun.
    pub fn ask_no_more(&mut self) {
        (self.calls_left, self.bytes_left) = (0, 0);
    }

    pub fn is_over(&self) -> bool {
        self.calls_left + self.bytes_left + self.calls.open() + self.streams.open() == 0
    }

    fn outcomes(&mut self, head: &Head) -> &mut Outcomes {
        if head.both_ways { &mut self.streams } else { &mut self.calls }
    }

    /// A request arrived as it was sent.
    pub fn carried_out(&mut self, head: &Head) {
        match self.known.get_mut(head.id as usize) {
            Some(known) if *known & !ANSWERED < 2 => *known += 1,
            Some(_) => {}
            None => self.complain("a request has a number that nobody gave"),
        }
    }

    /// The answer of `asked` arrived as it was sent: `got`.
    pub fn answered(&mut self, now: Instant, asked: &Head, got: &Head) {
        if *got != asked.answer() {
            self.complain("an answer is another one's");
        }
        self.latest = now;
        if let Some(known) = self.known.get_mut(asked.id as usize) {
            *known |= ANSWERED;
        }
        let outcomes = self.outcomes(asked);
        outcomes.answered += 1;
        outcomes.bytes += asked.long + asked.answer;
    }

    /// An error ended a session with `partner`; `asked` if it was begun here.
    pub fn failed(&mut self, now: Instant, asked: Option<&Head>, partner: &Partner, error: &StreamError) {
        let died = self.deaths[partner.host as usize] != partner.deaths;
        let excused = partner.away || died || self.is_refused_token(partner, error);
        if !excused {
            self.complain(&format!("although nobody died: {error}"));
        }
        let Some(asked) = asked else { return };
        self.latest = now;
        self.outcomes(asked).failed += 1;
        *self.errors.entry(error.to_string()).or_default() += 1;
        if excused {
            self.ask_again(asked);
        }
    }

    /// Whether an opener learned by this error that `partner` was started anew. That takes as many sessions as are begun with
    /// the former token, and no more.
    fn is_refused_token(&mut self, partner: &Partner, error: &StreamError) -> bool {
        let left = &mut self.stale_left[partner.host as usize];
        let stale = *left > 0 && matches!(error, StreamError::Reset(Reason::STALE));
        *left -= u64::from(stale);
        stale
    }

    /// As much is asked for once more, under another number: what fails while somebody is away takes nothing from what
    /// is to be answered, however long that lasts.
    fn ask_again(&mut self, failed: &Head) {
        if failed.both_ways {
            self.bytes_left += failed.long + failed.answer;
        } else {
            self.calls_left += 1;
        }
    }

    /// Whoever asked is dead.
    pub fn died(&mut self, asked: &Head) {
        self.outcomes(asked).died += 1;
    }

    /// Something that must not happen.
    pub fn complain(&mut self, what: &str) {
        *self.complaints.entry(what.to_owned()).or_default() += 1;
    }

    /// A host, or its application, has died.
    pub fn died_at(&mut self, host: u32) {
        self.deaths[host as usize] += 1;
        self.stale_left[host as usize] = self.calls.open() + self.streams.open();
        self.away[host as usize] = true;
    }

    /// It is back.
    pub fn back_at(&mut self, host: u32) {
        self.away[host as usize] = false;
    }

    /// A session with `host` begins.
    pub fn partner(&self, host: u32) -> Partner {
        Partner { host, deaths: self.deaths[host as usize], away: self.away[host as usize] }
    }

    /// What it came to.
    pub fn report(self, condition: &'static str, seed: u64, resident: [u64; 3]) -> Report {
        let count = |which: fn(&u8) -> bool| self.known.iter().filter(|known| which(known)).count() as u64;
        Report {
            condition,
            seed,
            rpcs: self.calls,
            streams: self.streams,
            twice: count(|known| *known & !ANSWERED > 1),
            lost: self.calls.open() + self.streams.open() + count(|known| *known == ANSWERED),
            errors: self.errors,
            traffic: Traffic::default(),
            virtual_seconds: 0.0,
            seconds: 0.0,
            resident,
            complaints: self.complaints,
        }
    }
}
