use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::{choice, settings};
use pullnet_units::{BitsPerSec, Bytes, QueueSize};

use crate::classes::{ClassRule, Classes, Verdict, Waiting};
use crate::context::{Context, Signal};
use crate::drop_tail::drop_reason;
use crate::item::Item;
use crate::queue_settings::{Capacity, Divided, QueueSettings};
use crate::telemetry::Telemetry;

/// Number of priorities.
const PRIORITIES: usize = 8;

choice! {
    /// Traffic that a pause stops.
    pub enum PauseKind {
        /// One priority (IEEE 802.1Qbb, priority flow control).
        Priority = "priority",
        /// The whole link (IEEE 802.3x).
        Link = "link",
    }
}

choice! {
    /// Which priority a port serves next.
    pub enum Schedule {
        /// The highest that waits and is not paused.
        Strict = "strict",
        /// Round robin over the priorities that wait and are not paused, one packet each.
        RoundRobin = "round-robin",
    }
}

settings! {
    /// Lossless switches: before the memory for the packets of one link is full, the switch asks the sender at the other end
    /// of that link to pause.
    ///
    /// Packets are counted by the link and the priority that they came by. Bytes beyond the reserve come out of the
    /// shared memory, up to a dynamic threshold; what still arrives after that, because a pause takes time, fills the headroom.
    /// A packet that finds neither is dropped.
    pub struct PfcConfig {
        /// Memory of the whole switch. Bytes on the wire.
        buffer: Bytes = "4 MB" in "1 kB" => "100 GB",
        /// Memory that each link into the switch has to itself, for each of `priorities`. Bytes on the wire.
        reserve: Bytes = "4 kB" in "0 B" => "100 MB",
        /// Memory for what still arrives on a link after the pause was sent, for each of `priorities`: at least the rate
        /// times twice the delay, and two full packets. Bytes on the wire.
        headroom: Bytes = "40 kB" in "0 B" => "1 GB",
        /// Number of priorities in use, for which reserve and headroom are set aside.
        priorities: u32 = 1 in 1 => 8,
        /// How much of the free shared memory one priority of a link may hold before it is paused. Factor.
        alpha: f64 = 0.125 in 0.001 => 1000.0 unused if pause_above != "",
        /// A fixed threshold instead: the shared memory that a single priority of a link may hold before it is paused (XOFF).
        /// Bytes on the wire; absent: `alpha` decides. Source: public NDP code, 15 packets.
        pause_above: Option<Bytes> = "" in "1 B" => "10 GB",
        /// A pause ends when so much less than the threshold is held. Bytes on the wire.
        resume_below: Bytes = "3 kB" in "0 B" => "100 MB",
        /// Traffic that a pause stops.
        pause: PauseKind = "priority",
        /// How long a pause lasts if nothing more is heard, in times of 512 bits on the link; it is repeated when half of that
        /// is over. 0: until it is taken back. Source: IEEE 802.1Qbb, 16 bits.
        quanta: u32 = 65535 in 0 => 65535,
        /// Which priority is served next; a higher number is more urgent.
        schedule: Schedule = "strict",
        /// Packets of ECN-capable transports are marked as they leave, with a probability that rises from 0 where this
        /// much of their priority waits. Packets or bytes; absent: no packet is marked.
        mark_low: Option<QueueSize> = "",
        /// All are marked where more than this waits. In the unit of `mark_low`.
        mark_high: QueueSize = "400 kB" in "1 packets" => "1000000 packets" unused if mark_low == "",
        /// Probability of a mark just below `mark_high`.
        mark_probability: f64 = 1.0 in 0.0 => 1.0 unused if mark_low == "",
        /// `headroom`, `alpha`, `pause_above`, `mark_low` and `mark_high` are stated for links of this rate, and in proportion to the rate
        /// for others: faster links may hold more. Absent: the same for all links. Source: HPCC simulator.
        reference_rate: Option<BitsPerSec> = "" in "1 kbps" => "10 Tbps",
        /// Packets that collect the state of ports find it here: time, rate, bytes sent, bytes that wait (in-band network telemetry,
        /// as HPCC needs).
        telemetry: bool = false,
    }
}

impl QueueSettings for PfcConfig {
    fn headroom(&self, rate: BitsPerSec) -> Option<(&'static str, Bytes)> {
        let rules = <PfcRule as ClassRule<PRIORITIES>>::rules(self);
        Some(("headroom", Bytes(rules.headroom(rules.scale(rate)))))
    }

