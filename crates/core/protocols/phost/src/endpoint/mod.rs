//! The rules of one host: its flows in both directions, and its token clock.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Rules};
use pullnet_pull::{FlowOrder, HostLink};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, Deadline, FlowSpec, FlowStatus, HostAddr, HostInfo, Origin, Received, Side, TimerKind, Transmit,
};
use pullnet_units::{Instant, Picos, WireLen};

use crate::config::{Parameters, PhostConfig};
use crate::header::PhostHeader;
use crate::receiver::Receiver;
use crate::sender::Sender;

mod receiving;
mod sending;

/// When the destination gives tokens: at most one per packet time.
#[derive(Clone, Copy, Debug)]
struct TokenClock {
    /// One packet time after the last token.
    free_at: Instant,
    /// Until when the packets of free tokens have the link: they take the place of tokens.
    held_until: Instant,
    /// Until when the clock sleeps, although data has made a flow eligible.
    asleep_until: Instant,
    /// When the next token is due; [`Instant::NEVER`] while no flow may get one.
    due: Instant,
}

impl TokenClock {
    /// The time from which the clock may give a token again.
    fn turns_from(&self) -> Instant {
        self.free_at.max(self.held_until)
    }

    /// The next turn of the clock, which it may have to leave out.
    fn next_turn(&self, now: Instant, packet_time: Picos) -> Instant {
        let ahead = Picos(self.held_until.since(now).0 % packet_time.0.max(1));
        self.free_at.max(now.after(ahead))
    }
}

/// pHost on one host.
pub type PhostEndpoint = Endpoint<PhostRules>;

/// The state that belongs to no flow.
pub struct PhostRules {
    rules: Parameters,
    clock: TokenClock,
    /// Sources with tokens are ready for it.
    link: HostLink,
    /// Destinations that may give a token.
    waiting: FlowOrder,
}

impl PhostRules {
    /// A host without flows.
    pub fn endpoint(config: &PhostConfig, host: HostInfo, chance: RandomStream) -> PhostEndpoint {
        let rules = Self {
            rules: Parameters::new(config, host.rate),
            clock: TokenClock {
                free_at: Instant::ZERO,
                held_until: Instant::ZERO,
                asleep_until: Instant::ZERO,
                due: Instant::NEVER,
            },
            link: HostLink::new(config.source, config.paths, chance),
            waiting: FlowOrder::new(config.destination),
        };
        let remembered = rules.rules.limits.remembered();
        Endpoint::new(rules, remembered)
    }

    /// Sends a control packet; `again`: an earlier packet has said the same.
    fn send_control(
        &mut self,
        flows: &mut Flows<Self>,
        to: HostAddr,
        (paths, again): ((u16, u16), bool),
        header: PhostHeader,
    ) {
        let path = self.link.path(paths, again);
        let (wire, priority) = (WireLen::of(self.rules.limits.header), self.rules.control_priority());
        flows.control.push(Transmit { priority, ..Transmit::control(to, path, wire, header) });
    }
}

impl Rules for PhostRules {
    type Header = PhostHeader;
    type Sender = Sender;
    type Receiver = Receiver;
    const SENDER_TIMER: TimerKind = TimerKind::of_protocol(&"a token");
    const RECEIVER_TIMER: TimerKind = TimerKind::of_protocol(&"unanswered tokens");

    fn mtu(&self) -> u64 {
        self.rules.limits.mtu.into()
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let outbound = self.link.open(flow);
        let sender = Sender::open(now, &self.rules, outbound, packets);
        let header = PhostHeader::Rts { conn: flow.conn, about: sender.about, again: false };
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.send_control(flows, flow.to, (outbound.paths, false), header);
        self.line_up(flows, now, slot);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<PhostHeader>) {
        let Received { from, paths, wire, header, .. } = packet;
        match header {
            PhostHeader::Data { conn, seq, number, about } => {
                let bytes = u32::from(wire).saturating_sub(self.rules.limits.header);
                if let Some(slot) = self.receiver_for(flows, now, Origin { peer: from, conn, paths }, about) {
                    self.on_data(flows, now, slot, (seq, number), bytes);
                }
            }
            PhostHeader::Token { conn, seq, number, left } => {
                self.on_token(flows, now, (from, conn), (seq, number), left)
            }
            PhostHeader::Rts { conn, about, again } => {
                if let Some(slot) = self.receiver_for(flows, now, Origin { peer: from, conn, paths }, about) {
                    self.on_rts(flows, now, slot, again);
                }
            }
            PhostHeader::Wait { conn, left } => self.on_wait(flows, now, (from, conn), left),
            PhostHeader::Ack { conn } => self.on_ack(flows, now, (from, conn)),
        }
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        self.check_sender(flows, now, slot);
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        self.check_receiver(flows, now, slot);
    }

    #[inline]
    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<PhostHeader>> {
        self.transmit_data(flows, now)
    }

    #[inline]
    fn clock(&self) -> Deadline {
        Deadline { at: self.clock.due, timer: TimerKind::of_protocol(&"the token clock") }
    }

    fn tick(&mut self, flows: &mut Flows<Self>, now: Instant) {
        self.give_token(flows, now);
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        FlowStatus {
            side: Side::Sender,
            peer: sender.flow.to,
            conn: sender.flow.conn,
            bytes: sender.acknowledged(&self.rules),
            last_progress: sender.last_progress,
            waiting_for: Awaited::of_protocol(&"tokens"),
            counts: sender.counts,
        }
    }

    fn receiver_status(&self, receiver: &Receiver) -> FlowStatus {
        FlowStatus::of_receiver(receiver.peer, receiver.conn, receiver.bytes, receiver.last_progress)
    }
}
