//! Surroundings of a queue in the reference.

use pullnet_qdisc::{Context, Outcome, Rank, Signal};
use pullnet_rng::SmallRandomStream;
use pullnet_transport::{Header, Hop, Protocol, Transport};
use pullnet_units::{BitsPerSec, Instant};

use super::endpoint::{header_of, packed};
use super::parcel::{Packed, Parcel};

/// What headers of a transport become at a port that writes into them.
pub(super) type AtHop = fn(Packed, &mut dyn Hop) -> Option<Packed>;

pub(super) fn at_hop_of<P: Protocol>() -> AtHop {
    fn at_hop<H: Header>(header: Packed, hop: &mut dyn Hop) -> Option<Packed> {
        header_of::<H>(header).at_hop(hop).map(packed)
    }
    at_hop::<<P::Endpoint as Transport>::Header>
}

/// Surroundings of a queue: the port's chance, and what the queue reports.
pub(super) struct Surroundings<'a> {
    pub(super) now: u64,
    pub(super) rate: BitsPerSec,
    pub(super) chance: &'a mut SmallRandomStream,
    pub(super) outcomes: Vec<Outcome<Parcel>>,
    pub(super) paused: u8,
    /// Pauses signalled by the queue, by the link into the switch.
    pub(super) signals: Vec<(u16, Signal)>,
    /// By number of the transport.
    pub(super) at_hop: &'a [AtHop],
}

impl Context<Parcel> for Surroundings<'_> {
    fn rank(&self, parcel: &Parcel) -> Rank {
        parcel.rank
    }
    fn show(&mut self, parcel: &mut Parcel, hop: &mut dyn Hop) {
        parcel.header = self.at_hop[parcel.transport](parcel.header, hop).unwrap_or(parcel.header);
    }
    fn now(&self) -> Instant {
        Instant(self.now)
    }
    fn rate(&self) -> BitsPerSec {
        self.rate
    }
    fn coin(&mut self) -> bool {
        self.chance.coin()
    }
    fn unit(&mut self) -> f64 {
        self.chance.unit()
    }
    fn outcome(&mut self, outcome: Outcome<Parcel>) {
        self.outcomes.push(outcome);
    }
    fn wake(&mut self, at: Instant) {
        panic!("no discipline lets the link idle: {at:?}");
    }
    fn paused(&self) -> u8 {
        self.paused
    }
    fn signal(&mut self, ingress: u16, signal: Signal) {
        self.signals.push((ingress, signal));
    }
}
