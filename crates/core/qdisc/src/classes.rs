use pullnet_settings::Settings;
use pullnet_units::{BitsPerSec, Picos};

use crate::context::{Context, DropReason, Outcome};
use crate::discipline::{Discipline, Lookahead};
use crate::item::Item;
use crate::ring::Rings;

/// Decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet waits in this class.
    Take(usize),
    /// The packet is marked and waits in this class.
    Mark(usize),
    /// The arriving packet loses its payload; the rule then decides about the header.
    TrimArriving,
    /// The arriving packet takes the place of the newest packet of this class. That packet loses its payload, and the
    /// rule then decides about its header.
    TrimNewest(usize),
    /// The packet goes back to its sender.
    Return,
    /// The packet is dropped.
    Drop(DropReason),
}

/// Waiting packets by class, as a rule sees them.
#[derive(Debug)]
pub struct Waiting<'a, P, const K: usize>(&'a Rings<P, K>);

impl<P: Copy, const K: usize> Waiting<'_, P, K> {
    /// Number of packets of `class`.
    #[inline(always)]
    pub fn len(&self, class: usize) -> u32 {
        self.0.len(class)
    }

    /// The oldest packet of `class`.
    #[inline(always)]
    pub fn oldest(&self, class: usize) -> Option<&P> {
        self.0.get(class, 0)
    }

    /// The newest packet of `class`.
    #[inline]
    pub fn newest(&self, class: usize) -> Option<&P> {
        self.0.back(class)
    }
}

/// The rule of a port whose packets wait in `K` classes, first in, first out within a class. The rule decides, and
/// [`Classes`] stores the packets. A rule keeps the counters it needs in its own fields.
pub trait ClassRule<const K: usize>: Sized {
    /// Whether ports of one switch share state.
    const SHARES: bool = false;
    /// See [`Discipline::SIGNALS`].
    const SIGNALS: bool = false;
    /// Settings as a scenario states them.
    type Config: Settings + Clone;
    /// The settings in the form in which the rule uses them.
    type Rules: Clone + Send + Sync;
    /// State that the ports of one switch share; `()` for none.
    type Shared: Send;

    /// The settings, ready for use.
    fn rules(config: &Self::Config) -> Self::Rules;
    /// The shared state of a switch with `ports` ports.
    fn shared(rules: &Self::Rules, ports: usize) -> Self::Shared;
    /// See [`Discipline::links`].
    fn links(_rules: &Self::Rules, _shared: &mut Self::Shared, _rates: &[BitsPerSec]) {}
    /// An empty port.
    fn new(rules: &Self::Rules) -> Self;
    /// Bytes on the wire that a trim leaves; `None` if the rule never trims.
    fn trimmed_size(_rules: &Self::Rules) -> Option<u32> {
        None
    }

    /// See [`Discipline::return_latency`].
    fn return_latency(_rules: &Self::Rules) -> Option<Picos> {
        None
    }

    /// Whether an arriving packet is marked even if it is then dropped or displaced. A rule that marks only packets
    /// that it takes answers [`Verdict::Mark`] instead.
    #[inline(always)]
    fn marks<P: Item>(&self, _rules: &Self::Rules, _arrival: &P) -> bool {
        false
    }
    /// Decides about an arriving packet of `size` bytes on the wire, and counts it if it is taken.
    fn admit<P: Item>(
        &mut self,
        rules: &Self::Rules,
        shared: &mut Self::Shared,
        arrival: (&P, u32),
        waiting: Waiting<'_, P, K>,
        cx: &mut impl Context<P>,
    ) -> Verdict;
    /// The class that is served next; `None` if no packet may be sent now. A rule of one class need not choose.
    #[inline(always)]
    fn next<P: Item>(
        &mut self,
        _rules: &Self::Rules,
        _waiting: Waiting<'_, P, K>,
        _cx: &mut impl Context<P>,
    ) -> Option<usize> {
        const { assert!(K == 1, "a rule of several classes implements `next`") };
        Some(0)
    }
    /// A packet of `class` and `size` bytes goes into service. Returns whether it is marked.
    fn serve<P: Item>(
        &mut self,
        rules: &Self::Rules,
        shared: &mut Self::Shared,
        departure: (&P, u32),
        class: usize,
        cx: &mut impl Context<P>,
    ) -> bool;
    /// The packet goes into service after [`ClassRule::serve`]: a rule that writes into headers shows itself to it
    /// ([`Context::show`]). The others do nothing and cost nothing.
    #[inline(always)]
    fn write<P: Item>(
        &mut self,
        _rules: &Self::Rules,
        _shared: &mut Self::Shared,
        _departure: (&mut P, u32),
        _cx: &mut impl Context<P>,
    ) {
    }
    /// The packet in service has left.
    fn complete<P: Item>(&mut self, rules: &Self::Rules, shared: &mut Self::Shared, cx: &mut impl Context<P>);

