use pullnet_settings::Settings;
use pullnet_units::{BitsPerSec, Picos};

use crate::context::Context;
use crate::item::Item;

/// Bounds on how late a driver may visit a port. Every answer must be safe: too low a bound costs speed, too high a
/// bound breaks the order of events. Where there is a default it is always safe; a rule overrides it only for speed.
pub trait Lookahead {
    /// The settings in the form in which the queue uses them.
    type Rules: Clone + Send + Sync;

    /// Data packets of at most `largest` bytes that certainly find room if no packet leaves before they arrive. The
    /// next one may lose its payload. `u32::MAX` if this discipline never trims.
    fn data_room(&self, _rules: &Self::Rules, _largest: u32) -> u32 {
        0
    }
    /// Packets of any kind that can arrive before a header may be sent back; `u32::MAX` if none ever is.
    fn control_room(&self, _rules: &Self::Rules) -> u32 {
        0
    }
    /// Lower bound of the length of the packet that is served next in the present state; `None` if no packet waits.
    fn shortest_next(&self, rules: &Self::Rules) -> Option<u32>;
}

/// One egress port's queues.
pub trait Discipline<P: Item>: Lookahead + Sized {
    /// Whether ports of one switch share state, so that the switch is the unit of work.
    const SHARES: bool;
    /// Whether the queue may leave the link idle while packets wait. It then requests another service
    /// ([`Context::wake`]).
    const IDLES: bool = false;
    /// Whether the queue pauses the neighbours that packets come from ([`Context::signal`]), and obeys their pauses
    /// ([`Context::paused`]). Such a queue must share state with the other ports of its switch ([`Discipline::SHARES`]).
    const SIGNALS: bool = false;
    /// Settings as a scenario states them.
    type Config: Settings + Clone;
    /// State that the ports of one switch share; `()` for none.
    type Shared: Send;

    /// The settings, ready for use.
    fn rules(config: &Self::Config) -> Self::Rules;
    /// The shared state of a switch with `ports` ports.
    fn shared(rules: &Self::Rules, ports: usize) -> Self::Shared;
    /// Tells the shared state of an empty switch the rates of the links into it, by [`Item::ingress`].
    fn links(_rules: &Self::Rules, _shared: &mut Self::Shared, _rates: &[BitsPerSec]) {}
    /// An empty port.
    fn new(rules: &Self::Rules) -> Self;
    /// Bytes on the wire that a trim leaves; `None` if this discipline never trims.
    fn trimmed_size(rules: &Self::Rules) -> Option<u32>;
    /// Time that a returned header takes through the switch; `None`: as long as the shortest packet needs on the
    /// fastest link.
    fn return_latency(_rules: &Self::Rules) -> Option<Picos> {
        None
    }

    /// Accepts an arriving packet. The packet waits, or its outcome is reported to the context.
    fn enqueue(
        &mut self,
        rules: &Self::Rules,
        shared: &mut Self::Shared,
        packet: P,
        cx: &mut impl Context<P>,
    );
    /// The link is free: returns the packet that goes into service. `None` if no packet may be sent now.
    fn dequeue(
        &mut self,
        rules: &Self::Rules,
        shared: &mut Self::Shared,
        cx: &mut impl Context<P>,
    ) -> Option<P>;
    /// The packet in service has left.
    fn complete(&mut self, rules: &Self::Rules, shared: &mut Self::Shared, cx: &mut impl Context<P>);

    /// Addresses of the packets that can leave next, for a driver that prefetches.
    fn prefetch_targets(&self) -> [*const P; 2];
    /// Visits every waiting packet.
    fn waiting(&self, visit: &mut dyn FnMut(&P));
    /// Whether no packet waits.
    fn is_empty(&self) -> bool;
    /// Data packets held, the one in service included.
    fn data_held(&self) -> u32;
    /// Control packets or data packets that wait, without the packet in service.
    fn queued(&self, control: bool) -> u32;
}
