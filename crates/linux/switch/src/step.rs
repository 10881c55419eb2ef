//! What happens next, and to whom.

use std::collections::VecDeque;

use pullnet_qdisc::{Discipline, Item};
use pullnet_rng::SmallStream;
use pullnet_units::{Instant, Picos, PortId};

use crate::codec::Codec;
use crate::counters::PortCounters;
use crate::event::{Dropped, Event, Observer};
use crate::fabric::Fabric;
use crate::frame::FrameId;
use crate::item::Slot;
use crate::line::Line;
use crate::mac::Mac;
use crate::port::{Serving, Travelling};
use crate::settings::Departure;

/// What happens next at one instant, in the order of the variants and of the port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Completion(PortId),
    Arrival { at: PortId, from: Option<PortId> },
    Recirculation,
    Departure(PortId),
}

impl<Q: Discipline<Slot>, C: Codec, O: Observer> Fabric<Q, C, O> {
    pub(crate) fn step(&mut self, at: Instant) {
        if self.next_fault <= at {
            self.change_lines();
            return;
        }
        match self.next_step(at) {
            Some(Step::Completion(port)) => self.complete(port),
            Some(Step::Arrival { at: port, from: None }) => self.arrives_from_outside(port),
            Some(Step::Arrival { at: port, from: Some(from) }) => self.arrives_from(from, port),
            Some(Step::Departure(port)) => self.departs(port),
            Some(Step::Recirculation) => self.comes_round(),
            None => {}
        }
    }

    fn next_step(&self, at: Instant) -> Option<Step> {
        let due = (0..).zip(&self.due).filter(|(_, due)| **due <= at);
        let first = due.filter_map(|(number, _)| self.port_step(PortId(number), at)).min();
        let returning = self.returning.front().is_some_and(|(due, ..)| *due <= at);
        let round = returning.then_some(Step::Recirculation);
        [first, round].into_iter().flatten().min()
    }

    fn port_step(&self, id: PortId, at: Instant) -> Option<Step> {
        let port = &self.ports[id];
        let ready = |line: &VecDeque<Travelling>| line.front().is_some_and(|first| first.at <= at);
        let leaves = ready(&port.leaving).then_some(match port.peer {
            Some(peer) => Step::Arrival { at: peer, from: Some(id) },
            None => Step::Departure(id),
        });
        let completes =
            port.serving.is_some_and(|serving| serving.until <= at).then_some(Step::Completion(id));
        let arrives = ready(&port.arriving).then_some(Step::Arrival { at: id, from: None });
        [completes, arrives, leaves].into_iter().flatten().min()
    }

    pub(crate) fn settle(&mut self, port: PortId) {
        self.due[port.0 as usize] = self.ports[port].due();
    }

    #[cold]
    pub(crate) fn change_lines(&mut self) {
        self.faults.forget(self.now);
        for id in self.ports.ids() {
            let [out, inward] = self.faults.state(id, self.now);
            let port = &mut self.ports[id];
            port.out.set(self.now, out);
            port.inward.set(self.now, inward);
        }
        self.next_fault = self.faults.next_change(self.now);
    }

    /// The frame in service has left.
    fn complete(&mut self, id: PortId) {
        let port = &mut self.ports[id];
        let Some(Serving { slot, since, until }) = port.serving.take() else { return };
        port.queue.complete(&self.rules, &mut self.shared[port.node]);
        port.leaving.push_back(Travelling { frame: slot.frame, since, at: until.after(port.delay) });
        let bytes = self.frames.bytes(slot.frame);
        count_sent(&mut port.counters, &slot, bytes, until.since(since));
        self.observer.event(until, id, Event::Sent, bytes);
        self.serve(id);
        self.settle(id);
    }

    /// The next frame goes into service if the line is free.
    pub(crate) fn serve(&mut self, id: PortId) {
        let port = &mut self.ports[id];
        if port.serving.is_some() || port.paused {
            return;
        }
        let Some(slot) = port.queue.dequeue(&self.rules, &mut self.shared[port.node]) else { return };
        let until = self.now.after(port.time(slot.wire()));
        port.serving = Some(Serving { slot, since: self.now, until });
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

    /// What the outward line of a port delivers of its first frame.
    fn carried_out(&mut self, id: PortId) -> [Option<FrameId>; 2] {
        let port = &mut self.ports[id];
        let Some(Travelling { frame, since, .. }) = port.leaving.pop_front() else { return [None, None] };
        let out = port.out;
        self.settle(id);
        self.carried(id, out, since, frame)
    }

    /// What a line delivers of a frame: nothing, the frame, or the frame twice.
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
    counters.if_out_octets += u64::from(slot.wire());
    counters.if_out_ucast_pkts += u64::from(!group);
    counters.if_out_non_ucast_pkts += u64::from(group);
    counters.tx_data_packets += u64::from(!slot.is_control());
    counters.tx_trim_packets += u64::from(slot.is_header());
    counters.busy_ps += busy.0;
}

fn turn_a_bit(bytes: &mut [u8], chance: &mut SmallStream) {
    let bit = chance.below((bytes.len() * 8) as u32);
    if let Some(byte) = bytes.get_mut(bit as usize / 8) {
        *byte ^= 1 << (bit % 8);
    }
}
