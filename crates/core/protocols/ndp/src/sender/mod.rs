//! The sending half of a connection: the rules of the specification in its order.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use pullnet_pull::PathSet;
use pullnet_rng::RandomStream;
use pullnet_transport::{Awaited, ConnId, FlowSpec, FlowStatus, HostAddr, SendCounts};
use pullnet_units::{Instant, Picos, Side};

use crate::config::Rules;
use crate::window::Window;

mod bursts;
mod feedback;
mod patience;
mod relay;
mod stream;
mod timers;
mod transmit;

use bursts::Bursts;
pub(crate) use patience::{Known, Patience};
use stream::Payloads;
pub(crate) use timers::Check;
pub(crate) use transmit::Ready;

/// Surroundings of a sender beside its connection.
pub(crate) struct Context<'a> {
    pub now: Instant,
    pub rules: &'a Rules,
    pub chance: &'a mut RandomStream,
}

/// The sending half of a connection, aligned to a cache line, so that it touches and prefetches as few of them as possible.
///
/// Long: a rule reads and writes fields of several others, and one connection is one piece of memory; what a single
/// rule keeps is a type of its own.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Sender {
    pub conn: ConnId,
    pub to: HostAddr,
    pub priority: u8,
    /// Packets that the application has offered: those of a stream that are written, those of a relayed flow that have arrived
    /// here, and all of any other flow. An endless flow offers as many as there are numbers.
    offered: u32,
    /// Number of the last packet; `None` for an endless flow, and for a stream that has not been closed.
    last: Option<u32>,
    /// Payload bytes of the last packet of a flow.
    last_payload: u16,
    /// Payload bytes of each packet of a stream; `None` for a flow, whose packets are full except the last.
    payloads: Option<Box<Payloads>>,
    window: Window,
    /// Packets of the first window that are still to be pushed.
    push: u32,
    /// Packets that pulls allow and that have not left yet.
    credit: u32,
    /// Highest pull number so far.
    served: u32,
    /// NACKed or returned packets, in the order in which they are retransmitted.
    again: VecDeque<u32>,
    /// Packets that are retransmitted without a pull.
    urgent: VecDeque<u32>,
    /// ACKs and NACKs minus pulls: the number of pulls still to come.
    expected_pulls: u32,
    /// Packets of the first window without an answer so far.
    first_unheard: u16,
    bursts: Bursts,
    paths: PathSet,
    pub patience: Patience,
    acked_bytes: u64,
    pub counts: SendCounts,
    last_heard: Instant,
    last_progress: Instant,
    last_pull: Instant,
    longest_pull_gap: Picos,
    /// Probes since the last pull.
    probes: u8,
    last_probe: Instant,
    /// Time of the next timer check.
    pub check_at: Instant,
    /// Number of entries of this sender in the endpoint's queues of connections that can send.
    pub queued_again: u32,
    pub queued_new: u32,
}

impl Sender {
    /// Rule 1, start: no handshake; the first window may leave at line rate.
    pub fn open(cx: &mut Context<'_>, flow: &FlowSpec) -> Self {
        let mtu = u64::from(cx.rules.mtu);
        let size = flow.size.map(|size| size.0);
        let total = size.map_or(u32::MAX, |size| size.div_ceil(mtu) as u32);
        let last_payload = size.map_or(0, |size| (size - (u64::from(total) - 1) * mtu) as u16);
        let push = cx.rules.initial_window.min(total);
        let paths = PathSet::new(flow.paths, cx.rules.spread, cx.rules.scoreboard, cx.chance);
        Self {
            conn: flow.conn,
            to: flow.to,
            priority: flow.priority,
            offered: total,
            last: size.map(|_| total - 1),
            last_payload,
            payloads: None,
            window: Window::default(),
            push,
            credit: 0,
            served: 0,
            again: VecDeque::new(),
            urgent: VecDeque::new(),
            expected_pulls: 0,
            first_unheard: push as u16,
            bursts: Bursts::default(),
            paths,
            patience: Patience::new(Known::default()),
            acked_bytes: 0,
            counts: SendCounts::default(),
            last_heard: cx.now,
            last_progress: cx.now,
            last_pull: cx.now,
            longest_pull_gap: Picos::ZERO,
            probes: 0,
            last_probe: cx.now,
            check_at: Instant::NEVER,
            queued_again: 0,
            queued_new: 0,
        }
    }

    /// Memory that the next call will read.
    pub fn prefetch_targets(&self, chance: &mut RandomStream, visit: &mut impl FnMut(*const u8)) {
        self.window.prefetch_targets().into_iter().for_each(&mut *visit);
        self.paths.prefetch_targets(1, chance, visit);
    }

    /// Payload bytes that have been acknowledged.
    pub fn acked_bytes(&self) -> u64 {
        self.acked_bytes
    }

    /// Packets acknowledged without a gap from the first one.
    pub fn acknowledged(&self) -> u32 {
        self.window.first()
    }

    /// Whether all offered data is acknowledged.
    fn idle(&self) -> bool {
        self.window.first() == self.offered
    }

    /// State of the flow.
    pub fn status(&self) -> FlowStatus {
        let Self { to: peer, conn, last_progress, counts, .. } = *self;
        let (bytes, waiting_for) = (self.acked_bytes(), self.waiting_for());
        FlowStatus { side: Side::Sender, peer, conn, bytes, last_progress, waiting_for, counts }
    }

    fn waiting_for(&self) -> Awaited {
        let new_may_leave = self.window.next() < self.offered && (self.push > 0 || self.credit > 0);
        if self.idle() {
            Awaited::ApplicationData
        } else if new_may_leave || !self.urgent.is_empty() {
            Awaited::LinkTurn
        } else if !self.again.is_empty() {
            Awaited::of_protocol(&"a pull to send trimmed packets again")
        } else if self.window.is_empty() {
            Awaited::of_protocol(&"a pull for new data")
        } else {
            Awaited::of_protocol(&"ACKs or NACKs of packets in flight")
        }
    }
}
