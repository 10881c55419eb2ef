use pullnet_rng::RandomStream;
use pullnet_transport::{
    FlowSpec, FlowStatus, HostAddr, HostInfo, Origin, Received, Side, TimerKind, Transmit,
};
use pullnet_units::{Instant, Picos, WireLen};

use super::{Asking, Message, Outlook};
use crate::endpoint::{Endpoint, Flows, Rules};
use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::packets::FlowPackets;
use crate::round_robin::RoundRobin;
use crate::sent::SentPackets;

/// The rules of one host for flows that ask the switches.
pub struct AskingRules<S: Asking> {
    pub(super) config: S::Config,
    pub(super) limits: Limits,
    pub(super) host: HostInfo,
    /// Transmit queue: senders whose next packet may leave.
    pub(super) line: RoundRobin,
    chance: RandomStream,
}

impl<S: Asking> AskingRules<S> {
    /// A host without flows.
    pub fn endpoint(config: S::Config, host: HostInfo, chance: RandomStream) -> Endpoint<Self> {
        let limits = S::limits(&config);
        let remembered = limits.remembered();
        Endpoint::new(Self { config, limits, host, line: RoundRobin::default(), chance }, remembered)
    }

    /// Draws the path of a flow.
    pub(super) fn own_path(&mut self, paths: u16) -> u16 {
        if paths < 2 { 0 } else { self.chance.below(paths.into()) as u16 }
    }

    /// Silence after which a sender is forgotten.
    pub(super) fn silence(&self) -> Picos {
        self.limits.silence()
    }

    /// Queues a packet without payload.
    pub(super) fn push_control(&self, flows: &mut Flows<Self>, to: HostAddr, path: u16, header: S::Header) {
        let wire = WireLen::of(self.limits.header);
        flows.control.push(Transmit::control(to, path, wire, header));
    }
}

impl<S: Asking> Rules for AskingRules<S> {
    type Header = S::Header;
    type Sender = S;
    type Receiver = Incoming<Option<S::Reply>>;
    const SENDER_TIMER: TimerKind = TimerKind::PaceOrRetransmission;

    fn mtu(&self) -> u64 {
        self.limits.mtu.into()
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let outlook = Outlook {
            to: flow.to,
            conn: flow.conn,
            priority: flow.priority,
            path: self.own_path(flow.paths),
            sent: SentPackets::new(now, packets),
            in_line: false,
        };
        let sender = S::open(now, &self.config, flow, outlook, &self.host);
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.proceed(flows, now, slot);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<S::Header>) {
        let Received { from, paths, wire, header, .. } = packet;
        match S::read(header) {
            Message::Data { data, question } => {
                let bytes = u32::from(wire).saturating_sub(self.limits.header);
                let origin = Origin { peer: from, conn: data.conn, paths };
                self.on_data(flows, now, origin, data, bytes, question);
            }
            Message::Question { conn, given_up, question } => {
                self.on_question(flows, now, Origin { peer: from, conn, paths }, given_up, question);
            }
            Message::Ack { ack, reply } => self.on_ack(flows, now, from, ack, reply),
        }
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        self.check_sender(flows, now, slot);
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        flows.check_silence(now, slot, self.silence());
    }

    #[inline]
    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<S::Header>> {
        self.transmit_next(flows, now)
    }

    fn sender_status(&self, sender: &S) -> FlowStatus {
        let outlook = sender.outlook();
        FlowStatus {
            side: Side::Sender,
            peer: outlook.to,
            conn: outlook.conn,
            bytes: u64::from(outlook.sent.acknowledged()) * u64::from(self.limits.mtu),
            last_progress: outlook.sent.last_progress,
            waiting_for: sender.waiting_for(),
            counts: outlook.sent.counts,
        }
    }

    fn receiver_status(&self, receiver: &Self::Receiver) -> FlowStatus {
        receiver.status()
    }
}
