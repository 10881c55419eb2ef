use pullnet_settings::settings;
use pullnet_units::QueueSize;

use crate::{Discipline, DropReason, Item, Limit, Outcome, Ring};

settings! {
    /// One first-in-first-out queue for all packets; what finds no room is dropped.
    pub struct DropTailConfig {
        /// Room for packets of any kind, the one in service included. Packets or bytes. Source: NDP section 6.1 gives
        /// DCTCP and MPTCP 200 packets.
        queue: QueueSize = "200 packets" in "1 packets" => "1000000 packets",
    }
}

/// One port of a drop-tail switch.
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    waiting: Ring<P>,
    waiting_bytes: u64,
    waiting_data: u32,
    /// Bytes of the packet in service; 0 if there is none.
    serving: u32,
    serving_data: bool,
}

impl<P: Item> DropTail<P> {
    /// An empty port.
    pub fn empty() -> Self {
        Self { waiting: Ring::default(), waiting_bytes: 0, waiting_data: 0, serving: 0, serving_data: false }
    }

    /// Packets held, the one in service included.
    #[inline]
    pub fn held(&self) -> u32 {
        self.waiting.len() as u32 + u32::from(self.serving > 0)
    }

    /// Bytes held, the packet in service included.
    #[inline]
    pub fn held_bytes(&self) -> u64 {
        self.waiting_bytes + u64::from(self.serving)
    }

    /// Appends without asking for room.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.waiting_bytes += u64::from(packet.wire());
        self.waiting_data += u32::from(!packet.is_control());
        self.waiting.push(&packet);
    }

    /// Takes the oldest packet into service.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let packet = self.waiting.pop()?;
        self.serving = packet.wire();
        self.serving_data = !packet.is_control();
        self.waiting_bytes -= u64::from(self.serving);
        self.waiting_data -= u32::from(self.serving_data);
        Some(packet)
    }

    /// The packet in service has left; returns its length.
    #[inline]
    pub fn finish(&mut self) -> u32 {
        self.serving_data = false;
        core::mem::take(&mut self.serving)
    }

    /// Length of the oldest waiting packet.
    #[inline]
    pub fn next_size(&self) -> Option<u32> {
        self.waiting.front().map(Item::wire)
    }

    /// Where the oldest packet lies.
    pub fn first(&self) -> *const P {
        self.waiting.near(0)
    }

    /// Visits every waiting packet.
    pub fn each(&self, visit: &mut dyn FnMut(&P)) {
        self.waiting.iter().for_each(visit);
    }

    /// Data packets held, the one in service included.
    #[inline]
    pub fn data(&self) -> u32 {
        self.waiting_data + u32::from(self.serving_data)
    }

    /// Control packets that wait, or data packets.
    #[inline]
    pub fn queued(&self, control: bool) -> u32 {
        if control { self.waiting.len() as u32 - self.waiting_data } else { self.waiting_data }
    }
}

impl<P: Item> Discipline<P> for DropTail<P> {
    const SHARES: bool = false;
    type Config = DropTailConfig;
    type Rules = Limit;
    type Shared = ();

    fn rules(config: &DropTailConfig) -> Limit {
        config.queue.into()
    }

    fn shared(_: &Limit, _: usize) {}

    fn new(_: &Limit) -> Self {
        Self::empty()
    }

    #[inline]
    fn enqueue(&mut self, rules: &Limit, _: &mut (), packet: P, _: impl FnOnce() -> bool) -> Outcome<P> {
        if rules.admits(self.held(), self.held_bytes(), packet.wire()) {
            self.push(packet);
            Outcome::Queued
        } else {
            Outcome::Dropped { packet, why: drop_reason(&packet), trimmed: false }
        }
    }

    #[inline]
    fn dequeue(&mut self, _: &Limit, _: &mut ()) -> Option<P> {
        self.pop()
    }

    #[inline]
    fn complete(&mut self, _: &Limit, _: &mut ()) {
        self.finish();
    }

    fn places(&self) -> [*const P; 2] {
        [self.first(), self.first()]
    }

    fn waiting(&self, visit: &mut dyn FnMut(&P)) {
        self.each(visit);
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn data_held(&self) -> u32 {
        self.data()
    }

    fn queued(&self, control: bool) -> u32 {
        self.queued(control)
    }

    fn data_room(&self, _: &Limit, _: u32) -> u32 {
        u32::MAX
    }

    fn control_room(&self, _: &Limit) -> u32 {
        u32::MAX
    }

    fn shortest_next(&self) -> Option<u32> {
        self.next_size()
    }

    fn trimmed_size(_: &Limit) -> Option<u32> {
        None
    }
}

/// Which kind of room was missing.
pub(crate) fn drop_reason(packet: &impl Item) -> DropReason {
    if packet.is_control() { DropReason::ControlQueueFull } else { DropReason::DataQueueFull }
}
