//! The rules of one host: its flows in both directions, its timeslots, and the arbiter if this host is one.

use alloc::boxed::Box;
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;

use pullnet_connections::{Endpoint, FlowPackets, Flows, Incoming, Rules, SmallQueue};
use pullnet_pull::HostLink;
use pullnet_rng::RandomStream;
use pullnet_transport::{
    ConnId, CumulativeAck, Deadline, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, Side, TimerKind,
    Transmit,
};
use pullnet_units::{Instant, WireLen};

use crate::arbiter::Arbiter;
use crate::config::{FastpassConfig, Parameters};
use crate::header::FastpassHeader;
use crate::liaison::Liaison;
use crate::sender::Sender;

mod arbitration;
mod receiving;
mod sending;

/// A timeslot of this host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Slot {
    at: Instant,
    /// Number of the slot on this host: decides where times are equal.
    number: u64,
    handle: u32,
    /// The flow that had the handle when the slot was given.
    conn: ConnId,
    path: Option<u8>,
}

/// The priority of control packets, of data in its timeslot, and of data without one.
const CONTROL: u8 = 7;
const SCHEDULED: u8 = 6;
const UNSCHEDULED: u8 = 0;

/// Fastpass on one host.
pub type FastpassEndpoint = Endpoint<FastpassRules>;

/// The state that belongs to no flow.
pub struct FastpassRules {
    /// Slots whose time has come.
    ready: VecDeque<Slot>,
    /// Slots to come.
    slots: BinaryHeap<Reverse<Slot>>,
    rules: Parameters,
    own: HostAddr,
    /// Offset of the host's clock from the arbiter's, in picoseconds; positive if the host is ahead.
    ahead: i64,
    liaison: Liaison,
    arbiter: Option<Box<Arbiter>>,
    /// Messages between this host and the arbiter on it.
    local: SmallQueue<FastpassHeader>,
    /// Requests made and slots received so far.
    rounds: u32,
    numbers: u64,
    /// Its flows may send without a slot.
    link: HostLink,
    /// Open senders, and one past the highest handle that any has had.
    sending: u32,
    handles: u32,
}

impl FastpassRules {
    /// A host without flows.
    pub fn endpoint(config: &FastpassConfig, host: HostInfo, mut chance: RandomStream) -> FastpassEndpoint {
        let liaison = Liaison::new(config.arbiters());
        let ahead = (chance.unit() * 2.0 - 1.0) * config.clock_offset.0 as f64;
        let rules = Self {
            ready: VecDeque::new(),
            slots: BinaryHeap::new(),
            rules: Parameters::new(config, host.rate),
            own: host.addr,
            ahead: ahead as i64,
            arbiter: liaison.knows(host.addr).then(|| Box::new(Arbiter::new(config.matching))),
            liaison,
            local: SmallQueue::new(),
            rounds: 0,
            numbers: 0,
            link: HostLink::new(config.matching.policy(), config.paths, chance),
            sending: 0,
            handles: 0,
        };
        let remembered = rules.rules.limits.remembered();
        Endpoint::new(rules, remembered)
    }

    /// Sends a control packet. It takes no turn of the paths, even if it is no repetition: requests, schedules and ACKs follow each
    /// other in the same order again and again, and in step with the turns they would come to the same failed path each time.
    fn send_control(
        &mut self,
        flows: &mut Flows<Self>,
        to: HostAddr,
        paths: (u16, u16),
        header: FastpassHeader,
    ) {
        let path = if to == self.own { 0 } else { self.link.path(paths, true) };
        self.send_by(flows, to, path, header);
    }

    /// Sends a control packet by a path.
    fn send_by(&mut self, flows: &mut Flows<Self>, to: HostAddr, path: u16, header: FastpassHeader) {
        if to == self.own {
            return self.local.push(header);
        }
        let (wire, priority) = (WireLen::of(self.rules.limits.header), CONTROL);
        flows.control.push(Transmit { priority, ..Transmit::control(to, path, wire, header) });
    }

