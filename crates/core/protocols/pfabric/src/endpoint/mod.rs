//! The rules of one host: its flows in both directions.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Incoming, Rules};
use pullnet_pull::{HostLink, Policy, Queued};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, DataPacket, Fate, FlowSpec, FlowStatus, Received, Side, TimerKind, Transmit,
};
use pullnet_units::Instant;

use crate::config::{PfabricConfig, RankBy};
use crate::header::PfabricHeader;
use crate::sender::{Ack, Sender};

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
    const SENDER_TIMER: TimerKind = TimerKind::Retransmission;
    const RECEIVER_TIMER: TimerKind = TimerKind::SilentSender;

    fn mtu(&self) -> u64 {
        self.config.mtu.0
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let sender = Sender::open(now, &self.config, self.link.open(flow), packets);
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.link.line_up(flows, slot);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<PfabricHeader>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        if fate != Fate::Whole {
            // pFabric's switches drop: a packet that lost its payload counts as lost.
            return;
        }
        match header {
            PfabricHeader::Data { conn, seq, last, .. } => {
                let bytes = u32::from(wire).saturating_sub(self.config.header.0 as u32);
                self.on_data(flows, now, (from, paths), DataPacket { conn, seq, last }, bytes);
            }
            PfabricHeader::Probe { conn, .. } => self.on_probe(flows, now, (from, conn), paths),
            PfabricHeader::Ack { conn, cumulative, answers, finished } => {
                self.on_ack(flows, now, (from, conn), Ack { cumulative, answers, finished });
            }
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
