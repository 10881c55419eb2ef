//! Applies the outcome of a queue operation to the bytes of frames.

use pullnet_qdisc::{Discipline, DropReason, Outcome};
use pullnet_units::PortId;

use crate::codec::{Codec, Kind};
use crate::event::{Dropped, Event, Observer};
use crate::fabric::Fabric;
use crate::item::Slot;

impl<Q: Discipline<Slot>, C: Codec, O: Observer> Fabric<Q, C, O> {
    /// Counts an outcome, and rewrites the bytes of a trimmed frame.
    pub(crate) fn note(&mut self, id: PortId, outcome: Outcome<Slot>) {
        match outcome {
            Outcome::Marked(packet) => self.mark(id, &packet),
            Outcome::Trimmed(header) => self.cut(id, &header),
            Outcome::Returned { header, .. } => self.send_back(id, &header),
            Outcome::Dropped { packet, why, trimmed } => self.refuse(id, &packet, why, trimmed),
        }
    }

    /// Sets the congestion mark in the bytes.
    fn mark(&mut self, id: PortId, packet: &Slot) {
        let (counters, frames, codec, _) = self.port(id);
        counters.ecn_marked_packets += u64::from(codec.mark(frames.bytes_mut(packet.frame)));
    }

    /// Cuts the payload.
    fn cut(&mut self, id: PortId, header: &Slot) {
        let now = self.now();
        let (counters, frames, codec, observer) = self.port(id);
        let bytes = frames.bytes_mut(header.frame);
        codec.trim(bytes, header.length as usize);
        debug_assert_eq!(bytes.len(), header.length as usize, "a trim leaves what the queue counted");
        counters.trim_packets += 1;
        observer.event(now, id, Event::Trimmed, bytes);
    }

    /// Returns a header to its sender, whether it was trimmed here or before.
    fn send_back(&mut self, id: PortId, header: &Slot) {
        let now = self.now();
        let (_, frames, codec, _) = self.port(id);
        if codec.classify(frames.bytes(header.frame)).kind == Kind::Data {
            self.cut(id, header);
        }
        let (counters, frames, codec, observer) = self.port(id);
        let bytes = frames.bytes_mut(header.frame);
        codec.turn_round(bytes);
        if codec.classify(bytes).kind != Kind::Returned {
            // A header that cannot be turned round is dropped; otherwise it would return to this queue for ever.
            counters.if_out_discards += 1;
            return self.discard(id, header.frame, Dropped::ControlQueueFull);
        }
        counters.returned_packets += 1;
        observer.event(now, id, Event::Returned, bytes);
        self.returns(id, header.frame);
    }

    fn refuse(&mut self, id: PortId, packet: &Slot, why: DropReason, trimmed: bool) {
        if trimmed {
            self.cut(id, packet);
        }
        let (counters, ..) = self.port(id);
        counters.if_out_discards += 1;
        counters.dropped_trim_packets += u64::from(trimmed);
        let why = match why {
            DropReason::DataQueueFull => Dropped::DataQueueFull,
            DropReason::ControlQueueFull => Dropped::ControlQueueFull,
            DropReason::Early => Dropped::Early,
        };
        self.discard(id, packet.frame, why);
    }
}
