//! The sending end of a link: the common part of NICs and switch ports.

use core::hint::black_box;

use pullnet_qdisc::{Item, Signal, order};
use pullnet_rng::SmallRandomStream;
use pullnet_topology::{CutThrough, LinkRef, LinkSchedule};
use pullnet_transport::Words;
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

use crate::clock::Pace;
use crate::losses::LostPackets;
use crate::network::{Network, Next};
use crate::outbox::{Outbox, Target};
use crate::packet::{PAUSE_FRAME, Packet};

/// The sending end of a link. Rare fields come first: a departing packet needs the last 64 bytes only, and a packet
/// that is on its way to this link needs the last 16.
#[derive(Debug)]
#[repr(C)]
pub struct Line {
    rate: BitsPerSec,
    link: LinkRef,
    /// How packets cut through at the other end; `None` before a host and a switch that stores and forwards.
    cut: Option<CutThrough>,
    /// Pauses in force at this end, and those signalled to the other end.
    pub pause: Pause,
    /// Losses, slow periods and pauses; `None` if there were none.
    trouble: Option<Box<Trouble>>,
    /// Random numbers for the queue's coins, for choices at the other end, and for losses on the link.
    pub chance: SmallRandomStream,
    next: Next,
    /// Bytes sent.
    bytes: u64,
    /// Data and control packets sent.
    packets: [u64; 2],
    delay: Picos,
    /// Without an exact time for a link that does not stay sound, and for packets that cut through.
    pace: Pace,
    /// Index of this link at its other end.
    ingress: u16,
    /// Salt of the order of simultaneous arrivals there.
    salt: u16,
}

/// Pauses on a link, in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// Priorities that may not be sent here, one bit each.
    pub here: u8,
    /// Priorities in the latest pause signal to the other end.
    told: u8,
    /// Whether that signal still waits to be sent.
    pub pending: bool,
    /// Whether a pause frame is being sent.
    pub sending: bool,
}

/// Rare state of a link: losses, slow periods and pauses. Allocated on first use.
#[derive(Default, Debug)]
struct Trouble {
    /// Packets lost on the link.
    lost: u64,
    /// Data packets that came into being as copies at the other end.
    copied: u64,
    /// Time in service beyond the time at the built rate: the link was slower for a while.
    slower: Picos,
    /// Packets lost on the link or dropped in front of it.
    losses: LostPackets,
    /// Packets that arrived here trimmed or returned, where some transport makes no use of them.
    cut: LostPackets,
    /// Pause frames sent.
    pauses: u64,
    /// Time for which some priority was paused here, until `since`.
    paused: Picos,
    /// Start of the current pause.
    since: Instant,
    /// When it ends without a further signal; `Instant::NEVER` for never.
    until: Instant,
    /// Quanta of the latest signal for the other end.
    quanta: u16,
    /// When the signal to the other end is repeated; `Instant::NEVER` for never.
    repeat: Instant,
}

impl Line {
    /// The sending end of `link`.
    pub fn new<W: Words>(net: &Network<W>, link: LinkRef, next: Next, chance: SmallRandomStream) -> Self {
        let built = net.topology().link(link);
        let (ingress, salt) = net.arrival(link);
        let cut = net.topology().cut_through.filter(|_| !matches!(next, Next::Host(_)));
        // Packets that may have to be copied, and those that cut through, take the way of packets on links that do not stay
        // sound: others pay nothing for it.
        let pace = match (net.schedule(link).is_some() || net.groups.is_some(), cut) {
            (true, _) => Pace::NONE,
            (false, None) => Pace::new(built.rate),
            (false, Some(_)) => Pace::new(built.rate).cutting(),
        };
        Self {
            salt,
            delay: built.delay,
            pace,
            cut,
            ingress,
            next,
            chance,
            packets: [0; 2],
            bytes: 0,
            rate: built.rate,
            link,
            pause: Pause { here: 0, told: 0, pending: false, sending: false },
            trouble: None,
        }
    }

    /// Offset of the fields read for every departing packet ([`Line::READ_AT_ARRIVAL`]: also for every arriving one).
    #[cfg(test)]
    pub const READ_AT_DEPARTURE: usize = core::mem::offset_of!(Self, next);
    /// See [`Line::READ_AT_DEPARTURE`].
    #[cfg(test)]
    pub const READ_AT_ARRIVAL: usize = core::mem::offset_of!(Self, delay);

