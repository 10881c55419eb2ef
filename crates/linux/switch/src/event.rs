use pullnet_units::{Instant, PortId};

/// Why a frame was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// Shorter than an Ethernet header.
    TooShort,
    /// No entry for its destination, and unknown ones are not flooded.
    NoRoute,
    /// It would leave by the port that it came by.
    SamePort,
    /// The fabric holds as many frames as it may.
    NoBuffer,
    /// No room in the data queue.
    DataQueueFull,
    /// No room in the control queue.
    ControlQueueFull,
    /// Dropped early by active queue management.
    Early,
    /// A fault of the line.
    Fault,
}

/// What happens to a frame at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It arrived at the port.
    Arrived,
    /// Its last bit has left the port.
    Sent,
    /// It lost its payload at the port.
    Trimmed,
    /// It goes back to its sender from the port.
    Returned,
    /// It is gone.
    Dropped(Dropped),
}

/// Is told everything that happens, in order of time. It can change nothing.
pub trait Observer {
    /// Something happened to `frame`, whose bytes are as they are after it.
    fn event(&mut self, at: Instant, port: PortId, event: Event, frame: &[u8]);
}

/// Nobody watches.
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
