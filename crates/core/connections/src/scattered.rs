use alloc::collections::VecDeque;

use pullnet_transport::{CumulativeAck, SendCounts};
use pullnet_units::Instant;

use crate::endpoint::Ended;
use crate::packets::FlowPackets;
use crate::received::ReceivedSet;
use crate::sent::Departure;

/// The packets of a flow at its sender: which one leaves next, and which ones are acknowledged. For transports whose packets
/// may change their order on the way, whose receivers acknowledge every packet, and whose senders begin again at the oldest
/// unacknowledged packet after a timeout.
#[derive(Clone, Debug)]
pub struct ScatteredPackets {
    packets: FlowPackets,
    acked: ReceivedSet,
    /// A single ACK has said that the receiver has the whole flow.
    finished: bool,
    /// The packet that leaves next, unless it is acknowledged by then.
    next: u32,
    /// One past the highest packet that was sent.
    sent_until: u32,
    /// Times of first transmission, from the oldest unacknowledged packet on.
    sent_at: VecDeque<Instant>,
    /// Counters of the flow.
    pub counts: SendCounts,
    /// When a packet was last acknowledged for the first time.
    pub last_progress: Instant,
}

impl ScatteredPackets {
    /// A flow before its first packet.
    pub fn new(now: Instant, packets: FlowPackets) -> Self {
        Self {
            packets,
            acked: ReceivedSet::default(),
            finished: false,
            next: 0,
            sent_until: 0,
            sent_at: VecDeque::new(),
            counts: SendCounts::default(),
            last_progress: now,
        }
    }

    /// Number of packets that are not acknowledged.
    pub fn left(&self) -> u32 {
        self.packets.number - self.acked.count()
    }

