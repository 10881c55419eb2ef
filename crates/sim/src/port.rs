//! The egress port of a switch: arrivals, queue, link.

use pullnet_qdisc::{Discipline, Item, Outcome, Ring};
use pullnet_transport::Fate;
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
#[repr(C)]
pub struct PortCounts {
    /// Most data packets held.
    pub peak_data: u32,
    /// Most control packets waiting.
    pub peak_control: u32,
    /// Whole data packets sent.
    pub data_packets: u64,
    /// Data packets that lost their payload here.
    pub trimmed: u64,
    /// Headers sent back from here.
    pub returned: u64,
    /// Packets dropped here.
    pub dropped: u64,
    /// Of these, packets that were sent as data.
    pub data_dropped: u64,
    /// Of these, headers that had been sent back before.
    pub returned_dropped: u64,
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

/// Begins a cache line.
#[derive(Debug)]
#[repr(align(64))]
struct OwnLine<T>(T);

/// One egress port. Fields are in the order of their use: a packet that comes in touches the first cache line, a visit
/// the first four.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port<Q> {
    /// Packets on their way here, in order of arrival.
    inbox: Ring<Packet>,
    /// The window that the port is to be visited in.
    pub armed: u64,
    /// When the packet in service has left; `u64::MAX` if there is none.
    completion: u64,
    /// How many more data packets, and packets of any kind, can come before one may be trimmed, or sent back: as the
    /// latest visit left it, less what has come since.
    data_room: i32,
    control_room: i32,
    /// The link.
    pub line: Line,
    queue: OwnLine<Q>,
    /// Occupancy, if asked for.
    pub held: Option<Box<Held>>,
    /// What happened here.
    pub counts: PortCounts,
    /// Hash of it.
    pub fingerprint: Fingerprint,
    /// The switch that it belongs to.
    pub node: NodeId,
    /// Index among the ports of the switch.
    index: u16,
}

impl<Q: Discipline<Packet>> Port<Q> {
    /// An empty port.
    pub fn new(
        net: &Network,
        rules: &Q::Rules,
        line: Line,
        node: NodeId,
        index: u16,
        held: Option<Box<Held>>,
    ) -> Self {
        let mut port = Self {
            inbox: Ring::default(),
            armed: NOT_ARMED,
            completion: u64::MAX,
            data_room: 0,
            control_room: 0,
            queue: OwnLine(Q::new(rules)),
            line,
            node,
            index,
            counts: PortCounts::default(),
            fingerprint: Fingerprint::default(),
            held,
        };
        port.count_room(net, rules);
        port
    }

    /// A packet is on its way here. Returns the last window in which the port can be visited for its sake.
    #[inline(always)]
    pub fn expect(&mut self, net: &Network, rules: &Q::Rules, window: Window, packet: Packet) -> u64 {
        self.inbox.insert_sorted(packet, |packet| packet.rank(window));
        self.data_room -= i32::from(!packet.is_control());
        self.control_room -= 1;
        let at = packet.time(window);
        let out = self.line.reaches(at.max(self.free_at()), self.least_size(rules, &packet));
        let due = net.grid.index(out).saturating_sub(1);
        if self.control_room < 0 { due.min(net.grid.index(at)) } else { due }
    }

    /// The length that an arriving packet may have when it leaves.
    #[inline]
    fn least_size(&self, rules: &Q::Rules, packet: &Packet) -> u32 {
        let whole = packet.wire();
        if packet.is_control() || self.data_room >= 0 {
            return whole;
        }
        Q::trimmed_size(rules).map_or(whole, |trimmed| trimmed.min(whole))
    }

    /// Asks the queue how much room there is beside what is on its way.
    #[inline]
    fn count_room(&mut self, net: &Network, rules: &Q::Rules) {
        let coming_data = self.inbox.iter().filter(|packet| !packet.is_control()).count() as i32;
        let clip = |room: u32| room.min(i32::MAX as u32) as i32;
        self.data_room = clip(self.queue.0.data_room(rules, net.largest)) - coming_data;
        self.control_room = clip(self.queue.0.control_room(rules)) - self.inbox.len() as i32;
    }

