//! The result of a soak.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Outcomes of calls or of streams.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Outcomes {
    /// Begun.
    pub asked: u64,
    /// Answered correctly.
    pub answered: u64,
    /// Ended with an error.
    pub failed: u64,
    /// Lost with the process that had begun them.
    pub died: u64,
    /// Bytes of bodies received in both directions.
    pub bytes: u64,
}

impl Outcomes {
    /// Begun and not yet ended.
    pub(crate) const fn open(&self) -> u64 {
        self.asked - self.answered - self.failed - self.died
    }
}

/// Packet and frame counters, summed over all hosts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Traffic {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmitted data packets.
    pub repeated: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Frames trimmed by the network.
    pub trimmed: u64,
    /// Frames lost by the network.
    pub lost: u64,
    /// Frames duplicated by the network.
    pub doubled: u64,
    /// Frames corrupted by the network.
    pub damaged: u64,
}

/// Growth of resident memory, from 10% to the end, that allocator behaviour can explain. Bytes.
pub const FLAT: u64 = 16 << 20;

/// The result of a soak.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Report {
    /// The injected fault.
    pub condition: &'static str,
    /// Seed of the soak.
    pub seed: u64,
    /// Whether all streams were encrypted.
    pub encrypted: bool,
    /// Calls with answers of 1 B to 100 kB.
    pub rpcs: Outcomes,
    /// Streams with data in both directions.
    pub streams: Outcomes,
    /// Requests that were carried out more than once.
    pub twice: u64,
    /// Calls and streams without an answer, an error or a crash of the caller; plus answers to requests that were not
    /// carried out.
    pub lost: u64,
    /// Errors that ended calls and streams.
    pub errors: BTreeMap<String, u64>,
    /// Traffic carried by the network.
    pub traffic: Traffic,
    /// Simulated time. Seconds.
    pub virtual_seconds: f64,
    /// Wall-clock time. Seconds; 0 if not measured.
    pub seconds: f64,
    /// Resident memory at 10%, 50% and 100%, the first two not before memory has settled; `None`: the soak was too short.
    /// Bytes.
    pub resident: [Option<u64>; 3],
    /// Violated guarantees with their counts; empty if the soak has passed.
    pub complaints: BTreeMap<String, u64>,
}

impl Report {
    /// Whether all guarantees held that do not depend on other activity in the process.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.twice == 0 && self.lost == 0 && self.complaints.is_empty()
    }

    /// Growth of memory from the first sample to the end. Bytes; `None`: the soak was too short to tell.
    #[must_use]
    pub fn growth(&self) -> Option<u64> {
        let [early, _, late] = self.resident;
        Some(late?.saturating_sub(early?))
    }

    /// Whether memory stayed flat, within [`FLAT`], as far as the soak was long enough to tell.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.growth().is_none_or(|growth| growth <= FLAT)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = if self.holds() && self.is_flat() { "holds" } else { "DOES NOT HOLD" };
        let how = if self.encrypted { ", encrypted" } else { "" };
        writeln!(f, "{}{how}: {held} (seed {})", self.condition, self.seed)?;
        for (name, outcomes) in [("RPCs", &self.rpcs), ("streams", &self.streams)] {
            let Outcomes { asked, answered, failed, died, bytes } = *outcomes;
            let gb = bytes as f64 / 1e9;
            writeln!(
                f,
                "  {name:<8} {asked} asked: {answered} answered, {failed} failed, {died} died; {gb:.2} GB"
            )?;
        }
        writeln!(f, "  lost     {}, carried out twice {}", self.lost, self.twice)?;
        let Traffic { sent, repeated, timeouts, trimmed, lost, doubled, damaged } = self.traffic;
        writeln!(f, "  packets  {sent} sent, {repeated} of them again, {timeouts} after a timeout")?;
        writeln!(f, "  network  {trimmed} trimmed, {lost} lost, {doubled} doubled, {damaged} damaged")?;
        let rate = self.rpcs.answered as f64 / self.seconds.max(f64::MIN_POSITIVE);
        let virtually = self.virtual_seconds;
        writeln!(f, "  time     {virtually:.1} s virtual, {:.1} s real: {rate:.0} RPCs/s", self.seconds)?;
        let [early, half, late] = self.resident.map(|bytes| {
            bytes.map_or_else(|| "not measured".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6))
        });
        writeln!(f, "  memory   {early} at 10%, {half} at 50%, {late} at the end")?;
        match self.growth() {
            None => writeln!(f, "  memory   too short a soak to say whether it grows")?,
            Some(grown) if grown > FLAT => {
                let (grown, allowed) = (grown as f64 / 1e6, FLAT as f64 / 1e6);
                writeln!(
                    f,
                    "  WRONG    memory grew by {grown:.1} MB to the end; {allowed:.1} MB are allowed"
                )?;
            }
            Some(_) => {}
        }
        for (error, times) in &self.errors {
            writeln!(f, "  error    {times} x {error}")?;
        }
        self.complaints.iter().try_for_each(|(what, times)| writeln!(f, "  WRONG    {times} x {what}"))
    }
}
