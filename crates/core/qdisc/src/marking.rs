use pullnet_settings::choice;

use crate::classes::Verdict;
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;

choice! {
    /// When a port marks packets of ECN-capable transports.
    pub enum MarkWhen {
        /// On arrival, if the port then holds more than the threshold, the packet in service included and the arriving
        /// packet excluded (Alizadeh et al., SIGCOMM 2010, section 3.1).
        Enqueue = "enqueue",
        /// When the packet goes into service, if the port holds more than the threshold behind it.
        Dequeue = "dequeue",
    }
}

/// Step marking: above a threshold every packet that can be marked is marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepMark {
    above: Limit,
    when: MarkWhen,
}

impl StepMark {
    /// The rule that never marks.
    pub const NEVER: Self = Self { above: Limit::NONE, when: MarkWhen::Enqueue };

    /// Marks, at `when`, if more than `above` is held.
    pub fn new(above: impl Into<Limit>, when: MarkWhen) -> Self {
        Self { above: above.into(), when }
    }

    /// Whether a packet is marked on arrival, with `packets` of `bytes` together held.
    #[inline(always)]
    pub fn at_enqueue(&self, packets: u32, bytes: u64) -> bool {
        self.when == MarkWhen::Enqueue && !self.above.holds(packets, bytes)
    }

    /// Whether a packet is marked on departure, with `packets` of `bytes` together left behind.
    #[inline(always)]
    pub fn at_dequeue(&self, packets: u32, bytes: u64) -> bool {
        self.when == MarkWhen::Dequeue && !self.above.holds(packets, bytes)
    }

    /// Takes an arriving packet into class 0, marked if the port holds too much.
    #[inline(always)]
    pub fn take(&self, packet: &impl Item, held: &Fifo) -> Verdict {
        if self.at_enqueue(held.packets(), held.bytes()) && packet.ect() {
            Verdict::Mark(0)
        } else {
            Verdict::Take(0)
        }
    }

    /// Whether a packet that goes into service is marked for what the port holds behind it.
    #[inline(always)]
    pub fn marks_departing(&self, packet: &impl Item, held: &Fifo) -> bool {
        let (packets, bytes) = held.behind();
        self.at_dequeue(packets, bytes) && packet.ect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_units::{Bytes, Packets, QueueSize};

    #[test]
    fn the_threshold_itself_is_not_marked() {
        let packets = StepMark::new(QueueSize::Packets(Packets(3)), MarkWhen::Enqueue);
        assert_eq!([2, 3, 4].map(|held| packets.at_enqueue(held, 0)), [false, false, true]);
        assert!(!packets.at_dequeue(4, 0));
        let bytes = StepMark::new(QueueSize::Bytes(Bytes(9000)), MarkWhen::Dequeue);
        assert_eq!([8999, 9000, 9001].map(|held| bytes.at_dequeue(9, held)), [false, false, true]);
        assert!(!bytes.at_enqueue(9, 9001));
    }
}
