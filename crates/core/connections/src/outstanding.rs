use alloc::collections::VecDeque;

use pullnet_units::Instant;

use crate::packets::FlowPackets;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    first_sent: Instant,
    acknowledged: bool,
    note: T,
}

/// The packets of a flow from the oldest one without an ACK to the last one that was sent. The sender keeps a note `T` on each.
#[derive(Clone, Debug)]
pub struct Outstanding<T> {
    packets: FlowPackets,
    first: u32,
    slots: VecDeque<Slot<T>>,
    acked_bytes: u64,
}

impl<T> Outstanding<T> {
    /// Before the first packet.
    pub fn new(packets: FlowPackets) -> Self {
        Self { packets, first: 0, slots: VecDeque::new(), acked_bytes: 0 }
    }

    /// The packets of the whole flow.
    pub fn packets(&self) -> &FlowPackets {
        &self.packets
    }

    /// The oldest packet without an ACK.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The lowest number of a packet that was never sent.
    pub fn sent(&self) -> u32 {
        self.first + self.slots.len() as u32
    }

    /// Whether every packet that was sent is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether every packet of the flow was sent.
    pub fn all_sent(&self) -> bool {
        self.sent() == self.packets.number
    }

    /// Whether every packet of the flow is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.first == self.packets.number
    }

    /// Payload that is acknowledged. Bytes.
    pub fn acked_bytes(&self) -> u64 {
        self.acked_bytes
    }

    fn slot(&self, seq: u32) -> Option<&Slot<T>> {
        self.slots.get(seq.wrapping_sub(self.first) as usize)
    }

    /// Whether packet `seq` was sent and has no ACK.
    pub fn waits_for(&self, seq: u32) -> bool {
        self.slot(seq).is_some_and(|slot| !slot.acknowledged)
    }

    /// When packet `seq` was first sent, and the note on it; `None` outside the packets that are held.
    pub fn get(&self, seq: u32) -> Option<(Instant, &T)> {
        self.slot(seq).map(|slot| (slot.first_sent, &slot.note))
    }

    fn waiting(&mut self, seq: u32) -> Option<&mut Slot<T>> {
        let slot = self.slots.get_mut(seq.wrapping_sub(self.first) as usize);
        slot.filter(|slot| !slot.acknowledged)
    }

    /// The note on a packet without an ACK.
    pub fn unacknowledged(&mut self, seq: u32) -> Option<&mut T> {
        self.waiting(seq).map(|slot| &mut slot.note)
    }

    /// Packet number [`Outstanding::sent`] leaves.
    pub fn push(&mut self, now: Instant, note: T) {
        self.slots.push_back(Slot { first_sent: now, acknowledged: false, note });
    }

    /// Packet `seq` has arrived. Visits when it was first sent, unless that was known.
    pub fn acknowledge(&mut self, seq: u32, visit: &mut impl FnMut(Instant)) {
        let payload = u64::from(self.packets.payload(seq));
        if let Some(slot) = self.waiting(seq) {
            slot.acknowledged = true;
            visit(slot.first_sent);
            self.acked_bytes += payload;
        }
    }

    /// All packets below `cumulative` have arrived, which were sent. Visits as [`Outstanding::acknowledge`] does, and forgets packets
    /// with an ACK up to the first one without.
    pub fn advance(&mut self, cumulative: u32, visit: &mut impl FnMut(Instant)) {
        while self.slots.front().is_some_and(|slot| slot.acknowledged || self.first < cumulative) {
            self.acknowledge(self.first, visit);
            self.slots.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pullnet_transport::FlowSpec;
    use pullnet_units::Bytes;

    use super::*;

    #[test]
    fn packets_are_acknowledged_once_and_forgotten_in_order() {
        let flow = FlowSpec { size: Some(Bytes(3_100)), ..FlowSpec::default() };
        let mut outstanding = Outstanding::new(FlowPackets::of(&flow, 1_000).unwrap());
        for (at, note) in [(5, 'a'), (6, 'b'), (7, 'c'), (8, 'd')] {
            assert!(!outstanding.all_sent());
            outstanding.push(Instant(at), note);
        }
        assert!(outstanding.all_sent() && outstanding.sent() == 4 && !outstanding.waits_for(4));
        let mut visited = vec![];
        let mut visit = |at| visited.push(at);
        outstanding.acknowledge(1, &mut visit);
        outstanding.acknowledge(1, &mut visit);
        outstanding.advance(0, &mut visit);
        assert!(outstanding.first() == 0 && !outstanding.waits_for(1));
        assert!(outstanding.unacknowledged(1).is_none() && outstanding.get(1) == Some((Instant(6), &'b')));
        outstanding.advance(1, &mut visit);
        assert!(outstanding.first() == 2 && outstanding.sent() == 4 && outstanding.acked_bytes() == 2_000);
        outstanding.advance(4, &mut visit);
        assert!(outstanding.is_complete() && outstanding.is_empty() && outstanding.acked_bytes() == 3_100);
        assert_eq!(visited, [Instant(6), Instant(5), Instant(7), Instant(8)]);
    }
}