    fn classes(&self) -> u8 {
        PRIORITIES as u8
    }

    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "buffer", room: QueueSize::Bytes(self.buffer), of_data: true }]
    }

    fn thresholds(&self) -> Option<[(&'static str, QueueSize); 2]> {
        self.mark_low.map(|low| [("mark_low", low), ("mark_high", self.mark_high)])
    }

    fn divided(&self, rates: &[BitsPerSec]) -> Option<Divided> {
        let rules = <PfcRule as ClassRule<PRIORITIES>>::rules(self);
        let scales = || rates.iter().map(|rate| rules.scale(*rate));
        let set_aside = scales().map(|scale| rules.set_aside(scale)).fold(0, u64::saturating_add);
        let shared = self.buffer.0.saturating_sub(set_aside);
        let largest = scales().map(|scale| rules.largest(scale, shared)).min().unwrap_or(u64::MAX);
        Some(Divided {
            key: "buffer",
            memory: self.buffer,
            set_aside: Bytes(set_aside),
            by: "reserve and headroom of each priority",
            largest: Bytes(largest),
            limited_by: match self.pause_above {
                Some(_) => "headroom, or reserve and pause_above together",
                None => "headroom, or reserve and alpha times the shared memory together",
            },
        })
    }
}

/// A marking probability that rises between two thresholds.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    low: u64,
    high: u64,
    probability: f64,
    in_bytes: bool,
}

impl Ramp {
    /// The same for a link that is `scale` times as fast.
    fn scaled(self, scale: f64) -> Self {
        let [low, high] = [self.low, self.high].map(|threshold| (threshold as f64 * scale) as u64);
        Self { low, high, ..self }
    }

    /// Whether a departing packet is marked, with `packets` of `bytes` together waiting behind it.
    fn marks<P>(&self, packets: u32, bytes: u64, cx: &mut impl Context<P>) -> bool {
        let held = if self.in_bytes { bytes } else { packets.into() };
        if held <= self.low {
            return false;
        }
        let share = (held - self.low) as f64 / (self.high.saturating_sub(self.low)).max(1) as f64;
        held > self.high || cx.unit() < self.probability * share
    }
}

/// [`PfcConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct PfcRules {
    buffer: u64,
    reserve: u64,
    headroom: u64,
    priorities: u64,
    alpha: f64,
    pause_above: Option<u64>,
    resume_below: u64,
    pause: PauseKind,
    quanta: u16,
    schedule: Schedule,
    mark: Option<Ramp>,
    reference_rate: Option<BitsPerSec>,
    telemetry: bool,
}

impl PfcRules {
    /// How many times as fast as the reference a link of `rate` is; 1 without a reference.
    fn scale(&self, rate: BitsPerSec) -> f64 {
        self.reference_rate.map_or(1.0, |reference| rate.get() as f64 / reference.get() as f64)
    }

    /// Headroom of a link that is `scale` times as fast as the reference.
    fn headroom(&self, scale: f64) -> u64 {
        (self.headroom as f64 * scale) as u64
    }

    /// Memory that a link which is `scale` times as fast as the reference has to itself.
    fn set_aside(&self, scale: f64) -> u64 {
        (self.reserve + self.headroom(scale)).saturating_mul(self.priorities)
    }

    /// Most of `free` shared memory that a single account of a link which is `scale` times as fast as the reference may hold.
    fn threshold(&self, scale: f64, free: u64) -> u64 {
        (self.pause_above.map_or(free as f64 * self.alpha, |fixed| fixed as f64) * scale) as u64
    }

    /// Largest packet that such a link can bring while all of the `shared` memory is free.
    fn largest(&self, scale: f64, shared: u64) -> u64 {
        self.headroom(scale).max(self.reserve.saturating_add(self.threshold(scale, shared).min(shared)))
    }

    /// Number of the account of a priority.
    fn account(&self, priority: usize) -> usize {
        if self.pause == PauseKind::Link { 0 } else { priority }
    }
}

/// Packets of one priority that came by one link.
#[derive(Clone, Copy, Default, Debug)]
struct Account {
    /// Bytes in the reserve and the shared memory.
    held: u64,
    /// Bytes in the headroom.
    over: u64,
}

/// Packets that came by one link.
#[derive(Clone, Copy, Debug)]
struct Ingress {
    accounts: [Account; PRIORITIES],
    /// Accounts whose sender is paused, one bit each.
    paused: u8,
    /// How many times as fast as the reference the link is.
    scale: f64,
}

impl Default for Ingress {
    fn default() -> Self {
        Self { accounts: [Account::default(); PRIORITIES], paused: 0, scale: 1.0 }
    }
}

/// The memory of one switch.
#[derive(Clone, Debug)]
pub struct PfcMemory {
    /// Unused shared memory. Bytes.
    free: u64,
    /// Bytes held in all.
    held: u64,
    links: Vec<Ingress>,
}