    /// Data packets held, the one in service included; `waiting` packets wait by class.
    fn data_held(&self, waiting: [u32; K]) -> u32;
    /// Control packets or data packets waiting, given the number `waiting` in each class.
    fn queued(&self, control: bool, waiting: [u32; K]) -> u32;

    /// See [`Lookahead::data_room`].
    fn data_room(&self, rules: &Self::Rules, _largest: u32) -> u32 {
        if Self::trimmed_size(rules).is_some() { 0 } else { u32::MAX }
    }
    /// See [`Lookahead::control_room`]; `waiting` packets wait by class.
    fn control_room(&self, rules: &Self::Rules, _waiting: [u32; K]) -> u32 {
        if Self::trimmed_size(rules).is_some() { 0 } else { u32::MAX }
    }
}

/// A port with `K` classes under the rule `R`.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Classes<R, P, const K: usize> {
    rule: R,
    waiting: Rings<P, K>,
}

impl<R: ClassRule<K>, P: Item, const K: usize> Classes<R, P, K> {
    /// Offset of the packets: two packets that fit into a cache line must lie in the same line.
    pub const PACKETS: usize = core::mem::offset_of!(Self, waiting) + Rings::<P, K>::ITEMS;

    /// The rule, for inspection of a port: its counters beside the packets.
    pub fn rule_mut(&mut self) -> &mut R {
        &mut self.rule
    }

    #[inline(always)]
    fn lens(&self) -> [u32; K] {
        core::array::from_fn(|class| self.waiting.len(class))
    }

    #[inline(always)]
    fn size(rules: &R::Rules, packet: &P) -> u32 {
        packet.wire(R::trimmed_size(rules).unwrap_or(0))
    }

    /// Carries out any verdict except [`Verdict::Take`].
    #[cold]
    #[inline(never)]
    fn displace(
        &mut self,
        rules: &R::Rules,
        shared: &mut R::Shared,
        mut packet: P,
        verdict: Verdict,
        cx: &mut impl Context<P>,
    ) {
        match verdict {
            Verdict::Take(class) => self.waiting.push(class, &packet),
            Verdict::Mark(class) => {
                packet.mark();
                self.waiting.push(class, &packet);
                cx.outcome(Outcome::Marked(packet));
            }
            Verdict::TrimArriving => self.cut(rules, shared, packet, cx),
            Verdict::TrimNewest(class) => {
                let newest = self.waiting.back_mut(class).expect("a class with a newest packet");
                let victim = core::mem::replace(newest, packet);
                self.cut(rules, shared, victim, cx);
            }
            Verdict::Return => cx.outcome(Outcome::Returned { header: packet, trimmed: false }),
            Verdict::Drop(why) => cx.outcome(Outcome::Dropped { packet, why, trimmed: false }),
        }
    }

    /// Cuts the payload of `victim`, and lets the rule decide about the header.
    fn cut(&mut self, rules: &R::Rules, shared: &mut R::Shared, mut victim: P, cx: &mut impl Context<P>) {
        if !victim.trimmable() {
            let why = DropReason::DataQueueFull;
            return cx.outcome(Outcome::Dropped { packet: victim, why, trimmed: false });
        }
        victim.trim(R::trimmed_size(rules).unwrap_or(0));
        let size = Self::size(rules, &victim);
        match self.rule.admit(rules, shared, (&victim, size), Waiting(&self.waiting), cx) {
            Verdict::Take(class) | Verdict::Mark(class) => {
                self.waiting.push(class, &victim);
                cx.outcome(Outcome::Trimmed(victim));
            }
            Verdict::Return => cx.outcome(Outcome::Returned { header: victim, trimmed: true }),
            Verdict::Drop(why) => cx.outcome(Outcome::Dropped { packet: victim, why, trimmed: true }),
            Verdict::TrimArriving | Verdict::TrimNewest(_) => {
                unreachable!("a rule that trims a header would never end")
            }
        }
    }
}

