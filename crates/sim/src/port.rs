//! The egress port of a switch: arrivals, queue, link.

use pullnet_qdisc::{Discipline, Item, Outcome, Ring};
use pullnet_units::NodeId;

use crate::agenda::NOT_ARMED;
use crate::clock::Window;
use crate::fingerprint::Fingerprint;
use crate::line::{Emission, Line};
use crate::network::Network;
use crate::packet::Packet;
use crate::prefetch::prefetch;
use crate::probe::Held;

/// Marks packets that arrive from another port of the same switch and not by a link.
const RECIRCULATED: u16 = 1 << 15;

/// What a port counts beside what its line counts.
#[derive(Clone, Copy, Default, Debug)]
pub struct PortCounts {
    /// Data packets that lost their payload here.
    pub trimmed: u64,
    /// Headers sent back from here.
    pub returned: u64,
    /// Packets dropped here.
    pub dropped: u64,
    /// Of these, packets that were sent as data.
    pub data_dropped: u64,
    /// Most data packets held.
    pub peak_data: u32,
    /// Most control packets waiting.
    pub peak_control: u32,
}

/// What a visit needs from outside.
pub struct PortContext<'a, Q: Discipline<Packet>> {
    /// Everything that does not change.
    pub net: &'a Network,
    /// The queue's settings.
    pub rules: &'a Q::Rules,
    /// What the ports of the switch share.
    pub shared: &'a mut Q::Shared,
    /// Where packets go.
    pub out: &'a mut Vec<Emission>,
    /// The current window.
    pub window: Window,
}

/// One egress port. What every packet needs comes first.
#[derive(Debug)]
#[repr(C)]
pub struct Port<Q> {
    /// Packets on their way here, in order of arrival.
    inbox: Ring<Packet>,
    /// The window that the port is to be visited in.
    pub armed: u64,
    /// When the packet in service has left; `u64::MAX` if there is none.
    completion: u64,
    /// Data packets in the inbox, and their bytes.
    coming_data: u32,
    coming_bytes: u32,
    queue: Q,
    /// The link.
    pub line: Line,
    /// The switch that it belongs to.
    pub node: NodeId,
    /// Index among the ports of the switch.
    index: u16,
    /// What happened here.
    pub counts: PortCounts,
    /// Hash of it.
    pub fingerprint: Fingerprint,
    /// Occupancy, if asked for.
    pub held: Option<Box<Held>>,
}

impl<Q: Discipline<Packet>> Port<Q> {
    /// An empty port.
    pub fn new(rules: &Q::Rules, line: Line, node: NodeId, index: u16, held: Option<Box<Held>>) -> Self {
        Self {
            inbox: Ring::default(),
            armed: NOT_ARMED,
            completion: u64::MAX,
            coming_data: 0,
            coming_bytes: 0,
            queue: Q::new(rules),
            line,
            node,
            index,
            counts: PortCounts::default(),
            fingerprint: Fingerprint::default(),
            held,
        }
    }

    /// A packet is on its way here. Returns the last window in which the port can be visited for its sake.
    #[inline]
    pub fn expect(&mut self, net: &Network, rules: &Q::Rules, window: Window, packet: Packet) -> u64 {
        self.inbox.insert_sorted(packet, |packet| packet.rank(window));
        if !packet.is_control() {
            self.coming_data += 1;
            self.coming_bytes += packet.wire();
        }
        let free = self.free_at();
        let at = packet.time(window);
        let out = self.line.reaches(at.max(free), self.least_size(rules, &packet));
        let due = net.grid.index(out).saturating_sub(1);
        if self.queue.may_return(rules, self.inbox.len() as u32) { due.min(net.grid.index(at)) } else { due }
    }

    /// The length that an arriving packet may have when it leaves.
    #[inline]
    fn least_size(&self, rules: &Q::Rules, packet: &Packet) -> u32 {
        let whole = packet.wire();
        if packet.is_control() || !self.queue.may_trim(rules, self.coming_data, self.coming_bytes.into()) {
            return whole;
        }
        Q::trimmed_size(rules).map_or(whole, |trimmed| trimmed.min(whole))
    }

    /// When the link is free as far as is known; 0 if it is.
    #[inline]
    fn free_at(&self) -> u64 {
        if self.completion == u64::MAX { 0 } else { self.completion }
    }

    #[inline]
    fn next_arrival(&self, window: Window) -> u64 {
        self.inbox.front().map_or(u64::MAX, |packet| packet.time(window))
    }

    /// When the next thing happens here; `u64::MAX` for nothing.
    #[inline]
    pub fn next_event(&self, window: Window) -> u64 {
        self.next_arrival(window).min(self.completion)
    }

    /// Lets everything happen that lies in the window.
    #[inline]
    pub fn visit(&mut self, cx: &mut PortContext<'_, Q>) {
        while self.step(cx) {}
    }

