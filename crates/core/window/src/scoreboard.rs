use alloc::collections::VecDeque;

use pullnet_units::Instant;

use crate::segment::MAX_RANGES;

/// State of an outstanding packet.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Time of its first transmission.
    pub first_sent: Instant,
    /// Whether it was ever retransmitted: Karn's rule excludes it from samples.
    pub repeated: bool,
    sacked: bool,
    lost: bool,
    /// Retransmitted since it was last marked lost by a timeout, or ever.
    retransmitted: bool,
}

impl Slot {
    /// Copies in the network as SetPipe counts them (RFC 6675, section 4).
    fn weight(self) -> u32 {
        if self.sacked { 0 } else { u32::from(!self.lost) + u32::from(self.retransmitted) }
    }

    fn waits(self) -> bool {
        self.lost && !self.retransmitted && !self.sacked
    }
}

/// The scoreboard of RFC 6675: packets from the oldest unacknowledged one to the newest one sent. It is updated packet
/// by packet, so that SetPipe and IsLost need no walk. Without SACK it serves NewReno and timeouts.
#[derive(Clone, Default, Debug)]
pub struct Scoreboard {
    first: u32,
    slots: VecDeque<Slot>,
    pipe: u32,
    /// Lost packets that wait for retransmission.
    waiting: u32,
    /// Every packet below is SACKed or lost (IsLost): at least DupThresh packets at or above it are SACKed.
    edge: u32,
    /// SACKed packets at or above `edge`.
    sacked_above: u32,
    /// One past the highest SACKed packet.
    high_sacked: u32,
    /// One past the highest retransmitted packet (HighRxt).
    cursor: u32,
    /// Ranges of the latest ACK, which were walked already: a repeated range costs nothing.
    known: [(u32, u32); MAX_RANGES],
    /// Packets that NACKs have reported, oldest report first. A packet that was retransmitted or SACKed since is
    /// skipped.
    nacked: VecDeque<u32>,
}

impl Scoreboard {
    /// The oldest unacknowledged packet (HighACK + 1), or the next new one.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Number of the next new packet (HighData + 1).
    #[inline]
    pub fn next(&self) -> u32 {
        self.first + self.slots.len() as u32
    }

