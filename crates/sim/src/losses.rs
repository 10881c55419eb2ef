//! Lost packets by flow, and the timeouts that they explain.

use std::collections::{BTreeMap, VecDeque};

use pullnet_record::FlowRow;
use pullnet_session::flow_of;
use pullnet_transport::ConnId;
use pullnet_units::{FlowId, Id, PacketSeq};

/// Number of losses that a link lists one by one; it only counts older ones by flow. This bounds the memory of a link
/// that drops many packets.
const LISTED: usize = 8192;

/// Packets that were lost on one link or dropped in front of it.
#[derive(Default, Debug)]
pub struct LostPackets {
    /// Packets lost on the link that were sent as data.
    pub data_lost: u64,
    /// Flow and packet of the latest losses.
    listed: VecDeque<(FlowId, PacketSeq)>,
    /// Losses by flow.
    flows: BTreeMap<FlowId, FlowLosses>,
}

/// Losses of one flow on one link.
#[derive(Clone, Copy, Default, Debug)]
struct FlowLosses {
    /// Packets of any kind.
    all: u32,
    /// Packets dropped from the list for which a timer may have run.
    unlisted: u32,
}

impl LostPackets {
    /// Notes a packet by its connection and packet number, see [`pullnet_transport::Header::concerns`].
    pub fn note(&mut self, concerns: Option<(ConnId, Option<PacketSeq>)>) {
        let Some((conn, packet)) = concerns else { return };
        let flow = flow_of(conn);
        self.flows.entry(flow).or_default().all += 1;
        if let Some(packet) = packet {
            self.listed.push_back((flow, packet));
        }
        if self.listed.len() > LISTED
            && let Some((flow, _)) = self.listed.pop_front()
        {
            self.flows.entry(flow).or_default().unlisted += 1;
        }
    }
}

/// Timeouts, and the losses that explain them.
///
/// A timer runs for one transmission of a packet until its answer arrives. So it may expire once for every lost copy of
/// the packet, lost header of it, and lost answer; the loss of a PULL or of another packet explains nothing. A loss
/// that is no longer listed explains any timeout of its flow.
#[derive(Debug)]
pub struct Losses {
    /// Timeouts less losses, by flow and packet.
    excess: BTreeMap<(FlowId, PacketSeq), i64>,
    /// Losses that are not listed, by flow; only of flows with timeouts.
    unlisted: BTreeMap<FlowId, i64>,
}

impl Losses {
    /// No losses yet; `timed_out` holds flow and packet of every timer that ran out.
    pub fn new(timed_out: &[(FlowId, PacketSeq)]) -> Self {
        let mut excess: BTreeMap<(FlowId, PacketSeq), i64> = BTreeMap::new();
        timed_out.iter().for_each(|timer| *excess.entry(*timer).or_default() += 1);
        let unlisted = timed_out.iter().map(|(flow, _)| (*flow, 0)).collect();
        Self { excess, unlisted }
    }

    /// Adds the losses of one link, and enters how many packets each flow lost there.
    pub fn add(&mut self, lost: &LostPackets, flows: &mut [FlowRow]) {
        self.explain(lost, |_| true);
        for (flow, losses) in &lost.flows {
            if let Some(row) = flows.get_mut(flow.index()) {
                row.lost += losses.all;
            }
        }
    }

    /// Adds packets that arrived at one host without payload: they explain a timeout of a flow for whose transport they are
    /// `lost`. They count as trimmed or returned, and not among the losses of the flow.
    pub fn add_cut(&mut self, cut: &LostPackets, flows: &[FlowRow], lost: impl Fn(&FlowRow) -> bool) {
        self.explain(cut, |flow| flows.get(flow.index()).is_some_and(&lost));
    }

