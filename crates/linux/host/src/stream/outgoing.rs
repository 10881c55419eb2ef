use std::collections::VecDeque;

use super::Pool;
use crate::copy::Source;

/// A packet that a stream offers to the transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offer {
    pub payload: u16,
    pub last: bool,
}

/// State of a stream's end.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum End {
    /// More may be written.
    #[default]
    Open,
    /// The end is requested; the last packet was not offered yet.
    Wanted,
    /// The last packet was offered.
    Offered,
}

/// Maximum number of packets of a stream.
const MOST_PACKETS: u32 = u32::MAX - 2;

/// Unacknowledged bytes, divided into packets.
///
/// Bytes that are written while the stream has nothing waiting are offered at the next opportunity. Otherwise they wait in
/// the `tail` until it is full or everything before it has left, so that small writes fill packets.
#[derive(Default, Debug)]
pub(crate) struct Outgoing {
    /// Packets with final content, from number `first` on.
    packets: VecDeque<Vec<u8>>,
    first: u32,
    /// Number of the next packet to be offered.
    offered: u32,
    /// Number of the next packet to be sent for the first time.
    sent: u32,
    /// Payload of the next packet, still being filled.
    tail: Vec<u8>,
    end: End,
    bytes: usize,
}

impl Outgoing {
    /// Takes as many bytes as fit into `limit` bytes, and returns their number.
    pub fn write(&mut self, mut from: impl Source, limit: usize, pool: &mut Pool) -> usize {
        let taken = from.left().min(limit.saturating_sub(self.bytes));
        let mut rest = taken;
        while rest > 0 {
            if self.tail.len() == pool.room() {
                self.seal();
            }
            if self.tail.capacity() == 0 {
                // The caller writes the rest as soon as the limit allows it, so a packet cut short by the limit will be full.
                self.tail = pool.take(from.left().min(pool.room()));
            }
            let fits = rest.min(pool.room() - self.tail.len());
            from.append_to(&mut self.tail, fits);
            rest -= fits;
        }
        self.bytes += taken;
        taken
    }

