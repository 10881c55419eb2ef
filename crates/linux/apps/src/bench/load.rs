//! Sends and receives loads.

use std::io;
use std::time::Duration;

use super::head::Amount;
use crate::clock::clock;
use crate::line::Line;

/// Bytes of one write or read.
const PIECE: usize = 128 << 10;

/// Content of all loads.
pub(super) fn pattern() -> &'static [u8; PIECE] {
    static BYTES: [u8; PIECE] = {
        let mut bytes = [0; PIECE];
        let mut at = 0;
        while at < PIECE {
            bytes[at] = (at ^ (at >> 8)) as u8;
            at += 1;
        }
        bytes
    };
    &BYTES
}

/// Sends so much, or until `stop`. Returns the number of bytes. Does not end the stream.
pub(super) fn pour(line: &Line, amount: Amount, stop: &dyn Fn() -> bool) -> io::Result<u64> {
    let (most, time) = match amount {
        Amount::Bytes(bytes) => (bytes, Duration::MAX),
        Amount::Time(time) => (u64::MAX, time),
    };
    let (start, mut sent) = (clock(), 0);
    while sent < most && start.elapsed() < time && !stop() {
        let next = (most - sent).min(PIECE as u64) as usize;
        line.write_all(&pattern()[..next])?;
        sent += next as u64;
    }
    Ok(sent)
}

/// Receives up to the end. Returns the number of bytes.
pub(super) fn drain(line: &Line) -> io::Result<u64> {
    let (mut piece, mut all) = (vec![0; PIECE], 0);
    loop {
        match line.read(&mut piece)? {
            0 => return Ok(all),
            long => all += long as u64,
        }
    }
}

/// Receives up to the end, where the other side says in 8 bytes how much it has received. Returns what came before them,
/// and what they say.
pub(super) fn drain_with_count(line: &Line) -> io::Result<(u64, u64)> {
    let (mut piece, mut all, mut last) = (vec![0; PIECE], 0, [0; 8]);
    loop {
        let long = match line.read(&mut piece)? {
            0 => break,
            long => long,
        };
        all += long as u64;
        let kept = long.min(8);
        last.copy_within(kept.., 0);
        last[8 - kept..].copy_from_slice(&piece[long - kept..long]);
    }
    let down = u64::checked_sub(all, 8).ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok((down, u64::from_le_bytes(last)))
}

/// Receives so many bytes. Returns false if the stream has ended before the first of them.
pub(super) fn take_exactly(line: &Line, long: u64) -> io::Result<bool> {
    let (mut piece, mut left) = ([0; 16 << 10], long);
    while left > 0 {
        let next = left.min(piece.len() as u64) as usize;
        match line.read(&mut piece[..next])? {
            0 if left == long => return Ok(false),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => left -= got as u64,
        }
    }
    Ok(true)
}
