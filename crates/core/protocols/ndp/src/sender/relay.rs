//! The sender of a flow whose data is itself still arriving at this host.

use pullnet_transport::FlowSpec;

use super::{Context, Sender};

impl Sender {
    /// A flow none of whose packets are here yet. Rule 1 applies to the first window, no matter when its packets come.
    pub fn open_relay(cx: &mut Context<'_>, flow: &FlowSpec) -> Self {
        Self { offered: 0, first_unheard: 0, ..Self::open(cx, flow) }
    }

    /// This host has `bytes` of the flow by now: whole packets of them may leave, and the last one once all are here.
    pub fn supply(&mut self, cx: &Context<'_>, bytes: u64) {
        let mtu = u64::from(cx.rules.mtu);
        let full = u32::try_from(bytes / mtu).unwrap_or(u32::MAX);
        let all = self.last.is_some_and(|last| bytes >= u64::from(last) * mtu + u64::from(self.last_payload));
        let offered = if all { self.total() } else { full.min(self.total()) };
        if offered <= self.offered {
            return;
        }
        if self.idle() {
            // Until now the receiver had no reason to pull.
            (self.last_pull, self.probes) = (cx.now, 0);
        }
        let window = cx.rules.initial_window;
        self.first_unheard += (offered.min(window) - self.offered.min(window)) as u16;
        self.offered = offered;
    }

    /// Whether packets of the flow are not here yet.
    pub fn lacks_data(&self) -> bool {
        self.offered < self.total()
    }

    /// Packets of the flow; an endless one has as many as there are numbers.
    pub(super) fn total(&self) -> u32 {
        self.last.map_or(u32::MAX, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use pullnet_rng::Seed;
    use pullnet_transport::{ConnId, HostAddr};
    use pullnet_units::{BitsPerSec, Bytes, Instant};

    use super::*;
    use crate::config::{NdpConfig, Rules};

    #[test]
    fn packets_are_offered_as_their_bytes_come() {
        let rules = Rules::new(&NdpConfig::default(), BitsPerSec::gbps(10));
        let mut chance = Seed(1).stream("test", 0);
        let mut cx = Context { now: Instant::ZERO, rules: &rules, chance: &mut chance };
        let mtu = u64::from(rules.mtu);
        let size = Some(Bytes(2 * mtu + 100));
        let flow = FlowSpec { conn: ConnId::new(1), to: HostAddr(2), size, ..FlowSpec::default() };
        let mut sender = Sender::open_relay(&mut cx, &flow);
        let steps =
            [(mtu - 1, 0), (mtu, 1), (mtu - 1, 1), (2 * mtu + 99, 2), (2 * mtu + 100, 3), (9 * mtu, 3)];
        for (bytes, packets) in steps {
            sender.supply(&cx, bytes);
            assert_eq!(sender.offered, packets, "{bytes} bytes");
            assert_eq!(u32::from(sender.first_unheard), packets, "{bytes} bytes");
        }
    }
}