    #[inline]
    fn time(&self, size: u32) -> Picos {
        self.pace.time(size, || self.rate())
    }

    /// Built rate. Cold field: `black_box` stops the compiler from hoisting this load out of loops, which would cost a
    /// cache miss per packet.
    #[cold]
    #[inline(never)]
    pub fn rate(&self) -> BitsPerSec {
        black_box(self).rate
    }

    /// Earliest time at which a packet of `size` bytes that starts at `start` can be at the other end.
    #[inline]
    pub fn reaches(&self, start: Instant, size: u32) -> Instant {
        let Some(time) = self.pace.exact(size) else { return self.reaches_specially(start, size) };
        start + time + self.delay
    }

    /// [`Line::reaches`] where a byte does not take a whole number of picoseconds, or packets cut through.
    #[inline(never)]
    fn reaches_specially(&self, start: Instant, size: u32) -> Instant {
        start + self.time(self.cut.map_or(size, |cut| size.min(cut.head))) + self.delay
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
        let slower = self.trouble.as_ref().map_or(Picos::ZERO, |trouble| trouble.slower);
        self.rate.serialization(Bytes(self.bytes)).saturating_add(slower)
    }

    /// Puts `packet` on the link at `start`. Pushes it to `out` with its arrival time unless the link loses it. Returns
    /// when its last bit has left.
    #[inline(always)]
    pub fn send<W: Words>(
        &mut self,
        net: &Network<W>,
        start: Instant,
        packet: &Packet<W>,
        out: &mut Outbox<W>,
    ) -> Instant {
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
    fn emit<W: Words>(
        &mut self,
        net: &Network<W>,
        until: Instant,
        mut packet: Packet<W>,
        out: &mut Outbox<W>,
    ) {
        let arrival = until + self.delay;
        packet.arrives(arrival, order::place(arrival.0, self.salt, self.ingress));
        let target = net.target(&self.next, &packet, &mut self.chance, arrival);
        out.push(target, packet);
    }

    /// When a packet whose first bit leaves at `start` and whose last one at `until` arrives for a port of rate `egress`: with its
    /// last bit, or with as much of it as the switch needs to cut through.
    fn arrival<W: Words>(
        &self,
        net: &Network<W>,
        (start, until): (Instant, Instant),
        packet: &Packet<W>,
        egress: BitsPerSec,
    ) -> Instant {
        let Some(cut) = self.cut else { return until + self.delay };
        let rate = net.schedule(self.link).map_or(self.rate, |faults| faults.at(start).rate);
        let size = packet.wire(net.trimmed);
        let needed = cut.needed(size.into(), rate, egress);
        if needed == u64::from(size) {
            return until + self.delay;
        }
        start + rate.serialization(Bytes(needed)) + self.delay
    }

    /// [`Line::send`] for a link with faults, with packets that are copied or cut through, or whose rate is not a whole number of
    /// picoseconds per byte.
    #[cold]
    #[inline(never)]
    fn send_specially<W: Words>(
        &mut self,
        net: &Network<W>,
        start: Instant,
        packet: Packet<W>,
        out: &mut Outbox<W>,
    ) -> Instant {
        let (faults, size) = (net.schedule(self.link), packet.wire(net.trimmed));
        let until = start + self.time_at(net, start, size);
        if faults.is_some_and(|faults| self.loses(faults, start, until + self.delay)) {
            self.note_loss(net, &packet);
        } else if packet.to().group_number().is_some()
            && net.groups.is_some()
            && !matches!(self.next, Next::Host(_))
        {
            self.emit_copies(net, (start, until), packet, out);
        } else if self.cut.is_some() {
            self.emit_early(net, (start, until), packet, out);
        } else {
            self.emit(net, until, packet, out);
        }
        until
    }

    /// `packet` leaves during `span`, and cuts through at the switch that it goes to.
    fn emit_early<W: Words>(
        &mut self,
        net: &Network<W>,
        span: (Instant, Instant),
        packet: Packet<W>,
        out: &mut Outbox<W>,
    ) {
        let head = self.reaches(span.0, packet.wire(net.trimmed));
        let target = net.target(&self.next, &packet, &mut self.chance, head);
        let arrival = self.arrival(net, span, &packet, net.egress_rate(&self.next, &packet, target));
        out.push(target, self.arriving(packet, arrival));
    }

    /// `packet` as it arrives at the other end at `arrival`.
    fn arriving<W: Words>(&self, mut packet: Packet<W>, arrival: Instant) -> Packet<W> {
        packet.arrives(arrival, order::place(arrival.0, self.salt, self.ingress));
        packet
    }

    /// `packet` leaves during `span`, and the switch that it goes to copies it for each of its ports that lead to receivers.
    fn emit_copies<W: Words>(
        &mut self,
        net: &Network<W>,
        span: (Instant, Instant),
        packet: Packet<W>,
        out: &mut Outbox<W>,
    ) {
        let mut copies = 0;
        for port in net.copies(self.link, &packet, span.1 + self.delay) {
            copies += 1;
            let arrival = self.arrival(net, span, &packet, net.port_rate(port));
            out.push(Target::Port(port), self.arriving(packet, arrival));
        }
        if copies == 0 {
            // No receiver is behind that switch any more: the tree has changed while the packet was on its way.
            return self.note_loss(net, &packet);
        }
        if packet.was_data() {
            self.trouble.get_or_insert_default().copied += copies - 1;
        }
    }

    /// Data packets that came into being as copies at the other end.
    pub fn copied(&self) -> u64 {
        self.trouble.as_ref().map_or(0, |trouble| trouble.copied)
    }

    /// Queues `signal` for the other end; the pause frame leaves as soon as the link is free.
    pub fn tell(&mut self, signal: Signal, now: Instant) {
        self.pause.told = signal.paused;
        self.pause.pending = true;
        let lasts = self.quanta(signal);
        let trouble = self.trouble.get_or_insert_default();
        trouble.quanta = signal.quanta;
        trouble.repeat = lasts.map_or(Instant::NEVER, |lasts| now + Picos(lasts.0 / 2));
    }

    /// Length of a pause in picoseconds; `None` if it does not end by itself.
    fn quanta(&self, signal: Signal) -> Option<Picos> {
        let timed = signal.paused != 0 && signal.quanta != 0;
        timed.then(|| self.rate.serialization(Bytes(64 * u64::from(signal.quanta))))
    }

    /// Obeys `signal` from the other end, which arrives at `now`.
    pub fn obey(&mut self, signal: Signal, now: Instant) {
        let (until, trouble) = (self.quanta(signal), self.trouble.get_or_insert_default());
        if self.pause.here != 0 {
            trouble.paused = trouble.paused.saturating_add(now.since(trouble.since));
        }
        trouble.since = now;
        trouble.until = until.map_or(Instant::NEVER, |lasts| now + lasts);
        self.pause.here = signal.paused;
    }

    /// When a pause ends by itself, or its signal is repeated.
    pub fn next_change(&self) -> Instant {
        let Some(trouble) = &self.trouble else { return Instant::NEVER };
        let end = if self.pause.here == 0 { Instant::NEVER } else { trouble.until };
        let repeats = self.pause.told != 0 && !self.pause.pending;
        if repeats { end.min(trouble.repeat) } else { end }
    }

    /// Ends and repeats the pauses that are due at `now`.
    pub fn change(&mut self, now: Instant) {
        if self.pause.here != 0 && self.trouble.as_ref().is_some_and(|trouble| trouble.until <= now) {
            self.obey(Signal { paused: 0, quanta: 0 }, now);
        }
        let Some(trouble) = &self.trouble else { return };
        if self.pause.told != 0 && trouble.repeat <= now {
            let signal = Signal { paused: self.pause.told, quanta: trouble.quanta };
            self.tell(signal, now);
        }
    }

    /// Puts the pause frame that is pending on the link at `start`. Returns when its last bit has left.
    #[cold]
    #[inline(never)]
    pub fn send_signal<W: Words>(
        &mut self,
        net: &Network<W>,
        start: Instant,
        out: &mut Outbox<W>,
    ) -> Instant {
        let trouble = self.trouble.get_or_insert_default();
        trouble.pauses += 1;
        self.pause = Pause { pending: false, sending: true, ..self.pause };
        let signal = Signal { paused: self.pause.told, quanta: trouble.quanta };
        let mut packet = Packet::signal(signal, PAUSE_FRAME);
        self.packets[1] += 1;
        self.bytes += u64::from(PAUSE_FRAME);
        let until = start + self.time_at(net, start, PAUSE_FRAME.into());
        let arrival = until + self.delay;
        let faults = net.schedule(self.link);
        if faults.is_some_and(|faults| self.loses(faults, start, arrival)) {
            self.note_loss(net, &packet);
        } else {
            packet.arrives(arrival, order::place(arrival.0, self.salt, self.ingress));
            out.push(net.other_end(self.link), packet);
        }
        until
    }

    /// Pause frames sent, and how long some priority was paused here until `now`.
    pub fn pauses(&self, now: Instant) -> (u64, Picos) {
        let Some(trouble) = &self.trouble else { return (0, Picos::ZERO) };
        let still = if self.pause.here == 0 { Picos::ZERO } else { now.since(trouble.since) };
        (trouble.pauses, trouble.paused.saturating_add(still))
    }

    #[cold]
    fn note_loss<W: Words>(&mut self, net: &Network<W>, packet: &Packet<W>) {
        if packet.as_signal().is_none() {
            let trouble = self.trouble.get_or_insert_default();
            trouble.lost += 1;
            trouble.losses.data_lost += u64::from(packet.was_data());
            trouble.losses.note(net.headers.about(packet.packed()));
        }
    }

    /// Notes a packet that was dropped in front of the link.
    #[cold]
    pub fn note_drop<W: Words>(&mut self, net: &Network<W>, packet: &Packet<W>) {
        self.trouble.get_or_insert_default().losses.note(net.headers.about(packet.packed()));
    }

    /// Notes a packet that has arrived at this end trimmed or returned.
    #[cold]
    pub fn note_cut<W: Words>(&mut self, net: &Network<W>, packet: &Packet<W>) {
        self.trouble.get_or_insert_default().cut.note(net.headers.about(packet.packed()));
    }

    /// Packets that arrived here trimmed or returned, as far as [`Line::note_cut`] was told.
    pub fn cut(&self) -> Option<&LostPackets> {
        self.trouble.as_ref().map(|trouble| &trouble.cut)
    }

    /// Packets that were lost or dropped here.
    pub fn losses(&self) -> Option<&LostPackets> {
        self.trouble.as_ref().map(|trouble| &trouble.losses)
    }

    /// Packets lost on the link, without pause frames.
    pub fn lost(&self) -> u64 {
        self.trouble.as_ref().map_or(0, |trouble| trouble.lost)
    }

    /// Packets lost on the link that were sent as data.
    pub fn data_lost(&self) -> u64 {
        self.losses().map_or(0, |losses| losses.data_lost)
    }

    /// Time on the link for `size` bytes that start at `at`.
    fn time_at<W: Words>(&mut self, net: &Network<W>, at: Instant, size: u32) -> Picos {
        match net.schedule(self.link) {
            Some(faults) => self.faulty_time(faults, at, size),
            None => self.time(size),
        }
    }

    /// Time on a link whose rate may differ from the built one.
    #[cold]
    fn faulty_time(&mut self, faults: &LinkSchedule, at: Instant, size: u32) -> Picos {
        let rate = faults.at(at).rate;
        if rate == self.rate {
            return self.time(size);
        }
        let time = Pace::new(rate).time(size, || rate);
        let slower = time - self.time(size);
        self.trouble.get_or_insert_default().slower += slower;
        time
    }

    /// Whether the link loses a packet: down at any time between first bit and arrival, lossy, or corrupting. The other
    /// end detects the damage and discards the packet.
    #[cold]
    fn loses(&mut self, faults: &LinkSchedule, start: Instant, arrival: Instant) -> bool {
        let state = faults.at(start);
        let within = |at: &Instant| start < *at && *at < arrival;
        let cut = faults.changes().iter().any(|(at, state)| within(at) && !state.up);
        let kept = (1.0 - state.loss) * (1.0 - state.corrupt);
        !state.up || cut || self.chance.unit() >= kept
    }
}