    fn dispatch(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (from, paths): (HostAddr, u16),
        header: FastpassHeader,
        bytes: u32,
    ) {
        match header {
            FastpassHeader::Data(data) => self.on_data(flows, now, (from, paths), (data, bytes)),
            FastpassHeader::Ack { conn, cumulative, answers, finished } => {
                let answers = Some(answers);
                self.on_ack(flows, now, from, CumulativeAck { conn, cumulative, answers, finished });
            }
            FastpassHeader::Alive { conn } => Self::on_alive(flows, now, (from, conn)),
            other => self.on_word(flows, now, (from, paths), other),
        }
    }

    /// Messages between an arbiter on this host and its own flows cross no link.
    fn talk_locally(&mut self, flows: &mut Flows<Self>, now: Instant) {
        while let Some(header) = self.local.pop() {
            self.dispatch(flows, now, (self.own, 1), header, 0);
        }
    }

    fn next_slot(&self) -> Instant {
        self.slots.peek().map_or(Instant::NEVER, |Reverse(slot)| slot.at)
    }
}

impl Rules for FastpassRules {
    type Header = FastpassHeader;
    type Sender = Sender;
    type Receiver = Incoming;
    const SENDER_TIMER: TimerKind = TimerKind::of_protocol(&"the arbiter or ACKs");

    fn mtu(&self) -> u64 {
        self.rules.limits.mtu.into()
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let sender = Sender::open(now, self.link.open(flow), packets);
        let handle = flows.open_sender(flow.to, flow.conn, sender);
        (self.sending, self.handles) = (self.sending + 1, self.handles.max(handle + 1));
        self.watch_the_dead(now);
        self.ask(flows, now, handle);
        self.talk_locally(flows, now);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<FastpassHeader>) {
        let Received { from, paths, wire, header, .. } = packet;
        let bytes = u32::from(wire).saturating_sub(self.rules.limits.header);
        self.dispatch(flows, now, (from, paths), header, bytes);
        self.talk_locally(flows, now);
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        self.check_sender(flows, now, slot);
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        flows.check_silence(now, slot, self.silence());
    }

    #[inline]
    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<FastpassHeader>> {
        self.transmit_data(flows, now)
    }

    #[inline]
    fn clock(&self) -> Deadline {
        if !self.local.is_empty() {
            // The timer of a flow has told the arbiter on this host something, which it hears before the next input.
            return Deadline {
                at: Instant::ZERO,
                timer: TimerKind::of_protocol(&"the arbiter on this host"),
            };
        }
        let mut first = Deadline { at: self.next_slot(), timer: TimerKind::of_protocol(&"a timeslot") };
        if let Some(Deadline { at, timer }) = self.arbiter.as_ref().map(|arbiter| arbiter.due()) {
            first = first.min_at(at, timer);
        }
        first.min_at(self.liaison.probe_at, TimerKind::of_protocol(&"a silent arbiter"))
    }

    /// A request that a flow's timer makes at the instant of an arbitration comes too late for it and asks for another epoch. If
    /// the arbiter had none at this instant, that epoch begins at once, in a further round of the loop.
    fn tick(&mut self, flows: &mut Flows<Self>, now: Instant) {
        while self.clock().at <= now {
            self.take_slots(now);
            self.arbitrate(flows, now);
            self.probe(flows, now);
            self.talk_locally(flows, now);
        }
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        FlowStatus {
            side: Side::Sender,
            peer: sender.flow.to,
            conn: sender.flow.conn,
            bytes: u64::from(sender.packets.acknowledged()) * u64::from(self.rules.limits.mtu),
            last_progress: sender.packets.last_progress,
            waiting_for: sender.waiting_for(),
            counts: sender.packets.counts,
        }
    }

    fn receiver_status(&self, receiver: &Incoming) -> FlowStatus {
        receiver.status()
    }
}
