use alloc::collections::VecDeque;

use pullnet_units::Instant;

/// State of a packet that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// In flight: its timer runs.
    Sent,
    /// Trimmed or returned: waits for a pull to be retransmitted.
    Waiting,
    /// To be retransmitted without a pull.
    Urgent,
    /// Arrived.
    Acked,
}

impl State {
    /// Whether the receiver still has to answer, and so a pull for the packet is still to come.
    #[inline]
    fn in_flight(self) -> bool {
        matches!(self, Self::Sent | Self::Urgent)
    }
}

/// State of a packet at its sender, kept until the packet and all packets before it are acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub first_sent: Instant,
    pub sent: Instant,
    pub path: u16,
    pub state: State,
    /// Whether the packet was answered or returned at least once.
    pub heard: bool,
    /// Timeouts of the packet so far.
    pub timeouts: u8,
}

/// The packets from the oldest unacknowledged one to the newest one sent.
#[derive(Clone, Default, Debug)]
pub(crate) struct Window {
    first: u32,
    in_flight: u32,
    slots: VecDeque<Slot>,
}

impl Window {
    /// Number of the next new packet.
    #[inline]
    pub fn next(&self) -> u32 {
        self.first + self.slots.len() as u32
    }

    /// The oldest unacknowledged packet, or the next new one.
    pub fn first(&self) -> u32 {
        self.first
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Packets in the window, including acknowledged ones between others.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Packets that the receiver still has to answer.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Moves a packet from state `from` to state `to`.
    #[inline]
    pub fn note(&mut self, from: State, to: State) {
        self.in_flight = self.in_flight + u32::from(to.in_flight()) - u32::from(from.in_flight());
    }

    /// Adds a new packet that is sent.
    #[inline]
    pub fn push(&mut self, now: Instant, path: u16) {
        self.in_flight += 1;
        let state = State::Sent;
        if self.slots.len() == self.slots.capacity() {
            self.grow();
        }
        self.slots.push_back(Slot { first_sent: now, sent: now, path, state, heard: false, timeouts: 0 });
    }

    /// Makes room, in smaller steps than those of a growing queue: a large network has thousands of windows.
    #[cold]
    fn grow(&mut self) {
        self.slots.reserve_exact((self.slots.len() / 4).max(8));
    }

    /// Packet `seq` if it was sent and is still in the window.
    #[inline]
    pub fn get_mut(&mut self, seq: u32) -> Option<&mut Slot> {
        self.slots.get_mut(seq.checked_sub(self.first)? as usize)
    }

    /// Whether packet `seq` is in `state`.
    #[inline]
    pub fn is(&self, seq: u32, state: State) -> bool {
        let index = seq.checked_sub(self.first);
        index.and_then(|index| self.slots.get(index as usize)).is_some_and(|slot| slot.state == state)
    }

    /// Removes acknowledged packets at the beginning.
    #[inline]
    pub fn advance(&mut self) {
        while self.slots.front().is_some_and(|slot| slot.state == State::Acked) {
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// Addresses of the oldest packets, one of which is answered next, and of the newest packet.
    pub fn prefetch_targets(&self) -> [*const u8; 5] {
        let place = |slot: Option<&Slot>| slot.map_or(core::ptr::null(), core::ptr::from_ref).cast::<u8>();
        let oldest = place(self.slots.front());
        let [second, third, fourth] = [64, 128, 192].map(|bytes| oldest.wrapping_add(bytes));
        [oldest, second, third, fourth, place(self.slots.back())]
    }

    /// Packets with their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Slot)> {
        let first = self.first;
        self.slots.iter_mut().enumerate().map(move |(index, slot)| (first + index as u32, slot))
    }
}
