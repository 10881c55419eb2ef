//! The egress port of a switch: arrivals, queue, link.

use core::hint::cold_path;
use core::mem::offset_of;

use pullnet_qdisc::{Context, Discipline, Item, Outcome, Rank, Ring, Signal, order};
use pullnet_rng::SmallRandomStream;
use pullnet_transport::{Fate, Hop, Words};
use pullnet_units::{BitsPerSec, Instant, NodeId, Picos};

use crate::agenda::NOT_ARMED;
use crate::clock::Window;
use crate::counts::PortCounts;
use crate::fingerprint::Fingerprint;
use crate::hops::LineState;
use crate::line::Line;
use crate::network::Network;
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::prefetch::{Places, prefetch, prefetch_near};
use crate::probe::{Held, Sample};
use crate::process::ProcessId;

/// Marks packets that arrive from another port of the same switch and not by a link.
const RECIRCULATED: u16 = 1 << 15;

/// Surroundings of a visit to any process.
pub struct Env<'a, W> {
    /// The network, which does not change.
    pub net: &'a Network<W>,
    /// Packets that leave.
    pub out: &'a mut Outbox<W>,
    /// The current window.
    pub window: Window,
}

/// Surroundings of one visit of a port.
pub struct PortContext<'a, W: Words, Q: Discipline<Packet<W>>> {
    /// The window, the network and the outbox.
    pub env: Env<'a, W>,
    /// The queue's settings.
    pub rules: &'a Q::Rules,
    /// State that the ports of the switch share.
    pub shared: &'a mut Q::Shared,
}

/// Aligned to a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct OwnLine<T>(T);

/// Flag of an idle link, beside the time since when it is idle.
pub const IDLE: Instant = Instant(1 << 63);

/// Ranks that decide the next event at a port.
struct Ahead {
    /// Rank of the next arrival.
    arrival: u64,
    /// An arrival with a lower rank lies in the window and comes before any other event.
    bound: u64,
}

/// Counters of rare events at a port, and the port's position.
#[derive(Debug)]
pub struct Incidents {
    /// The switch that the port belongs to.
    pub node: NodeId,
    /// Index among the ports of the switch.
    index: u16,
    /// Numbers of events.
    pub counts: PortCounts,
    /// Hash of them.
    pub fingerprint: Fingerprint,
}

/// Surroundings of the queue of one port at one time. Rare branches of a discipline take a copy ([`Context::apart`]),
/// so that the fields stay in registers on the way of most packets.
struct Surroundings<'a, 'b, W> {
    env: &'a mut Env<'b, W>,
    now: Instant,
    wake: &'a mut Instant,
    line: &'a mut Line,
    incidents: &'a mut Incidents,
}

impl<'b, W: Words> Surroundings<'_, 'b, W> {
    /// Returns a header to its sender by another port of this switch, as through a recirculation port.
    fn send_back(&mut self, mut header: Packet<W>) {
        let (net, node, index) = (self.env.net, self.incidents.node, self.incidents.index);
        let arrival = self.now + net.return_latency;
        header.turn_round();
        header.arrives(arrival, order::place(arrival.0, net.salt(node), RECIRCULATED | index));
        let target = net.target(&net.next_at(node), &header, &mut self.line.chance, arrival);
        self.env.out.push(target, header);
    }

    fn chance(&mut self) -> &mut SmallRandomStream {
        &mut self.line.chance
    }

    #[inline(always)]
    fn copied(&mut self) -> Surroundings<'_, 'b, W> {
        let Self { env, now, wake, line, incidents } = self;
        Surroundings { env, now: *now, wake, line, incidents }
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, outcome: Outcome<Packet<W>>) {
        if let Some(noted) = &mut self.env.out.noted {
            noted.push(outcome);
        }
        let Incidents { counts, fingerprint, .. } = self.incidents;
        match outcome {
            Outcome::Marked(packet) => {
                counts.marked += 1;
                fingerprint.add(self.now, packet.identity(), 8);
            }
            Outcome::Trimmed(header) => {
                counts.trimmed += 1;
                fingerprint.add(self.now, header.identity(), 1);
            }
            Outcome::Returned { header, trimmed } => {
                counts.trimmed += u64::from(trimmed);
                counts.returned += 1;
                fingerprint.add(self.now, header.identity(), 2);
                self.send_back(header);
            }
            Outcome::Dropped { packet, trimmed, .. } => {
                counts.trimmed += u64::from(trimmed);
                counts.dropped += 1;
                counts.data_dropped += u64::from(packet.was_data());
                counts.returned_dropped += u64::from(packet.fate() == Fate::Returned);
                self.line.note_drop(self.env.net, &packet);
                fingerprint.add(self.now, packet.identity(), 3);
            }
        }
    }
}

