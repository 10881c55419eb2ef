use pullnet_settings::{choice, settings};
use pullnet_units::{Bytes, QueueSize};

use crate::ring::Rings;
use crate::{Discipline, DropReason, Item, Limit, Outcome};

choice! {
    /// Which packet loses its payload when the data queue is full.
    pub enum Victim {
        /// The arriving packet or the newest waiting one, by a fair coin: breaks phase effects (NDP, section 3.1).
        Coin = "coin",
        /// Always the arriving packet, as NetFPGA and the OMNeT++ model do.
        Arriving = "arriving",
    }
}

settings! {
    /// The NDP switch: two queues, trimming, 10:1 service, return-to-sender (NDP, SIGCOMM 2017, section 3.1).
    pub struct TrimConfig {
        /// Room for data packets, the one in service included. Packets or bytes. Source: NDP section 3.1, 8 packets.
        data_queue: QueueSize = "8 packets" in "1 packets" => "60000 packets",
        /// Room for control packets and headers, the one in service excluded. Source: NDP section 3.2.4: the memory
        /// of 8 packets of 9 kB, that is 1125 headers of 64 B.
        control_queue: QueueSize = "72 kB" in "1 packets" => "100000000 packets",
        /// Control packets that are served for each data packet while both wait. Source: NDP section 3.1, 10.
        control_per_data: u32 = 10 in 1 => 1000000,
        /// Bytes on the wire that a trim leaves. Source: NDP section 3.2.4, 64 B.
        trim_to: Bytes = "64 B" in "8 B" => "256 B",
        /// Which packet loses its payload. Source: NDP section 3.1, "coin".
        victim: Victim = "coin",
        /// Whether a header without room goes back to its sender instead of being dropped. Source: NDP section 3.2.4.
        return_to_sender: bool = true,
    }
}

/// No control packet is longer, in bytes on the wire.
const LONGEST_CONTROL: u32 = 128;

/// [`TrimConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct TrimRules {
    /// By class.
    limits: [Limit; 2],
    control_per_data: u32,
    trim_to: u32,
    victim: Victim,
    return_to_sender: bool,
    /// Control packets that find room whatever their length; no limit if none is ever sent back.
    sure_control: u32,
}

/// See [`TrimRules`].
fn sure_control(config: &TrimConfig) -> u32 {
    let longest = LONGEST_CONTROL.max(config.trim_to.0 as u32);
    match config.control_queue {
        _ if !config.return_to_sender => u32::MAX,
        QueueSize::Packets(packets) => packets.0,
        QueueSize::Bytes(bytes) => (bytes.0 / u64::from(longest)).try_into().unwrap_or(u32::MAX),
    }
}

/// The classes of packets: each has a queue. What both have in common is done without asking which one it is, for that is
/// chance and could not be predicted.
const DATA: usize = 0;
/// See [`DATA`].
const CONTROL: usize = 1;

/// One port of an NDP switch.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Trim<P> {
    /// What is left of the limits, by class. The data packet in service takes its share.
    free: [u64; 2],
    /// Share of the data packet in service; 0 if there is none.
    serving: u64,
    /// Control packets served in this round while data waited.
    turn: u32,
    /// By class.
    waiting: Rings<P, 2>,
}

impl<P: Item> Trim<P> {
    /// Where the packets begin: two of them that fill a cache line shall lie in one.
    pub const PACKETS: usize = core::mem::offset_of!(Self, waiting) + Rings::<P, 2>::ITEMS;

    /// Takes in a packet of `class` if there is room.
    #[inline(always)]
    fn push(&mut self, rules: &TrimRules, class: usize, packet: &P) -> bool {
        let left = self.free[class].checked_sub(rules.limits[class].share(packet.wire()));
        if let Some(left) = left {
            self.free[class] = left;
            self.waiting.push(class, packet);
        }
        left.is_some()
    }

    /// A packet without room in its queue.
    #[cold]
    #[inline(never)]
    fn overflow(&mut self, rules: &TrimRules, packet: P, coin: impl FnOnce() -> bool) -> Outcome<P> {
        if packet.is_control() {
            return Self::refuse(rules, packet, false);
        }
        let mut header = self.victim(rules, packet, coin);
        if !header.trimmable() {
            return Outcome::Dropped { packet: header, why: DropReason::DataQueueFull, trimmed: false };
        }
        header.trim(rules.trim_to);
        if self.push(rules, CONTROL, &header) {
            Outcome::Trimmed(header)
        } else {
            Self::refuse(rules, header, true)
        }
    }

