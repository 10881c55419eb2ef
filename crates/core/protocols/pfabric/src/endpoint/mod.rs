//! The rules of one host: its flows in both directions.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Incoming, Receipt, Rules};
use pullnet_pull::{HostLink, Policy, Queued};
use pullnet_rng::RandomStream;
use pullnet_transport::{Awaited, FlowSpec, FlowStatus, Received, Side, Transmit};
use pullnet_units::Instant;

use crate::config::{PfabricConfig, RankBy};
use crate::header::PfabricHeader;
use crate::sender::Sender;

mod receiving;
mod sending;

/// pFabric on one host.
pub type PfabricEndpoint = Endpoint<PfabricRules>;

/// The state that belongs to no flow.
pub struct PfabricRules {
    config: PfabricConfig,
    /// Its flows have the link in the order in which switches would serve them.
    link: HostLink,
}

impl PfabricRules {
    /// A host without flows.
    pub fn endpoint(config: &PfabricConfig, chance: RandomStream) -> PfabricEndpoint {
        let policy = if config.rank == RankBy::Left { Policy::Srpt } else { Policy::Edf };
        let link = HostLink::new(policy, config.paths, chance);
        let rules = Self { link, config: config.clone() };
        Endpoint::new(rules, config.give_up.saturating_add(config.time_wait))
    }
}

impl Rules for PfabricRules {
    type Header = PfabricHeader;
    type Sender = Sender;
    type Receiver = Incoming;

    fn mtu(&self) -> u64 {
        self.config.mtu.0
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let sender = Sender::open(now, &self.config, self.link.open(flow), packets);
        self.link.start(flows, flow, sender);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<PfabricHeader>) {
        let Received { from, paths, wire, header, .. } = packet;
        match header {
            PfabricHeader::Data { data, .. } => {
                let bytes = u32::from(wire).saturating_sub(self.config.header.0 as u32);
                let silence = self.silence();
                let receipt = self.link.receive(flows, now, (from, paths), (data, bytes), silence);
                if let Some(Receipt { paths, ack, .. }) = receipt {
                    self.acknowledge(flows, from, paths, ack);
                }
            }
            PfabricHeader::Probe { conn, .. } => self.on_probe(flows, now, (from, conn), paths),
            PfabricHeader::Ack(ack) => self.on_ack(flows, now, from, ack),
        }
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        self.check_sender(flows, now, slot);
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        flows.check_silence(now, slot, self.silence());
    }

    #[inline]
    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<PfabricHeader>> {
        self.transmit_data(flows, now)
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        FlowStatus {
            side: Side::Sender,
            peer: sender.flow.to,
            conn: sender.flow.conn,
            bytes: u64::from(sender.packets.acknowledged()) * self.config.mtu.0,
            last_progress: sender.packets.last_progress,
            waiting_for: if sender.can_send() { Awaited::LinkTurn } else { Awaited::Acks },
            counts: sender.packets.counts,
        }
    }

    fn receiver_status(&self, receiver: &Incoming) -> FlowStatus {
        receiver.status()
    }
}