    /// The packets `lost` explain timeouts of the flows that `counts` lets pass.
    fn explain(&mut self, lost: &LostPackets, counts: impl Fn(FlowId) -> bool) {
        for listed in lost.listed.iter().filter(|(flow, _)| counts(*flow)) {
            if let Some(excess) = self.excess.get_mut(listed) {
                *excess -= 1;
            }
        }
        for (flow, losses) in lost.flows.iter().filter(|(flow, _)| counts(**flow)) {
            if let Some(unlisted) = self.unlisted.get_mut(flow) {
                *unlisted += i64::from(losses.unlisted);
            }
        }
    }

    /// Enters for every flow the number of its unexplained timeouts.
    pub fn enter(self, flows: &mut [FlowRow]) {
        let mut unexplained: BTreeMap<FlowId, i64> = BTreeMap::new();
        for ((flow, _), excess) in self.excess {
            *unexplained.entry(flow).or_default() += excess.max(0);
        }
        for (flow, unexplained) in unexplained {
            let unlisted = self.unlisted.get(&flow).copied().unwrap_or(0);
            if let Some(row) = flows.get_mut(flow.index()) {
                row.unexplained += (unexplained - unlisted).max(0) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_units::HostId;

    fn row() -> FlowRow {
        FlowRow { dst: HostId::new(1), senders: 1, ..FlowRow::default() }
    }

    /// Lost and unexplained of two flows; each lost packet is lost on a link of its own.
    fn entered(lost: &[(u32, Option<u32>)], timed_out: &[(u32, u32)]) -> [(u32, u32); 2] {
        let link = |(flow, packet): &(u32, Option<u32>)| {
            let mut link = LostPackets::default();
            link.note(Some((ConnId::new(*flow), packet.map(PacketSeq::new))));
            link
        };
        let links: Vec<_> = lost.iter().map(link).collect();
        explained(&links, timed_out)
    }

    fn explained(links: &[LostPackets], timed_out: &[(u32, u32)]) -> [(u32, u32); 2] {
        let mut flows = [row(), row()];
        let timed_out = timed_out.iter().map(|(flow, seq)| (FlowId::new(*flow), PacketSeq::new(*seq)));
        let mut losses = Losses::new(&timed_out.collect::<Vec<_>>());
        links.iter().for_each(|link| losses.add(link, &mut flows));
        losses.enter(&mut flows);
        flows.map(|row| (row.lost, row.unexplained))
    }

    #[test]
    fn a_timeout_is_explained_by_a_loss_of_that_very_packet() {
        assert_eq!(entered(&[(0, Some(5))], &[(0, 5)]), [(1, 0), (0, 0)]);
        assert_eq!(entered(&[(0, Some(5)), (0, Some(5))], &[(0, 5), (0, 5)]), [(2, 0), (0, 0)]);
    }

    #[test]
    fn nothing_else_explains_it() {
        assert_eq!(entered(&[], &[(1, 5)]), [(0, 0), (0, 1)]);
        assert_eq!(entered(&[(1, Some(5))], &[(1, 5), (1, 5)]), [(0, 0), (1, 1)]);
        assert_eq!(entered(&[(0, Some(5))], &[(1, 5)]), [(1, 0), (0, 1)]);
        assert_eq!(entered(&[(1, Some(4)), (1, None)], &[(1, 5)]), [(0, 0), (2, 1)]);
    }

    #[test]
    fn packets_of_no_flow_are_passed_over() {
        assert_eq!(entered(&[(7, Some(5))], &[(9, 5)]), [(0, 0), (0, 0)]);
    }

    #[test]
    fn many_losses_take_bounded_memory_and_still_explain() {
        let mut link = LostPackets::default();
        for packet in 0..1_000_000 {
            link.note(Some((ConnId::new(packet % 2), Some(PacketSeq::new(packet)))));
        }
        assert_eq!((link.listed.len(), link.flows.len()), (LISTED, 2));
        let timed_out: Vec<_> = (0..500_000).map(|packet| (0, 2 * packet)).chain([(1, 4)]).collect();
        assert_eq!(explained(&[link], &timed_out), [(500_000, 0), (500_000, 0)]);
    }
}
