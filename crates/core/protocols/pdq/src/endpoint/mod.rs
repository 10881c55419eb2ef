//! The rules of one host, for its flows in both directions.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Incoming, RoundRobin, Rules};
use pullnet_rng::Stream;
use pullnet_transport::{Class, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, Side, Transmit};
use pullnet_units::Instant;

use crate::config::PdqConfig;
use crate::header::PdqHeader;
use crate::sender::{Ack, Sender};

mod receiving;
mod sending;

/// PDQ on one host.
pub type PdqEndpoint = Endpoint<PdqRules>;

/// State of a host beyond that of single flows.
pub struct PdqRules {
    config: PdqConfig,
    host: HostInfo,
    /// Transmit queue: senders whose next packet may leave.
    line: RoundRobin,
    chance: Stream,
}

impl PdqRules {
    /// A host without flows.
    pub(crate) fn endpoint(config: PdqConfig, host: HostInfo, chance: Stream) -> PdqEndpoint {
        let remembered = config.give_up.saturating_add(config.time_wait);
        Endpoint::new(Self { config, host, line: RoundRobin::default(), chance }, remembered)
    }

    /// Queues a packet without payload: an ACK or a probe.
    fn push_control(&self, flows: &mut Flows<Self>, to: HostAddr, path: u16, header: PdqHeader) {
        let (wire, class) = (self.config.header.0 as u16, Class::Control);
        flows.control.push(Transmit { to, path, wire, class, priority: 0, ect: false, again: false, header });
    }
}

impl Rules for PdqRules {
    type Header = PdqHeader;
    type Sender = Sender;
    type Receiver = Incoming;
    const SENDER_WAITS: &'static str = "pace or retransmission";
    const RECEIVER_WAITS: &'static str = "a silent sender";

    fn mtu(&self) -> u64 {
        self.config.mtu.0
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        self.open_flow(flows, now, flow, packets);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<PdqHeader>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        if fate != Fate::Whole {
            // PDQ's switches drop packets; a packet without its payload counts as lost.
            return;
        }
        match header {
            PdqHeader::Data { conn, seq, last, ask } => {
                let bytes = u32::from(wire).saturating_sub(self.config.header.0 as u32);
                self.on_data(flows, now, (from, conn, paths), (seq, last), bytes, ask);
            }
            PdqHeader::Probe { conn, given_up, ask } => {
                self.on_probe(flows, now, (from, conn, paths), given_up, ask);
            }
            PdqHeader::Ack { conn, cumulative, answers, finished, reply } => {
                self.on_ack(flows, now, (from, conn), Ack { cumulative, answers, finished, reply });
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
    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<PdqHeader>> {
        self.transmit_next(flows, now)
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        FlowStatus {
            side: Side::Sender,
            peer: sender.to,
            conn: sender.conn,
            bytes: u64::from(sender.sent.acknowledged()) * self.config.mtu.0,
            last_progress: sender.sent.last_progress,
            waiting_for: sender.waiting_for(),
            counts: sender.sent.counts,
        }
    }

    fn receiver_status(&self, receiver: &Incoming) -> FlowStatus {
        receiver.status()
    }
}
