//! Which flows lost packets, and which timeouts that explains.

use std::collections::BTreeMap;

use pullnet_record::FlowRow;
use pullnet_transport::{ConnId, Header, Packed};

/// Enters for every flow how many of its packets were lost, and how many of its timers ran out without a reason.
///
/// A timer runs for one transmission of a packet until that is answered. So it may run out as often as copies of the
/// packet, headers of it, and answers to it were lost; a PULL or another packet explains nothing. `timed_out` holds flow
/// and packet of every timer that ran out.
pub fn enter<H: Header>(lost: impl Iterator<Item = Packed>, timed_out: &[(u32, u32)], flows: &mut [FlowRow]) {
    let mut excess: BTreeMap<(u32, u32), i64> = BTreeMap::new();
    timed_out.iter().for_each(|timer| *excess.entry(*timer).or_default() += 1);
    for (ConnId(flow), packet) in lost.filter_map(|packed| H::unpack(packed).concerns()) {
        if let Some(row) = flows.get_mut(flow as usize) {
            row.lost += 1;
        }
        if let Some(excess) = packet.and_then(|packet| excess.get_mut(&(flow, packet))) {
            *excess -= 1;
        }
    }
    for ((flow, _), excess) in excess {
        if let Some(row) = flows.get_mut(flow as usize) {
            row.unexplained += excess.max(0) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_units::{HostId, Instant};

    /// A header of a flow's packet, or of a flow alone.
    #[derive(Clone, Copy, Debug)]
    struct Word(u32, Option<u32>);

    impl Header for Word {
        const KINDS: &'static [&'static str] = &["data", "pull"];

        fn pack(self) -> Packed {
            Packed { kind: u8::from(self.1.is_none()), words: [self.0, self.1.unwrap_or(0), 0] }
        }

        fn unpack(packed: Packed) -> Self {
            Self(packed.words[0], (packed.kind == 0).then_some(packed.words[1]))
        }

        fn concerns(self) -> Option<(ConnId, Option<u32>)> {
            Some((ConnId(self.0), self.1))
        }
    }

    fn row() -> FlowRow {
        FlowRow {
            src: HostId(0),
            dst: HostId(1),
            size: None,
            start: Instant(0),
            received: None,
            acknowledged: None,
            failed: None,
            delivered: 0,
            delivered_in_window: 0,
            ideal: None,
            priority: 0,
            tag: 0,
            packets_sent: 0,
            retransmitted: 0,
            timeouts: 0,
            unexplained: 0,
            lost: 0,
        }
    }

    /// Lost and unexplained of two flows.
    fn entered(lost: &[Word], timed_out: &[(u32, u32)]) -> [(u32, u32); 2] {
        let mut flows = [row(), row()];
        enter::<Word>(lost.iter().map(|word| word.pack()), timed_out, &mut flows);
        flows.map(|row| (row.lost, row.unexplained))
    }

    #[test]
    fn a_timeout_is_explained_by_a_loss_of_that_very_packet() {
        assert_eq!(entered(&[Word(0, Some(5))], &[(0, 5)]), [(1, 0), (0, 0)]);
        assert_eq!(entered(&[Word(0, Some(5)), Word(0, Some(5))], &[(0, 5), (0, 5)]), [(2, 0), (0, 0)]);
    }

    #[test]
    fn nothing_else_explains_it() {
        assert_eq!(entered(&[], &[(1, 5)]), [(0, 0), (0, 1)]);
        assert_eq!(entered(&[Word(1, Some(5))], &[(1, 5), (1, 5)]), [(0, 0), (1, 1)]);
        assert_eq!(entered(&[Word(0, Some(5))], &[(1, 5)]), [(1, 0), (0, 1)]);
        assert_eq!(entered(&[Word(1, Some(4)), Word(1, None)], &[(1, 5)]), [(0, 0), (2, 1)]);
    }

    #[test]
    fn packets_of_no_flow_are_passed_over() {
        assert_eq!(entered(&[Word(7, Some(5))], &[(9, 5)]), [(0, 0), (0, 0)]);
    }
}
