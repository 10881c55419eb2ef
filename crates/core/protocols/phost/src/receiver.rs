//! The destination's half of a connection: the rules of the README in its order.

use pullnet_pull::{Noted, ReceivedSet, Standing};
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::{Instant, Picos};

use crate::config::Parameters;
use crate::header::{About, PhostHeader};

/// Whether a flow may get a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eligible {
    Now,
    /// Not before this time, unless data arrives.
    At(Instant),
}

#[derive(Clone, Debug)]
pub struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    pub about: About,
    pub paths: u16,
    pub path: u16,
    opened: u64,
    received: ReceivedSet,
    pub bytes: u64,
    /// Tokens given, the free ones included: the number of the next one.
    issued: u32,
    /// One past the highest token number that data has answered.
    answered: u32,
    /// Number of tokens after which the destination waits for what they bring.
    goal: u32,
    /// The packet after the latest one that got a token.
    cursor: u32,
    /// When tokens for missing packets may follow the goal.
    resend_at: Instant,
    last_token: Instant,
    pub last_progress: Instant,
    pub last_heard: Instant,
}

/// A source that is silent for long gets tokens more rarely: when this part of its silence has passed, at the earliest. That
/// bounds the tokens that a dead source is sent.
const SILENCE: u64 = 64;

impl Receiver {
    /// Rule D1: the RTS opens the connection, or the first data packet. Free tokens count as given; if they cover the flow,
    /// it waits for twice their packet times, and `free_wait`.
    pub fn open(
        now: Instant,
        rules: &Parameters,
        (peer, conn): (HostAddr, ConnId),
        about: About,
        opened: u64,
        (paths, path): (u16, u16),
    ) -> Self {
        let free = u32::from(about.free).min(rules.free_tokens).min(about.packets);
        let wait = rules.packet_time.saturating_mul(2 * u64::from(free));
        let wait = wait.saturating_add(rules.free_wait);
        Self {
            peer,
            conn,
            about,
            paths,
            path,
            opened,
            received: ReceivedSet::default(),
            bytes: 0,
            issued: free,
            answered: 0,
            goal: about.packets,
            cursor: free,
            resend_at: now.after(wait),
            last_token: now,
            last_progress: now,
            last_heard: now,
        }
    }

    /// Free tokens that this flow holds.
    pub fn free(&self) -> u32 {
        self.issued
    }

    /// Packets that are missing.
    pub fn left(&self) -> u32 {
        self.about.packets - self.received.count()
    }

    /// Whether the next token is for a packet that had one before.
    pub fn resends(&self) -> bool {
        self.issued >= self.about.packets
    }

    /// Whether every packet has arrived.
    pub fn is_complete(&self) -> bool {
        self.left() == 0
    }

    /// Properties of the flow that the policy of the destination compares.
    pub fn standing(&self) -> Standing {
        let About { priority, deadline, tenant, .. } = self.about;
        Standing { priority, left: self.left(), deadline, tenant, opened: self.opened }
    }

    /// Rules D4 and D5: when the goal is reached the flow waits for its data, then missing packets get tokens again; a flow
    /// that leaves too many tokens unanswered is downgraded for a while, then it gets one token.
    pub fn eligible(&mut self, now: Instant, rules: &Parameters) -> Eligible {
        if self.issued >= self.goal && now >= self.resend_at {
            self.goal = self.goal.saturating_add(self.left());
        }
        if let Some(at) = self.waits_until(now, rules) {
            return Eligible::At(at);
        }
        if self.issued - self.answered >= rules.window {
            self.answered = self.issued + 1 - rules.window;
        }
        Eligible::Now
    }

    /// The end of the timer that runs; `None` if the flow may get a token at `now`.
    pub fn waits_until(&self, now: Instant, rules: &Parameters) -> Option<Instant> {
        if self.issued >= self.goal && now < self.resend_at {
            return Some(self.resend_at);
        }
        let silence = Picos(self.last_token.since(self.last_heard).0 / SILENCE);
        let retry = self.last_token.after(rules.downgrade.max(silence));
        (self.issued - self.answered >= rules.window && now < retry).then_some(retry)
    }

    /// Rule D3: a token for the next packet that is missing, from the last one on; behind the last packet it begins again
    /// with the first that is missing.
    pub fn token(&mut self, now: Instant, rules: &Parameters) -> PhostHeader {
        let seq = self.next_missing();
        let number = self.issued;
        self.cursor = seq.saturating_add(1);
        self.issued = self.issued.saturating_add(1);
        self.last_token = now;
        if self.issued >= self.goal {
            self.resend_at = now.after(rules.resend);
        }
        PhostHeader::Token { conn: self.conn, seq, number, left: self.left() }
    }

    fn next_missing(&self) -> u32 {
        let seq = match self.cursor {
            seq if self.received.contains(seq) => self.received.run_around(seq).1,
            seq => seq,
        };
        let exists = seq < self.about.packets && self.received.reaches(seq);
        if exists { seq } else { self.received.cumulative() }
    }

    /// Rule D2: notes a packet. `None`: no source that keeps to the rules has sent it.
    pub fn on_data(&mut self, now: Instant, seq: u32, number: u32) -> Option<Noted> {
        if seq >= self.about.packets {
            return None;
        }
        let noted = self.received.insert(seq);
        if noted == Noted::TooFar {
            return None;
        }
        if number < self.issued {
            self.answered = self.answered.max(number + 1);
        }
        self.last_heard = now;
        if noted == Noted::New {
            self.last_progress = now;
        }
        Some(noted)
    }
}
