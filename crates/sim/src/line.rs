//! The sending end of a link: what NICs and switch ports have in common.

use core::hint::black_box;

use pullnet_qdisc::{Item, order};
use pullnet_rng::SmallStream;
use pullnet_topology::{LinkRef, LinkSchedule};
use pullnet_transport::Words;
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

use crate::clock::Pace;
use crate::losses::LostPackets;
use crate::network::{Network, Next};
use crate::outbox::Outbox;
use crate::packet::Packet;

/// The sending end of a link. The rare fields come first: what a packet needs are the last 64 bytes, and of these the
/// last 16 for a packet that is only on its way to this link.
#[derive(Debug)]
#[repr(C)]
pub struct Line {
    rate: BitsPerSec,
    link: LinkRef,
    /// Packets lost on the link.
    pub lost: u64,
    /// Time in service beyond what the bytes need at the built rate: the link was slower for a while.
    slower: u64,
    /// Packets lost on the link or dropped in front of it; `None` as long as there are none.
    losses: Option<Box<LostPackets>>,
    /// Coins of the queue, choices at the other end, and losses on the link.
    pub chance: SmallStream,
    next: Next,
    /// Bytes sent.
    bytes: u64,
    /// Data and control packets sent.
    packets: [u64; 2],
    delay: u64,
    /// [`Pace::NONE`] for a link that does not stay sound.
    pace: Pace,
    /// Index of this link at its other end.
    ingress: u16,
    /// Salt of the order of simultaneous arrivals there.
    salt: u16,
}

impl Line {
    /// The sending end of `link`.
    pub fn new<W: Words>(net: &Network<W>, link: LinkRef, next: Next, chance: SmallStream) -> Self {
        let built = net.topology().link(link);
        let (ingress, salt) = net.arrival(link);
        Self {
            salt,
            delay: built.delay.0,
            pace: if net.schedule(link).is_some() { Pace::NONE } else { Pace::new(built.rate) },
            ingress,
            next,
            chance,
            packets: [0; 2],
            bytes: 0,
            rate: built.rate,
            link,
            lost: 0,
            slower: 0,
            losses: None,
        }
    }

    /// Where that begins which every packet needs, and that which one needs that is on its way here.
    #[cfg(test)]
    pub const HOT: usize = core::mem::offset_of!(Self, next);
    /// See [`Line::HOT`].
    #[cfg(test)]
    pub const HOTTEST: usize = core::mem::offset_of!(Self, delay);

    #[inline]
    fn time(&self, size: u32) -> u64 {
        self.pace.time(size, || self.rate())
    }

    /// The built rate. It lies apart and must not be read where it is not used: the compiler, who would read it ahead of
    /// loops, is not told where it lies.
    #[cold]
    #[inline(never)]
    pub fn rate(&self) -> BitsPerSec {
        black_box(self).rate
    }

    /// Earliest time at which a packet of `size` bytes that starts at `start` can be at the other end.
    #[inline]
    pub fn reaches(&self, start: u64, size: u32) -> u64 {
        start + self.time(size) + self.delay
    }

    /// Packets sent.
    pub fn packets(&self) -> u64 {
        self.packets.iter().sum()
    }

    /// Whole data packets sent.
    pub fn data_packets(&self) -> u64 {
        self.packets[0]
    }

    /// Bytes sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time that the link was sending, to within a picosecond for each packet.
    pub fn busy(&self) -> Picos {
        Picos(self.rate.serialization(Bytes(self.bytes)).0 + self.slower)
    }

    /// Puts `packet` on the link at `start`, and unless the link loses it with its arrival time into `out`. Returns when
    /// its last bit has left.
    #[inline(always)]
    pub fn send<W: Words>(
        &mut self,
        net: &Network<W>,
        start: u64,
        packet: &Packet<W>,
        out: &mut Outbox<W>,
    ) -> u64 {
        let size = packet.wire(net.trimmed);
        debug_assert!(size >= net.shortest, "a packet of {size} B, shorter than {} B", net.shortest);
        self.packets[usize::from(packet.is_control())] += 1;
        self.bytes += u64::from(size);
        let Some(time) = self.pace.exact(size) else {
            return self.send_specially(net, start, *packet, out);
        };
        self.emit(net, start + time, *packet, out);
        start + time
    }

    /// `packet` has left at `until` and will arrive.
    #[inline(always)]
    fn emit<W: Words>(&mut self, net: &Network<W>, until: u64, mut packet: Packet<W>, out: &mut Outbox<W>) {
        let arrival = until + self.delay;
        packet.arrives(arrival, order::place(arrival, self.salt, self.ingress));
        let target = net.target(&self.next, &packet, &mut self.chance, arrival);
        out.push(target, packet);
    }

    /// [`Line::send`] on a link that does not stay sound, or whose rate is no whole number of picoseconds for each byte.
    #[cold]
    #[inline(never)]
    fn send_specially<W: Words>(
        &mut self,
        net: &Network<W>,
        start: u64,
        packet: Packet<W>,
        out: &mut Outbox<W>,
    ) -> u64 {
        let (faults, size) = (net.schedule(self.link), packet.wire(net.trimmed));
        let until = start
            + match faults {
                Some(faults) => self.faulty_time(faults, start, size),
                None => self.time(size),
            };
        if faults.is_some_and(|faults| self.loses(faults, start, until + self.delay)) {
            self.note_loss(net, &packet);
        } else {
            self.emit(net, until, packet, out);
        }
        until
    }

    #[cold]
    fn note_loss<W: Words>(&mut self, net: &Network<W>, packet: &Packet<W>) {
        self.lost += 1;
        let losses = self.losses.get_or_insert_default();
        losses.data_lost += u64::from(packet.was_data());
        losses.note((net.concerns)(packet.packed()));
    }

    /// A packet was dropped in front of the link.
    #[cold]
    pub fn note_drop<W: Words>(&mut self, net: &Network<W>, packet: &Packet<W>) {
        self.losses.get_or_insert_default().note((net.concerns)(packet.packed()));
    }

    /// Packets that were lost or dropped here.
    pub fn losses(&self) -> Option<&LostPackets> {
        self.losses.as_deref()
    }

    /// Packets lost on the link that were sent as data.
    pub fn data_lost(&self) -> u64 {
        self.losses.as_ref().map_or(0, |losses| losses.data_lost)
    }

    /// Time on a link whose rate may differ from the built one.
    #[cold]
    fn faulty_time(&mut self, faults: &LinkSchedule, at: u64, size: u32) -> u64 {
        let rate = faults.at(Instant(at)).rate;
        if rate == self.rate {
            return self.time(size);
        }
        let time = Pace::new(rate).time(size, || rate);
        self.slower += time - self.time(size);
        time
    }

    /// Down at any time between first bit and arrival, lossy, or damaging: damage is noticed at the other end, which
    /// discards the packet.
    #[cold]
    fn loses(&mut self, faults: &LinkSchedule, start: u64, arrival: u64) -> bool {
        let state = faults.at(Instant(start));
        let within = |at: &Instant| start < at.0 && at.0 < arrival;
        let cut = faults.changes().iter().any(|(at, state)| within(at) && !state.up);
        let kept = (1.0 - state.loss) * (1.0 - state.corrupt);
        !state.up || cut || self.chance.unit() >= kept
    }
}
