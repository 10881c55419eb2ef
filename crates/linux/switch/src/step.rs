//! The event loop of a fabric.

use std::collections::VecDeque;

use pullnet_qdisc::{Context, Discipline, Item, Outcome, Signal};
use pullnet_rng::SmallRandomStream;
use pullnet_transport::Hop;
use pullnet_units::{BitsPerSec, Instant, NodeId, Picos, PortId};

use crate::codec::{Class, Codec, Kind};
use crate::counters::PortCounters;
use crate::event::{Dropped, Event, Observer};
use crate::fabric::Fabric;
use crate::frame::{FrameId, Frames};
use crate::item::Slot;
use crate::line::Line;
use crate::mac::Mac;
use crate::pause;
use crate::port::{Port, Serving, Travelling};
use crate::settings::Departure;

/// Environment of a port's queue during one operation.
pub(crate) struct Surroundings<'a> {
    now: Instant,
    rate: BitsPerSec,
    chance: &'a mut SmallRandomStream,
    /// The next coin, if fixed by a replay.
    coin: &'a mut Option<bool>,
    /// The next random number, if fixed by a replay.
    draw: &'a mut Option<f64>,
    wake: &'a mut Instant,
    outcomes: &'a mut Vec<Outcome<Slot>>,
    paused: u8,
    signals: &'a mut Vec<(u16, Signal)>,
    frames: &'a mut Frames,
    codec: &'a dyn Codec,
}

impl Context<Slot> for Surroundings<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn rate(&self) -> BitsPerSec {
        self.rate
    }

    fn coin(&mut self) -> bool {
        self.coin.take().unwrap_or_else(|| self.chance.coin())
    }

    fn unit(&mut self) -> f64 {
        self.draw.take().unwrap_or_else(|| self.chance.unit())
    }

    fn outcome(&mut self, outcome: Outcome<Slot>) {
        self.outcomes.push(outcome);
    }

    fn show(&mut self, slot: &mut Slot, hop: &mut dyn Hop) {
        self.codec.at_hop(self.frames.bytes_mut(slot.frame), hop);
    }

    fn wake(&mut self, at: Instant) {
        *self.wake = (*self.wake).min(at.max(self.now.after(Picos(1))));
    }

    fn paused(&self) -> u8 {
        self.paused
    }

    fn signal(&mut self, ingress: u16, signal: Signal) {
        self.signals.push((ingress, signal));
    }
}

/// Kinds of simultaneous events, in processing order; equal kinds are ordered by port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Completion(PortId),
    Wake(PortId),
    /// `place` is the rank among simultaneous arrivals at one switch.
    Arrival {
        place: u16,
        at: Arrival,
    },
    Departure(PortId),
}

/// Origin of an arriving frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Arrival {
    Outside(PortId),
    Inside { from: PortId, to: PortId },
    Returned,
}

impl<Q: Discipline<Slot>, C: Codec, O: Observer> Fabric<Q, C, O> {
    pub(crate) fn step(&mut self, at: Instant) {
        if self.next_fault <= at {
            self.change_lines();
            return;
        }
        match self.next_step(at) {
            Some(Step::Completion(port)) => self.complete(port),
            Some(Step::Wake(port)) => self.wakes(port),
            Some(Step::Arrival { at: Arrival::Outside(port), .. }) => self.arrives_from_outside(port),
            Some(Step::Arrival { at: Arrival::Inside { from, to }, .. }) => self.arrives_from(from, to),
            Some(Step::Arrival { at: Arrival::Returned, .. }) => self.comes_round(),
            Some(Step::Departure(port)) => self.departs(port),
            None => {}
        }
    }

    fn next_step(&self, at: Instant) -> Option<Step> {
        let due = (0..).zip(&self.due).filter(|(_, due)| **due <= at);
        let first = due.filter_map(|(number, _)| self.port_step(PortId::new(number), at)).min();
        let returning = self.returning.front().filter(|(due, ..)| *due <= at);
        let round = returning.map(|(due, port, _)| {
            let place = self.ports[*port].place_returned(*due);
            Step::Arrival { place, at: Arrival::Returned }
        });
        [first, round].into_iter().flatten().min()
    }

