//! The source's half of a connection: the rules of the README in its order.

use alloc::collections::VecDeque;
use core::ops::Range;

use pullnet_connections::FlowPackets;
use pullnet_pull::{Outbound, ReceivedSet, Standing};
use pullnet_transport::SendCounts;
use pullnet_units::{Instant, Picos};

use crate::config::Parameters;
use crate::header::{About, PhostHeader};

/// Outcome of an RTS timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// Not due yet.
    Early,
    /// The RTS leaves again.
    Again,
    /// The destination is silent.
    GiveUp,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    expires: Instant,
    number: u32,
    seq: u32,
}

#[derive(Clone, Debug)]
pub struct Sender {
    pub flow: Outbound,
    pub about: About,
    packets: FlowPackets,
    /// Packets for which a free token is left: it has the number of its packet.
    free: Range<u32>,
    free_expires: Instant,
    /// Tokens by their expiry, which is the order in which they came.
    tokens: VecDeque<Token>,
    /// Packets that the destination lacks, as it said last.
    left: u32,
    sent: ReceivedSet,
    pub counts: SendCounts,
    pub last_progress: Instant,
    last_heard: Instant,
    last_token: Instant,
    /// When the RTS timer is due.
    pub due: Instant,
}

/// The RTS is repeated when this part of the time since the last token has passed, at the earliest.
const PATIENCE: u64 = 8;
/// Least number of RTSs within `give_up`: a destination that serves other flows for longer than that still answers in time.
const LEAST_ASKS: u64 = 32;

impl Sender {
    /// Rules S1 and S2: the RTS leaves at once; free tokens are there from the start and expire.
    pub fn open(now: Instant, rules: &Parameters, flow: Outbound, packets: FlowPackets) -> Self {
        let free = rules.free_tokens_of(packets.number);
        let life = rules.packet_time.saturating_mul(free.into()).saturating_add(rules.token_life);
        let about = About {
            packets: packets.number,
            free: free as u16,
            tenant: flow.tenant,
            priority: flow.priority,
            deadline: flow.deadline,
        };
        Self {
            flow,
            about,
            packets,
            free: 0..free,
            free_expires: now.after(life),
            tokens: VecDeque::new(),
            left: packets.number,
            sent: ReceivedSet::default(),
            counts: SendCounts::default(),
            last_progress: now,
            last_heard: now,
            last_token: now,
            due: now.after(rules.rts_timeout.min(rules.limits.give_up)),
        }
    }

    /// Properties of the flow that the policy of the source compares.
    pub fn standing(&self) -> Standing {
        self.flow.standing(self.left)
    }

    /// Rule S5: discards expired tokens, without a message to the destination.
    fn discard_expired(&mut self, now: Instant) {
        if self.free_expires <= now {
            self.free = 0..0;
        }
        while self.tokens.front().is_some_and(|token| token.expires <= now) {
            self.tokens.pop_front();
        }
    }

    /// Whether a valid token is there.
    pub fn has_token(&mut self, now: Instant) -> bool {
        self.discard_expired(now);
        !self.free.is_empty() || !self.tokens.is_empty()
    }

    /// Rule S4: the token that expires first; with it a packet and its payload, and whether that was sent before.
    pub fn transmit(&mut self, now: Instant) -> Option<(PhostHeader, u32, bool)> {
        self.discard_expired(now);
        let expires = self.tokens.front().map_or(Instant::NEVER, |token| token.expires);
        let free = if self.free_expires <= expires { self.free.next() } else { None };
        let token = |token: Token| (token.seq, token.number);
        let (seq, number) = free.map(|seq| (seq, seq)).or_else(|| self.tokens.pop_front().map(token))?;
        let again = self.sent.contains(seq);
        self.sent.insert(seq);
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        let header = PhostHeader::Data { conn: self.flow.conn, seq, number, about: self.about };
        Some((header, self.packets.payload(seq), again))
    }

    /// Rule S3: a token is valid for a while. One for a packet that the flow does not have, or too far ahead, is ignored.
    pub fn on_token(&mut self, now: Instant, rules: &Parameters, seq: u32, number: u32, left: u32) {
        self.discard_expired(now);
        let held = self.tokens.len() < usize::from(u16::MAX);
        if seq < self.about.packets && self.sent.reaches(seq) && held {
            self.tokens.push_back(Token { expires: now.after(rules.token_life), number, seq });
        }
        self.last_token = now;
        self.on_word(now, rules, left);
    }

    /// The destination is alive and lacks `left` packets.
    pub fn on_word(&mut self, now: Instant, rules: &Parameters, left: u32) {
        if left < self.left {
            (self.left, self.last_progress) = (left, now);
        }
        self.last_heard = now;
        self.due = now.after(self.patience(now, rules));
    }

    fn patience(&self, now: Instant, rules: &Parameters) -> Picos {
        let give_up = rules.limits.give_up;
        let growing = Picos((now.since(self.last_token).0 / PATIENCE).min(give_up.0 / LEAST_ASKS));
        rules.rts_timeout.max(growing).min(give_up)
    }

    /// Rule S7: without a token the RTS is repeated, at growing intervals; after a long silence the flow fails.
    pub fn check(&mut self, now: Instant, rules: &Parameters) -> Check {
        if now < self.due {
            return Check::Early;
        }
        let end = self.last_heard.after(rules.limits.give_up);
        if now >= end {
            return Check::GiveUp;
        }
        self.due = now.after(self.patience(now, rules)).min(end);
        Check::Again
    }

    /// Payload bytes that the destination has, as far as is known.
    pub fn acknowledged(&self, rules: &Parameters) -> u64 {
        u64::from(self.about.packets - self.left.min(self.about.packets)) * u64::from(rules.limits.mtu)
    }
}
