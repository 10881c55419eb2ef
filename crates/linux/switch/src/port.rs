//! State of a port in a fabric.

use std::collections::VecDeque;

use pullnet_qdisc::{Discipline, order};
use pullnet_rng::SmallRandomStream;
use pullnet_units::{BitsPerSec, Bytes, Instant, NodeId, Picos, PortId};

use crate::counters::PortCounters;
use crate::frame::FrameId;
use crate::item::Slot;
use crate::line::Line;
use crate::pause::Pauses;
use crate::settings::PortSettings;

/// Flag for headers that return within the switch instead of arriving by a line.
const RETURNED: u16 = 1 << 15;

/// A frame in flight on a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Travelling {
    pub frame: FrameId,
    /// Time at which its first bit was sent.
    pub since: Instant,
    /// Time at which its last bit arrives.
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
    /// Index among the ports of the switch.
    pub index: u16,
    /// Salt for the order of simultaneous arrivals at the switch, see [`order`].
    pub salt: u16,
    /// Port at the other end, if it belongs to the fabric.
    pub peer: Option<PortId>,
    pub rate: BitsPerSec,
    pub delay: Picos,
    /// Whether frames from outside arrive no faster than the line's rate.
    pub paced: bool,
    /// Frames from outside that are yet to arrive, in order.
    pub arriving: VecDeque<Travelling>,
    pub queue: Q,
    pub serving: Option<Serving>,
    /// Whether the driver has paused the port.
    pub stopped: bool,
    /// Pause state, set by pause frames in both directions.
    pub pauses: Pauses,
    /// Time of the next wake-up: requested by the queue, or because a pause expires or is to be repeated.
    pub wake: Instant,
    /// The next coin, if fixed by a replay.
    pub coin: Option<bool>,
    /// The next random number, if fixed by a replay.
    pub draw: Option<f64>,
    /// Frames that were sent and have not reached the other end yet, in order.
    pub leaving: VecDeque<Travelling>,
    pub out: Line,
    pub inward: Line,
    pub chance: SmallRandomStream,
    pub counters: PortCounters,
}

impl<Q> Port<Q> {
    /// A port with an empty queue and a free line.
    pub fn new(settings: &PortSettings, index: u16, salt: u16, queue: Q, chance: SmallRandomStream) -> Self {
        Self {
            node: settings.node,
            index,
            salt,
            peer: settings.peer,
            rate: settings.rate,
            delay: settings.delay,
            paced: settings.paced && settings.peer.is_none(),
            arriving: VecDeque::new(),
            queue,
            serving: None,
            stopped: false,
            pauses: Pauses::default(),
            wake: Instant::NEVER,
            coin: None,
            draw: None,
            leaving: VecDeque::new(),
            out: Line::new(settings.rate),
            inward: Line::new(settings.rate),
            chance,
            counters: PortCounters::default(),
        }
    }
}

impl<Q: Discipline<Slot>> Port<Q> {
    /// Frames waiting or in service.
    pub fn load(&self) -> u32 {
        self.queue.queued(true) + self.queue.queued(false) + u32::from(self.serving.is_some())
    }
}

impl<Q> Port<Q> {
    /// Rank of a frame arriving by this port at `at`, among simultaneous arrivals at the switch.
    pub fn place(&self, at: Instant) -> u16 {
        order::place(at.0, self.salt, self.index)
    }

    /// Rank of a header returned by this port.
    pub fn place_returned(&self, at: Instant) -> u16 {
        order::place(at.0, self.salt, RETURNED | self.index)
    }

    /// Time of the next event at this port.
    #[inline]
    pub fn due(&self) -> Instant {
        let front = |line: &VecDeque<Travelling>| line.front().map_or(Instant::NEVER, |first| first.at);
        let completion = self.serving.map_or(Instant::NEVER, |serving| serving.until);
        completion.min(front(&self.leaving)).min(front(&self.arriving)).min(self.wake)
    }

    /// Start and end of the arrival of a frame from outside that is seen at `at`. A paced line carries one frame at a time
    /// and adds its delay; any other line delivers at once.
    pub fn line_times(&self, at: Instant, wire: u32) -> (Instant, Instant) {
        let last = self.arriving.back().map_or(Instant::ZERO, |last| last.at);
        if !self.paced {
            let at = at.max(last);
            return (at, at);
        }
        let since = at.max(Instant(last.0.saturating_sub(self.delay.0)));
        (since, since.after(self.time(wire)).after(self.delay))
    }

    /// Serialisation time of `wire` bytes at the current rate of the line.
    #[inline]
    pub fn time(&self, wire: u32) -> Picos {
        self.out.state().rate.serialization(Bytes(wire.into()))
    }
}