    fn port_step(&self, id: PortId, at: Instant) -> Option<Step> {
        let port = &self.ports[id];
        let ready =
            |line: &VecDeque<Travelling>| line.front().filter(|first| first.at <= at).map(|first| first.at);
        let leaves = ready(&port.leaving).map(|at| match port.peer {
            Some(to) => {
                Step::Arrival { place: self.ports[to].place(at), at: Arrival::Inside { from: id, to } }
            }
            None => Step::Departure(id),
        });
        let completes =
            port.serving.is_some_and(|serving| serving.until <= at).then_some(Step::Completion(id));
        let wakes = (port.wake <= at).then_some(Step::Wake(id));
        let arrives =
            ready(&port.arriving).map(|at| Step::Arrival { place: port.place(at), at: Arrival::Outside(id) });
        [completes, wakes, arrives, leaves].into_iter().flatten().min()
    }

    pub(crate) fn settle(&mut self, port: PortId) {
        self.due[port.get() as usize] = self.ports[port].due();
    }

    #[cold]
    pub(crate) fn change_lines(&mut self) {
        self.faults.forget(self.now);
        for id in self.ports.ids() {
            let [out, inward] = self.faults.state(id, self.ports[id].rate, self.now);
            let port = &mut self.ports[id];
            port.out.set(self.now, out);
            port.inward.set(self.now, inward);
        }
        self.next_fault = self.faults.next_change(self.now);
    }

    /// Completes the frame in service.
    fn complete(&mut self, id: PortId) {
        let Some(Serving { slot, since, until }) = self.ports[id].serving.take() else { return };
        if core::mem::take(&mut self.ports[id].pauses.sending) {
            self.ports[id].counters.pause_tx_pkts += 1;
        } else {
            self.act(id, |queue, rules, shared, cx| queue.complete(rules, shared, cx));
        }
        let port = &mut self.ports[id];
        port.leaving.push_back(Travelling { frame: slot.frame, since, at: until.after(port.delay) });
        let bytes = self.frames.bytes(slot.frame);
        count_sent(&mut port.counters, &slot, bytes, until.since(since));
        self.observer.event(until, id, Event::Sent, bytes);
        self.serve(id);
        self.settle(id);
    }

    /// Starts the next frame if the line is free.
    pub(crate) fn serve(&mut self, id: PortId) {
        let port = &self.ports[id];
        if port.serving.is_some() || port.stopped {
            return;
        }
        let next = if Q::SIGNALS && port.pauses.pending {
            Some(self.pause_frame(id))
        } else {
            self.act(id, |queue, rules, shared, cx| queue.dequeue(rules, shared, cx))
        };
        let Some(slot) = next else { return };
        let port = &mut self.ports[id];
        let until = self.now.after(port.time(slot.wire(0)));
        port.serving = Some(Serving { slot, since: self.now, until });
    }

    /// Takes the pending pause frame, to be sent next.
    fn pause_frame(&mut self, id: PortId) -> Slot {
        let port = &mut self.ports[id];
        let bytes = port.pauses.take_pending();
        port.wake = port.wake.min(port.pauses.next_change(self.now));
        let class = Class { kind: Kind::Control, ..Class::default() };
        Slot::new(self.frames.put_own(&bytes), bytes.len(), &class, self.settings.counting, port.index)
    }

    /// Applies a received pause frame.
    pub(crate) fn obey(&mut self, id: PortId, frame: FrameId) {
        let (now, named) = (self.now, pause::read(self.frames.bytes(frame)));
        self.frames.release(frame);
        let port = &mut self.ports[id];
        port.counters.pause_rx_pkts += 1;
        if let Some(named) = named.filter(|_| Q::SIGNALS) {
            port.pauses.obey(named, now, port.rate);
            port.wake = port.wake.min(port.pauses.next_change(now));
            self.serve(id);
            self.settle(id);
        }
    }

    /// Sends a pause signal to the neighbour at port `ingress` of switch `node`.
    #[cold]
    fn tell(&mut self, node: NodeId, ingress: u16, signal: Signal) {
        let back = |id: &PortId| self.ports[*id].node == node && self.ports[*id].index == ingress;
        let Some(back) = self.ports.ids().find(back) else { return };
        let port = &mut self.ports[back];
        port.pauses.tell(signal, self.now, port.rate);
        self.serve(back);
        self.settle(back);
    }

    /// Serves a port without an arrival or departure there: its queue requested the wake-up, or a pause ended.
    fn wakes(&mut self, id: PortId) {
        self.ports[id].wake = Instant::NEVER;
        if Q::SIGNALS {
            let port = &mut self.ports[id];
            port.pauses.repeat(self.now, port.rate);
            port.wake = port.pauses.next_change(self.now);
        }
        self.serve(id);
        self.settle(id);
    }

