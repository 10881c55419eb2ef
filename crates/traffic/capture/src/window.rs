//! Sliding window over the content: grows with the largest record, not with the file.

use std::io::{ErrorKind, Read};

use crate::input::Input;
use crate::losses::{DamageKind, Losses};

/// Least capacity. Unit: bytes.
const CAPACITY: usize = 1 << 20;

pub(crate) struct Window {
    pub input: Input,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `start` in the content.
    offset: u64,
    ended: bool,
    failure: Option<String>,
}

impl Window {
    pub(crate) fn new(input: Input) -> Self {
        Self { input, buffer: vec![0; CAPACITY], start: 0, end: 0, offset: 0, ended: false, failure: None }
    }

    /// Offset of the first byte of [`Window::bytes`] in the content.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes read and not yet consumed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Bytes of a range returned by [`Window::take`].
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Whether the content ends with [`Window::bytes`].
    pub(crate) fn at_end(&self) -> bool {
        self.ended
    }

    /// Reads until `count` bytes are available; returns false if the content ends before.
    pub(crate) fn want(&mut self, count: usize) -> bool {
        self.end - self.start >= count || self.fill(count)
    }

    #[cold]
    fn fill(&mut self, count: usize) -> bool {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() < count {
            self.buffer.resize(count, 0);
        }
        while self.end < count && !self.ended {
            self.read();
        }
        self.end >= count
    }

    fn read(&mut self) {
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                self.ended = true;
                self.failure = Some(error.to_string());
            }
        }
    }

    /// Consumes `count` available bytes; the returned range stays valid until the next `want`.
    pub(crate) fn take(&mut self, count: usize) -> std::ops::Range<usize> {
        let taken = self.start..self.start + count;
        self.start += count;
        self.offset += count as u64;
        taken
    }

    /// Consumes up to `count` bytes without holding them; returns their number.
    pub(crate) fn skip(&mut self, count: u64) -> u64 {
        let mut left = count;
        while left > 0 && self.want(1) {
            let here = (self.bytes().len() as u64).min(left);
            self.take(here as usize);
            left -= here;
        }
        count - left
    }

    /// Skips the remaining bytes as a truncated record.
    pub(crate) fn truncated(&mut self, losses: &mut Losses) {
        let offset = self.offset;
        let skipped = self.skip(u64::MAX);
        if skipped > 0 {
            losses.records += 1;
            losses.at(DamageKind::Truncated, offset, skipped);
        }
    }

    /// Reports the error that ended the content, if any, once.
    pub(crate) fn report_failure(&mut self, losses: &mut Losses) {
        if let Some(reason) = self.failure.take() {
            let unread = self.input.abandon();
            losses.at(DamageKind::Stream { reason, unread }, self.offset, 0);
        }
    }

    /// The error that ended the content.
    pub(crate) fn failure(&mut self) -> Option<std::io::Error> {
        self.failure.take().map(std::io::Error::other)
    }
}
