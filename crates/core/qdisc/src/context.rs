use pullnet_transport::Hop;
use pullnet_units::{BitsPerSec, Instant};

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// No room for a data packet.
    DataQueueFull,
    /// No room for a control packet.
    ControlQueueFull,
    /// Active queue management dropped the packet early; there was room.
    Early,
}

/// Treatment of a packet by a queue beside storing it. The packet is the arriving one, or one that the arriving packet
/// displaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<P> {
    /// The packet was marked: congestion experienced. It waits or goes into service, unless another outcome follows.
    Marked(P),
    /// The packet lost its payload; its header waits.
    Trimmed(P),
    /// The header of a packet goes back to the sender. `trimmed` says whether the payload was cut here.
    Returned {
        /// The header.
        header: P,
        /// Whether its payload was cut here, and not at an earlier port.
        trimmed: bool,
    },
    /// The packet was dropped.
    Dropped {
        /// The packet as it was when it was dropped.
        packet: P,
        /// The reason.
        why: DropReason,
        /// Whether its payload had been cut here before.
        trimmed: bool,
    },
}

/// A message to the neighbour at the other end of the link that packets arrive by: a pause frame. In the neighbour's
/// direction it waits for the packet in service, and then takes the link's delay and the time of a short frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signal {
    /// Priorities that the neighbour must not send any more, one bit each; 0 resumes all.
    pub paused: u8,
    /// Length of the pause if no further signal comes, in times of 512 bits on the link; 0: until the next signal. The
    /// driver repeats a pause that is still in force when half of that time is over.
    pub quanta: u16,
}

/// Rank of a packet among waiting packets, as its transport states it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rank {
    /// The flow that it belongs to, in one direction.
    pub flow: u64,
    /// A smaller number is more urgent, such as the packets that the flow has left.
    pub rank: u32,
}

/// Access of a queue to everything beside its own packets. A driver provides it for every call.
pub trait Context<P> {
    /// The current time.
    fn now(&self) -> Instant;
    /// Rate of the link behind the queue.
    fn rate(&self) -> BitsPerSec;
    /// A fair coin.
    fn coin(&mut self) -> bool;
    /// A random number, uniform in `[0, 1)`.
    fn unit(&mut self) -> f64;
    /// Reports a packet that does not simply wait.
    fn outcome(&mut self, outcome: Outcome<P>);
    /// Flow and rank of `packet`. All packets have one flow and rank if the transport states none.
    fn rank(&self, _packet: &P) -> Rank {
        Rank::default()
    }
    /// Lets the header of `packet`, which leaves now, ask `hop` and write down its answers (`Header::at_hop` of its transport).
    /// Nothing happens where transports ask nothing.
    fn show(&mut self, _packet: &mut P, _hop: &mut dyn Hop) {}
    /// Priorities that the neighbour behind the link has paused, one bit each.
    fn paused(&self) -> u8 {
        0
    }
    /// Requests another `Discipline::dequeue` no later than `at`, for a queue that left the link idle while
    /// packets wait (`Discipline::IDLES`).
    fn wake(&mut self, at: Instant);
    /// Sends `signal` to the neighbour at the other end of link `ingress` into this switch.
    fn signal(&mut self, ingress: u16, signal: Signal);
    /// This context for a rare branch that takes it by reference. A driver may answer with a copy of what it consists
    /// of: the common branches then keep it in registers.
    #[inline(always)]
    fn apart(&mut self) -> impl Context<P>
    where
        Self: Sized,
    {
        self
    }
}

impl<P, C: Context<P>> Context<P> for &mut C {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn rate(&self) -> BitsPerSec {
        (**self).rate()
    }

    fn coin(&mut self) -> bool {
        (**self).coin()
    }

    fn unit(&mut self) -> f64 {
        (**self).unit()
    }

    fn outcome(&mut self, outcome: Outcome<P>) {
        (**self).outcome(outcome);
    }

    fn rank(&self, packet: &P) -> Rank {
        (**self).rank(packet)
    }

    fn show(&mut self, packet: &mut P, hop: &mut dyn Hop) {
        (**self).show(packet, hop);
    }

    fn paused(&self) -> u8 {
        (**self).paused()
    }

    fn wake(&mut self, at: Instant) {
        (**self).wake(at);
    }

    fn signal(&mut self, ingress: u16, signal: Signal) {
        (**self).signal(ingress, signal);
    }
}