impl PfcMemory {
    /// Shared memory that is not used, in bytes.
    pub fn free(&self) -> u64 {
        self.free
    }

    fn scale(&self, link: u16) -> f64 {
        self.links.get(usize::from(link)).map_or(1.0, |link| link.scale)
    }

    /// Most that a single account of `link` may hold of the shared memory.
    fn threshold(&self, rules: &PfcRules, link: u16) -> u64 {
        rules.threshold(self.scale(link), self.free)
    }

    /// The account number `account` of `link`.
    fn account(&mut self, link: u16, account: usize) -> &mut Account {
        let link = usize::from(link);
        if link >= self.links.len() {
            self.links.resize(link + 1, Ingress::default());
        }
        &mut self.links[link].accounts[account]
    }

    /// Takes `size` bytes that came by `link`. Returns whether there is room.
    fn take(&mut self, rules: &PfcRules, link: u16, account: usize, size: u64) -> bool {
        let (threshold, free, held) = (self.threshold(rules, link), self.free, self.held);
        let headroom = rules.headroom(self.scale(link));
        let account = self.account(link, account);
        let beyond = (account.held + size).saturating_sub(rules.reserve);
        let shared = size.min(beyond);
        if held + size > rules.buffer {
            return false;
        } else if beyond <= threshold && shared <= free {
            account.held += size;
            self.free -= shared;
        } else if account.over + size <= headroom {
            account.over += size;
        } else {
            return false;
        }
        self.held += size;
        true
    }

    /// Releases `size` bytes that came by `link`.
    fn give_back(&mut self, rules: &PfcRules, link: u16, account: usize, size: u64) {
        let account = self.account(link, account);
        let over = account.over.min(size);
        let shared = (size - over).min(account.held.saturating_sub(rules.reserve));
        account.over -= over;
        account.held -= size - over;
        self.free += shared;
        self.held -= size;
    }

    /// Use of the shared memory and of the headroom by `account` of `link`. Bytes.
    fn used(&mut self, rules: &PfcRules, link: u16, account: usize) -> (u64, u64) {
        let Account { held, over } = *self.account(link, account);
        (held.saturating_sub(rules.reserve), over)
    }

    /// The pause that the arrival of a packet of `account` by `link` causes; `None` if it causes none.
    fn pause(&mut self, rules: &PfcRules, link: u16, account: usize) -> Option<Signal> {
        let (used, over) = self.used(rules, link, account);
        let full = over > 0 || used >= self.threshold(rules, link);
        let paused = self.links[usize::from(link)].paused >> account & 1 != 0;
        (full && !paused).then(|| self.turn(rules, link, account))
    }

    /// The resume that the departure of a packet of `account`, which came by `link`, causes; `None` if it causes none.
    fn resume(&mut self, rules: &PfcRules, link: u16, account: usize) -> Option<Signal> {
        let (used, over) = self.used(rules, link, account);
        let low = over == 0 && (used == 0 || used + rules.resume_below <= self.threshold(rules, link));
        let paused = self.links[usize::from(link)].paused >> account & 1 != 0;
        (low && paused).then(|| self.turn(rules, link, account))
    }

    /// Pauses or resumes `account` of `link`. The signal lists all priorities paused from now on.
    fn turn(&mut self, rules: &PfcRules, link: u16, account: usize) -> Signal {
        let paused = &mut self.links[usize::from(link)].paused;
        *paused ^= 1 << account;
        let whole = rules.pause == PauseKind::Link && *paused != 0;
        Signal { paused: if whole { u8::MAX } else { *paused }, quanta: rules.quanta }
    }
}

/// The rule of a port of a lossless switch.
#[derive(Clone, Debug, Default)]
pub struct PfcRule {
    /// Bytes and packets that wait, by priority.
    bytes: [u64; PRIORITIES],
    packets: [u32; PRIORITIES],
    /// Data packets that wait.
    data: u32,
    /// Whether data is in service.
    serving_data: bool,
    /// The priority that was served last.
    last: u8,
    telemetry: Telemetry,
}

/// One port of a lossless switch.
pub type Pfc<P> = Classes<PfcRule, P, PRIORITIES>;

impl ClassRule<PRIORITIES> for PfcRule {
    const SHARES: bool = true;
    const SIGNALS: bool = true;
    type Config = PfcConfig;
    type Rules = PfcRules;
    type Shared = PfcMemory;

