//! Records that are kept only if asked for. None of them changes what happens.

use pullnet_record::{ControlRow, Direction, LatencyRow, PacketRow};
use pullnet_transport::{Fate, Header, Packed, Received, Transmit, Words};
use pullnet_units::{HostId, Instant};

/// How long a port held how many data packets, and what that does to the total over time.
#[derive(Clone, Debug, Default)]
pub struct Held {
    now: u32,
    since: u64,
    times: Option<Vec<u64>>,
    interval: Option<u64>,
    /// Intervals of the series, and how the number held changed in them; what a [`HeldSum`] has not taken in yet.
    pub changes: Vec<(u64, i64)>,
}

impl Held {
    /// Records the occupancy distribution if `distribution`, and the total over time in steps of `interval`.
    pub fn new(distribution: bool, interval: Option<u64>) -> Option<Box<Self>> {
        let times = distribution.then(Vec::new);
        (distribution || interval.is_some()).then(|| Box::new(Self { times, interval, ..Self::default() }))
    }

    /// From `at` on, `held` packets are held.
    pub fn set(&mut self, at: u64, held: u32) {
        if held == self.now {
            return;
        }
        self.spend(at);
        if let Some(interval) = self.interval {
            self.change(at / interval, i64::from(held) - i64::from(self.now));
        }
        self.now = held;
    }

    fn change(&mut self, index: u64, by: i64) {
        match self.changes.last_mut() {
            Some(last) if last.0 == index => last.1 += by,
            _ => self.changes.push((index, by)),
        }
    }

    fn spend(&mut self, until: u64) {
        if let Some(times) = &mut self.times {
            let held = self.now as usize;
            times.resize(times.len().max(held + 1), 0);
            times[held] += until.saturating_sub(self.since);
            self.since = until;
        }
    }

    /// Picoseconds spent with n packets, n = 0, 1, ..., up to `end`.
    pub fn finish(&self, end: u64) -> Vec<u64> {
        let mut all = self.clone();
        all.spend(end);
        all.times.unwrap_or_default()
    }
}

/// Payload of one flow in one interval.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Which flow.
    pub flow: u32,
    /// Which interval.
    pub index: u64,
    /// Payload bytes.
    pub bytes: u64,
}

/// What the hosts of one shard record.
#[derive(Clone, Debug, Default)]
pub struct HostLog {
    /// Goodput over time.
    pub shares: Vec<Share>,
    /// Packet latencies.
    pub latencies: Vec<LatencyRow>,
    /// Departures of control packets.
    pub control: Vec<ControlRow>,
    /// Packets sent and received.
    pub packets: Vec<PacketRow>,
    /// Timers that ran out: flow and packet.
    pub timed_out: Vec<(u32, u32)>,
}

impl HostLog {
    /// Takes over the records of another shard.
    pub fn append(&mut self, mut other: Self) {
        self.shares.append(&mut other.shares);
        self.latencies.append(&mut other.latencies);
        self.control.append(&mut other.control);
        self.packets.append(&mut other.packets);
        self.timed_out.append(&mut other.timed_out);
    }
}

/// What kind of packet that is.
pub fn kind<H: Header>(packed: &Packed<H::Words>) -> &'static str {
    H::KINDS[usize::from(packed.kind & 0x0f)]
}

fn packet_row<H: Header>(
    at: Instant,
    host: HostId,
    peer: HostId,
    packed: Packed<H::Words>,
    wire: u16,
) -> PacketRow {
    let (kind, flags) = (kind::<H>(&packed), packed.kind >> 4);
    let (direction, fate, words) = (Direction::Received, "whole", first_words(&packed.words));
    PacketRow { host, peer, at, direction, fate, kind, flags, words, path: None, wire }
}

/// The first three words of a header: what the table of packets has columns for.
fn first_words(words: &impl Words) -> [u32; 3] {
    core::array::from_fn(|word| words.get().get(word).copied().unwrap_or(0))
}

/// The row of a packet that `host` sends to `peer`.
pub fn sent<H: Header>(at: Instant, host: HostId, peer: HostId, packet: &Transmit<H>) -> PacketRow {
    let row = packet_row::<H>(at, host, peer, packet.header.pack(), packet.wire);
    PacketRow { direction: Direction::Sent, path: Some(packet.path), ..row }
}

/// The row of a packet that `host` receives from `peer`.
pub fn received<H: Header>(at: Instant, host: HostId, peer: HostId, packet: &Received<H>) -> PacketRow {
    let fate = match packet.fate {
        Fate::Whole => "whole",
        Fate::Trimmed => "trimmed",
        Fate::Returned => "returned",
    };
    PacketRow { fate, ..packet_row::<H>(at, host, peer, packet.header.pack(), packet.wire) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_adds_up_to_the_time_observed() {
        let mut held = Held::new(true, Some(100)).unwrap();
        for (at, count) in [(10, 1), (30, 2), (35, 3), (35, 2), (110, 1), (250, 0)] {
            held.set(at, count);
        }
        assert_eq!(held.changes, [(0, 2), (1, -1), (2, -1)]);
        let times = held.finish(1000);
        assert_eq!(times, [10 + 750, 20 + 140, 5 + 75, 0]);
        assert_eq!(times.iter().sum::<u64>(), 1000);
    }
}
