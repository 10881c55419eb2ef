use pullnet_settings::Settings;

/// A packet as a queue sees it. The default one stands where there is none.
pub trait Item: Copy + Default {
    /// Whether it is a control packet or a header without payload.
    fn is_control(&self) -> bool;
    /// Bytes on the wire now.
    fn wire(&self) -> u32;
    /// Cuts the payload: from now on a control packet of `bytes` bytes.
    fn trim(&mut self, bytes: u32);
    /// Whether it may be sent back to where it came from: a trimmed header that was not sent back before.
    fn returnable(&self) -> bool;
    /// Whether its payload may be cut. A switch that also carries packets of other protocols drops those instead.
    #[inline]
    fn trimmable(&self) -> bool {
        true
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// No room for a data packet.
    DataQueueFull,
    /// No room for a control packet.
    ControlQueueFull,
}

/// What became of an arriving packet, and of the packet that it displaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<P> {
    /// It waits.
    Queued,
    /// A packet lost its payload; its header waits.
    Trimmed(P),
    /// A packet lost its payload and its header goes back to the sender.
    Returned(P),
    /// A packet is gone. `trimmed` says whether it lost its payload here first.
    Dropped {
        /// The packet as it was when it was dropped.
        packet: P,
        /// Why.
        why: DropReason,
        /// Whether its payload was cut here before.
        trimmed: bool,
    },
}

/// One egress port's queues.
pub trait Discipline<P: Item>: Sized {
    /// Whether ports of one switch share state, so that the switch is the unit of work.
    const SHARES: bool;
    /// Settings as a scenario states them.
    type Config: Settings + Clone;
    /// The settings in the form in which the queue uses them.
    type Rules: Clone + Send + Sync;
    /// What the ports of one switch share; `()` for nothing.
    type Shared: Send;

    /// The settings, ready for use.
    fn rules(config: &Self::Config) -> Self::Rules;
    /// The shared state of a switch with `ports` ports.
    fn shared(rules: &Self::Rules, ports: usize) -> Self::Shared;
    /// An empty port.
    fn new(rules: &Self::Rules) -> Self;

    /// A packet arrives. `coin` is drawn at most once and only where the rule needs chance.
    fn enqueue(
        &mut self,
        rules: &Self::Rules,
        shared: &mut Self::Shared,
        packet: P,
        coin: impl FnOnce() -> bool,
    ) -> Outcome<P>;
    /// The link is free: the next packet goes into service. `None`: nothing waits.
    fn dequeue(&mut self, rules: &Self::Rules, shared: &mut Self::Shared) -> Option<P>;
    /// The packet in service has left.
    fn complete(&mut self, rules: &Self::Rules, shared: &mut Self::Shared);

    /// Where the packets that can leave next lie, for a driver that prepares memory.
    fn places(&self) -> [*const P; 2];
    /// Visits every waiting packet.
    fn waiting(&self, visit: &mut dyn FnMut(&P));
    /// Whether nothing waits.
    fn is_empty(&self) -> bool;
    /// Data packets held, the one in service included.
    fn data_held(&self) -> u32;
    /// Control packets that wait, or data packets that wait; the one in service excluded.
    fn queued(&self, control: bool) -> u32;
    /// How many data packets of at most `largest` bytes surely find room if nothing leaves before they arrive. From
    /// one more on a packet may lose its payload, so that a driver must not rely on the length of what is to come.
    /// `u32::MAX` if this discipline never trims.
    fn data_room(&self, rules: &Self::Rules, largest: u32) -> u32;
    /// How many packets of any kind can arrive before a header may be sent back. `u32::MAX` if none ever is.
    fn control_room(&self, rules: &Self::Rules) -> u32;
    /// Length of the shortest packet that may be served next as things stand; `None` if nothing waits.
    fn shortest_next(&self) -> Option<u32>;
    /// Bytes on the wire that a trim leaves; `None` if this discipline never trims.
    fn trimmed_size(rules: &Self::Rules) -> Option<u32>;
}
