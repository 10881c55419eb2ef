use pullnet_settings::Settings;

use crate::classes::{ClassRule, Verdict, Waiting};
use crate::context::Context;
use crate::fifo::Fifo;
use crate::item::Item;

/// The rule of a port with one first-in-first-out queue whose ports share nothing. [`OneQueue`] counts what the port holds, and
/// the rule decides.
pub trait QueueRule: Sized {
    /// Settings as a scenario states them.
    type Config: Settings + Clone;
    /// The settings in the form in which the rule uses them.
    type Rules: Clone + Send + Sync;

    /// The settings, ready for use.
    fn rules(config: &Self::Config) -> Self::Rules;
    /// An empty port.
    fn new(rules: &Self::Rules) -> Self;
    /// See [`ClassRule::trimmed_size`].
    fn trimmed_size(_rules: &Self::Rules) -> Option<u32> {
        None
    }
    /// Decides about an arriving packet of `size` bytes on the wire; the port holds `held`. The class of a verdict is 0.
    fn admit<P: Item>(
        &mut self,
        rules: &Self::Rules,
        arrival: (&P, u32),
        held: &Fifo,
        cx: &mut impl Context<P>,
    ) -> Verdict;
    /// A packet goes into service; the port holds `held`. Returns whether the packet is marked.
    #[inline(always)]
    fn serve<P: Item>(&mut self, _rules: &Self::Rules, _departure: (&P, u32), _held: &Fifo) -> bool {
        false
    }
    /// See [`ClassRule::write`].
    #[inline(always)]
    fn write<P: Item>(
        &mut self,
        _rules: &Self::Rules,
        _departure: (&mut P, u32),
        _held: &Fifo,
        _cx: &mut impl Context<P>,
    ) {
    }
    /// The packet in service has left; the port holds `held`.
    #[inline(always)]
    fn complete<P: Item>(&mut self, _rules: &Self::Rules, _held: &Fifo, _cx: &mut impl Context<P>) {}
    /// See [`ClassRule::control_room`].
    fn control_room(&self, rules: &Self::Rules) -> u32 {
        if Self::trimmed_size(rules).is_some() { 0 } else { u32::MAX }
    }
}

/// A port with one queue: the counts of the packets that it holds, and its rule.
#[derive(Clone, Debug)]
pub struct OneQueue<R> {
    held: Fifo,
    /// The rule, with its state.
    pub rule: R,
}

impl<R: QueueRule> ClassRule<1> for OneQueue<R> {
    type Config = R::Config;
    type Rules = R::Rules;
    type Shared = ();

    fn rules(config: &R::Config) -> R::Rules {
        R::rules(config)
    }

    fn shared(_: &R::Rules, _: usize) {}

    fn new(rules: &R::Rules) -> Self {
        Self { held: Fifo::default(), rule: R::new(rules) }
    }

    fn trimmed_size(rules: &R::Rules) -> Option<u32> {
        R::trimmed_size(rules)
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        rules: &R::Rules,
        _: &mut (),
        (packet, size): (&P, u32),
        _: Waiting<'_, P, 1>,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        let verdict = self.rule.admit(rules, (packet, size), &self.held, cx);
        if matches!(verdict, Verdict::Take(_) | Verdict::Mark(_)) {
            self.held.add(packet, size);
        }
        verdict
    }

    #[inline(always)]
    fn serve<P: Item>(
        &mut self,
        rules: &R::Rules,
        _: &mut (),
        (packet, size): (&P, u32),
        _: usize,
        _: &mut impl Context<P>,
    ) -> bool {
        self.held.serve(packet, size);
        self.rule.serve(rules, (packet, size), &self.held)
    }

    #[inline(always)]
    fn write<P: Item>(
        &mut self,
        rules: &R::Rules,
        _: &mut (),
        departure: (&mut P, u32),
        cx: &mut impl Context<P>,
    ) {
        self.rule.write(rules, departure, &self.held, cx);
    }

    #[inline]
    fn complete<P: Item>(&mut self, rules: &R::Rules, _: &mut (), cx: &mut impl Context<P>) {
        self.held.complete();
        self.rule.complete(rules, &self.held, cx);
    }

    #[inline]
    fn data_held(&self, _: [u32; 1]) -> u32 {
        self.held.data_held()
    }

    #[inline]
    fn queued(&self, control: bool, _: [u32; 1]) -> u32 {
        self.held.queued(control)
    }

    #[inline]
    fn control_room(&self, rules: &R::Rules, _: [u32; 1]) -> u32 {
        self.rule.control_room(rules)
    }
}