impl<W: Words> Context<Packet<W>> for Surroundings<'_, '_, W> {
    fn now(&self) -> Instant {
        self.now
    }

    fn rate(&self) -> BitsPerSec {
        self.line.rate()
    }

    fn coin(&mut self) -> bool {
        self.chance().coin()
    }

    fn unit(&mut self) -> f64 {
        self.chance().unit()
    }

    #[inline(always)]
    fn outcome(&mut self, outcome: Outcome<Packet<W>>) {
        self.copied().note(outcome);
    }

    #[inline(always)]
    fn apart(&mut self) -> impl Context<Packet<W>> {
        self.copied()
    }

    fn rank(&self, packet: &Packet<W>) -> Rank {
        let Some(view) = self.env.net.headers.view(packet.packed()) else { return Rank::default() };
        // The opener numbers a connection: its ACKs may have the same number as another connection's data.
        let direction = u64::from(packet.was_data()) << 63;
        let flow = direction | u64::from(packet.from().0) << 32 | u64::from(view.conn.get());
        Rank { flow, rank: view.rank }
    }

    fn show(&mut self, packet: &mut Packet<W>, hop: &mut dyn Hop) {
        if let Some(written) = self.env.net.headers.at_hop(packet.packed(), hop) {
            packet.rewrite(written);
        }
    }

    fn wake(&mut self, at: Instant) {
        *self.wake = (*self.wake).min(at.max(self.now + Picos(1)));
    }

    fn paused(&self) -> u8 {
        self.line.pause.here
    }

    fn signal(&mut self, ingress: u16, signal: Signal) {
        self.env.out.signals.push((ingress, signal));
    }
}

/// Lets the queue of a port act at a time: `|queue, rules, shared, cx|`.
macro_rules! act {
    ($port:ident, $cx:ident, $now:expr, |$queue:ident, $rules:ident, $shared:ident, $context:ident| $body:expr) => {{
        let Port { queue: OwnLine($queue), wake, line, incidents, .. } = $port;
        let PortContext { env, rules: $rules, shared: $shared } = $cx;
        let $context = &mut Surroundings { env, now: $now, wake, line, incidents };
        $body
    }};
}

/// One egress port, with fields in the order of their use. An arriving packet touches two cache lines: that with the
/// head of the inbox at its end, and that of its slot in the inbox. A visit also touches the line before, and the
/// queue.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port<W, Q> {
    /// Occupancy; `None` if no probe records it.
    pub held: Option<Box<Held>>,
    /// When the queue wants to be served again, or when a pause frame is due; [`Instant::NEVER`] for never.
    wake: Instant,
    /// The link.
    pub line: Line,
    /// Window of the next planned visit.
    pub armed: u64,
    /// Time at which the packet in service has left. If the link is idle: time at which the last packet had left, with
    /// [`IDLE`].
    completion: Instant,
    /// Number of data packets, and of packets of any kind, that can still arrive before one may be trimmed or sent
    /// back. Counted at the latest visit, and reduced by later arrivals.
    data_room: i32,
    control_room: i32,
    /// Most data packets held, and most control packets waiting.
    pub peaks: [u32; 2],
    /// Packets on their way here, in order of arrival.
    inbox: Ring<Packet<W>>,
    queue: OwnLine<Q>,
    /// Rare events here.
    pub incidents: Incidents,
}

impl<W: Words, Q: Discipline<Packet<W>>> Port<W, Q> {
    /// An empty port.
    pub fn new(
        net: &Network<W>,
        rules: &Q::Rules,
        line: Line,
        node: NodeId,
        index: u16,
        held: Option<Box<Held>>,
    ) -> Self {
        let mut port = Self {
            held,
            wake: Instant::NEVER,
            line,
            armed: NOT_ARMED,
            completion: IDLE,
            data_room: 0,
            control_room: 0,
            peaks: [0; 2],
            inbox: Ring::default(),
            queue: OwnLine(Q::new(rules)),
            incidents: Incidents {
                node,
                index,
                counts: PortCounts::default(),
                fingerprint: Fingerprint::default(),
            },
        };
        port.count_room(net, rules);
        port
    }

