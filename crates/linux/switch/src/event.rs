use pullnet_units::{Instant, PortId};

/// Reasons for dropping a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// Shorter than an Ethernet header.
    TooShort,
    /// The destination has no entry, and frames to unknown addresses are not flooded.
    NoRoute,
    /// The egress port is the ingress port.
    SamePort,
    /// The fabric already holds the maximum number of frames.
    NoBuffer,
    /// No room in the data queue.
    DataQueueFull,
    /// No room in the control queue.
    ControlQueueFull,
    /// Dropped early by active queue management.
    Early,
    /// A fault on the line.
    Fault,
}

/// Events of a frame at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The frame arrived at the port.
    Arrived,
    /// The last bit of the frame left the port.
    Sent,
    /// The port trimmed the payload.
    Trimmed,
    /// The port returned the header to its sender.
    Returned,
    /// The frame was dropped.
    Dropped(Dropped),
}

/// Receives every event, in time order; cannot influence the switch.
pub trait Observer {
    /// Reports an event of `frame`; the bytes are those after the event.
    fn event(&mut self, at: Instant, port: PortId, event: Event, frame: &[u8]);
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Default, Debug)]
pub struct Silent;

impl Observer for Silent {
    #[inline(always)]
    fn event(&mut self, _: Instant, _: PortId, _: Event, _: &[u8]) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline]
    fn event(&mut self, at: Instant, port: PortId, event: Event, frame: &[u8]) {
        self.0.event(at, port, event, frame);
        self.1.event(at, port, event, frame);
    }
}

impl<O: Observer> Observer for Option<O> {
    #[inline]
    fn event(&mut self, at: Instant, port: PortId, event: Event, frame: &[u8]) {
        if let Some(observer) = self {
            observer.event(at, port, event, frame);
        }
    }
}
