//! The rules of one host: its messages in both directions.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Rules};
use pullnet_pull::{FlowOrder, HostLink, Policy, Queued};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, FlowSpec, FlowStatus, HostAddr, Origin, Received, Side, TimerKind, Transmit,
};
use pullnet_units::{Instant, WireLen};

use crate::config::{HomaConfig, LEVELS};
use crate::header::HomaHeader;
use crate::receiver::Receiver;
use crate::sender::Sender;

mod receiving;
mod sending;

/// Homa on one host.
pub type HomaEndpoint = Endpoint<HomaRules>;

/// The state that belongs to no message.
pub struct HomaRules {
    config: HomaConfig,
    /// Its messages have the link in the order of packets left, fewest first.
    link: HostLink,
    /// Incoming messages that need grants, fewest packets left first.
    waiting: FlowOrder,
}

impl HomaRules {
    /// A host without messages.
    pub fn endpoint(config: &HomaConfig, chance: RandomStream) -> HomaEndpoint {
        let rules = Self {
            link: HostLink::new(Policy::Srpt, config.paths, chance),
            waiting: FlowOrder::new(Policy::Srpt),
            config: config.clone(),
        };
        Endpoint::new(rules, config.give_up.saturating_add(config.time_wait))
    }

    /// Control packets have the most urgent priority.
    fn send_control(&mut self, flows: &mut Flows<Self>, to: HostAddr, paths: (u16, u16), header: HomaHeader) {
        let path = self.link.path(paths, false);
        let wire = WireLen::of(self.config.header.0 as u32);
        let priority = LEVELS - 1;
        flows.control.push(Transmit { priority, ..Transmit::control(to, path, wire, header) });
    }
}

impl Rules for HomaRules {
    type Header = HomaHeader;
    type Sender = Sender;
    type Receiver = Receiver;
    const SENDER_TIMER: TimerKind = TimerKind::of_protocol(&"a word from the receiver");
    const RECEIVER_TIMER: TimerKind = TimerKind::of_protocol(&"missing packets");

    fn mtu(&self) -> u64 {
        self.config.mtu.0
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let sender = Sender::open(now, &self.config, self.link.open(flow), packets);
        self.link.start(flows, flow, sender);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<HomaHeader>) {
        let Received { from, paths, wire, header, .. } = packet;
        match header {
            HomaHeader::Data { conn, seq, packets } => {
                let bytes = u32::from(wire).saturating_sub(self.config.header.0 as u32);
                if let Some(slot) = self.receiver_for(flows, now, Origin { peer: from, conn, paths }, packets)
                {
                    self.on_data(flows, now, slot, seq, bytes);
                }
            }
            HomaHeader::Grant { conn, until, priority } => {
                self.on_feedback(flows, now, (from, conn), |sender| sender.on_grant(now, until, priority));
            }
            HomaHeader::Resend { conn, first, until } => {
                self.on_resend(flows, now, (from, conn), first, until)
            }
            HomaHeader::Busy { conn, by_sender: false } => {
                self.on_feedback(flows, now, (from, conn), Sender::on_busy);
            }
            HomaHeader::Busy { conn, by_sender: true } => Self::on_busy(flows, now, (from, conn)),
            HomaHeader::Query { conn, packets } => {
                if let Some(slot) = self.receiver_for(flows, now, Origin { peer: from, conn, paths }, packets)
                {
                    self.on_query(flows, now, slot);
                }
            }
            HomaHeader::Ack { conn } => self.on_ack(flows, now, (from, conn)),
        }
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        self.check_sender(flows, now, slot);
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        self.check_receiver(flows, now, slot);
    }

    #[inline]
    fn transmit(&mut self, flows: &mut Flows<Self>, _now: Instant) -> Option<Transmit<HomaHeader>> {
        self.transmit_data(flows)
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        FlowStatus {
            side: Side::Sender,
            peer: sender.flow.to,
            conn: sender.flow.conn,
            bytes: sender.acknowledged(&self.config),
            last_progress: sender.last_progress,
            waiting_for: if sender.can_send() { Awaited::LinkTurn } else { Awaited::of_protocol(&"grants") },
            counts: sender.counts,
        }
    }

    fn receiver_status(&self, receiver: &Receiver) -> FlowStatus {
        FlowStatus::of_receiver(receiver.peer, receiver.conn, receiver.bytes, receiver.last_progress)
    }
}
