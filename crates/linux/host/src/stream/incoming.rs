use std::collections::{BTreeMap, VecDeque};

use super::Pool;
use crate::copy::Sink;

/// Memory overhead of a packet. Bytes.
const PER_PACKET: usize = 64;

/// Room that a stream has for packets that have arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// For bytes that can be read, and as many again for packets behind a gap. Bytes.
    pub bytes: usize,
    /// Maximum distance of a packet behind the first missing one. Packets.
    pub packets: u32,
    /// Memory that all streams together may still use. Bytes.
    pub memory: usize,
}

/// Bytes that have arrived and were not read yet, and the packets behind a gap.
#[derive(Default, Debug)]
pub(crate) struct Incoming {
    /// Packets to be read, in order; the first is read from `offset` on.
    ready: VecDeque<Vec<u8>>,
    offset: usize,
    ready_bytes: usize,
    /// Number of the first missing packet.
    next: u32,
    /// Packets behind it.
    ahead: BTreeMap<u32, Vec<u8>>,
    /// Memory that all packets take.
    ready_memory: usize,
    ahead_memory: usize,
}

fn memory(packet: &[u8]) -> usize {
    packet.len() + PER_PACKET
}

impl Room {
    /// Creates room for a stream whose reader may leave `buffer` bytes unread before its sender is held; a first window of
    /// `window` packets with `payload` bytes each may be in flight by then.
    pub fn new(buffer: usize, window: u32, payload: usize, memory: usize) -> Self {
        let full = payload + PER_PACKET;
        let packets = window + (buffer / full) as u32;
        Self { bytes: buffer + window as usize * full, packets, memory }
    }
}

impl Incoming {
    /// Whether there is room for packet `seq` with `payload` bytes. The packet that the reader waits for is always admitted,
    /// so that the stream makes progress even if room is short.
    pub fn admits(&self, seq: u32, payload: usize, room: Room) -> bool {
        if seq == self.next && self.ready.is_empty() {
            return true;
        }
        let needed = payload + PER_PACKET;
        let used = if seq == self.next { self.ready_memory } else { self.ahead_memory };
        used + needed <= room.bytes && needed <= room.memory && seq < self.next.saturating_add(room.packets)
    }

    /// Stores packet `seq`, which has arrived for the first time.
    pub fn store(&mut self, seq: u32, payload: &[u8], pool: &mut Pool) {
        let mut packet = pool.take(payload.len());
        packet.extend_from_slice(payload);
        if seq != self.next {
            self.ahead_memory += memory(&packet);
            self.ahead.insert(seq, packet);
            return;
        }
        self.append(packet);
        while let Some(packet) = self.ahead.remove(&self.next) {
            self.ahead_memory -= memory(&packet);
            self.append(packet);
        }
    }

    fn append(&mut self, packet: Vec<u8>) {
        self.next += 1;
        if !packet.is_empty() {
            self.ready_bytes += packet.len();
            self.ready_memory += memory(&packet);
            self.ready.push_back(packet);
        }
    }

    /// Reads as many bytes as are ready and fit.
    pub fn read(&mut self, mut into: impl Sink, pool: &mut Pool) -> usize {
        let mut done = 0;
        while let Some(packet) = self.ready.front().filter(|_| into.room() > 0) {
            let rest = &packet[self.offset..];
            let long = rest.len().min(into.room());
            into.put(&rest[..long]);
            (done, self.offset) = (done + long, self.offset + long);
            if self.offset == packet.len() {
                self.offset = 0;
                self.drop_first(pool);
            }
        }
        self.ready_bytes -= done;
        done
    }

    fn drop_first(&mut self, pool: &mut Pool) {
        if let Some(packet) = self.ready.pop_front() {
            self.ready_memory -= memory(&packet);
            pool.give(packet);
        }
    }

    /// Discards the data, because it will not be read any more.
    pub fn clear(&mut self, pool: &mut Pool) {
        while !self.ready.is_empty() {
            self.drop_first(pool);
        }
        std::mem::take(&mut self.ahead).into_values().for_each(|packet| pool.give(packet));
        (self.offset, self.ready_bytes, self.ahead_memory) = (0, 0, 0);
    }

    /// Number of bytes that can be read.
    pub fn readable(&self) -> usize {
        self.ready_bytes
    }

    /// Memory of the packets that can be read. Bytes.
    pub fn readable_memory(&self) -> usize {
        self.ready_memory
    }

    /// Memory of all packets. Bytes.
    pub fn memory(&self) -> usize {
        self.ready_memory + self.ahead_memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { bytes: 1000, packets: 8, memory: 10_000 };

    #[test]
    fn bytes_are_read_in_order_and_in_any_pieces() {
        let (mut incoming, mut pool) = (Incoming::default(), Pool::new(4));
        for (seq, payload) in [(2, &b"ghi"[..]), (0, b"abc"), (3, b""), (1, b"def"), (4, b"j")] {
            incoming.store(seq, payload, &mut pool);
        }
        assert_eq!(incoming.readable(), 10);
        let mut out = [0; 4];
        let mut read = Vec::new();
        loop {
            match incoming.read(&mut out[..], &mut pool) {
                0 => break,
                long => read.extend_from_slice(&out[..long]),
            }
        }
        assert_eq!((read.as_slice(), incoming.memory()), (&b"abcdefghij"[..], 0));
    }

    #[test]
    fn there_is_room_within_limits_and_always_for_what_the_reader_waits_for() {
        let (mut incoming, mut pool) = (Incoming::default(), Pool::new(500));
        assert!(incoming.admits(0, 500, Room { bytes: 0, packets: 0, memory: 0 }));
        assert!(incoming.admits(7, 500, ROOM) && !incoming.admits(8, 500, ROOM));
        assert!(!incoming.admits(1, 500, Room { memory: 100, ..ROOM }));
        incoming.store(1, &[0; 500], &mut pool);
        assert!(!incoming.admits(2, 500, ROOM), "behind the gap there is room for one");
        incoming.store(0, &[0; 300], &mut pool);
        assert!(!incoming.admits(2, 500, ROOM) && incoming.admits(3, 500, ROOM));
        let mut out = [0; 1000];
        assert_eq!(incoming.read(&mut out[..], &mut pool), 800);
        assert!(incoming.admits(2, 500, ROOM));
    }
}