impl<R: ClassRule<K>, P: Item, const K: usize> Lookahead for Classes<R, P, K> {
    type Rules = R::Rules;

    #[inline]
    fn data_room(&self, rules: &R::Rules, largest: u32) -> u32 {
        self.rule.data_room(rules, largest)
    }

    #[inline]
    fn control_room(&self, rules: &R::Rules) -> u32 {
        self.rule.control_room(rules, self.lens())
    }

    #[inline]
    fn shortest_next(&self, rules: &R::Rules) -> Option<u32> {
        let next = |class| self.waiting.get(class, 0).map_or(u32::MAX, |packet| Self::size(rules, packet));
        let size = (0..K).map(next).min().unwrap_or(u32::MAX);
        (size < u32::MAX).then_some(size)
    }
}

impl<R: ClassRule<K>, P: Item, const K: usize> Discipline<P> for Classes<R, P, K> {
    const SHARES: bool = R::SHARES;
    const SIGNALS: bool = R::SIGNALS;
    type Config = R::Config;
    type Shared = R::Shared;

    fn rules(config: &R::Config) -> R::Rules {
        R::rules(config)
    }

    fn shared(rules: &R::Rules, ports: usize) -> R::Shared {
        R::shared(rules, ports)
    }

    fn links(rules: &R::Rules, shared: &mut R::Shared, rates: &[BitsPerSec]) {
        R::links(rules, shared, rates);
    }

    fn new(rules: &R::Rules) -> Self {
        Self { rule: R::new(rules), waiting: Rings::default() }
    }

    fn trimmed_size(rules: &R::Rules) -> Option<u32> {
        R::trimmed_size(rules)
    }

    fn return_latency(rules: &R::Rules) -> Option<Picos> {
        R::return_latency(rules)
    }

    #[inline(always)]
    fn enqueue(&mut self, rules: &R::Rules, shared: &mut R::Shared, mut packet: P, cx: &mut impl Context<P>) {
        let size = Self::size(rules, &packet);
        if self.rule.marks(rules, &packet) {
            core::hint::cold_path();
            packet.mark();
            cx.outcome(Outcome::Marked(packet));
        }
        match self.rule.admit(rules, shared, (&packet, size), Waiting(&self.waiting), cx) {
            Verdict::Take(class) => self.waiting.push(class, &packet),
            verdict => self.displace(rules, shared, packet, verdict, &mut cx.apart()),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, rules: &R::Rules, shared: &mut R::Shared, cx: &mut impl Context<P>) -> Option<P> {
        let class = self.rule.next(rules, Waiting(&self.waiting), cx)?;
        let mut packet = self.waiting.pop(class)?;
        let size = Self::size(rules, &packet);
        if self.rule.serve(rules, shared, (&packet, size), class, cx) {
            core::hint::cold_path();
            packet.mark();
            cx.outcome(Outcome::Marked(packet));
        }
        self.rule.write(rules, shared, (&mut packet, size), cx);
        Some(packet)
    }

    #[inline]
    fn complete(&mut self, rules: &R::Rules, shared: &mut R::Shared, cx: &mut impl Context<P>) {
        self.rule.complete(rules, shared, cx);
    }

    fn prefetch_targets(&self) -> [*const P; 2] {
        if K == 2 {
            [0, self.waiting.len(0)].map(|index| self.waiting.near(0, index))
        } else {
            [self.waiting.near(0, 0); 2]
        }
    }

    fn waiting(&self, visit: &mut dyn FnMut(&P)) {
        (0..K).rev().flat_map(|class| self.waiting.iter(class)).for_each(visit);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        (0..K).all(|class| self.waiting.len(class) == 0)
    }

    #[inline]
    fn data_held(&self) -> u32 {
        self.rule.data_held(self.lens())
    }

    #[inline]
    fn queued(&self, control: bool) -> u32 {
        self.rule.queued(control, self.lens())
    }
}