    /// Chooses who loses the payload; the other one waits. Returns the chosen one, still whole.
    fn victim(&mut self, rules: &TrimRules, arriving: P, coin: impl FnOnce() -> bool) -> P {
        let share = |packet: &P| rules.limits[DATA].share(packet.wire());
        let free = &mut self.free[DATA];
        // Where the newest waiting packet is there may be too little room: that may be the shorter one.
        if rules.victim == Victim::Coin
            && let Some(tail) = self.waiting.back_mut(DATA)
            && let Some(left) = (*free + share(tail)).checked_sub(share(&arriving))
            && !coin()
        {
            *free = left;
            return core::mem::replace(tail, arriving);
        }
        arriving
    }

    /// A header or control packet that found no room.
    fn refuse(rules: &TrimRules, packet: P, trimmed: bool) -> Outcome<P> {
        if rules.return_to_sender && packet.returnable() {
            Outcome::Returned(packet)
        } else {
            Outcome::Dropped { packet, why: DropReason::ControlQueueFull, trimmed }
        }
    }
}

impl<P: Item> Discipline<P> for Trim<P> {
    const SHARES: bool = false;
    type Config = TrimConfig;
    type Rules = TrimRules;
    type Shared = ();

    fn rules(config: &TrimConfig) -> TrimRules {
        TrimRules {
            limits: [config.data_queue.into(), config.control_queue.into()],
            control_per_data: config.control_per_data,
            trim_to: config.trim_to.0 as u32,
            victim: config.victim,
            return_to_sender: config.return_to_sender,
            sure_control: sure_control(config),
        }
    }

    fn shared(_: &TrimRules, _: usize) {}

    fn new(rules: &TrimRules) -> Self {
        let free = rules.limits.map(|limit| limit.most());
        Self { free, serving: 0, turn: 0, waiting: Rings::default() }
    }

    #[inline(always)]
    fn enqueue(
        &mut self,
        rules: &TrimRules,
        _: &mut (),
        packet: P,
        coin: impl FnOnce() -> bool,
    ) -> Outcome<P> {
        if self.push(rules, usize::from(packet.is_control()), &packet) {
            Outcome::Queued
        } else {
            self.overflow(rules, packet, coin)
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, rules: &TrimRules, _: &mut ()) -> Option<P> {
        let (data, control) = (self.waiting.len(DATA) > 0, self.waiting.len(CONTROL) > 0);
        let turn = self.turn + u32::from(data & control);
        let data_first = turn > rules.control_per_data;
        self.turn = if data_first { 0 } else { turn };
        let control_next = control & !data_first;
        let class = usize::from(control_next);
        let packet = self.waiting.pop(class)?;
        let share = rules.limits[class].share(packet.wire());
        self.serving = if control_next { 0 } else { share };
        self.free[CONTROL] += share - self.serving;
        Some(packet)
    }

    #[inline]
    fn complete(&mut self, _: &TrimRules, _: &mut ()) {
        self.free[DATA] += core::mem::take(&mut self.serving);
    }

    fn places(&self) -> [*const P; 2] {
        [0, self.waiting.len(DATA)].map(|index| self.waiting.near(DATA, index))
    }

    fn waiting(&self, visit: &mut dyn FnMut(&P)) {
        [CONTROL, DATA].into_iter().flat_map(|class| self.waiting.iter(class)).for_each(visit);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.len(DATA) == 0 && self.waiting.len(CONTROL) == 0
    }

    #[inline]
    fn data_held(&self) -> u32 {
        self.waiting.len(DATA) + u32::from(self.serving > 0)
    }

    #[inline]
    fn queued(&self, control: bool) -> u32 {
        self.waiting.len(usize::from(control))
    }

    #[inline]
    fn data_room(&self, rules: &TrimRules, largest: u32) -> u32 {
        (self.free[DATA] / rules.limits[DATA].share(largest).max(1)).try_into().unwrap_or(u32::MAX)
    }

    #[inline]
    fn control_room(&self, rules: &TrimRules) -> u32 {
        if rules.return_to_sender { rules.sure_control.saturating_sub(self.queued(true)) } else { u32::MAX }
    }

    #[inline]
    fn shortest_next(&self) -> Option<u32> {
        let next = |class| self.waiting.get(class, 0).map_or(u32::MAX, Item::wire);
        let size = next(DATA).min(next(CONTROL));
        (size < u32::MAX).then_some(size)
    }

    fn trimmed_size(rules: &TrimRules) -> Option<u32> {
        Some(rules.trim_to)
    }
}
