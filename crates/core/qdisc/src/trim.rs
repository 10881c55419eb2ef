use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::{choice, settings};
use pullnet_units::{Bytes, Picos, QueueSize};

use crate::classes::{ClassRule, Classes, Verdict, Waiting};
use crate::context::{Context, DropReason};
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;
use crate::marking::{MarkWhen, StepMark};
use crate::queue_settings::{Capacity, QueueSettings};

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
        /// Time that a returned header takes through the switch to the port that leads to its sender. Absent: as long as the
        /// shortest packet needs on the fastest link.
        return_latency: Option<Picos> = "",
        /// Data packets of ECN-capable transports are marked while the port holds more data than this. Packets or bytes;
        /// absent: no packet is marked.
        mark_above: Option<QueueSize> = "",
        /// When that is looked at.
        mark_at: MarkWhen = "enqueue" unused if mark_above == "",
    }
}

impl QueueSettings for TrimConfig {
    fn capacities(&self) -> Vec<Capacity> {
        let data = Capacity { key: "data_queue", room: self.data_queue, of_data: true };
        vec![data, Capacity { key: "control_queue", room: self.control_queue, of_data: false }]
    }

    fn trim_to(&self) -> Option<Bytes> {
        Some(self.trim_to)
    }
}

/// Upper bound of the length of control packets. Bytes on the wire.
const LONGEST_CONTROL: u32 = 192;

/// [`TrimConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct TrimRules {
    /// By class.
    limits: [Limit; 2],
    control_per_data: u32,
    trim_to: u32,
    victim: Victim,
    return_to_sender: bool,
    return_latency: Option<Picos>,
    /// Number of control packets that fit even if all have the largest size; no limit if packets are never sent back.
    sure_control: u32,
    mark: Option<StepMark>,
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

/// The classes of packets. Steps common to both use the class as an index, without a branch: the class of a packet is
/// random, so that a branch on it is mispredicted half the time.
const DATA: usize = 0;
/// See [`DATA`].
const CONTROL: usize = 1;

/// The rule of a port of an NDP switch.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct TrimRule {
    /// Room left, by class. The data packet in service counts as held.
    free: [u64; 2],
    /// Share of the data packet in service; 0 if there is none.
    serving: u32,
    /// Control packets served in this round while data waited.
    turn: u32,
    /// Data held, in packets and bytes; only where packets are marked.
    marking: Option<Box<Fifo>>,
}

/// One port of an NDP switch.
pub type Trim<P> = Classes<TrimRule, P, 2>;

impl TrimRule {
    /// Takes room for a packet of `size` bytes in `class` if there is enough.
    #[inline(always)]
    fn take(&mut self, rules: &TrimRules, class: usize, size: u32) -> bool {
        let left = self.free[class].checked_sub(rules.limits[class].share(size));
        if let Some(left) = left {
            self.free[class] = left;
        }
        left.is_some()
    }

    /// Decides about a packet without room in its class.
    #[cold]
    #[inline(never)]
    fn overflow<P: Item>(
        &mut self,
        rules: &TrimRules,
        (packet, size): (&P, u32),
        newest: Option<&P>,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        if packet.is_control() {
            let returns = rules.return_to_sender && packet.returnable();
            return if returns { Verdict::Return } else { Verdict::Drop(DropReason::ControlQueueFull) };
        }
        // The arriving packet may be longer than the room that the newest one leaves.
        let share = |size: u32| rules.limits[DATA].share(size);
        if rules.victim == Victim::Coin
            && let Some(newest) = newest
            && let Some(left) = (self.free[DATA] + share(newest.wire(rules.trim_to))).checked_sub(share(size))
            && !cx.coin()
        {
            self.free[DATA] = left;
            if let Some(held) = &mut self.marking {
                held.replace(newest.wire(rules.trim_to), size);
            }
            return Verdict::TrimNewest(DATA);
        }
        Verdict::TrimArriving
    }

    /// Counts a packet that was taken.
    #[cold]
    fn count(&mut self, packet: &impl Item, size: u32) {
        if let Some(held) = self.marking.as_mut().filter(|_| !packet.is_control()) {
            held.add(packet, size);
        }
    }