    fn rules(config: &PfcConfig) -> PfcRules {
        let count = |size: QueueSize| match size {
            QueueSize::Packets(packets) => packets.0.into(),
            QueueSize::Bytes(bytes) => bytes.0,
        };
        let mark = config.mark_low.map(|low| Ramp {
            low: count(low),
            high: count(config.mark_high),
            probability: config.mark_probability,
            in_bytes: matches!(low, QueueSize::Bytes(_)),
        });
        PfcRules {
            buffer: config.buffer.0,
            reserve: config.reserve.0,
            headroom: config.headroom.0,
            priorities: config.priorities.into(),
            alpha: config.alpha,
            pause_above: config.pause_above.map(|bytes| bytes.0),
            resume_below: config.resume_below.0,
            pause: config.pause,
            quanta: config.quanta as u16,
            schedule: config.schedule,
            mark,
            reference_rate: config.reference_rate,
            telemetry: config.telemetry,
        }
    }

    fn shared(rules: &PfcRules, ports: usize) -> PfcMemory {
        let set_aside = (rules.reserve + rules.headroom) * rules.priorities * ports as u64;
        let free = rules.buffer.saturating_sub(set_aside);
        PfcMemory { free, held: 0, links: vec![Ingress::default(); ports] }
    }

    fn links(rules: &PfcRules, memory: &mut PfcMemory, rates: &[BitsPerSec]) {
        memory.links.resize(rates.len(), Ingress::default());
        let mut set_aside = 0u64;
        for (link, rate) in memory.links.iter_mut().zip(rates) {
            link.scale = rules.scale(*rate);
            set_aside = set_aside.saturating_add(rules.set_aside(link.scale));
        }
        memory.free = rules.buffer.saturating_sub(set_aside);
    }

    fn new(_: &PfcRules) -> Self {
        Self::default()
    }

    fn admit<P: Item>(
        &mut self,
        rules: &PfcRules,
        memory: &mut PfcMemory,
        (packet, size): (&P, u32),
        _: Waiting<'_, P, PRIORITIES>,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        let (link, class) = (packet.ingress(), usize::from(packet.priority() & 7));
        if !memory.take(rules, link, rules.account(class), size.into()) {
            return Verdict::Drop(drop_reason(packet));
        }
        if let Some(signal) = memory.pause(rules, link, rules.account(class)) {
            cx.signal(link, signal);
        }
        self.bytes[class] += u64::from(size);
        self.packets[class] += 1;
        self.data += u32::from(!packet.is_control());
        Verdict::Take(class)
    }

    fn next<P: Item>(
        &mut self,
        rules: &PfcRules,
        waiting: Waiting<'_, P, PRIORITIES>,
        cx: &mut impl Context<P>,
    ) -> Option<usize> {
        let paused = cx.paused();
        let ready = |class: &usize| waiting.len(*class) > 0 && paused >> *class & 1 == 0;
        let next = match rules.schedule {
            Schedule::Strict => (0..PRIORITIES).rev().find(ready),
            Schedule::RoundRobin => {
                (1..=PRIORITIES).map(|step| (usize::from(self.last) + step) % PRIORITIES).find(ready)
            }
        }?;
        self.last = next as u8;
        Some(next)
    }

    fn serve<P: Item>(
        &mut self,
        rules: &PfcRules,
        memory: &mut PfcMemory,
        (packet, size): (&P, u32),
        class: usize,
        cx: &mut impl Context<P>,
    ) -> bool {
        let (link, account) = (packet.ingress(), rules.account(class));
        self.serving_data = !packet.is_control();
        self.data -= u32::from(self.serving_data);
        self.bytes[class] -= u64::from(size);
        self.packets[class] -= 1;
        memory.give_back(rules, link, account, size.into());
        if let Some(signal) = memory.resume(rules, link, account) {
            cx.signal(link, signal);
        }
        let (packets, bytes) = (self.packets[class], self.bytes[class]);
        packet.ect()
            && rules.mark.is_some_and(|ramp| ramp.scaled(rules.scale(cx.rate())).marks(packets, bytes, cx))
    }

    fn write<P: Item>(
        &mut self,
        rules: &PfcRules,
        _: &mut PfcMemory,
        (packet, size): (&mut P, u32),
        cx: &mut impl Context<P>,
    ) {
        if rules.telemetry {
            self.telemetry.write(packet, size, self.bytes.iter().sum(), cx);
        }
    }

    fn complete<P: Item>(&mut self, _: &PfcRules, _: &mut PfcMemory, _: &mut impl Context<P>) {
        self.serving_data = false;
    }

    fn data_held(&self, _: [u32; PRIORITIES]) -> u32 {
        self.data + u32::from(self.serving_data)
    }

    fn queued(&self, control: bool, waiting: [u32; PRIORITIES]) -> u32 {
        if control { waiting.iter().sum::<u32>() - self.data } else { self.data }
    }
}
