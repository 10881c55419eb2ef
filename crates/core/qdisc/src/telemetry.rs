use pullnet_transport::{Hop, PortState};

use crate::context::Context;

/// Bytes that a port has sent, for packets that collect its state (in-band network telemetry).
#[derive(Clone, Copy, Default, Debug)]
pub struct Telemetry {
    /// Bytes of all packets that went into service before.
    sent: u64,
}

/// The port at the departure of one packet.
struct Leaving(PortState);

impl Hop for Leaving {
    fn state(&mut self) -> Option<PortState> {
        Some(self.0)
    }
}

impl Telemetry {
    /// A packet of `size` bytes goes into service, and leaves `waiting` bytes behind. It may collect that.
    pub fn write<P>(&mut self, packet: &mut P, size: u32, waiting: u64, cx: &mut impl Context<P>) {
        let state = PortState { now: cx.now(), rate: cx.rate(), sent: self.sent, waiting };
        self.sent = self.sent.wrapping_add(size.into());
        cx.show(packet, &mut Leaving(state));
    }
}
