//! Flows with several senders: their reports become one report when the last sender is done.

use std::collections::BTreeMap;

use pullnet_transport::SendCounts;
use pullnet_units::{FlowId, HostId};

use crate::News;

/// State of the senders of one flow.
struct Senders {
    hosts: Vec<HostId>,
    /// Number of senders that have not reported the end.
    left: u16,
    /// Whether any sender knows that the receiver has all data.
    acknowledged: bool,
    counts: SendCounts,
}

/// Flows with several senders, by number.
#[derive(Default)]
pub(crate) struct Sources {
    flows: BTreeMap<FlowId, Senders>,
}

impl Sources {
    /// Notes that `hosts` send flow `flow`. A flow with one sender is not stored.
    pub fn begin(&mut self, flow: FlowId, hosts: Vec<HostId>) {
        if hosts.len() > 1 {
            let left = hosts.len() as u16;
            let senders = Senders { hosts, left, acknowledged: false, counts: SendCounts::default() };
            self.flows.insert(flow, senders);
        }
    }

    /// The senders of `flow`, if it has several.
    pub fn of(&self, flow: FlowId) -> Option<&[HostId]> {
        self.flows.get(&flow).map(|senders| &*senders.hosts)
    }

    /// Merges news of `flow` over its senders: `None` while other senders have still to report. The flow has failed if all
    /// of them gave up.
    pub fn join(&mut self, flow: FlowId, news: News) -> Option<News> {
        let Some(senders) = self.flows.get_mut(&flow) else { return Some(news) };
        let (acknowledged, counts, reason) = match news {
            News::Acknowledged(counts) => (true, counts, None),
            News::Failed(reason, counts) => (false, counts, Some(reason)),
            News::Received { .. } | News::Unfinished { .. } => return Some(news),
        };
        senders.left = senders.left.saturating_sub(1);
        senders.acknowledged |= acknowledged;
        let sum = &mut senders.counts;
        sum.sent = sum.sent.saturating_add(counts.sent);
        sum.again = sum.again.saturating_add(counts.again);
        sum.timeouts = sum.timeouts.saturating_add(counts.timeouts);
        if senders.left > 0 {
            return None;
        }
        let counts = senders.counts;
        Some(match reason {
            Some(reason) if !senders.acknowledged => News::Failed(reason, counts),
            _ => News::Acknowledged(counts),
        })
    }

    /// Counts of the senders of `flow` that have reported, while others have not.
    pub fn so_far(&self, flow: FlowId) -> SendCounts {
        let open = self.flows.get(&flow).filter(|senders| senders.left > 0);
        open.map_or_else(SendCounts::default, |senders| senders.counts)
    }
}

#[cfg(test)]
mod tests {
    use pullnet_transport::FailureReason;

    use super::*;

    fn counts(sent: u32) -> SendCounts {
        SendCounts { sent, again: 1, timeouts: 0 }
    }

    #[test]
    fn the_last_sender_decides_when_and_any_success_decides_how() {
        let mut sources = Sources::default();
        for flow in [3, 4] {
            sources.begin(FlowId::new(flow), vec![HostId::new(1), HostId::new(2)]);
        }
        assert_eq!(sources.of(FlowId::new(3)), Some(&[HostId::new(1), HostId::new(2)][..]));
        assert_eq!(
            sources.join(FlowId::new(3), News::Failed(FailureReason::ReceiverSilent, counts(5))),
            None
        );
        assert_eq!(sources.so_far(FlowId::new(3)), counts(5));
        let both = SendCounts { sent: 12, again: 2, timeouts: 0 };
        assert_eq!(
            sources.join(FlowId::new(3), News::Acknowledged(counts(7))),
            Some(News::Acknowledged(both))
        );
        assert_eq!(
            sources.join(FlowId::new(4), News::Failed(FailureReason::ReceiverSilent, counts(5))),
            None
        );
        assert_eq!(
            sources.join(FlowId::new(4), News::Failed(FailureReason::ReceiverSilent, counts(7))),
            Some(News::Failed(FailureReason::ReceiverSilent, both))
        );
        let received = News::Received { delivered: 1, in_window: 1 };
        assert_eq!(sources.join(FlowId::new(4), received), Some(received), "the receiver is one");
        assert_eq!(
            sources.join(FlowId::new(5), News::Acknowledged(counts(1))),
            Some(News::Acknowledged(counts(1)))
        );
    }
}