    /// When the link is free as far as is known; 0 if it is.
    #[inline]
    fn free_at(&self) -> u64 {
        if self.completion == u64::MAX { 0 } else { self.completion }
    }

    /// When the packet in service has left; 0 if there is none.
    pub fn sending_until(&self) -> u64 {
        self.free_at()
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
    #[inline(always)]
    pub fn visit(&mut self, cx: &mut PortContext<'_, Q>) {
        while self.step(cx) {}
    }

    /// Lets the next thing happen if it lies in the window. A completion comes before an arrival at the same time.
    #[inline(always)]
    pub fn step(&mut self, cx: &mut PortContext<'_, Q>) -> bool {
        let (arrival, completion) = (self.next_arrival(cx.window), self.completion);
        if arrival.min(completion) >= cx.window.end {
            return false;
        }
        if completion <= arrival {
            self.queue.0.complete(cx.rules, cx.shared);
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
        let Some(packet) = self.queue.0.dequeue(cx.rules, cx.shared) else { return };
        let sent = self.line.send(cx.net, now, packet);
        self.completion = sent.until;
        self.counts.data_packets += u64::from(!packet.is_control());
        if let Some(emission) = sent.emission {
            cx.out.push(emission);
        }
    }

    #[inline(always)]
    fn admit(&mut self, cx: &mut PortContext<'_, Q>, now: u64) {
        let Some(packet) = self.inbox.pop() else { return };
        let coin = || self.line.chance.coin();
        let outcome = self.queue.0.enqueue(cx.rules, cx.shared, packet, coin);
        if outcome != Outcome::Queued {
            self.note(cx, now, &outcome);
        }
        self.counts.peak_data = self.counts.peak_data.max(self.queue.0.data_held());
        self.counts.peak_control = self.counts.peak_control.max(self.queue.0.control_held());
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
                self.counts.returned_dropped += u64::from(packet.fate() == Fate::Returned);
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
            held.set(now, self.queue.0.data_held());
        }
    }

    /// The last window in which the port can be visited so that everything that leaves it is known in time; `None` if
    /// nothing is to be done.
    #[inline]
    pub fn due(&mut self, net: &Network, rules: &Q::Rules, window: Window) -> Option<u64> {
        // What was counted before and went down since is a safe bound; it is counted anew when it runs out.
        if self.data_room.min(self.control_room) <= 0 {
            self.count_room(net, rules);
        }
        let free = self.free_at();
        let mut out = self.queue.0.shortest_next().map_or(u64::MAX, |size| self.line.reaches(free, size));
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
            Some(first) if self.control_room < 0 => Some(due.min(net.grid.index(first.time(window)))),
            _ => Some(due),
        }
    }

    /// Brings into the cache what [`Port::expect`] reads of the port.
    #[inline]
    pub fn prepare_inbox(&self) {
        prefetch(&raw const self.inbox);
    }

    /// Brings into the cache what [`Port::expect`] will write.
    #[inline]
    pub fn prepare_slot(&self) {
        prefetch(self.inbox.end());
    }

    /// Brings into the cache what [`Port::visit`] reads of the packets.
    #[inline]
    pub fn prepare_packets(&self) {
        prefetch(self.inbox.begin());
        self.queue.0.places().into_iter().for_each(prefetch);
    }

    /// Visits every packet that is on its way here or waits here.
    pub fn packets(&self, visit: &mut dyn FnMut(&Packet)) {
        self.inbox.iter().for_each(&mut *visit);
        self.queue.0.waiting(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;
    use pullnet_qdisc::Trim;

    #[test]
    fn what_is_used_together_lies_together() {
        type TrimPort = Port<Trim<Packet>>;
        assert_eq!(offset_of!(TrimPort, line), 48);
        assert_eq!(offset_of!(TrimPort, queue) % 64, 0);
        assert!(offset_of!(TrimPort, counts) + 16 <= 64 * 5, "{}", offset_of!(TrimPort, counts));
        assert!(size_of::<TrimPort>() <= 384, "{}", size_of::<TrimPort>());
    }
}