    /// A packet is on its way here. Returns the last window in which a visit is early enough for it.
    #[inline(always)]
    pub fn expect(&mut self, net: &Network<W>, window: Window, packet: &Packet<W>) -> u64 {
        self.inbox.insert_sorted(*packet, Packet::comes_before);
        self.data_room -= i32::from(!packet.is_control());
        self.control_room -= 1;
        let at = packet.time(window);
        self.in_time(net, self.leaves(net, at, packet), || at)
    }

    /// Earliest time at which an arriving packet can be at the other end of the link.
    #[inline(always)]
    fn leaves(&self, net: &Network<W>, at: Instant, packet: &Packet<W>) -> Instant {
        let whole = !packet.is_control() && self.data_room >= 0;
        let size = if whole { packet.sent_size().into() } else { net.shortest };
        self.line.reaches(at.max(self.free_at()), size)
    }

    /// Last window in which a visit is early enough if a packet may be at the other end of the link at `out`, and the
    /// next packet arrives at `arrival`.
    #[inline(always)]
    fn in_time(&self, net: &Network<W>, out: Instant, arrival: impl FnOnce() -> Instant) -> u64 {
        let due = net.grid.index(out) - 1;
        if self.control_room >= 0 {
            return due;
        }
        cold_path();
        due.min(net.grid.index(arrival()))
    }

    /// Counts the room in the queue beside the packets that are on their way here.
    #[inline(never)]
    fn count_room(&mut self, net: &Network<W>, rules: &Q::Rules) {
        let coming_data = self.inbox.iter().filter(|packet| !packet.is_control()).count() as i32;
        let clip = |room: u32| room.min(i32::MAX as u32) as i32;
        self.data_room = clip(self.queue.0.data_room(rules, net.largest)) - coming_data;
        self.control_room = clip(self.queue.0.control_room(rules)) - self.inbox.len() as i32;
    }

    /// Earliest time at which the link can be free; a time in the past if it is free.
    #[inline]
    fn free_at(&self) -> Instant {
        Instant(self.completion.0 & !IDLE.0)
    }

    /// When the packet in service has left; a time in the past if there is none.
    pub fn sending_until(&self) -> Instant {
        self.free_at()
    }

    #[inline]
    fn next_arrival(&self, window: Window) -> Instant {
        self.inbox.front().map_or(Instant::NEVER, |packet| packet.time(window))
    }

    /// Time of the next event here; at least [`IDLE`] if there is none.
    #[inline]
    pub fn next_event(&self, window: Window) -> Instant {
        self.next_arrival(window).min(self.next_own())
    }

    /// Processes every event in the window. Returns the last window in which the next visit is early enough; `None` if
    /// no event is left. Not inlined, so that its variables stay in registers.
    #[inline(never)]
    pub fn visit(&mut self, cx: &mut PortContext<'_, W, Q>) -> Option<u64> {
        if cx.env.net.records_held {
            while self.step(cx) {}
        } else {
            let mut ahead = self.ahead(cx.env.window);
            while self.turn::<false>(cx, &mut ahead).is_some() {}
        }
        self.due(cx.env.net, cx.rules, cx.env.window)
    }

    /// Takes the next arrival out of the inbox, if an arrival is the next event.
    pub fn take_arrival(&mut self, window: Window) -> Option<Packet<W>> {
        let Ahead { arrival, bound } = self.ahead(window);
        // Copies for receivers of a group go where their tree leads.
        let free = |first: &Packet<W>| first.as_signal().is_none() && first.to().group_number().is_none();
        let is_free = self.inbox.front().is_some_and(free);
        if arrival < bound && is_free { self.inbox.pop() } else { None }
    }

    /// `packet` arrives now, at its switch and for this port.
    pub fn arrive(&mut self, cx: &mut PortContext<'_, W, Q>, packet: Packet<W>) {
        if self.held.is_some() {
            return self.arrive_recorded(cx, packet);
        }
        self.take_in::<false>(cx, packet);
    }

