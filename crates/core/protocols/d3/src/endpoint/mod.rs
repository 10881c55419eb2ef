//! The rules of one host, for its flows in both directions.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Incoming, RoundRobin, Rules};
use pullnet_rng::Stream;
use pullnet_transport::{Class, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, Side, Transmit};
use pullnet_units::Instant;

use crate::config::Parameters;
use crate::header::D3Header;
use crate::sender::{Ack, Sender};

mod receiving;
mod sending;

/// D3 or RCP on one host.
pub type D3Endpoint = Endpoint<D3Rules>;

/// State of a host beyond that of single flows.
pub struct D3Rules {
    rules: Parameters,
    host: HostInfo,
    /// Transmit queue: senders whose next packet may leave.
    line: RoundRobin,
    chance: Stream,
}

impl D3Rules {
    /// A host without flows.
    pub(crate) fn endpoint(rules: Parameters, host: HostInfo, chance: Stream) -> D3Endpoint {
        let remembered = rules.give_up.saturating_add(rules.time_wait);
        Endpoint::new(Self { rules, host, line: RoundRobin::default(), chance }, remembered)
    }

    /// Queues a packet without payload: an ACK, or a request that hands grants back.
    fn push_control(&self, flows: &mut Flows<Self>, to: HostAddr, path: u16, header: D3Header) {
        let (wire, class) = (self.rules.header as u16, Class::Control);
        flows.control.push(Transmit { to, path, wire, class, priority: 0, ect: false, again: false, header });
    }
}

impl Rules for D3Rules {
    type Header = D3Header;
    type Sender = Sender;
    type Receiver = Incoming;
    const SENDER_WAITS: &'static str = "pace or retransmission";
    const RECEIVER_WAITS: &'static str = "a silent sender";

    fn mtu(&self) -> u64 {
        self.rules.mtu.into()
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        self.open_flow(flows, now, flow, packets);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<D3Header>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        if fate != Fate::Whole {
            // D3's switches drop packets; a packet without its payload counts as lost.
            return;
        }
        match header {
            D3Header::Data { conn, seq, last, ask } => {
                let bytes = u32::from(wire).saturating_sub(self.rules.header);
                self.on_data(flows, now, (from, conn, paths), (seq, last), bytes, ask);
            }
            D3Header::Request { conn, quenched, ask } => {
                self.on_request(flows, now, (from, conn, paths), quenched, ask);
            }
            D3Header::Ack { conn, cumulative, answers, finished, reply } => {
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
    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<D3Header>> {
        self.transmit_next(flows, now)
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        FlowStatus {
            side: Side::Sender,
            peer: sender.to,
            conn: sender.conn,
            bytes: u64::from(sender.sent.acknowledged()) * u64::from(self.rules.mtu),
            last_progress: sender.sent.last_progress,
            waiting_for: sender.waiting_for(),
            counts: sender.sent.counts,
        }
    }

    fn receiver_status(&self, receiver: &Incoming) -> FlowStatus {
        receiver.status()
    }
}