    /// Packets not acknowledged cumulatively (FlightSize).
    #[inline]
    pub fn flight(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Estimate of the packets in the network.
    #[inline]
    pub fn pipe(&self) -> u32 {
        self.pipe
    }

    /// IsLost of the oldest unacknowledged packet, by SACK alone.
    #[inline]
    pub fn first_is_lost(&self) -> bool {
        self.edge > self.first
    }

    /// Adds a new packet that leaves.
    #[inline]
    pub fn push(&mut self, now: Instant) -> u32 {
        let seq = self.next();
        let slot =
            Slot { first_sent: now, repeated: false, sacked: false, lost: false, retransmitted: false };
        self.slots.push_back(slot);
        self.pipe += 1;
        seq
    }

    /// Notes that all packets below `cumulative` have arrived. Visits the packets that were not known to have arrived.
    #[inline]
    pub fn acknowledge(&mut self, cumulative: u32, visit: &mut impl FnMut(u32, &Slot)) {
        while self.first < cumulative {
            let Some(slot) = self.slots.pop_front() else { break };
            self.pipe -= slot.weight();
            self.waiting -= u32::from(slot.waits());
            self.sacked_above -= u32::from(slot.sacked && self.first >= self.edge);
            if !slot.sacked {
                visit(self.first, &slot);
            }
            self.first += 1;
        }
        self.edge = self.edge.max(self.first);
        self.cursor = self.cursor.max(self.first);
    }

    /// Notes that the packets of a SACK range have arrived. Visits the packets that were not known to have arrived.
    pub fn sack(&mut self, (start, end): (u32, u32), visit: &mut impl FnMut(u32, &Slot)) {
        let (mut seq, end) = (start.max(self.first), end.min(self.next()));
        while seq < end {
            if let Some((_, known)) = self.known.iter().find(|(start, end)| (*start..*end).contains(&seq)) {
                seq = *known;
                continue;
            }
            self.mark_sacked(seq, visit);
            seq += 1;
        }
        self.high_sacked = self.high_sacked.max(end);
    }

    /// Notes the ranges of this ACK, so that the same ranges are not walked again.
    pub fn remember(&mut self, ranges: impl Iterator<Item = (u32, u32)>) {
        let next = self.next();
        self.known = [(0, 0); MAX_RANGES];
        for (known, (start, end)) in self.known.iter_mut().zip(ranges) {
            *known = (start, end.min(next));
        }
    }

    fn mark_sacked(&mut self, seq: u32, visit: &mut impl FnMut(u32, &Slot)) {
        let slot = &mut self.slots[(seq - self.first) as usize];
        if slot.sacked {
            return;
        }
        let before = *slot;
        slot.sacked = true;
        self.pipe -= before.weight();
        self.waiting -= u32::from(before.waits());
        self.sacked_above += u32::from(seq >= self.edge);
        visit(seq, &before);
    }

    /// IsLost (RFC 6675, section 4): marks packets with `threshold` SACKed ones above them. Each packet is passed once.
    pub fn mark_lost(&mut self, threshold: u32) {
        while self.sacked_above > 0 && self.edge < self.next() {
            let sacked = self.slots[(self.edge - self.first) as usize].sacked;
            if self.sacked_above - u32::from(sacked) < threshold {
                break;
            }
            self.sacked_above -= u32::from(sacked);
            self.lose(self.edge);
            self.edge += 1;
        }
    }

    /// Marks packet `seq` as lost if it is outstanding.
    pub fn lose(&mut self, seq: u32) {
        let index = seq.wrapping_sub(self.first) as usize;
        let Some(slot) = self.slots.get_mut(index).filter(|slot| !slot.lost && !slot.sacked) else { return };
        let before = *slot;
        slot.lost = true;
        self.pipe = self.pipe + slot.weight() - before.weight();
        self.waiting += u32::from(slot.waits());
    }

    /// The latest copy of packet `seq` arrived without payload. Returns whether the packet is outstanding and was not
    /// already waiting for retransmission.
    pub fn nack(&mut self, seq: u32) -> bool {
        let index = seq.wrapping_sub(self.first) as usize;
        let Some(slot) = self.slots.get_mut(index).filter(|slot| !slot.sacked && !slot.waits()) else {
            return false;
        };
        self.pipe -= slot.weight();
        (slot.lost, slot.retransmitted) = (true, false);
        self.waiting += 1;
        self.nacked.push_back(seq);
        true
    }

    /// The packet with the oldest report that still waits for retransmission.
    fn next_nacked(&mut self) -> Option<u32> {
        while let Some(seq) = self.nacked.front().copied() {
            let slot = self.slots.get(seq.wrapping_sub(self.first) as usize);
            if slot.is_some_and(|slot| slot.waits()) {
                return Some(seq);
            }
            self.nacked.pop_front();
        }
        None
    }

    /// Handles a timeout: every packet that is not SACKed counts as lost, retransmissions included. A receiver that has
    /// SACKed the oldest packet without acknowledging it has discarded it (RFC 2018, section 8): then all SACKs are
    /// forgotten.
    pub fn lose_all(&mut self) {
        if self.slots.front().is_some_and(|slot| slot.sacked) {
            self.slots.iter_mut().for_each(|slot| slot.sacked = false);
            (self.edge, self.sacked_above, self.high_sacked) = (self.first, 0, 0);
            self.known = [(0, 0); MAX_RANGES];
        }
        (self.pipe, self.waiting, self.cursor) = (0, 0, self.first);
        self.nacked.clear();
        for slot in self.slots.iter_mut().filter(|slot| !slot.sacked) {
            (slot.lost, slot.retransmitted) = (true, false);
            self.waiting += 1;
        }
    }

    /// Visits the outstanding packets that are not SACKed.
    pub fn unacknowledged(&self, visit: &mut impl FnMut(u32)) {
        let numbered = (self.first..).zip(&self.slots);
        numbered.filter(|(_, slot)| !slot.sacked).for_each(|(seq, _)| visit(seq));
    }

    /// NextSeg, rule 1: the next lost packet to retransmit.
    #[inline]
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        if let Some(seq) = self.next_nacked() {
            return Some(seq);
        }
        let seq = self.skip_sacked()?;
        self.slots[(seq - self.first) as usize].lost.then_some(seq)
    }

    /// NextSeg, rule 3: the next packet to retransmit that is below a SACKed one but not lost.
    pub fn next_doubtful(&mut self) -> Option<u32> {
        let seq = self.skip_sacked()?;
        (seq < self.high_sacked).then_some(seq)
    }

