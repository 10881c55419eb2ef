use pullnet_connections::{Flows, Incoming, Receipt, Rules};
use pullnet_rng::RandomStream;
use pullnet_transport::{ConnId, DataPacket, FlowSpec, HostAddr};
use pullnet_units::{Instant, Picos};

use crate::order::{FlowOrder, Policy, Standing};
use crate::spray::{Sprayer, Spraying};

/// The ends of a flow at its sender, its paths, and what decides its place in the order of flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outbound {
    /// The receiver.
    pub to: HostAddr,
    /// Connection number.
    pub conn: ConnId,
    /// Number of paths to the receiver, and the one of this flow.
    pub paths: (u16, u16),
    /// A higher number goes first.
    pub priority: u8,
    /// Time by which the last byte should have arrived.
    pub deadline: Option<Instant>,
    /// Tenant that owns the flow.
    pub tenant: u16,
    /// Position among the flows of the host in the order of their opening.
    opened: u64,
}

impl Outbound {
    /// Place in the order of flows of a flow with `left` packets left.
    pub fn standing(&self, left: u32) -> Standing {
        let Self { priority, deadline, tenant, opened, .. } = *self;
        Standing { priority, left, deadline, tenant, opened }
    }
}

/// A flow at its sender, as the queue for the host's link sees it.
pub trait Queued {
    /// Whether a packet may leave.
    fn can_send(&self) -> bool;
    /// Place in the order of flows.
    fn standing(&self) -> Standing;
    /// When its timer is due.
    fn due(&self) -> Instant;
}

/// State shared by the flows of a host: the order in which they use its link, and the choice of paths.
#[derive(Clone, Debug)]
pub struct HostLink {
    /// Flows that can send.
    pub ready: FlowOrder,
    sprayer: Sprayer,
    /// Flows opened so far.
    opened: u64,
    chance: RandomStream,
}

impl HostLink {
    /// A link that no flow waits for.
    pub fn new(policy: Policy, spraying: Spraying, mut chance: RandomStream) -> Self {
        let sprayer = Sprayer::new(spraying, &mut chance);
        Self { ready: FlowOrder::new(policy), sprayer, opened: 0, chance }
    }

    /// Adds the sender of a flow that it has opened ([`HostLink::open`]), and puts it into the order of flows.
    pub fn start<R: Rules<Sender: Queued>>(
        &mut self,
        flows: &mut Flows<R>,
        flow: &FlowSpec,
        sender: R::Sender,
    ) {
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.line_up(flows, slot);
    }

    /// As [`Flows::receive`], with a path of its own for each flow back to its sender.
    pub fn receive<R: Rules<Receiver = Incoming>>(
        &mut self,
        flows: &mut Flows<R>,
        now: Instant,
        (from, paths): (HostAddr, u16),
        (data, bytes): (DataPacket, u32),
        silence: Picos,
    ) -> Option<Receipt> {
        flows.receive(now, from, data, bytes, silence, || self.paths_to(paths))
    }

    /// The number of the next flow, in the order of opening.
    pub fn number(&mut self) -> u64 {
        self.opened += 1;
        self.opened
    }

    /// A flow to send.
    pub fn open(&mut self, flow: &FlowSpec) -> Outbound {
        let FlowSpec { to, conn, priority, deadline, tenant, .. } = *flow;
        let paths = self.paths_to(flow.paths);
        Outbound { to, conn, paths, priority, deadline, tenant, opened: self.number() }
    }

    /// `paths` and one of them, the path of a flow or of an answer that belongs to none.
    pub fn paths_to(&mut self, paths: u16) -> (u16, u16) {
        (paths, Sprayer::own(paths, &mut self.chance))
    }

    /// The path of the next packet, as [`Sprayer::next`].
    #[inline]
    pub fn path(&mut self, paths: (u16, u16), again: bool) -> u16 {
        self.sprayer.next(paths, again, &mut self.chance)
    }

    /// The path of an answer, as [`Sprayer::answer_again`].
    pub fn answer_again(&mut self, paths: (u16, u16)) -> u16 {
        self.sprayer.answer_again(paths)
    }

    /// Queues the sender in `slot` for the link while it can send, and arms its timer.
    pub fn line_up<R: Rules<Sender: Queued>>(&mut self, flows: &mut Flows<R>, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        if sender.can_send() {
            self.ready.insert(slot, &sender.standing());
        } else {
            self.ready.remove(slot);
        }
        let due = sender.due();
        flows.arm_sender(slot, due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_rng::Seed;

    #[test]
    fn flows_are_numbered_and_keep_what_orders_them() {
        let chance = Seed(1).stream("test.link", 0);
        let mut link = HostLink::new(Policy::Edf, Spraying::Single, chance);
        let flow = FlowSpec { paths: 4, priority: 3, deadline: Some(Instant(9)), ..FlowSpec::default() };
        let (first, second) = (link.open(&flow), link.open(&flow));
        assert!(first.paths.0 == 4 && first.paths.1 < 4);
        assert_eq!(link.path(first.paths, false), first.paths.1);
        let (one, two) = (first.standing(5), second.standing(5));
        assert_eq!((one.priority, one.deadline, one.left), (3, Some(Instant(9)), 5));
        assert!(one.opened < two.opened);
    }
}
