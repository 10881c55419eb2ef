//! Flows with several senders: their reports become one report when the last sender is done.

use std::collections::BTreeMap;

use pullnet_transport::SendCounts;
use pullnet_units::{FlowId, HostId, Instant};

use crate::report::News;

/// State of the senders of one flow.
struct Senders {
    hosts: Vec<HostId>,
    /// Number of senders that have not reported the end.
    left: u16,
    /// Whether any sender knows that the receiver has all data.
    acknowledged: bool,
    /// Latest report of an end so far. Hosts are visited late, so that the last report is not always the latest.
    latest: Instant,
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
            let counts = SendCounts::default();
            let senders = Senders { hosts, left, acknowledged: false, latest: Instant::ZERO, counts };
            self.flows.insert(flow, senders);
        }
    }

    /// The senders of `flow`, if it has several.
    pub fn of(&self, flow: FlowId) -> Option<&[HostId]> {
        self.flows.get(&flow).map(|senders| &*senders.hosts)
    }

    /// Merges news of `flow` at `at` over its senders: `None` while other senders have still to report, and the time of the latest end
    /// with the last report. The flow has failed if all of them gave up.
    pub fn join(&mut self, flow: FlowId, at: Instant, news: News) -> Option<(Instant, News)> {
        let Some(senders) = self.flows.get_mut(&flow) else { return Some((at, news)) };
        let (acknowledged, counts, reason) = match news {
            News::Acknowledged(counts) => (true, counts, None),
            News::Failed(reason, counts) => (false, counts, Some(reason)),
            News::Begins(_) | News::Received { .. } | News::Unfinished { .. } => return Some((at, news)),
        };
        senders.left = senders.left.saturating_sub(1);
        senders.latest = senders.latest.max(at);
        senders.acknowledged |= acknowledged;
        let sum = &mut senders.counts;
        sum.sent = sum.sent.saturating_add(counts.sent);
        sum.again = sum.again.saturating_add(counts.again);
        sum.timeouts = sum.timeouts.saturating_add(counts.timeouts);
        if senders.left > 0 {
            return None;
        }
        let (counts, latest) = (senders.counts, senders.latest);
        Some(match reason {
            Some(reason) if !senders.acknowledged => (latest, News::Failed(reason, counts)),
            _ => (latest, News::Acknowledged(counts)),
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
        let failed = |sent| News::Failed(FailureReason::ReceiverSilent, counts(sent));
        let (three, four, five) = (FlowId::new(3), FlowId::new(4), FlowId::new(5));
        assert_eq!(sources.join(three, Instant(70), failed(5)), None);
        assert_eq!(sources.so_far(three), counts(5));
        let both = SendCounts { sent: 12, again: 2, timeouts: 0 };
        // The report of the earlier end comes last.
        let joined = sources.join(three, Instant(60), News::Acknowledged(counts(7)));
        assert_eq!(joined, Some((Instant(70), News::Acknowledged(both))));
        assert_eq!(sources.join(four, Instant(60), failed(5)), None);
        let joined = sources.join(four, Instant(70), failed(7));
        assert_eq!(joined, Some((Instant(70), News::Failed(FailureReason::ReceiverSilent, both))));
        let received = News::Received { delivered: 1, in_window: 1 };
        assert_eq!(
            sources.join(four, Instant(80), received),
            Some((Instant(80), received)),
            "the receiver is one"
        );
        let acknowledged = News::Acknowledged(counts(1));
        assert_eq!(sources.join(five, Instant(9), acknowledged), Some((Instant(9), acknowledged)));
    }
}
