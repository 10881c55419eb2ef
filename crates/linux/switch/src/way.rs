//! Forwarding of a frame from its ingress port to the queue of its egress port.

use pullnet_config::Forwarding;
use pullnet_qdisc::Discipline;
use pullnet_units::PortId;

use crate::codec::{Class, Codec};
use crate::counters::PortCounters;
use crate::event::{Dropped, Event, Observer};
use crate::fabric::Fabric;
use crate::forward::{Ways, choose};
use crate::frame::{FrameId, Frames};
use crate::item::Slot;
use crate::mac::Mac;
use crate::pause::PAUSE;
use crate::port::Port;

impl<Q: Discipline<Slot>, C: Codec, O: Observer> Fabric<Q, C, O> {
    /// Handles a frame that has arrived at `ingress`.
    pub(crate) fn receive(&mut self, ingress: PortId, frame: FrameId) {
        let bytes = self.frames.bytes(frame);
        let (Some(to), Some(from)) = (Mac::destination(bytes), Mac::source(bytes)) else {
            return self.discard(ingress, frame, Dropped::TooShort);
        };
        let port = &mut self.ports[ingress];
        let wire = self.settings.counting.wire(bytes.len() as u32);
        port.counters.if_in_octets += u64::from(wire);
        port.counters.if_in_ucast_pkts += u64::from(!to.is_group());
        port.counters.if_in_non_ucast_pkts += u64::from(to.is_group());
        self.observer.event(self.now, ingress, Event::Arrived, bytes);
        if to == PAUSE {
            return self.obey(ingress, frame);
        }
        self.tables[port.node].learn(self.now, from, ingress);
        self.route(ingress, to, frame);
    }

    /// Forwards a frame to `to`.
    pub(crate) fn route(&mut self, ingress: PortId, to: Mac, frame: FrameId) {
        let class = self.codec.classify(self.frames.bytes(frame));
        let node = self.ports[ingress].node;
        let way = match self.tables[node].ways(self.now, to, class.to) {
            Ways::Ports(ports, selection) => {
                let count = ports.len() as u32;
                let (forwarding, choices) = (self.settings.forwarding, &mut self.choices);
                let first = choose(forwarding, &class, selection, count, node, |count| choices.below(count));
                let chosen_by_sender = forwarding == Forwarding::Path && class.label.is_some();
                let nth = |step: u32| ports[((first + step) % count) as usize];
                let works = |port: &PortId| chosen_by_sender || self.ports[*port].out.state().up;
                // Unless the policy considers load, takes the first port that is up.
                let by_load = forwarding == Forwarding::LeastLoaded;
                let load = |port: &PortId| if by_load { self.ports[*port].load() } else { 0 };
                Ok((0..count).map(nth).filter(works).min_by_key(load).unwrap_or(nth(0)))
            }
            Ways::One(port) => Ok(port),
            Ways::Each(ports) => {
                let others = ports.iter().copied().filter(|port| *port != ingress).collect();
                return self.copy_to(ingress, others, frame, &class);
            }
            Ways::Everywhere => return self.flood(ingress, frame, &class),
            Ways::Nowhere => Err(Dropped::NoRoute),
        };
        match way {
            Ok(egress) if egress == ingress => self.no_way(ingress, frame, Dropped::SamePort),
            Ok(egress) => self.admit(ingress, egress, frame, &class),
            Err(why) => self.no_way(ingress, frame, why),
        }
    }

    fn no_way(&mut self, ingress: PortId, frame: FrameId, why: Dropped) {
        self.ports[ingress].counters.if_in_discards += 1;
        self.discard(ingress, frame, why);
    }

    /// Sends the frame to every port of the switch except its ingress port.
    fn flood(&mut self, ingress: PortId, frame: FrameId, class: &Class) {
        let node = self.ports[ingress].node;
        let others = |(id, port): (PortId, &Port<Q>)| (port.node == node && id != ingress).then_some(id);
        let others = self.ports.enumerate().filter_map(others).collect();
        self.copy_to(ingress, others, frame, class);
    }

    /// Sends a copy of the frame to each of these ports.
    fn copy_to(&mut self, ingress: PortId, to: Vec<PortId>, frame: FrameId, class: &Class) {
        for egress in to {
            match self.frames.copy(frame) {
                Some(copy) => self.admit(ingress, egress, copy, class),
                None => self.ports[ingress].counters.if_in_discards += 1,
            }
        }
        self.frames.release(frame);
    }

    /// Hands a frame from `ingress` to the queue of its egress port.
    fn admit(&mut self, ingress: PortId, id: PortId, frame: FrameId, class: &Class) {
        let (length, ingress) = (self.frames.bytes(frame).len(), self.ports[ingress].index);
        let slot = Slot::new(frame, length, class, self.settings.counting, ingress);
        self.act(id, |queue, rules, shared, cx| queue.enqueue(rules, shared, slot, cx));
        let Port { queue, counters, .. } = &mut self.ports[id];
        let most = |mark: &mut u64, held: u32| *mark = (*mark).max(held.into());
        most(&mut counters.queue_watermark_data_packets, queue.data_held());
        most(&mut counters.queue_watermark_control_packets, queue.queued(true));
        self.serve(id);
        self.settle(id);
    }

    pub(crate) fn discard(&mut self, id: PortId, frame: FrameId, why: Dropped) {
        self.observer.event(self.now, id, Event::Dropped(why), self.frames.bytes(frame));
        self.frames.release(frame);
    }

    /// Re-injects a returned header at its switch, on its way back.
    pub(crate) fn comes_round(&mut self) {
        let Some((_, from, frame)) = self.returning.pop_front() else { return };
        match Mac::destination(self.frames.bytes(frame)) {
            Some(to) => self.route(from, to, frame),
            None => self.discard(from, frame, Dropped::TooShort),
        }
    }

    pub(crate) fn port(&mut self, id: PortId) -> (&mut PortCounters, &mut Frames, &C, &mut O) {
        (&mut self.ports[id].counters, &mut self.frames, &self.codec, &mut self.observer)
    }

    pub(crate) fn returns(&mut self, id: PortId, frame: FrameId) {
        self.returning.push_back((self.now.after(self.settings.recirculation), id, frame));
    }
}
