//! The first bytes of a stream of the benchmark: what the other side is to do.

use std::time::Duration;

/// Begins every head; the last byte is the version.
const MAGIC: [u8; 8] = *b"pnbench\x01";
/// Length of a head. Bytes.
pub(super) const LONG: usize = 32;
/// Longest stream, request or answer that a server takes part in.
const LONGEST_TIME: Duration = Duration::from_secs(24 * 3600);
/// Largest request and answer. Bytes.
pub(super) const LARGEST: u64 = 1 << 30;

const STANDING: u8 = 1;
const STREAM: u8 = 2;
const CALLS: u8 = 3;

/// How much a sender sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// As much as it can in this time.
    Time(Duration),
    /// So many bytes.
    Bytes(u64),
}

/// The task of the other side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Head {
    /// Say how much processor time was used so far.
    Standing,
    /// Take what comes up to its end, and send so much meanwhile; then say how many bytes came.
    Stream { down: Option<Amount> },
    /// Answer requests: each has so many bytes behind the head or the request before it, and gets an answer of so many
    /// bytes. Without `kept` there is only one.
    Calls { request: u64, answer: u64, kept: bool },
}

impl Head {
    pub fn encode(self) -> [u8; LONG] {
        let (kind, flag, a, b) = match self {
            Self::Standing => (STANDING, 0, 0, 0),
            Self::Stream { down: None } => (STREAM, 0, 0, 0),
            Self::Stream { down: Some(Amount::Bytes(bytes)) } => (STREAM, 1, bytes, 0),
            Self::Stream { down: Some(Amount::Time(time)) } => (STREAM, 2, time.as_nanos() as u64, 0),
            Self::Calls { request, answer, kept } => (CALLS, u8::from(kept), request, answer),
        };
        let mut bytes = [0; LONG];
        bytes[..8].copy_from_slice(&MAGIC);
        (bytes[8], bytes[9]) = (kind, flag);
        bytes[16..24].copy_from_slice(&a.to_le_bytes());
        bytes[24..].copy_from_slice(&b.to_le_bytes());
        bytes
    }

    /// `None`: no head of this version, or a task beyond the limits of a server.
    pub fn decode(bytes: &[u8; LONG]) -> Option<Self> {
        let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|byte| bytes[at + byte]));
        let (a, b) = (word(16), word(24));
        let head = match (bytes[8], bytes[9]) {
            (STANDING, 0) => Self::Standing,
            (STREAM, 0) => Self::Stream { down: None },
            (STREAM, 1) => Self::Stream { down: Some(Amount::Bytes(a)) },
            (STREAM, 2) => Self::Stream { down: Some(Amount::Time(Duration::from_nanos(a))) },
            (CALLS, flag @ (0 | 1)) => Self::Calls { request: a, answer: b, kept: flag == 1 },
            _ => return None,
        };
        let fair = match head {
            Self::Stream { down: Some(Amount::Time(time)) } => time <= LONGEST_TIME,
            // Requests without bytes would all be there at once.
            Self::Calls { request, answer, kept } => {
                request.max(answer) <= LARGEST && (!kept || request > 0) && answer > 0
            }
            _ => true,
        };
        (bytes[..8] == MAGIC && fair).then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written_and_others_refused() {
        let time = Amount::Time(Duration::from_millis(1500));
        for head in [
            Head::Standing,
            Head::Stream { down: None },
            Head::Stream { down: Some(Amount::Bytes(7)) },
            Head::Stream { down: Some(time) },
            Head::Calls { request: 0, answer: 9, kept: false },
            Head::Calls { request: 8, answer: 9, kept: true },
        ] {
            let bytes = head.encode();
            assert_eq!(Head::decode(&bytes), Some(head));
            (0..10).for_each(|at| {
                let mut wrong = bytes;
                wrong[at] ^= 0x40;
                assert_eq!(Head::decode(&wrong), None, "byte {at}");
            });
        }
        for greedy in [
            Head::Stream { down: Some(Amount::Time(Duration::from_secs(1 << 30))) },
            Head::Calls { request: LARGEST + 1, answer: 1, kept: false },
            Head::Calls { request: 0, answer: 1, kept: true },
            Head::Calls { request: 1, answer: 0, kept: false },
        ] {
            assert_eq!(Head::decode(&greedy.encode()), None, "{greedy:?}");
        }
    }
}