    /// A data packet goes into service. Returns whether it is marked.
    #[cold]
    fn marks_leaving(&mut self, mark: &StepMark, packet: &impl Item, size: u32) -> bool {
        let Some(held) = self.marking.as_mut().filter(|_| !packet.is_control()) else { return false };
        held.serve(packet, size);
        let (packets, bytes) = held.behind();
        mark.at_dequeue(packets, bytes) && packet.ect()
    }
}

impl ClassRule<2> for TrimRule {
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
            return_latency: config.return_latency,
            sure_control: sure_control(config),
            mark: config.mark_above.map(|above| StepMark::new(above, config.mark_at)),
        }
    }

    fn shared(_: &TrimRules, _: usize) {}

    fn new(rules: &TrimRules) -> Self {
        let marking = rules.mark.map(|_| Box::default());
        Self { free: rules.limits.map(|limit| limit.most()), serving: 0, turn: 0, marking }
    }

    fn trimmed_size(rules: &TrimRules) -> Option<u32> {
        Some(rules.trim_to)
    }

    fn return_latency(rules: &TrimRules) -> Option<Picos> {
        rules.return_latency
    }

    /// A packet that arrives above the threshold is marked, even if it then loses its payload.
    #[inline(always)]
    fn marks<P: Item>(&self, rules: &TrimRules, packet: &P) -> bool {
        let above = |mark: &StepMark| {
            let held = self.marking.as_ref().filter(|_| !packet.is_control() && packet.ect());
            held.is_some_and(|held| mark.at_enqueue(held.packets(), held.bytes()))
        };
        rules.mark.as_ref().is_some_and(above)
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        rules: &TrimRules,
        _: &mut (),
        (packet, size): (&P, u32),
        waiting: Waiting<'_, P, 2>,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        let class = usize::from(packet.is_control());
        if !self.take(rules, class, size) {
            return self.overflow(rules, (packet, size), waiting.newest(DATA), &mut cx.apart());
        }
        if rules.mark.is_some() {
            self.count(packet, size);
        }
        Verdict::Take(class)
    }

    #[inline(always)]
    fn next<P: Item>(
        &mut self,
        rules: &TrimRules,
        waiting: Waiting<'_, P, 2>,
        _: &mut impl Context<P>,
    ) -> Option<usize> {
        let (data, control) = (waiting.len(DATA) > 0, waiting.len(CONTROL) > 0);
        let turn = self.turn + u32::from(data & control);
        let data_first = turn > rules.control_per_data;
        self.turn = if data_first { 0 } else { turn };
        Some(usize::from(control & !data_first))
    }

    #[inline(always)]
    fn serve<P: Item>(
        &mut self,
        rules: &TrimRules,
        _: &mut (),
        (packet, size): (&P, u32),
        class: usize,
        _: &mut impl Context<P>,
    ) -> bool {
        let share = rules.limits[class].share(size);
        let of_data = if class == CONTROL { 0 } else { share };
        self.serving = of_data as u32;
        self.free[CONTROL] += share - of_data;
        rules.mark.as_ref().is_some_and(|mark| self.marks_leaving(mark, packet, size))
    }

    #[inline]
    fn complete<P: Item>(&mut self, _: &TrimRules, _: &mut (), _: &mut impl Context<P>) {
        self.free[DATA] += u64::from(core::mem::take(&mut self.serving));
        if let Some(held) = &mut self.marking {
            held.complete();
        }
    }

    #[inline]
    fn data_held(&self, waiting: [u32; 2]) -> u32 {
        waiting[DATA] + u32::from(self.serving > 0)
    }

    #[inline]
    fn queued(&self, control: bool, waiting: [u32; 2]) -> u32 {
        waiting[usize::from(control)]
    }

    #[inline]
    fn data_room(&self, rules: &TrimRules, largest: u32) -> u32 {
        (self.free[DATA] / rules.limits[DATA].share(largest).max(1)).try_into().unwrap_or(u32::MAX)
    }

    #[inline]
    fn control_room(&self, rules: &TrimRules, waiting: [u32; 2]) -> u32 {
        if rules.return_to_sender { rules.sure_control.saturating_sub(waiting[CONTROL]) } else { u32::MAX }
    }
}
