use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_units::{Bytes, QueueSize};

use crate::classes::{ClassRule, Classes, Verdict, Waiting};
use crate::context::{Context, DropReason};
use crate::item::Item;
use crate::limit::Limit;
use crate::queue_settings::{Capacity, QueueSettings};

settings! {
    /// The SCDP switch: strict priorities for symbols below a queue for pulls and headers, trimming, weighted round robin.
    pub struct ScdpSwitchConfig {
        /// Room for symbols of all priorities together, the one in service included. Packets or bytes. Source: SCDP
        /// evaluation, 20 packets shared by five queues.
        data_queue: QueueSize = "20 packets" in "1 packets" => "60000 packets",
        /// Room for control packets and headers, the one in service excluded. Source: SCDP, large enough never to drop.
        control_queue: QueueSize = "72 kB" in "1 packets" => "100000000 packets",
        /// Control packets that are served for each symbol while both wait. Source: the authors' NDP model, 10.
        control_per_data: u32 = 10 in 1 => 1000000,
        /// Bytes on the wire that a trim leaves.
        trim_to: Bytes = "64 B" in "8 B" => "256 B",
    }
}

impl QueueSettings for ScdpSwitchConfig {
    fn capacities(&self) -> Vec<Capacity> {
        let data = Capacity { key: "data_queue", room: self.data_queue, of_data: true };
        vec![data, Capacity { key: "control_queue", room: self.control_queue, of_data: false }]
    }

    fn trim_to(&self) -> Option<Bytes> {
        Some(self.trim_to)
    }
}

/// Queues for symbols, the most urgent first.
const LEVELS: usize = 5;
/// The queue for pulls and headers.
const CONTROL: usize = LEVELS;
/// Queues of a port.
const CLASSES: usize = LEVELS + 1;
/// Priority of the most urgent symbols.
const TOP: u8 = 7;

/// [`ScdpSwitchConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct ScdpSwitchRules {
    data: Limit,
    control: Limit,
    control_per_data: u32,
    trim_to: u32,
}

/// The rule of a port of an SCDP switch.
#[derive(Clone, Debug)]
pub struct ScdpSwitchRule {
    /// Room left for symbols. The symbol in service counts as held.
    data_free: u64,
    /// Room left for control packets.
    control_free: u64,
    /// Share of the symbol in service; 0 if there is none.
    serving: u32,
    /// Control packets served in this round while symbols waited.
    turn: u32,
}

/// One port of an SCDP switch.
pub type ScdpSwitch<P> = Classes<ScdpSwitchRule, P, CLASSES>;

/// The queue of a packet: priorities 7 to 3 have one each, and lower priorities share the last.
fn class(packet: &impl Item) -> usize {
    if packet.is_control() {
        CONTROL
    } else {
        usize::from(TOP.saturating_sub(packet.priority())).min(LEVELS - 1)
    }
}

impl ClassRule<CLASSES> for ScdpSwitchRule {
    type Config = ScdpSwitchConfig;
    type Rules = ScdpSwitchRules;
    type Shared = ();

    fn rules(config: &ScdpSwitchConfig) -> ScdpSwitchRules {
        ScdpSwitchRules {
            data: config.data_queue.into(),
            control: config.control_queue.into(),
            control_per_data: config.control_per_data,
            trim_to: config.trim_to.0 as u32,
        }
    }

    fn shared(_: &ScdpSwitchRules, _: usize) {}

    fn new(rules: &ScdpSwitchRules) -> Self {
        Self { data_free: rules.data.most(), control_free: rules.control.most(), serving: 0, turn: 0 }
    }

    fn trimmed_size(rules: &ScdpSwitchRules) -> Option<u32> {
        Some(rules.trim_to)
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        rules: &ScdpSwitchRules,
        _: &mut (),
        (packet, size): (&P, u32),
        _: Waiting<'_, P, CLASSES>,
        _: &mut impl Context<P>,
    ) -> Verdict {
        let class = class(packet);
        let (free, limit, full) = if class == CONTROL {
            (&mut self.control_free, &rules.control, Verdict::Drop(DropReason::ControlQueueFull))
        } else {
            (&mut self.data_free, &rules.data, Verdict::TrimArriving)
        };
        match free.checked_sub(limit.share(size)) {
            Some(left) => {
                *free = left;
                Verdict::Take(class)
            }
            None => full,
        }
    }

    #[inline(always)]
    fn next<P: Item>(
        &mut self,
        rules: &ScdpSwitchRules,
        waiting: Waiting<'_, P, CLASSES>,
        _: &mut impl Context<P>,
    ) -> Option<usize> {
        let symbols = (0..LEVELS).find(|class| waiting.len(*class) > 0);
        let control = waiting.len(CONTROL) > 0;
        let turn = self.turn + u32::from(symbols.is_some() && control);
        let symbols_first = turn > rules.control_per_data;
        self.turn = if symbols_first { 0 } else { turn };
        if control && !symbols_first { Some(CONTROL) } else { symbols }
    }

    #[inline(always)]
    fn serve<P: Item>(
        &mut self,
        rules: &ScdpSwitchRules,
        _: &mut (),
        (_, size): (&P, u32),
        class: usize,
        _: &mut impl Context<P>,
    ) -> bool {
        if class == CONTROL {
            self.control_free += rules.control.share(size);
        } else {
            self.serving = rules.data.share(size) as u32;
        }
        false
    }

    #[inline]
    fn complete<P: Item>(&mut self, _: &ScdpSwitchRules, _: &mut (), _: &mut impl Context<P>) {
        self.data_free += u64::from(core::mem::take(&mut self.serving));
    }

    #[inline]
    fn data_held(&self, waiting: [u32; CLASSES]) -> u32 {
        self.queued(false, waiting) + u32::from(self.serving > 0)
    }

    #[inline]
    fn queued(&self, control: bool, waiting: [u32; CLASSES]) -> u32 {
        if control { waiting[CONTROL] } else { waiting[..LEVELS].iter().sum() }
    }

    #[inline]
    fn data_room(&self, rules: &ScdpSwitchRules, largest: u32) -> u32 {
        (self.data_free / rules.data.share(largest).max(1)).try_into().unwrap_or(u32::MAX)
    }

    /// Nothing is ever sent back.
    #[inline]
    fn control_room(&self, _: &ScdpSwitchRules, _: [u32; CLASSES]) -> u32 {
        u32::MAX
    }
}