    /// NextSeg, rule 4: the highest outstanding packet that was neither SACKed nor retransmitted.
    pub fn highest_untried(&self) -> Option<u32> {
        let index = self.slots.iter().rposition(|slot| !slot.sacked)?;
        (!self.slots[index].retransmitted).then_some(self.first + index as u32)
    }

    /// Moves the cursor to the next packet that is not SACKed; `None` at the end.
    fn skip_sacked(&mut self) -> Option<u32> {
        loop {
            let slot = self.slots.get((self.cursor - self.first) as usize)?;
            if !slot.sacked && !slot.retransmitted {
                return Some(self.cursor);
            }
            self.cursor += 1;
        }
    }

    /// Notes a retransmission of packet `seq`.
    pub fn retransmit(&mut self, seq: u32) {
        let slot = &mut self.slots[(seq - self.first) as usize];
        let before = *slot;
        (slot.retransmitted, slot.repeated) = (true, true);
        self.pipe = self.pipe + slot.weight() - before.weight();
        self.waiting -= u32::from(before.waits());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const THRESHOLD: u32 = 3;

    fn board(packets: u32) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..packets).for_each(|_| {
            board.push(Instant::ZERO);
        });
        board
    }

    /// SetPipe and IsLost as the RFC writes them, packet by packet.
    fn pipe_by_the_book(board: &Scoreboard, forced: bool) -> u32 {
        let sacked_above =
            |index: usize| board.slots.iter().skip(index + 1).filter(|slot| slot.sacked).count();
        let slots = board.slots.iter().enumerate().filter(|(_, slot)| !slot.sacked);
        let counted = slots.map(|(index, slot)| {
            let lost = sacked_above(index) >= THRESHOLD as usize || (forced && slot.lost);
            assert_eq!(lost, slot.lost, "packet {index}");
            u32::from(!lost) + u32::from(slot.retransmitted)
        });
        counted.sum()
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_rfc(steps in prop::collection::vec((0u32..6, 0u32..64, 1u32..9), 1..120)) {
            let (mut board, mut forced) = (board(0), false);
            for (step, at, length) in steps {
                match step {
                    0 => (0..length).for_each(|_| { board.push(Instant::ZERO); }),
                    1 => board.acknowledge((board.first() + at / 8).min(board.next()), &mut |_, _| ()),
                    2 => {
                        let start = board.first() + 1 + at;
                        board.sack((start, start + length), &mut |_, _| ());
                        board.remember([(start, start + length)].into_iter());
                        board.mark_lost(THRESHOLD);
                    }
                    3 => if let Some(seq) = board.next_lost() { board.retransmit(seq) },
                    4 => forced |= board.nack(board.first() + at),
                    _ if at == 0 => { board.lose_all(); forced = true }
                    _ => if let Some(seq) = board.next_doubtful() { board.retransmit(seq) },
                }
                prop_assert_eq!(board.pipe(), pipe_by_the_book(&board, forced));
                let waiting = board.slots.iter().filter(|slot| slot.waits()).count();
                prop_assert_eq!(board.waiting as usize, waiting);
                prop_assert!(board.waiting == 0 || board.next_lost().is_some());
            }
        }
    }

    #[test]
    fn a_timeout_forgets_the_sacks_of_a_receiver_that_discards() {
        let mut board = board(4);
        board.sack((0, 4), &mut |_, _| ());
        board.mark_lost(THRESHOLD);
        assert_eq!((board.pipe(), board.next_lost()), (0, None));
        board.lose_all();
        assert_eq!(board.next_lost(), Some(0));
    }

    #[test]
    fn a_packet_below_three_sacked_ones_is_lost() {
        let mut board = board(10);
        let mut sacked = Vec::new();
        board.sack((1, 3), &mut |seq, _| sacked.push(seq));
        board.mark_lost(THRESHOLD);
        assert!(!board.first_is_lost() && board.pipe() == 8);
        board.sack((1, 4), &mut |seq, _| sacked.push(seq));
        board.mark_lost(THRESHOLD);
        assert_eq!((board.first_is_lost(), board.pipe(), board.next_lost()), (true, 6, Some(0)));
        assert_eq!(sacked, [1, 2, 3]);
    }
}
