//! Compares the RTL with the software switch, frame by frame on the same input.
//!
//! The simulated RTL runs freely, with its own backpressure and random numbers. It reports its actions in order: which frame
//! it offered to which queues with which coin, and when frames went into service and left. The software switch
//! (`pullnet_switch`, with the discipline of the simulator; [`RtlTrim`] has one limit more) follows that order. All consequences are compared: verdicts,
//! every byte that leaves, the order of frames, counters.

mod frames;
mod layout;
mod profile;
mod queue;
mod reference;

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use pullnet_qdisc::{Discipline, DropTail};
use pullnet_switch::Slot;
use thiserror::Error;

pub use frames::{Frames, Given, LONGEST};
pub use layout::Layout;
pub(crate) use layout::checksum;
pub use profile::{FIXED, PORTS, PROFILES, Pace, Profile, REFERENCE_PROFILES, ROUTES, Room, Route, mac};
pub use queue::RtlTrim;
pub use reference::{Disagreement, Reference, Report, Tally};

/// Longest message of a simulation that is shown. Bytes.
const MESSAGE: u64 = 500;

/// Reasons why a comparison failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// The simulation cannot be started.
    #[error("cannot start the simulation {0}: {1}; build it with `tools/hardware.sh build`")]
    Start(String, io::Error),
    /// The simulation ended early, or communication failed.
    #[error("the simulation broke off: {0}")]
    Broken(#[from] io::Error),
    /// The simulation wrote something else than a report: the message of a check in the RTL that does not hold.
    #[error("the simulation wrote: {0}")]
    Wrote(String),
    /// RTL and reference differ.
    #[error("RTL and reference disagree: {0}")]
    Disagree(#[from] Disagreement),
}

/// Compares `count` random frames under `profile`, with the simulation in the executable `program`.
pub fn compare(program: &Path, profile: &Profile, seed: u64, count: u64) -> Result<Tally, Failure> {
    compare_frames(program, profile, seed, &|| Frames::new(*profile, seed, count))
}

/// The same for given frames, each with its port. `frames` is called twice: for the simulation and for the reference.
pub fn compare_frames<I: Iterator<Item = (usize, Given)>>(
    program: &Path,
    profile: &Profile,
    seed: u64,
    frames: &(impl Fn() -> I + Sync),
) -> Result<Tally, Failure> {
    let start = |error| Failure::Start(program.display().to_string(), error);
    let mut command = Command::new(program);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(start)?;
    let outcome = talk(&mut child, profile, seed, frames);
    // The pipe is no longer read, so the simulation would block for ever.
    if outcome.is_err() {
        child.kill()?;
    }
    child.wait()?;
    outcome
}

fn talk<I: Iterator<Item = (usize, Given)>>(
    child: &mut Child,
    profile: &Profile,
    seed: u64,
    frames: &(impl Fn() -> I + Sync),
) -> Result<Tally, Failure> {
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
    };
    thread::scope(|scope| {
        // A simulation that aborts reports the reason on its standard error.
        scope.spawn(move || write_input(BufWriter::new(to), profile, seed, frames()).ok());
        let from = BufReader::new(from);
        if profile.trims {
            follow(from, Reference::<RtlTrim<_>>::new(profile, &profile.trim()), frames())
        } else {
            follow(from, Reference::<DropTail<_>>::new(profile, &profile.drop_tail()), frames())
        }
    })
}

fn write_input(
    mut to: impl Write,
    profile: &Profile,
    seed: u64,
    frames: impl Iterator<Item = (usize, Given)>,
) -> io::Result<()> {
    let registers = profile.registers();
    to.write_all(&seed.to_le_bytes())?;
    to.write_all(&[profile.pace as u8])?;
    to.write_all(&(registers.len() as u16).to_le_bytes())?;
    for (address, value) in registers {
        to.write_all(&[address])?;
        to.write_all(&value.to_le_bytes())?;
    }
    for (port, given) in frames {
        to.write_all(&[port as u8])?;
        to.write_all(&given.gap.to_le_bytes())?;
        to.write_all(&[u8::from(given.wrong)])?;
        to.write_all(&(given.bytes.len() as u16).to_le_bytes())?;
        to.write_all(&given.bytes)?;
    }
    to.write_all(&[255])?;
    to.flush()
}

fn follow<Q: Discipline<Slot>>(
    mut from: impl BufRead,
    mut reference: Reference<Q>,
    mut frames: impl Iterator<Item = (usize, Given)>,
) -> Result<Tally, Failure> {
    loop {
        let report = read_report(&mut from)?;
        if let Report::Routed { from, .. } = report
            && usize::from(from) < PORTS
        {
            while reference.waits(from.into()) == 0 {
                let Some((port, given)) = frames.next() else { break };
                reference.give(port, given);
            }
        }
        if matches!(report, Report::End(_)) {
            frames.by_ref().for_each(|(port, given)| reference.give(port, given));
        }
        let last = matches!(report, Report::End(_));
        reference.follow(report)?;
        if last {
            return Ok(reference.tally());
        }
    }
}

fn read_report(from: &mut impl BufRead) -> Result<Report, Failure> {
    let [what] = take(from)?;
    Ok(match what {
        b'R' => {
            let [port, mask, low, high, coins] = take(from)?;
            Report::Routed { from: port, mask, verdicts: u16::from_le_bytes([low, high]), coins }
        }
        b'T' => Report::Taken(take::<1>(from)?[0]),
        b'D' => Report::Done(take::<1>(from)?[0]),
        b'O' => {
            let [port, low, high] = take(from)?;
            let mut bytes = vec![0; u16::from_le_bytes([low, high]).into()];
            from.read_exact(&mut bytes)?;
            Report::Out(port, bytes)
        }
        b'C' => {
            let [port, number, value @ ..] = take::<6>(from)?;
            Report::Counter(port, number, u32::from_le_bytes(value))
        }
        b'E' => Report::End(u64::from_le_bytes(take(from)?)),
        other => {
            let mut line = vec![other];
            from.take(MESSAGE).read_until(b'\n', &mut line)?;
            return Err(Failure::Wrote(String::from_utf8_lossy(&line).trim_end().to_owned()));
        }
    })
}

fn take<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}