    /// Lets the next thing happen if it lies in the window. A completion comes before an arrival at the same time.
    #[inline]
    pub fn step(&mut self, cx: &mut PortContext<'_, Q>) -> bool {
        let (arrival, completion) = (self.next_arrival(cx.window), self.completion);
        if arrival.min(completion) >= cx.window.end {
            return false;
        }
        if completion <= arrival {
            self.queue.complete(cx.rules, cx.shared);
            self.completion = u64::MAX;
            self.note_held(completion);
        } else {
            self.admit(cx, arrival);
        }
        if self.completion == u64::MAX {
            self.serve(cx, completion.min(arrival));
        }
        true
    }

    /// The next packet goes into service.
    #[inline(always)]
    fn serve(&mut self, cx: &mut PortContext<'_, Q>, now: u64) {
        let Some(packet) = self.queue.dequeue(cx.rules, cx.shared) else { return };
        if let Some(emission) = self.line.send(cx.net, now, packet) {
            cx.out.push(emission);
        }
        self.completion = self.line.busy_until;
    }

    #[inline(always)]
    fn admit(&mut self, cx: &mut PortContext<'_, Q>, now: u64) {
        let Some(packet) = self.inbox.pop() else { return };
        if !packet.is_control() {
            self.coming_data -= 1;
            self.coming_bytes -= packet.wire();
        }
        let coin = || self.line.chance.coin();
        let outcome = self.queue.enqueue(cx.rules, cx.shared, packet, coin);
        if outcome != Outcome::Queued {
            self.note(cx, now, &outcome);
        }
        self.counts.peak_data = self.counts.peak_data.max(self.queue.data_held());
        self.counts.peak_control = self.counts.peak_control.max(self.queue.control_held());
        self.note_held(now);
    }

    /// Counts what became of a packet that did not simply wait, and sends headers back.
    #[inline(never)]
    fn note(&mut self, cx: &mut PortContext<'_, Q>, now: u64, outcome: &Outcome<Packet>) {
        match *outcome {
            Outcome::Queued => {}
            Outcome::Trimmed(header) => {
                self.counts.trimmed += 1;
                self.fingerprint.add(now, header.identity(), 1);
            }
            Outcome::Returned(header) => {
                self.counts.trimmed += 1;
                self.counts.returned += 1;
                self.fingerprint.add(now, header.identity(), 2);
                self.send_back(cx, now, header);
            }
            Outcome::Dropped { packet, trimmed, .. } => {
                self.counts.trimmed += u64::from(trimmed);
                self.counts.dropped += 1;
                self.counts.data_dropped += u64::from(packet.was_data());
                self.fingerprint.add(now, packet.identity(), 3);
            }
        }
    }

    /// A header goes back to its sender by another port of this switch, as through a recirculation port: it is there
    /// after one window.
    fn send_back(&mut self, cx: &mut PortContext<'_, Q>, now: u64, mut header: Packet) {
        let arrival = now + cx.net.grid.length();
        header.turn_round();
        header.arrives(arrival, RECIRCULATED | self.index);
        let target = cx.net.target(&cx.net.next_at(self.node), &header, &mut self.line.chance, arrival);
        cx.out.push(Emission { target, packet: header });
    }

    #[inline]
    fn note_held(&mut self, now: u64) {
        if let Some(held) = &mut self.held {
            held.set(now, self.queue.data_held());
        }
    }

    /// The last window in which the port can be visited so that everything that leaves it is known in time; `None` if
    /// nothing is to be done.
    #[inline]
    pub fn due(&self, net: &Network, rules: &Q::Rules, window: Window) -> Option<u64> {
        let free = self.free_at();
        let mut out = u64::MAX;
        if let Some(size) = self.queue.shortest_next() {
            out = self.line.reaches(free, size);
        }
        for packet in self.inbox.iter() {
            let at = packet.time(window);
            if at >= out {
                break;
            }
            out = out.min(self.line.reaches(at.max(free), self.least_size(rules, packet)));
        }
        if out == u64::MAX {
            return None;
        }
        let due = net.grid.index(out) - 1;
        match self.inbox.front() {
            Some(first) if self.queue.may_return(rules, self.inbox.len() as u32) => {
                Some(due.min(net.grid.index(first.time(window))))
            }
            _ => Some(due),
        }
    }

    /// Brings what [`Port::expect`] will write into the cache.
    #[inline]
    pub fn prefetch_inbox(&self) {
        prefetch(self.inbox.end());
    }

    /// Brings what [`Port::visit`] will read first into the cache.
    #[inline]
    pub fn prefetch_first(&self) {
        prefetch(self.inbox.begin());
    }

    /// Visits every packet that is on its way here or waits here.
    pub fn packets(&self, visit: &mut dyn FnMut(&Packet)) {
        self.inbox.iter().for_each(&mut *visit);
        self.queue.waiting(visit);
    }
}
