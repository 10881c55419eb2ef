//! What a queue decided, carried out on the bytes.

use pullnet_qdisc::{Discipline, DropReason, Outcome};
use pullnet_units::PortId;

use crate::codec::{Codec, Kind};
use crate::event::{Dropped, Event, Observer};
use crate::fabric::Fabric;
use crate::item::Slot;

impl<Q: Discipline<Slot>, C: Codec, O: Observer> Fabric<Q, C, O> {
    /// Counts what became of a frame, and rewrites its bytes where it was trimmed.
    pub(crate) fn note(&mut self, id: PortId, outcome: Outcome<Slot>) {
        match outcome {
            Outcome::Marked(packet) => self.mark(id, &packet),
            Outcome::Trimmed(header) => self.cut(id, &header),
            Outcome::Returned { header, .. } => self.send_back(id, &header),
            Outcome::Dropped { packet, why, trimmed } => self.refuse(id, &packet, why, trimmed),
        }
    }

    /// The bytes say that there was congestion.
    fn mark(&mut self, id: PortId, packet: &Slot) {
        let (counters, frames, codec, _) = self.port(id);
        counters.ecn_marked_packets += u64::from(codec.mark(frames.bytes_mut(packet.frame)));
    }

    /// The payload goes.
    fn cut(&mut self, id: PortId, header: &Slot) {
        let now = self.now();
        let (counters, frames, codec, observer) = self.port(id);
        let bytes = frames.bytes_mut(header.frame);
        codec.trim(bytes, header.length as usize);
        debug_assert_eq!(bytes.len(), header.length as usize, "a trim leaves what the queue counted");
        counters.trim_packets += 1;
        observer.event(now, id, Event::Trimmed, bytes);
    }

    /// The header goes back to its sender, trimmed here or before.
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
            // It cannot be turned round; if it went on it would come here again and again.
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
