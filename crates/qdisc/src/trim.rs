use pullnet_settings::{choice, settings};
use pullnet_units::{Bytes, QueueSize};

use crate::{Discipline, DropReason, Item, Limit, Outcome, Ring};

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
    data: Limit,
    control: Limit,
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

/// One port of an NDP switch: one cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Trim<P> {
    control_bytes: u32,
    /// Control packets served in this round while data waited.
    turn: u32,
    control: Ring<P, 4>,
    data_bytes: u32,
    /// Bytes of the data packet in service; 0 if there is none.
    serving: u32,
    data: Ring<P>,
}

impl<P: Item> Trim<P> {
    #[inline]
    fn data_fits(&self, rules: &TrimRules, size: u32) -> bool {
        rules.data.admits(self.data_held(), u64::from(self.data_bytes + self.serving), size)
    }

    #[inline]
    fn push_data(&mut self, packet: P) {
        self.data_bytes += packet.wire();
        self.data.push(packet);
    }

    /// A control packet waits, or there is no room for it.
    #[inline(always)]
    fn push_control(&mut self, rules: &TrimRules, packet: P) -> Result<(), P> {
        let size = packet.wire();
        if !rules.control.admits(self.control.len() as u32, u64::from(self.control_bytes), size) {
            return Err(packet);
        }
        self.control_bytes += size;
        self.control.push(packet);
        Ok(())
    }

    /// Whether `arriving` has room where the newest waiting packet is: it may be the longer one.
    fn fits_for_tail(&mut self, rules: &TrimRules, arriving: &P) -> bool {
        let (held, bytes) =
            (self.data_held(), u64::from(self.data_bytes + self.serving) + u64::from(arriving.wire()));
        self.data.back_mut().is_some_and(|tail| rules.data.holds(held, bytes - u64::from(tail.wire())))
    }

    /// Chooses who loses the payload; the other one waits. Returns the chosen one, still whole.
    fn victim(&mut self, rules: &TrimRules, arriving: P, coin: impl FnOnce() -> bool) -> P {
        let spare_tail = rules.victim == Victim::Arriving || !self.fits_for_tail(rules, &arriving) || coin();
        let mut victim = arriving;
        if !spare_tail && let Some(tail) = self.data.back_mut() {
            victim = core::mem::replace(tail, arriving);
            self.data_bytes = self.data_bytes - victim.wire() + arriving.wire();
        }
        victim
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
            data: config.data_queue.into(),
            control: config.control_queue.into(),
            control_per_data: config.control_per_data,
            trim_to: config.trim_to.0 as u32,
            victim: config.victim,
            return_to_sender: config.return_to_sender,
            sure_control: sure_control(config),
        }
    }

    fn shared(_: &TrimRules, _: usize) {}

    fn new(_: &TrimRules) -> Self {
        let (data, control) = (Ring::default(), Ring::default());
        Self { data, control, data_bytes: 0, control_bytes: 0, serving: 0, turn: 0 }
    }

    #[inline(always)]
    fn enqueue(
        &mut self,
        rules: &TrimRules,
        _: &mut (),
        packet: P,
        coin: impl FnOnce() -> bool,
    ) -> Outcome<P> {
        if packet.is_control() {
            return match self.push_control(rules, packet) {
                Ok(()) => Outcome::Queued,
                Err(packet) => Self::refuse(rules, packet, false),
            };
        }
        if self.data_fits(rules, packet.wire()) {
            self.push_data(packet);
            return Outcome::Queued;
        }
        let mut header = self.victim(rules, packet, coin);
        if !header.trimmable() {
            return Outcome::Dropped { packet: header, why: DropReason::DataQueueFull, trimmed: false };
        }
        header.trim(rules.trim_to);
        match self.push_control(rules, header) {
            Ok(()) => Outcome::Trimmed(header),
            Err(header) => Self::refuse(rules, header, true),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, rules: &TrimRules, _: &mut ()) -> Option<P> {
        let both = !self.data.is_empty() && !self.control.is_empty();
        let control_next = if both { self.turn < rules.control_per_data } else { self.data.is_empty() };
        if both {
            self.turn = if control_next { self.turn + 1 } else { 0 };
        }
        if control_next {
            let packet = self.control.pop()?;
            self.control_bytes -= packet.wire();
            Some(packet)
        } else {
            let packet = self.data.pop()?;
            self.serving = packet.wire();
            self.data_bytes -= self.serving;
            Some(packet)
        }
    }

    #[inline]
    fn complete(&mut self, _: &TrimRules, _: &mut ()) {
        self.serving = 0;
    }

    fn places(&self) -> [*const P; 2] {
        [self.data.end(), self.data.near(0)]
    }

    fn waiting(&self, visit: &mut dyn FnMut(&P)) {
        self.control.iter().chain(self.data.iter()).for_each(visit);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.data.is_empty() && self.control.is_empty()
    }

    #[inline]
    fn data_held(&self) -> u32 {
        self.data.len() as u32 + u32::from(self.serving > 0)
    }

    #[inline]
    fn control_held(&self) -> u32 {
        self.control.len() as u32
    }

    #[inline]
    fn data_room(&self, rules: &TrimRules, largest: u32) -> u32 {
        rules.data.room(self.data_held(), u64::from(self.data_bytes + self.serving), largest)
    }

    #[inline]
    fn control_room(&self, rules: &TrimRules) -> u32 {
        if rules.return_to_sender {
            rules.sure_control.saturating_sub(self.control.len() as u32)
        } else {
            u32::MAX
        }
    }

    #[inline]
    fn shortest_next(&self) -> Option<u32> {
        let (control, data) = (self.control.front().map(Item::wire), self.data.front().map(Item::wire));
        control.map_or(data, |control| Some(data.map_or(control, |data| data.min(control))))
    }

    fn trimmed_size(rules: &TrimRules) -> Option<u32> {
        Some(rules.trim_to)
    }
}
