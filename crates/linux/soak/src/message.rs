//! What is carried: a head, a body that its number alone decides, and the hash of both.

use pullnet_rng::{Seed, Stream};

/// Bytes of a head.
const HEAD: usize = 32;
/// Bytes of a hash.
const HASH: usize = 32;
/// Bytes that are made at a time.
const PIECE: u64 = 16 * 1024;

/// What a message says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    /// The call, or the stream, that it belongs to; an answer has the number of its request.
    pub id: u64,
    /// Bytes of the body.
    pub long: u64,
    /// Bytes of the answer's body; 0 in an answer.
    pub answer: u64,
    /// Whether the answer is to begin at once, rather than when the request is complete.
    pub both_ways: bool,
}

impl Head {
    /// The head of the answer.
    pub fn answer(&self) -> Self {
        Self { long: self.answer, answer: 0, both_ways: false, ..*self }
    }

    fn words(&self) -> [u64; 4] {
        [self.id, self.long, self.answer, self.both_ways.into()]
    }

    fn bytes(&self) -> Vec<u8> {
        self.words().iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn read(bytes: &[u8]) -> Self {
        let mut words =
            bytes.chunks(8).map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)));
        let mut next = || words.next().unwrap_or(0);
        Self { id: next(), long: next(), answer: next(), both_ways: next() != 0 }
    }
}

/// Makes the bytes of a message, piece by piece.
#[derive(Debug)]
pub(crate) struct Source {
    chance: Stream,
    hash: blake3::Hasher,
    /// Made, and not taken from `taken` on.
    made: Vec<u8>,
    taken: usize,
    /// Bytes of the body that are not made yet.
    left: u64,
    hashed: bool,
}

impl Source {
    pub fn new(seed: Seed, head: &Head) -> Self {
        let made = head.bytes();
        let mut hash = blake3::Hasher::new();
        hash.update(&made);
        let name = if head.answer == 0 { "answer" } else { "request" };
        Self { chance: seed.stream(name, head.id), hash, made, taken: 0, left: head.long, hashed: false }
    }

    /// The next bytes; none: that was all.
    pub fn next(&mut self) -> &[u8] {
        if self.taken == self.made.len() {
            self.make();
        }
        &self.made[self.taken..]
    }

    /// Everything at once.
    pub fn all(mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while !self.next().is_empty() {
            all.append(&mut self.made);
            self.taken = 0;
        }
        all
    }

    /// So many of them were taken.
    pub fn take(&mut self, bytes: usize) {
        self.taken += bytes;
    }

    fn make(&mut self) {
        self.made.clear();
        self.taken = 0;
        let long = self.left.min(PIECE) as usize;
        self.left -= long as u64;
        if long > 0 {
            while self.made.len() < long {
                self.made.extend_from_slice(&self.chance.bits().to_le_bytes());
            }
            self.made.truncate(long);
            self.hash.update(&self.made);
        } else if !std::mem::replace(&mut self.hashed, true) {
            self.made.extend_from_slice(self.hash.finalize().as_bytes());
        }
    }
}

/// Takes the bytes of a message and says whether they are what was sent.
#[derive(Debug)]
pub(crate) struct Sink {
    hash: blake3::Hasher,
    /// Head, then hash, as far as they are there.
    frame: Vec<u8>,
    head: Option<Head>,
    /// Bytes of the body that are still to come.
    left: u64,
    /// Whether more came than the message has.
    more: bool,
}

impl Sink {
    pub fn new() -> Self {
        Self { hash: blake3::Hasher::new(), frame: Vec::new(), head: None, left: 0, more: false }
    }

    /// The head, once it is there.
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    pub fn take(&mut self, mut bytes: &[u8]) {
        if self.head.is_none() {
            bytes = self.fill(bytes, HEAD);
            if self.frame.len() < HEAD {
                return;
            }
            let head = Head::read(&self.frame);
            self.hash.update(&self.frame);
            self.frame.clear();
            (self.head, self.left) = (Some(head), head.long);
        }
        let body = self.left.min(bytes.len() as u64) as usize;
        self.hash.update(&bytes[..body]);
        self.left -= body as u64;
        if self.left == 0 {
            let rest = self.fill(&bytes[body..], HASH);
            self.more |= !rest.is_empty();
        }
    }

    /// Takes what `frame` lacks to have `long` bytes, and returns the rest.
    fn fill<'a>(&mut self, bytes: &'a [u8], long: usize) -> &'a [u8] {
        let (now, rest) = bytes.split_at(bytes.len().min(long - self.frame.len()));
        self.frame.extend_from_slice(now);
        rest
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// In words, if the message is not what was sent.
    pub fn end(&self) -> Result<Head, &'static str> {
        match self.head {
            None => Err("ended within its head"),
            Some(_) if self.left > 0 => Err("ended within its body"),
            Some(_) if self.frame.len() < HASH => Err("ended within its hash"),
            Some(_) if self.more => Err("goes on after its hash"),
            Some(_) if self.hash.finalize().as_bytes()[..] != self.frame[..] => Err("has another hash"),
            Some(head) => Ok(head),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(head: &Head) -> Vec<u8> {
        let mut source = Source::new(Seed(1), head);
        let mut bytes = Vec::new();
        while !source.next().is_empty() {
            let some = source.next().len().div_ceil(2);
            bytes.extend_from_slice(&source.next()[..some]);
            source.take(some);
        }
        bytes
    }

    fn read(bytes: &[u8], piece: usize) -> Result<Head, &'static str> {
        let mut sink = Sink::new();
        bytes.chunks(piece).for_each(|piece| sink.take(piece));
        sink.end()
    }

    #[test]
    fn a_message_is_read_as_it_was_made_and_no_other() {
        for long in [0, 1, 40_000] {
            let head = Head { id: 7, long, answer: 3, both_ways: true };
            let bytes = all(&head);
            assert_eq!(bytes.len() as u64, long + (HEAD + HASH) as u64);
            for piece in [1, 7, 31, 33, 50_000] {
                assert_eq!(read(&bytes, piece), Ok(head));
            }
            assert!(read(&bytes[..bytes.len() - 1], 100).is_err());
            assert!(read(&[&bytes[..], b"x"].concat(), 100).is_err());
            for at in [0, 33, bytes.len() / 2, bytes.len() - 1] {
                let mut turned = bytes.clone();
                turned[at] ^= 1;
                assert!(read(&turned, 100).is_err(), "byte {at} of {}", bytes.len());
            }
        }
    }
}
