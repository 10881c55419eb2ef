//! How long a sender waits for an answer, estimated from earlier round trips and answers.

use alloc::collections::VecDeque;

use pullnet_units::{Instant, Picos};

use crate::config::Rules;

/// Most doublings of a packet's timeout.
pub(super) const MAX_DOUBLINGS: u32 = 6;
/// Least number of transmissions of a packet within `give_up`, unless the round trip is longer than that allows.
pub(super) const LEAST_REPETITIONS: u64 = 32;
/// Number of latest answers kept to tell a bad path from an incast.
const HISTORY: u8 = 16;
/// The longest round trip is remembered for one to two such parts of `give_up`.
const ERAS_PER_GIVE_UP: u64 = 32;
/// Most retransmitted packets whose second answer is still noticed.
const MOST_SUSPECTS: usize = 64;
/// An answer may take longer than the longest recent round trip by this part of it (a quarter).
const MARGIN: u64 = 4;

/// Latest answers: ACK, or NACK and returned header.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Answers {
    /// Newest in bit 0, 1 for an ACK.
    bits: u16,
    /// Number of valid bits.
    known: u8,
}

impl Answers {
    pub fn note(&mut self, ack: bool) {
        self.bits = self.bits << 1 | u16::from(ack);
        self.known = (self.known + 1).min(HISTORY);
    }

    /// These answers after `earlier` ones.
    fn after(self, earlier: Self) -> Self {
        let bits = (u32::from(earlier.bits) << self.known) as u16 | self.bits & mask(self.known);
        Self { bits, known: (earlier.known + self.known).min(HISTORY) }
    }

    pub fn known(self) -> u32 {
        self.known.into()
    }

    pub fn acks(self) -> u32 {
        (self.bits & mask(self.known)).count_ones()
    }

    /// Whether the receiver may have many senders. True if no more than half of the latest packets arrived whole, or if
    /// fewer than two answers are known: one answer does not show how much answers vary.
    pub fn crowded(self) -> bool {
        self.known < 2 || 2 * self.acks() <= self.known()
    }
}

/// The lowest `bits` bits.
fn mask(bits: u8) -> u16 {
    ((1u32 << bits) - 1) as u16
}

/// Round trips to one receiver, in picoseconds.
#[derive(Clone, Copy, Default, Debug)]
struct RoundTrips {
    /// Smoothed round trip; 0 before the first answer.
    mean: u64,
    deviation: u64,
    /// Longest since `era`, and in the era before it.
    longest: u64,
    longest_before: u64,
    era: Instant,
}

impl RoundTrips {
    /// Notes a round trip that may be the longest recent one.
    #[inline]
    fn lengthen(&mut self, rules: &Rules, now: Instant, trip: u64) {
        if now.since(self.era).0 > rules.give_up.0 / ERAS_PER_GIVE_UP {
            (self.longest_before, self.longest, self.era) = (self.longest, 0, now);
        }
        self.longest = self.longest.max(trip);
    }
}

/// Knowledge of a receiver, handed from a connection that ends to the next one.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Known {
    trips: RoundTrips,
    answers: Answers,
}

impl Known {
    /// The part that applies to any other receiver.
    pub fn of_another_host(self) -> Self {
        Self { trips: RoundTrips::default(), answers: self.answers }
    }
}

/// A packet that was retransmitted after a timeout.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    seq: u32,
    sent: Instant,
    answered: bool,
}

/// Timeouts of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    trips: RoundTrips,
    /// Retransmitted packets. A second answer for one of them shows that the first copy was delayed, not lost.
    suspects: VecDeque<Suspect>,
    /// Answers on this connection.
    pub answers: Answers,
    /// Answers on connections to the same receiver before.
    earlier: Answers,
}

impl Patience {
    pub fn new(known: Known) -> Self {
        Self {
            trips: known.trips,
            suspects: VecDeque::new(),
            answers: Answers::default(),
            earlier: known.answers,
        }
    }

    /// Knowledge for the next connection to this receiver.
    pub fn known(&self) -> Known {
        Known { trips: self.trips, answers: self.answers.after(self.earlier) }
    }

    /// Notes the round trip of a packet that was not retransmitted. Mean and deviation are those of the public code and
    /// of TCP.
    #[inline]
    pub fn sample(&mut self, rules: &Rules, now: Instant, trip: Picos) {
        let (trips, trip) = (&mut self.trips, trip.0);
        (trips.mean, trips.deviation) = match trips.mean {
            0 => (trip, trip / 2),
            mean => {
                let deviation = trips.deviation;
                (mean - mean / 8 + trip / 8, deviation - deviation / 4 + mean.abs_diff(trip) / 4)
            }
        };
        trips.lengthen(rules, now, trip);
    }

    /// Packet `seq`, which left at `sent`, has timed out and is retransmitted. If it was `repeated` before, a second
    /// answer may be for any copy.
    pub fn suspect_loss(&mut self, seq: u32, sent: Instant, repeated: u8) {
        if repeated > 0 {
            self.suspects.retain(|suspect| suspect.seq != seq);
            return;
        }
        if self.suspects.len() == MOST_SUSPECTS {
            self.suspects.pop_front();
        }
        self.suspects.push_back(Suspect { seq, sent, answered: false });
    }

    /// Packet `seq` was answered. A retransmitted packet gives no round trip, because its answer may be for either
    /// copy. An answer for the other copy shows that the first one was not lost, and gives an upper bound on its round
    /// trip.
    #[inline]
    pub fn answered(&mut self, rules: &Rules, now: Instant, seq: u32) {
        if !self.suspects.is_empty() {
            self.settle(rules, now, seq);
        }
    }

    #[cold]
    fn settle(&mut self, rules: &Rules, now: Instant, seq: u32) {
        let Some(place) = self.suspects.iter().position(|suspect| suspect.seq == seq) else { return };
        if !core::mem::replace(&mut self.suspects[place].answered, true) {
            return;
        }
        if let Some(suspect) = self.suspects.remove(place) {
            self.trips.lengthen(rules, now, now.since(suspect.sent).0);
        }
    }

    /// How long to wait for an answer, by present knowledge.
    pub fn waits(&self, rules: &Rules) -> Waits {
        if !rules.learns {
            return Waits { doubling: rules.timeout, queues: Picos::ZERO, least: Picos::ZERO };
        }
        let RoundTrips { mean, deviation, longest, longest_before, .. } = self.trips;
        let answers = if self.answers.known() < 2 { self.answers.after(self.earlier) } else { self.answers };
        let longest = longest.max(longest_before);
        Waits {
            doubling: Picos(mean + rules.timeout.0.max(4 * deviation)),
            queues: if answers.crowded() { rules.header_queues } else { Picos::ZERO },
            least: Picos(longest + longest / MARGIN),
        }
    }
}

/// How long a sender waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    /// The larger of `timeout` and four deviations, beyond the mean round trip; doubles with each retransmission.
    doubling: Picos,
    /// Delay of full header queues, added while they may be full.
    queues: Picos,
    /// Least time before a retransmission: some path took nearly as long recently.
    least: Picos,
}

impl Waits {
    /// Timeout of a packet after `repeated` timeouts.
    pub fn after(self, rules: &Rules, repeated: u8) -> Picos {
        let longest = self.doubling.max(Picos(rules.give_up.0 / LEAST_REPETITIONS));
        let doubled = self.doubling.saturating_mul(1 << u32::from(repeated).min(MAX_DOUBLINGS));
        doubled.min(longest).saturating_add(self.queues).max(self.least.min(longest))
    }
}