    /// [`Port::arrive`] at a port that records anything.
    #[cold]
    #[inline(never)]
    fn arrive_recorded(&mut self, cx: &mut PortContext<'_, W, Q>, packet: Packet<W>) {
        let now = packet.time(cx.env.window);
        self.take_in::<true>(cx, packet);
        self.record_outcomes(cx, now);
        self.record_held(now);
    }

    #[inline(always)]
    fn take_in<const RECORDS: bool>(&mut self, cx: &mut PortContext<'_, W, Q>, packet: Packet<W>) {
        let now = packet.time(cx.env.window);
        self.admit::<RECORDS>(cx, packet);
        if self.completion >= IDLE {
            self.serve::<RECORDS>(cx, now);
        }
    }

    /// Packets that wait or are in service.
    pub fn load(&self) -> u32 {
        let queue = &self.queue.0;
        queue.queued(true) + queue.queued(false) + u32::from(self.completion < IDLE)
    }

    fn record_held(&mut self, now: Instant) {
        if let Some(held) = &mut self.held {
            held.set(now, self.queue.0.data_held());
            let (queue, line, counts) = (&self.queue.0, &self.line, &self.incidents.counts);
            held.sample(now, || Sample::of(queue.data_held(), queue.queued(true), line, counts));
        }
    }

    /// Processes the next event if it lies in the window, and records occupancy if a probe wants it.
    #[inline(never)]
    pub fn step(&mut self, cx: &mut PortContext<'_, W, Q>) -> bool {
        if self.held.is_some() {
            return self.step_recorded(cx);
        }
        self.turn::<false>(cx, &mut self.ahead(cx.env.window)).is_some()
    }

    /// [`Port::step`] at a port that records anything.
    #[cold]
    #[inline(never)]
    fn step_recorded(&mut self, cx: &mut PortContext<'_, W, Q>) -> bool {
        let turn = self.turn::<true>(cx, &mut self.ahead(cx.env.window));
        if let Some(now) = turn {
            self.record_outcomes(cx, now);
            self.record_held(now);
        }
        turn.is_some()
    }

    #[inline(always)]
    fn ahead(&self, window: Window) -> Ahead {
        Ahead { arrival: self.next_rank(window), bound: self.bound(window) }
    }

    /// Rank of the next arrival.
    #[inline(always)]
    fn next_rank(&self, window: Window) -> u64 {
        self.inbox.front().map_or(u64::MAX, |packet| packet.rank(window))
    }

    /// Bound of [`Ahead`]: an arrival with a lower rank comes before the end of the packet in service, and lies in the
    /// window.
    #[inline(always)]
    fn bound(&self, window: Window) -> u64 {
        window.rank(self.next_own().min(window.end))
    }

    /// Whether the port may have an event of its own while the link is free and packets wait.
    const WAKES: bool = Q::IDLES || Q::SIGNALS;

    /// Time of the port's own next event: the packet in service has left, or the queue is to be served.
    #[inline(always)]
    fn next_own(&self) -> Instant {
        if Self::WAKES { self.completion.min(self.wake) } else { self.completion }
    }

    /// Processes the next event if it lies in the window, and returns its time. At equal times a completion comes
    /// before an arrival. `ahead` holds the ranks of the next events, and is updated. Packets are recorded only if
    /// `RECORDS`.
    #[inline(always)]
    fn turn<const RECORDS: bool>(
        &mut self,
        cx: &mut PortContext<'_, W, Q>,
        ahead: &mut Ahead,
    ) -> Option<Instant> {
        let mut now = self.next_own();
        if ahead.arrival < ahead.bound {
            let packet = self.inbox.pop()?;
            ahead.arrival = self.next_rank(cx.env.window);
            now = packet.time(cx.env.window);
            match packet.as_signal() {
                Some(signal) if Q::SIGNALS => self.obey(signal, now),
                _ => self.admit::<RECORDS>(cx, packet),
            }
            if self.completion < IDLE {
                return Some(now);
            }
        } else if Self::WAKES && now < cx.env.window.end && now < self.completion {
            self.wake = Instant::NEVER;
            if Q::SIGNALS {
                self.line.change(now);
                self.wake = self.line.next_change();
            }
            if self.completion < IDLE {
                // Until the packet in service has left, no other event matters.
                ahead.bound = self.bound(cx.env.window);
                return Some(now);
            }
        } else if now < cx.env.window.end {
            if Q::SIGNALS && self.line.pause.sending {
                self.line.pause.sending = false;
            } else {
                act!(self, cx, now, |queue, rules, shared, cx| queue.complete(rules, shared, cx));
            }
        } else {
            return None;
        }
        self.serve::<RECORDS>(cx, now);
        ahead.bound = self.bound(cx.env.window);
        Some(now)
    }

