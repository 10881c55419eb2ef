use alloc::collections::VecDeque;

use pullnet_transport::{CumulativeAck, SendCounts};
use pullnet_units::{Instant, Picos};

use crate::packets::FlowPackets;
use crate::received::ReceivedSet;

/// Number of later packets that overtake a packet before it counts as lost (RFC 5681, section 3.2).
const REORDERING: u8 = 3;

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    seq: u32,
    at: Instant,
    /// Number of later packets that have arrived.
    overtaken: u8,
}

/// A packet that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Packet number.
    pub seq: u32,
    /// The last packet of the flow.
    pub last: bool,
    /// Payload. Bytes.
    pub payload: u32,
    /// Whether it is a retransmission.
    pub again: bool,
}

/// The packets of a flow at its sender: which ones wait, are in flight, are lost, or have arrived. For transports that send at
/// a rate over a path that keeps packet order, and whose receiver acknowledges every packet.
#[derive(Clone, Debug)]
pub struct SentPackets {
    packets: FlowPackets,
    acked: ReceivedSet,
    /// The lowest packet number not sent yet.
    next: u32,
    /// Packets to retransmit.
    lost: VecDeque<u32>,
    /// Packets in flight, in order of departure.
    flight: VecDeque<InFlight>,
    /// Counters of the flow.
    pub counts: SendCounts,
    /// When a packet was last acknowledged for the first time.
    pub last_progress: Instant,
    /// When the receiver was last heard.
    pub last_heard: Instant,
}

impl SentPackets {
    /// A flow before its first packet.
    pub fn new(now: Instant, packets: FlowPackets) -> Self {
        Self {
            packets,
            acked: ReceivedSet::default(),
            next: 0,
            lost: VecDeque::new(),
            flight: VecDeque::new(),
            counts: SendCounts::default(),
            last_progress: now,
            last_heard: now,
        }
    }

