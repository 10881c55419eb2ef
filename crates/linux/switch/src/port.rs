//! What a fabric keeps of each port.

use std::collections::VecDeque;

use pullnet_qdisc::{Discipline, order};
use pullnet_rng::SmallStream;
use pullnet_units::{BitsPerSec, Bytes, Instant, NodeId, Picos, PortId};

use crate::counters::PortCounters;
use crate::frame::FrameId;
use crate::item::Slot;
use crate::line::Line;
use crate::pause::Pauses;

/// Marks headers that come from a port of the same switch and not by a line.
const RETURNED: u16 = 1 << 15;

/// A frame on a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Travelling {
    pub frame: FrameId,
    /// When its first bit was sent.
    pub since: Instant,
    /// When its last bit arrives.
    pub at: Instant,
}

/// A frame in service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serving {
    pub slot: Slot,
    pub since: Instant,
    pub until: Instant,
}

#[derive(Debug)]
pub(crate) struct Port<Q> {
    pub node: NodeId,
    /// Number among the ports of the switch.
    pub index: u16,
    /// Salt of the order of simultaneous arrivals at the switch, see [`order`].
    pub salt: u16,
    /// The port at the other end, if that is in the fabric.
    pub peer: Option<PortId>,
    pub rate: BitsPerSec,
    pub delay: Picos,
    /// Whether frames from outside arrive no faster than the line allows.
    pub paced: bool,
    /// Frames from outside that have not arrived yet, in order.
    pub arriving: VecDeque<Travelling>,
    pub queue: Q,
    pub serving: Option<Serving>,
    /// Whether the driver lets nothing go into service.
    pub stopped: bool,
    /// Pauses by frames: what is paused here, and what the neighbour was asked to pause.
    pub pauses: Pauses,
    /// When the port is to be served again: its queue asked for it, or a pause ends or is to be repeated.
    pub wake: Instant,
    /// The next coin, if it is not left to chance.
    pub coin: Option<bool>,
    /// The next random number, if it is not left to chance.
    pub draw: Option<f64>,
    /// Frames that have left and are not at the other end yet, in order.
    pub leaving: VecDeque<Travelling>,
    pub out: Line,
    pub inward: Line,
    pub chance: SmallStream,
    pub counters: PortCounters,
}

impl<Q: Discipline<Slot>> Port<Q> {
    /// Frames that wait or are in service.
    pub fn load(&self) -> u32 {
        self.queue.queued(true) + self.queue.queued(false) + u32::from(self.serving.is_some())
    }
}

impl<Q> Port<Q> {
    /// Place of a frame that arrives by this port at `at`, among simultaneous arrivals at the switch.
    pub fn place(&self, at: Instant) -> u16 {
        order::place(at.0, self.salt, self.index)
    }

    /// The same of a header that this port sent back.
    pub fn place_returned(&self, at: Instant) -> u16 {
        order::place(at.0, self.salt, RETURNED | self.index)
    }

    /// When the next thing happens here.
    #[inline]
    pub fn due(&self) -> Instant {
        let front = |line: &VecDeque<Travelling>| line.front().map_or(Instant::NEVER, |first| first.at);
        let completion = self.serving.map_or(Instant::NEVER, |serving| serving.until);
        completion.min(front(&self.leaving)).min(front(&self.arriving)).min(self.wake)
    }

    /// When a frame from outside that is seen at `at` began and has arrived. A paced line carries one frame after the
    /// other, and takes its delay; any other delivers at once.
    pub fn line_times(&self, at: Instant, wire: u32) -> (Instant, Instant) {
        let last = self.arriving.back().map_or(Instant::ZERO, |last| last.at);
        if !self.paced {
            let at = at.max(last);
            return (at, at);
        }
        let since = at.max(Instant(last.0.saturating_sub(self.delay.0)));
        (since, since.after(self.time(wire)).after(self.delay))
    }

    /// Time on the wire at the rate that the line has now.
    #[inline]
    pub fn time(&self, wire: u32) -> Picos {
        self.out.state().rate.serialization(Bytes(wire.into()))
    }
}