    /// The next packet goes into service.
    #[inline(always)]
    fn serve<const RECORDS: bool>(&mut self, cx: &mut PortContext<'_, W, Q>, now: Instant) {
        if Q::SIGNALS && self.line.pause.pending {
            self.completion = self.line.send_signal(cx.env.net, now, cx.env.out);
            self.wake = self.line.next_change();
            return;
        }
        let packet = act!(self, cx, now, |queue, rules, shared, cx| queue.dequeue(rules, shared, cx));
        let Some(packet) = packet else {
            self.completion = Instant(self.completion.0 | IDLE.0);
            return;
        };
        let before = RECORDS.then(|| LineState::of(&self.line));
        self.completion = self.line.send(cx.env.net, now, &packet, cx.env.out);
        if let Some(before) = before {
            self.record_service(cx, now, packet, before);
        }
    }

    /// `packet` goes into service at `now`.
    #[cold]
    #[inline(never)]
    fn record_service(
        &mut self,
        cx: &mut PortContext<'_, W, Q>,
        now: Instant,
        packet: Packet<W>,
        before: LineState,
    ) {
        self.record_outcomes(cx, now);
        if let Some(hops) = self.held.as_mut().and_then(|held| held.hops.as_mut()) {
            hops.served(cx.env.net, (now, self.completion), &packet, (&self.line, before));
        }
    }

    /// Records what the queue has done to packets.
    #[cold]
    #[inline(never)]
    fn record_outcomes(&mut self, cx: &mut PortContext<'_, W, Q>, now: Instant) {
        let (Some(held), Some(noted)) = (&mut self.held, &mut cx.env.out.noted) else { return };
        for outcome in noted.drain(..) {
            if let Some(hops) = &mut held.hops {
                hops.note(cx.env.net, &outcome);
            }
            if let Some(notes) = &mut held.notes {
                notes.note(cx.env.net, now, &outcome);
            }
        }
    }

    /// `packet` comes at `now`.
    #[cold]
    #[inline(never)]
    fn record_arrival(&mut self, net: &Network<W>, now: Instant, packet: Packet<W>) {
        let free_at = if self.completion < IDLE { self.completion } else { now };
        if let Some(hops) = self.held.as_mut().and_then(|held| held.hops.as_mut()) {
            hops.arrived(net, (now, free_at), &packet, |visit| self.queue.0.waiting(visit));
        }
    }

    /// Queues `signal` for the other end. The pause frame waits only for the packet in service.
    pub fn tell(&mut self, signal: Signal, now: Instant) {
        self.line.tell(signal, now);
        self.wake = if self.completion >= IDLE { now } else { self.line.next_change() };
    }

    /// Obeys a pause from the other end.
    #[cold]
    fn obey(&mut self, signal: Signal, now: Instant) {
        self.line.obey(signal, now);
        self.wake = self.line.next_change();
    }

    /// A packet comes in.
    #[inline(always)]
    fn admit<const RECORDS: bool>(&mut self, cx: &mut PortContext<'_, W, Q>, mut packet: Packet<W>) {
        let now = packet.time(cx.env.window);
        if Q::SIGNALS {
            packet.reveal_ingress(now, cx.env.net.salt(self.incidents.node));
        }
        if RECORDS {
            self.record_arrival(cx.env.net, now, packet);
        }
        act!(self, cx, now, |queue, rules, shared, cx| queue.enqueue(rules, shared, packet, cx));
        if RECORDS {
            self.record_outcomes(cx, now);
        }
        self.note_peaks();
    }

