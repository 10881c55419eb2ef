//! Accounts of all requests and their outcomes.

use std::collections::BTreeMap;

use pullnet_host::StreamError;
use pullnet_rng::{RandomStream, Seed};
use pullnet_units::Instant;
use pullnet_wire::Reason;

use crate::message::Head;
use crate::network::HOSTS;
use crate::options::Options;
use crate::report::{Outcomes, Report, Traffic};

/// Largest body of a request or an answer. Bytes. Sizes are log-uniform from 1 to this.
const LONGEST_CALL: u64 = 100_000;
/// Most bytes that a stream carries in each direction.
const LONGEST_STREAM: u64 = 8 << 20;
/// Fewest streams over which the bytes of a soak are spread.
const STREAMS: u64 = 64;

/// Flag in [`Ledger::known`]: the answer arrived. The lower bits count how often the request was carried out.
const ANSWERED: u8 = 0x80;

/// The peer of a session, in its state when the session began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    host: u32,
    deaths: u64,
    away: bool,
}

/// All request numbers issued so far, and the state of each.
pub(crate) struct Ledger {
    pub seed: Seed,
    chance: RandomStream,
    rpcs: u64,
    stream_bytes: u64,
    longest_stream: u64,
    /// Calls and bytes of streams that are yet to begin.
    calls_left: u64,
    bytes_left: u64,
    /// By number: how often the request was carried out, and whether it was answered.
    known: Vec<u8>,
    pub calls: Outcomes,
    pub streams: Outcomes,
    /// End of the last call or stream that ended.
    pub latest: Instant,
    /// By host: number of crashes, and whether the host is away.
    deaths: [u64; HOSTS as usize],
    away: [bool; HOSTS as usize],
    /// By host: sessions that may still be refused after its last crash, because their openers do not know of the crash yet.
    stale_left: [u64; HOSTS as usize],
    /// Errors reported to applications, with their counts.
    pub errors: BTreeMap<String, u64>,
    /// Violations of the guarantees, with their counts.
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

    /// Begins the next call, with random body sizes; `None` once all calls have begun.
    pub fn next_call(&mut self) -> Option<Head> {
        self.calls_left = self.calls_left.checked_sub(1)?;
        self.calls.asked += 1;
        let [long, answer] = [(); 2].map(|()| (LONGEST_CALL as f64).powf(self.chance.unit()).ceil() as u64);
        Some(self.number(Head { id: 0, long, answer, both_ways: false }))
    }

    /// Begins the next stream; `None` once all bytes are assigned.
    pub fn next_stream(&mut self) -> Option<Head> {
        (self.bytes_left > 0).then_some(())?;
        self.streams.asked += 1;
        let most = self.longest_stream as u32;
        let [long, answer] = [(); 2].map(|()| {
            let bytes = (1 + u64::from(self.chance.below(most))).min(self.bytes_left);
            self.bytes_left -= bytes;
            bytes
        });
        // An answer without a body would look like no answer.
        Some(self.number(Head { id: 0, long, answer: answer.max(1), both_ways: true }))
    }

    fn number(&mut self, head: Head) -> Head {
        self.known.push(0);
        Head { id: self.known.len() as u64 - 1, ..head }
    }

    /// A random host other than `host`.
    pub fn another(&mut self, host: u32) -> u32 {
        (host + 1 + self.chance.below(HOSTS - 1)) % HOSTS
    }

    /// Fraction of the soak that is done, 0 to 1.
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

    /// Lets no further call or stream begin.
    pub fn ask_no_more(&mut self) {
        (self.calls_left, self.bytes_left) = (0, 0);
    }

    pub fn is_over(&self) -> bool {
        self.calls_left + self.bytes_left + self.calls.open() + self.streams.open() == 0
    }

    fn outcomes(&mut self, head: &Head) -> &mut Outcomes {
        if head.both_ways { &mut self.streams } else { &mut self.calls }
    }

    /// Records a request that arrived intact.
    pub fn carried_out(&mut self, head: &Head) {
        match self.known.get_mut(head.id as usize) {
            Some(known) if *known & !ANSWERED < 2 => *known += 1,
            Some(_) => {}
            None => self.complain("a request carries an unknown number"),
        }
    }

    /// Records the intact answer `got` to the request `asked`.
    pub fn answered(&mut self, now: Instant, asked: &Head, got: &Head) {
        if *got != asked.answer() {
            self.complain("an answer belongs to another request");
        }
        self.latest = now;
        if let Some(known) = self.known.get_mut(asked.id as usize) {
            *known |= ANSWERED;
        }
        let outcomes = self.outcomes(asked);
        outcomes.answered += 1;
        outcomes.bytes += asked.long + asked.answer;
    }

    /// Records an error that ended a session with `partner`; `asked` is the request if this side began the session.
    pub fn failed(&mut self, now: Instant, asked: Option<&Head>, partner: &Partner, error: &StreamError) {
        let died = self.deaths[partner.host as usize] != partner.deaths;
        let excused = partner.away || died || self.is_refused_token(partner, error);
        if !excused {
            self.complain(&format!("error without a crash: {error}"));
        }
        let Some(asked) = asked else { return };
        self.latest = now;
        self.outcomes(asked).failed += 1;
        *self.errors.entry(error.to_string()).or_default() += 1;
        if excused {
            self.ask_again(asked);
        }
    }

    /// Whether this error told an opener that `partner` has restarted. Excuses at most as many errors as sessions were open
    /// with the old token.
    fn is_refused_token(&mut self, partner: &Partner, error: &StreamError) -> bool {
        let left = &mut self.stale_left[partner.host as usize];
        let stale = *left > 0 && matches!(error, StreamError::Reset(Reason::STALE));
        *left -= u64::from(stale);
        stale
    }

    /// Puts the volume of a failed request back, to be begun under a new number. A failure during a crash therefore does not
    /// reduce the amount of work, however long the crash lasts.
    fn ask_again(&mut self, failed: &Head) {
        if failed.both_ways {
            self.bytes_left += failed.long + failed.answer;
        } else {
            self.calls_left += 1;
        }
    }

    /// Records that the requester of `asked` has crashed.
    pub fn died(&mut self, asked: &Head) {
        self.outcomes(asked).died += 1;
    }

    /// Records a violation of the guarantees.
    pub fn complain(&mut self, what: &str) {
        *self.complaints.entry(what.to_owned()).or_default() += 1;
    }

    /// Records that a host, or its application, has crashed.
    pub fn died_at(&mut self, host: u32) {
        self.deaths[host as usize] += 1;
        self.stale_left[host as usize] = self.calls.open() + self.streams.open();
        self.away[host as usize] = true;
    }

    /// Records that it is back.
    pub fn back_at(&mut self, host: u32) {
        self.away[host as usize] = false;
    }

    /// The peer `host` as it is at the start of a session.
    pub fn partner(&self, host: u32) -> Partner {
        Partner { host, deaths: self.deaths[host as usize], away: self.away[host as usize] }
    }

    /// The final report.
    pub fn report(self, condition: &'static str, options: &Options, resident: [Option<u64>; 3]) -> Report {
        let count = |which: fn(&u8) -> bool| self.known.iter().filter(|known| which(known)).count() as u64;
        Report {
            condition,
            seed: options.seed,
            encrypted: options.encrypted,
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