    /// Returns whether every packet is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.acked.count() == self.packets.number
    }

    /// Number of acknowledged packets.
    pub fn acknowledged(&self) -> u32 {
        self.acked.count()
    }

    /// Returns whether a packet may be sent or retransmitted.
    pub fn has_data(&self) -> bool {
        !self.lost.is_empty() || self.next < self.packets.number && self.acked.reaches(self.next)
    }

    /// Returns whether every packet was sent at least once.
    pub fn all_sent(&self) -> bool {
        self.next == self.packets.number
    }

    /// Number of packets to send, including retransmissions.
    pub fn left(&self) -> u64 {
        u64::from(self.packets.number - self.next) + self.lost.len() as u64
    }

    /// When the oldest packet in flight counts as lost if it may stay unanswered for `patience`.
    pub fn overdue_at(&self, patience: Picos) -> Instant {
        self.flight.front().map_or(Instant::NEVER, |first| first.at.after(patience))
    }

    /// The next packet leaves; retransmissions go first. There must be one ([`SentPackets::has_data`]).
    pub fn send(&mut self, now: Instant) -> Departure {
        let again = !self.lost.is_empty();
        let seq = self.lost.pop_front().unwrap_or(self.next);
        self.next = self.next.max(seq + 1);
        self.pass_over_acknowledged();
        self.flight.push_back(InFlight { seq, at: now, overtaken: 0 });
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        Departure { seq, last: self.packets.is_last(seq), payload: self.packets.payload(seq), again }
    }

    fn pass_over_acknowledged(&mut self) {
        while self.lost.front().is_some_and(|seq| self.acked.contains(*seq)) {
            self.lost.pop_front();
        }
    }

    /// Processes an ACK. Calls `acknowledged` with the departure time of each newly acknowledged packet.
    pub fn on_ack(
        &mut self,
        now: Instant,
        CumulativeAck { cumulative, answers, finished, .. }: CumulativeAck,
        mut acknowledged: impl FnMut(Instant),
    ) {
        let (before, count) = (self.acked.cumulative(), self.acked.count());
        let cumulative = if finished { self.packets.number } else { cumulative };
        let answered = answers.into_iter().chain(before..cumulative.min(self.next));
        for seq in answered.filter(|seq| *seq < self.next) {
            self.acked.insert(seq);
        }
        self.last_heard = now;
        if self.acked.count() > count {
            self.last_progress = now;
        }
        if let Some(at) = answers.and_then(|seq| self.arrived(seq)) {
            acknowledged(at);
        }
        while let Some(packet) = self.flight.pop_front_if(|packet| self.acked.contains(packet.seq)) {
            acknowledged(packet.at);
        }
        self.pass_over_acknowledged();
    }

    /// Removes an acknowledged packet from those in flight and returns its departure time. Earlier packets that `REORDERING`
    /// later ones have overtaken count as lost.
    fn arrived(&mut self, seq: u32) -> Option<Instant> {
        let position = self.flight.iter().position(|packet| packet.seq == seq)?;
        let InFlight { at, .. } = self.flight.remove(position)?;
        for packet in self.flight.iter_mut().take(position) {
            packet.overtaken += 1;
        }
        while let Some(packet) = self.flight.pop_front_if(|packet| packet.overtaken >= REORDERING) {
            self.lost.extend(Some(packet.seq).filter(|seq| !self.acked.contains(*seq)));
        }
        Some(at)
    }

    /// Packets that stayed unanswered for `patience` count as lost. Returns the first of them.
    pub fn expire(&mut self, now: Instant, patience: Picos) -> Option<u32> {
        let late = |packet: &InFlight| packet.at.after(patience) <= now;
        let first = self.flight.front().filter(|first| late(first))?.seq;
        while let Some(packet) = self.flight.pop_front_if(|packet| late(packet)) {
            self.lost.push_back(packet.seq);
        }
        self.counts.timeouts += 1;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use pullnet_transport::{ConnId, FlowSpec};
    use pullnet_units::Bytes;

    use super::*;

    fn ack(cumulative: u32, answers: Option<u32>, finished: bool) -> CumulativeAck {
        CumulativeAck { conn: ConnId::new(1), cumulative, answers, finished }
    }

    fn five() -> SentPackets {
        let flow = FlowSpec { size: Some(Bytes(4_100)), ..FlowSpec::default() };
        SentPackets::new(Instant(0), FlowPackets::of(&flow, 1_000).unwrap())
    }

    fn send_all(sent: &mut SentPackets, now: u64) -> Vec<u32> {
        let mut seqs = vec![];
        while sent.has_data() {
            seqs.push(sent.send(Instant(now)).seq);
        }
        seqs
    }

    #[test]
    fn three_later_packets_overtake_a_lost_one() {
        let mut sent = five();
        assert_eq!(send_all(&mut sent, 1), [0, 1, 2, 3, 4]);
        assert!(sent.all_sent() && sent.left() == 0);
        for seq in 1..4 {
            assert!(!sent.has_data(), "{seq}");
            sent.on_ack(Instant(10), ack(0, Some(seq), false), |at| assert_eq!(at, Instant(1)));
        }
        assert!(sent.has_data() && sent.left() == 1);
        let again = Departure { seq: 0, last: false, payload: 1_000, again: true };
        assert_eq!(sent.send(Instant(11)), again);
        sent.on_ack(Instant(20), ack(0, None, true), |_| {});
        assert!(sent.is_complete() && sent.last_progress == Instant(20) && sent.acknowledged() == 5);
    }

    #[test]
    fn what_stays_unanswered_is_sent_again_unless_it_arrives_meanwhile() {
        let mut sent = five();
        send_all(&mut sent, 1);
        assert_eq!(sent.overdue_at(Picos(50)), Instant(51));
        assert_eq!(sent.expire(Instant(50), Picos(50)), None);
        assert_eq!(sent.expire(Instant(51), Picos(50)), Some(0));
        assert_eq!((sent.left(), sent.counts.timeouts, sent.overdue_at(Picos(50))), (5, 1, Instant::NEVER));
        sent.on_ack(Instant(52), ack(2, Some(1), false), |_| {});
        assert_eq!(send_all(&mut sent, 53), [2, 3, 4]);
        assert_eq!((sent.counts.sent, sent.counts.again), (8, 3));
    }
}