    /// Ends the stream behind the bytes written so far.
    pub fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::Wanted;
        }
    }

    pub fn is_finished(&self) -> bool {
        self.end != End::Open
    }

    /// Whether no packet number is left.
    pub fn is_exhausted(&self) -> bool {
        self.offered >= MOST_PACKETS
    }

    fn seal(&mut self) {
        self.packets.push_back(std::mem::take(&mut self.tail));
    }

    /// The next packet for the transport, if there is one at the moment.
    pub fn next_offer(&mut self) -> Option<Offer> {
        let sealed = self.first + self.packets.len() as u32;
        let mut last = false;
        if self.offered == sealed {
            // Seals the tail at the end of the stream, or if no earlier packet waits; otherwise more bytes may join it.
            let now = self.end == End::Wanted || (self.sent == self.offered && !self.tail.is_empty());
            if self.end == End::Offered || !now {
                return None;
            }
            self.seal();
            last = self.end == End::Wanted;
        }
        let packet = self.packets.get((self.offered - self.first) as usize)?;
        self.offered += 1;
        if last {
            self.end = End::Offered;
        }
        Some(Offer { payload: packet.len() as u16, last })
    }

    /// Notes that packet `seq` has left. True if the tail may be offered now.
    pub fn note_sent(&mut self, seq: u32) -> bool {
        self.sent = self.sent.max(seq + 1);
        self.sent == self.offered && !self.tail.is_empty()
    }

    /// Returns the payload of packet `seq`; `None`: it is acknowledged.
    pub fn packet(&self, seq: u32) -> Option<&[u8]> {
        self.packets.get(seq.checked_sub(self.first)? as usize).map(Vec::as_slice)
    }

    /// Acknowledges every packet before `until`. Returns the number of bytes.
    pub fn acknowledge(&mut self, until: u32, pool: &mut Pool) -> usize {
        let mut freed = 0;
        while self.first < until.min(self.offered) {
            let Some(packet) = self.packets.pop_front() else { break };
            freed += packet.len();
            pool.give(packet);
            self.first += 1;
        }
        self.bytes -= freed;
        freed
    }

    /// Discards the data, because everything is acknowledged or not wanted any more. Returns the number of bytes.
    pub fn clear(&mut self, pool: &mut Pool) -> usize {
        let held = std::mem::take(&mut self.bytes);
        self.packets.drain(..).for_each(|packet| pool.give(packet));
        pool.give(std::mem::take(&mut self.tail));
        self.first = self.offered;
        held
    }

    /// Number of unacknowledged bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of the newest packet that was offered.
    pub fn newest(&self) -> u32 {
        self.offered.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(out: &mut Outgoing) -> Vec<(u16, bool)> {
        std::iter::from_fn(|| out.next_offer()).map(|offer| (offer.payload, offer.last)).collect()
    }

    #[test]
    fn small_writes_leave_at_once_and_join_while_packets_wait() {
        let (mut out, mut pool) = (Outgoing::default(), Pool::new(10));
        assert_eq!(out.write(&b"abc"[..], 100, &mut pool), 3);
        assert_eq!(offers(&mut out), [(3, false)]);
        out.write(&b"de"[..], 100, &mut pool);
        out.write(&b"fg"[..], 100, &mut pool);
        assert_eq!(offers(&mut out), []);
        assert!(out.note_sent(0));
        assert_eq!(offers(&mut out), [(4, false)]);
        assert_eq!(out.packet(1), Some(&b"defg"[..]));
        out.write(&[b'x'; 25][..], 100, &mut pool);
        assert_eq!(offers(&mut out), [(10, false), (10, false)]);
        assert!(!out.note_sent(1) && !out.note_sent(2) && out.note_sent(3));
        out.finish();
        assert_eq!(offers(&mut out), [(5, true)]);
    }

    #[test]
    fn the_end_travels_with_the_last_bytes_or_alone() {
        let (mut out, mut pool) = (Outgoing::default(), Pool::new(10));
        out.write(&[1; 20][..], 100, &mut pool);
        out.finish();
        assert_eq!(offers(&mut out), [(10, false), (10, true)]);
        let mut late = Outgoing::default();
        late.write(&[1; 10][..], 100, &mut pool);
        assert_eq!(offers(&mut late), [(10, false)]);
        late.finish();
        assert_eq!(offers(&mut late), [(0, true)]);
        assert_eq!(offers(&mut late), []);
    }

    #[test]
    fn a_packet_that_the_limit_cuts_short_has_room_for_the_rest() {
        let (mut out, mut pool) = (Outgoing::default(), Pool::new(10));
        assert_eq!(out.write(&[1; 30][..], 23, &mut pool), 23);
        assert!(out.tail.len() == 3 && out.tail.capacity() >= 10, "{} B", out.tail.capacity());
        let mut short = Outgoing::default();
        assert_eq!(short.write(&[1; 3][..], 23, &mut pool), 3);
        assert!(short.tail.capacity() < 10, "a short packet takes a short buffer");
    }

    #[test]
    fn the_limit_counts_what_is_not_acknowledged() {
        let (mut out, mut pool) = (Outgoing::default(), Pool::new(10));
        assert_eq!(out.write(&[1; 30][..], 25, &mut pool), 25);
        assert_eq!(out.write(&[1; 30][..], 25, &mut pool), 0);
        assert_eq!(offers(&mut out), [(10, false), (10, false)]);
        assert!(!out.note_sent(0) && out.note_sent(1));
        assert_eq!(offers(&mut out), [(5, false)]);
        assert_eq!(out.acknowledge(2, &mut pool), 20);
        assert_eq!((out.bytes(), out.packet(1), out.packet(2).map(<[u8]>::len)), (5, None, Some(5)));
        assert_eq!(out.write(&[1; 30][..], 25, &mut pool), 20);
    }
}