    /// Runs an operation on the queue of a port, and applies its outcomes.
    pub(crate) fn act<R>(
        &mut self,
        id: PortId,
        act: impl FnOnce(&mut Q, &Q::Rules, &mut Q::Shared, &mut Surroundings<'_>) -> R,
    ) -> R {
        let mut outcomes = core::mem::take(&mut self.outcomes);
        let mut signals = core::mem::take(&mut self.signals);
        let Port { queue, chance, coin, draw, node, rate, wake, pauses, .. } = &mut self.ports[id];
        let paused = if Q::SIGNALS { pauses.mask(self.now) } else { 0 };
        let cx = &mut Surroundings {
            now: self.now,
            rate: *rate,
            chance,
            coin,
            draw,
            wake,
            outcomes: &mut outcomes,
            paused,
            signals: &mut signals,
            frames: &mut self.frames,
            codec: &self.codec,
        };
        let result = act(queue, &self.rules, &mut self.shared[*node], cx);
        outcomes.drain(..).for_each(|outcome| self.note(id, outcome));
        self.outcomes = outcomes;
        let node = self.ports[id].node;
        signals.drain(..).for_each(|(ingress, signal)| self.tell(node, ingress, signal));
        self.signals = signals;
        result
    }

    fn arrives_from_outside(&mut self, id: PortId) {
        let port = &mut self.ports[id];
        let Some(Travelling { frame, since, .. }) = port.arriving.pop_front() else { return };
        let inward = port.inward;
        self.settle(id);
        let [first, second] = self.carried(id, inward, since, frame);
        first.into_iter().chain(second).for_each(|frame| self.receive(id, frame));
    }

    fn arrives_from(&mut self, from: PortId, id: PortId) {
        let [first, second] = self.carried_out(from);
        first.into_iter().chain(second).for_each(|frame| self.receive(id, frame));
    }

    fn departs(&mut self, id: PortId) {
        let [first, second] = self.carried_out(id);
        let (port, at) = (id, self.now);
        self.departures.extend(first.into_iter().chain(second).map(|frame| Departure { port, at, frame }));
    }

    /// Frames delivered for the first frame on the outgoing line of a port.
    fn carried_out(&mut self, id: PortId) -> [Option<FrameId>; 2] {
        let port = &mut self.ports[id];
        let Some(Travelling { frame, since, .. }) = port.leaving.pop_front() else { return [None, None] };
        let out = port.out;
        self.settle(id);
        self.carried(id, out, since, frame)
    }

    /// Frames delivered for a frame on a line: none, the frame itself, or the frame and a duplicate.
    fn carried(&mut self, id: PortId, line: Line, since: Instant, frame: FrameId) -> [Option<FrameId>; 2] {
        let port = &mut self.ports[id];
        let fate = line.carry(since, &mut port.chance);
        if fate.lost {
            port.counters.fault_lost_packets += 1;
            self.discard(id, frame, Dropped::Fault);
            return [None, None];
        }
        if fate.corrupted {
            port.counters.fault_corrupted_packets += 1;
            turn_a_bit(self.frames.bytes_mut(frame), &mut port.chance);
        }
        let second = fate.duplicated.then(|| self.frames.copy(frame)).flatten();
        port.counters.fault_duplicated_packets += u64::from(second.is_some());
        [Some(frame), second]
    }
}

fn count_sent(counters: &mut PortCounters, slot: &Slot, bytes: &[u8], busy: Picos) {
    let group = Mac::destination(bytes).is_some_and(Mac::is_group);
    counters.if_out_octets += u64::from(slot.wire(0));
    counters.if_out_ucast_pkts += u64::from(!group);
    counters.if_out_non_ucast_pkts += u64::from(group);
    counters.tx_data_packets += u64::from(!slot.is_control());
    counters.tx_trim_packets += u64::from(slot.is_header());
    counters.busy_ps += busy.0;
}

fn turn_a_bit(bytes: &mut [u8], chance: &mut SmallRandomStream) {
    let bit = chance.below((bytes.len() * 8) as u32);
    if let Some(byte) = bytes.get_mut(bit as usize / 8) {
        *byte ^= 1 << (bit % 8);
    }
}