    /// Whether every packet is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.left() == 0
    }

    /// How the flow has ended, once every packet is acknowledged.
    pub fn ended(&self) -> Option<Ended> {
        self.is_complete().then_some(Ended { counts: self.counts, finished: self.finished })
    }

    /// Number of acknowledged packets.
    pub fn acknowledged(&self) -> u32 {
        self.acked.count()
    }

    /// The oldest unacknowledged packet.
    pub fn first(&self) -> u32 {
        self.acked.cumulative()
    }

    /// Whether the oldest unacknowledged packet, or a later one, was sent.
    pub fn in_flight(&self) -> bool {
        self.sent_until > self.first()
    }

    /// Whether the next packet fits into `window` packets. The window starts at the oldest unacknowledged packet; acknowledged
    /// packets take no room in it.
    pub fn fits(&self, window: u32) -> bool {
        let first = self.first();
        let beyond = self.acked.count() - first;
        let end = first.saturating_add(window).saturating_add(beyond).min(self.packets.number);
        self.next < end && self.acked.reaches(self.next)
    }

    fn pass_over_acknowledged(&mut self) {
        if self.acked.contains(self.next) {
            self.next = self.acked.run_around(self.next).1;
        }
    }

    /// The next packet leaves; [`ScatteredPackets::fits`] must have returned true.
    pub fn send(&mut self, now: Instant) -> Departure {
        let seq = self.next;
        let again = seq < self.sent_until;
        if !again {
            self.sent_until = seq + 1;
            self.sent_at.push_back(now);
        }
        self.next = seq + 1;
        self.pass_over_acknowledged();
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        Departure { seq, last: self.packets.is_last(seq), payload: self.packets.payload(seq), again }
    }

    /// The next packet leaves, without regard to a window; after the last packet of the flow, the oldest unacknowledged packet
    /// follows. `None` if every packet is acknowledged.
    pub fn send_any(&mut self, now: Instant) -> Option<Departure> {
        if self.next >= self.packets.number || !self.acked.reaches(self.next) {
            self.restart();
        }
        (!self.is_complete()).then(|| self.send(now))
    }

    /// The oldest unacknowledged packet leaves next.
    pub fn restart(&mut self) {
        self.next = self.first();
    }

    /// Processes an ACK. Calls `acknowledged` with the time of first transmission of each newly acknowledged packet.
    /// Returns whether the oldest unacknowledged packet is among them.
    pub fn on_ack(
        &mut self,
        now: Instant,
        CumulativeAck { cumulative, answers, finished, .. }: CumulativeAck,
        mut acknowledged: impl FnMut(Instant),
    ) -> bool {
        let (before, count) = (self.first(), self.acked.count());
        let cumulative = if finished { self.packets.number } else { cumulative };
        self.finished |= cumulative >= self.packets.number;
        let answered = answers.into_iter().chain(before..cumulative.min(self.sent_until));
        for seq in answered.filter(|seq| *seq < self.sent_until) {
            if !self.acked.contains(seq) {
                acknowledged(self.sent_at[(seq - before) as usize]);
                self.acked.insert(seq);
            }
        }
        let first = self.first();
        self.sent_at.drain(..(first - before) as usize);
        if self.acked.count() > count {
            self.last_progress = now;
        }
        self.next = self.next.max(first);
        self.pass_over_acknowledged();
        first > before
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

    fn five() -> ScatteredPackets {
        let flow = FlowSpec { size: Some(Bytes(4_100)), ..FlowSpec::default() };
        ScatteredPackets::new(Instant(0), FlowPackets::of(&flow, 1_000).unwrap())
    }

    fn send_all(packets: &mut ScatteredPackets, now: u64, window: u32) -> Vec<u32> {
        let mut seqs = vec![];
        while packets.fits(window) {
            seqs.push(packets.send(Instant(now)).seq);
        }
        seqs
    }

    #[test]
    fn acknowledged_packets_take_no_room_in_the_window() {
        let mut packets = five();
        assert_eq!(send_all(&mut packets, 1, 3), [0, 1, 2]);
        let mut sent = vec![];
        assert!(!packets.on_ack(Instant(9), ack(0, Some(2), false), |at| sent.push(at)), "0 is missing");
        assert_eq!((sent, packets.last_progress, packets.first()), (vec![Instant(1)], Instant(9), 0));
        assert_eq!(send_all(&mut packets, 10, 3), [3]);
        assert!(packets.on_ack(Instant(11), ack(1, Some(0), false), |_| {}));
        assert_eq!((packets.first(), packets.left(), packets.in_flight()), (1, 3, true));
    }

    #[test]
    fn a_restart_repeats_what_is_not_acknowledged() {
        let mut packets = five();
        send_all(&mut packets, 1, 5);
        packets.on_ack(Instant(9), ack(0, Some(1), false), |_| {});
        packets.restart();
        assert_eq!(send_all(&mut packets, 10, 5), [0, 2, 3, 4]);
        assert_eq!((packets.counts.sent, packets.counts.again), (9, 4));
        assert_eq!(packets.send_any(Instant(11)).map(|packet| packet.seq), Some(0), "behind the last one");
        packets.on_ack(Instant(20), ack(0, None, true), |at| assert_eq!(at, Instant(1)));
        assert!(packets.is_complete() && packets.acknowledged() == 5 && !packets.in_flight());
        assert_eq!(packets.send_any(Instant(21)), None);
        assert_eq!(packets.ended(), Some(Ended { counts: packets.counts, finished: true }));
    }

    #[test]
    fn a_receiver_that_acknowledges_all_packets_and_never_the_flow_has_forgotten_some() {
        let mut packets = five();
        send_all(&mut packets, 1, 5);
        packets.on_ack(Instant(9), ack(4, Some(3), false), |_| {});
        assert_eq!(packets.ended(), None);
        packets.on_ack(Instant(90), ack(0, Some(4), false), |_| {});
        assert_eq!(packets.ended(), Some(Ended { counts: packets.counts, finished: false }));
    }

    #[test]
    fn acks_for_packets_that_were_not_sent_are_ignored() {
        let mut packets = five();
        send_all(&mut packets, 1, 2);
        assert!(packets.on_ack(Instant(9), ack(4, Some(3), false), |_| {}));
        assert_eq!((packets.first(), packets.left()), (2, 3));
    }
}
