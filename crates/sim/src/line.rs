//! The sending end of a link: what NICs and switch ports have in common.

use pullnet_qdisc::Item;
use pullnet_rng::SmallStream;
use pullnet_topology::LinkRef;
use pullnet_units::Instant;

use crate::clock::Pace;
use crate::network::{Network, Next, Target};
use crate::packet::Packet;

/// A packet on its way to a process.
#[derive(Clone, Copy, Debug)]
pub struct Emission {
    /// Where it goes.
    pub target: Target,
    /// The packet, with its arrival time.
    pub packet: Packet,
}

/// The sending end of a link. What every packet needs comes first.
#[derive(Debug)]
#[repr(C)]
pub struct Line {
    /// When the packet in service has left.
    pub busy_until: u64,
    delay: u64,
    pace: Pace,
    next: Next,
    /// Index of this link at its other end.
    ingress: u16,
    faulty: bool,
    link: LinkRef,
    /// Coins of the queue, choices at the other end, and losses on the link.
    pub chance: SmallStream,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Whole data packets sent.
    pub data_packets: u64,
    /// Packets lost on the link.
    pub lost: u64,
    /// Of these, packets that were sent as data.
    pub data_lost: u64,
    /// Time in service.
    busy: u64,
}

impl Line {
    /// The sending end of `link`.
    pub fn new(net: &Network, link: LinkRef, next: Next, ingress: u16, chance: SmallStream) -> Self {
        let built = net.topology().link(link);
        Self {
            busy_until: 0,
            pace: Pace::new(built.rate),
            delay: built.delay.0,
            next,
            ingress,
            link,
            faulty: net.schedule(link).is_some(),
            chance,
            packets: 0,
            bytes: 0,
            data_packets: 0,
            lost: 0,
            data_lost: 0,
            busy: 0,
        }
    }

    /// Earliest time at which a packet of `size` bytes that starts at `start` can be at the other end.
    #[inline]
    pub fn reaches(&self, start: u64, size: u32) -> u64 {
        start + self.pace.time(size) + self.delay
    }

    /// Time that the link was sending.
    pub fn busy(&self) -> u64 {
        self.busy
    }

    /// Puts `packet` on the link at `start`. `None`: the link loses it.
    #[inline(always)]
    pub fn send(&mut self, net: &Network, start: u64, mut packet: Packet) -> Option<Emission> {
        let size = packet.wire();
        let time = if self.faulty { self.pace_at(net, start).time(size) } else { self.pace.time(size) };
        self.busy_until = start + time;
        self.busy += time;
        self.packets += 1;
        self.bytes += u64::from(size);
        self.data_packets += u64::from(!packet.is_control());
        let arrival = self.busy_until + self.delay;
        if self.faulty && self.loses(net, start, arrival) {
            self.lost += 1;
            self.data_lost += u64::from(packet.was_data());
            return None;
        }
        packet.arrives(arrival, self.ingress);
        let target = net.target(&self.next, &packet, &mut self.chance, arrival);
        Some(Emission { target, packet })
    }

    #[cold]
    fn pace_at(&self, net: &Network, at: u64) -> Pace {
        net.schedule(self.link).map_or(self.pace, |schedule| Pace::new(schedule.at(Instant(at)).rate))
    }

    /// Down at any time between first bit and arrival, lossy, or damaging: damage is noticed at the other end, which
    /// discards the packet.
    #[cold]
    fn loses(&mut self, net: &Network, start: u64, arrival: u64) -> bool {
        let Some(schedule) = net.schedule(self.link) else { return false };
        let state = schedule.at(Instant(start));
        let within = |at: &Instant| start < at.0 && at.0 < arrival;
        let cut = schedule.changes().iter().any(|(at, state)| within(at) && !state.up);
        let kept = (1.0 - state.loss) * (1.0 - state.corrupt);
        !state.up || cut || self.chance.unit() >= kept
    }
}
