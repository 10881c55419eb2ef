//! Finds the next readable record after damage.

use crate::losses::{DamageKind, Losses};
use crate::packet::Step;
use crate::window::Window;

/// Largest plausible time distance of a record from a trusted one. Unit: s.
const NEAR: u64 = 86_400;

/// Times of the records read so far. A single damaged time must not become the reference for plausibility: all later records
/// would be rejected.
#[derive(Clone, Copy, Default)]
pub(crate) struct Clock {
    /// Second of the last trusted record; `None` before the first record.
    trusted: Option<u64>,
    /// Second of the last record.
    previous: u64,
}

impl Clock {
    /// Whether a record's time is plausible for this capture. True before the first record.
    pub(crate) fn near(&self, seconds: u64) -> bool {
        self.trusted.is_none_or(|trusted| trusted.abs_diff(seconds) <= NEAR)
    }

    /// Records the second of a record. A jump is trusted once a second record confirms it.
    pub(crate) fn note(&mut self, seconds: u64) {
        if self.near(seconds) || self.previous.abs_diff(seconds) <= NEAR {
            self.trusted = Some(seconds);
        }
        self.previous = seconds;
    }
}

/// Result of examining a position.
pub(crate) enum Guess {
    /// Records follow one another from here.
    Records,
    /// No records follow from here.
    Not,
    /// Undecided until more bytes are available.
    NotYet,
}

/// Consecutive plausible records required to resume.
const IN_A_ROW: usize = 3;
/// Most bytes examined after a position: more than [`IN_A_ROW`] records of the largest plausible length.
const LOOK_AHEAD: usize = 1 << 20;

/// Whether records follow one another from the start of `bytes`; `length` returns the length of a plausible record from its
/// first `head` bytes. Fewer than [`IN_A_ROW`] suffice if the last one ends at the end of the content.
pub(crate) fn chain(
    bytes: &[u8],
    ended: bool,
    head: usize,
    mut length: impl FnMut(&[u8]) -> Option<usize>,
) -> Guess {
    let open = if ended { Guess::Not } else { Guess::NotYet };
    let mut at = 0;
    for count in 0..IN_A_ROW {
        if at == bytes.len() && ended && count > 0 {
            return Guess::Records;
        }
        let Some(begin) = bytes.get(at..at + head) else { return open };
        match length(begin) {
            Some(length) => at += length,
            None => return Guess::Not,
        }
    }
    if at <= bytes.len() { Guess::Records } else { open }
}

/// Skips an unreadable record and the bytes up to a position accepted by `guess`, or to the end; damage at the end is of the
/// kind `at_end`.
pub(crate) fn skip_record(
    window: &mut Window,
    losses: &mut Losses,
    at_end: DamageKind,
    guess: impl Fn(&[u8], bool) -> Guess,
) -> Step {
    let offset = window.offset();
    losses.records += 1;
    let found = search(window, guess);
    let kind = if found && at_end == DamageKind::Truncated { DamageKind::Record } else { at_end };
    losses.at(kind, offset, window.offset() - offset);
    if found { Step::Break } else { Step::End }
}

/// Skips at least one byte; returns whether a position was found before the end.
fn search(window: &mut Window, guess: impl Fn(&[u8], bool) -> Guess) -> bool {
    window.take(1);
    loop {
        window.want(LOOK_AHEAD);
        let ended = window.at_end();
        let (skip, found) = scan(window.bytes(), ended, &guess);
        window.take(skip);
        if found || ended {
            return found;
        }
    }
}

/// Number of bytes to skip, and whether a position follows them.
fn scan(bytes: &[u8], ended: bool, guess: impl Fn(&[u8], bool) -> Guess) -> (usize, bool) {
    for at in 0..bytes.len() {
        match guess(&bytes[at..], ended) {
            Guess::Records => return (at, true),
            Guess::NotYet if at > 0 => return (at, false),
            // Even the full window does not decide: the record is implausibly long.
            Guess::NotYet | Guess::Not => {}
        }
    }
    (bytes.len(), false)
}