    /// Raises a peak if more control packets wait, or more data packets are held, than ever before. Both are looked at,
    /// for an arriving data packet may wait as a header. The number of waiting packets nearly always rules it out.
    #[inline(always)]
    fn note_peaks(&mut self) {
        let [data, control] = [false, true].map(|control| self.queue.0.queued(control));
        // A data packet in service is held and does not wait.
        if (data >= self.peaks[0].max(1)) | (control > self.peaks[1]) {
            cold_path();
            self.peaks[0] = self.peaks[0].max(self.queue.0.data_held());
            self.peaks[1] = self.peaks[1].max(control);
        }
    }

    /// Last window in which a visit is early enough for every departure to be known in time; `None` if no event is
    /// left.
    #[inline(always)]
    fn due(&mut self, net: &Network<W>, rules: &Q::Rules, window: Window) -> Option<u64> {
        // An old count, reduced by later arrivals, is a safe lower bound. It is renewed when it reaches zero.
        if self.data_room.min(self.control_room) <= 0 {
            self.count_room(net, rules);
        }
        let soonest = self.line.reaches(self.free_at(), net.shortest);
        let served = if Self::WAKES && self.wake != Instant::NEVER {
            self.free_at().max(self.wake)
        } else {
            self.free_at()
        };
        let mut out =
            self.queue.0.shortest_next(rules).map_or(Instant::NEVER, |size| self.line.reaches(served, size));
        let mut coming = 0;
        while out > soonest
            && let Some(packet) = self.inbox.get(coming)
        {
            let at = packet.time(window);
            if at >= out {
                break;
            }
            out = out.min(self.leaves(net, at, packet));
            coming += 1;
        }
        (out != Instant::NEVER).then(|| self.in_time(net, out, || self.next_arrival(window)))
    }

    /// Cache lines that [`Port::expect`] reads, for each of `ports`; the first port is process `first`.
    pub fn inboxes(ports: &[Self], first: ProcessId) -> Places<1> {
        Places::new(ports, first, offset_of!(Self, armed))
    }

    /// Prefetches memory that [`Port::expect`] will write.
    #[inline]
    pub fn prepare_slot(&self) {
        prefetch_near(self.inbox.latest());
    }

    /// Prefetches memory that [`Port::visit`] reads, without the packets.
    #[inline]
    pub fn prepare(&self) {
        let begin: *const u8 = (&raw const *self).cast();
        for line in [1, 2, 7, 12, 13] {
            prefetch(begin.wrapping_add(64 * line));
        }
    }

    /// Prefetches packets that [`Port::visit`] reads.
    #[inline]
    pub fn prepare_packets(&self) {
        [0, 2].into_iter().for_each(|index| prefetch(self.inbox.near(index)));
        self.queue.0.prefetch_targets().into_iter().for_each(prefetch);
    }

    /// Prefetches into the first-level cache the memory that [`Port::visit`] reads first.
    #[inline]
    pub fn prepare_near(&self) {
        let begin: *const u8 = (&raw const *self).cast();
        [1, 2, 7].into_iter().for_each(|line| prefetch_near(begin.wrapping_add(64 * line)));
        prefetch_near(self.inbox.near(0));
        prefetch_near(self.queue.0.prefetch_targets()[0]);
    }

    /// Visits every packet that is on its way here or waits here.
    pub fn packets(&self, visit: &mut dyn FnMut(&Packet<W>)) {
        self.inbox.iter().for_each(&mut *visit);
        self.queue.0.waiting(visit);
    }

    /// Visits every packet that waits here.
    pub fn waiting(&self, visit: &mut dyn FnMut(&Packet<W>)) {
        self.queue.0.waiting(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_qdisc::Trim;
    use pullnet_transport::Small;

    #[test]
    fn what_is_used_together_lies_together() {
        type TrimPort = Port<Small, Trim<Packet<Small>>>;
        assert_eq!(offset_of!(TrimPort, line) + Line::READ_AT_DEPARTURE, 64);
        assert_eq!(offset_of!(TrimPort, line) + Line::READ_AT_ARRIVAL, 128);
        assert_eq!(offset_of!(TrimPort, inbox), 128 + 64 - 16);
        assert_eq!(offset_of!(TrimPort, queue) % 64, 0);
        assert_eq!(Trim::<Packet<Small>>::PACKETS % 64, 0);
        assert!(size_of::<TrimPort>() <= 1088, "{}", size_of::<TrimPort>());
    }
}
