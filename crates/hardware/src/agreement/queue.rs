//! The trimming queue of the RTL: the rule of the software switch, with less room for long control frames.

use pullnet_qdisc::{
    ClassRule, Classes, Context, DropReason, Item, TrimConfig, TrimRule, TrimRules, Verdict, Waiting,
};
use pullnet_units::Picos;

/// Control frames longer than the first cell of a frame that may wait at a port. They take memory that data needs.
const LONG_CONTROL: u32 = 3;
/// Bytes that the first cell of every frame holds.
const FIRST_CELL: u32 = 128;
/// The class of control frames.
const CONTROL: usize = 1;

/// Settings of [`RtlRule`].
#[derive(Clone)]
pub struct RtlRules {
    trim: TrimRules,
    returns: bool,
}

/// The rule of a port.
pub struct RtlRule {
    trim: TrimRule,
    /// Long control frames that wait.
    long: u32,
}

/// One port of the RTL.
pub type RtlTrim<P> = Classes<RtlRule, P, 2>;

impl ClassRule<2> for RtlRule {
    type Config = TrimConfig;
    type Rules = RtlRules;
    type Shared = ();

    fn rules(config: &TrimConfig) -> RtlRules {
        RtlRules { trim: TrimRule::rules(config), returns: config.return_to_sender }
    }

    fn shared(_: &RtlRules, _: usize) {}

    fn new(rules: &RtlRules) -> Self {
        Self { trim: TrimRule::new(&rules.trim), long: 0 }
    }

    fn trimmed_size(rules: &RtlRules) -> Option<u32> {
        TrimRule::trimmed_size(&rules.trim)
    }

    fn return_latency(rules: &RtlRules) -> Option<Picos> {
        TrimRule::return_latency(&rules.trim)
    }

    fn marks<P: Item>(&self, rules: &RtlRules, packet: &P) -> bool {
        self.trim.marks(&rules.trim, packet)
    }

    fn admit<P: Item>(
        &mut self,
        rules: &RtlRules,
        shared: &mut (),
        (packet, size): (&P, u32),
        waiting: Waiting<'_, P, 2>,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        let is_long = packet.is_control() && size > FIRST_CELL;
        if is_long && self.long == LONG_CONTROL {
            let returns = rules.returns && packet.returnable();
            return if returns { Verdict::Return } else { Verdict::Drop(DropReason::ControlQueueFull) };
        }
        let verdict = self.trim.admit(&rules.trim, shared, (packet, size), waiting, cx);
        self.long += u32::from(is_long && verdict == Verdict::Take(CONTROL));
        verdict
    }

    fn next<P: Item>(
        &mut self,
        rules: &RtlRules,
        waiting: Waiting<'_, P, 2>,
        cx: &mut impl Context<P>,
    ) -> Option<usize> {
        self.trim.next(&rules.trim, waiting, cx)
    }

    fn serve<P: Item>(
        &mut self,
        rules: &RtlRules,
        shared: &mut (),
        (packet, size): (&P, u32),
        class: usize,
        cx: &mut impl Context<P>,
    ) -> bool {
        self.long -= u32::from(class == CONTROL && size > FIRST_CELL);
        self.trim.serve(&rules.trim, shared, (packet, size), class, cx)
    }

    fn complete<P: Item>(&mut self, rules: &RtlRules, shared: &mut (), cx: &mut impl Context<P>) {
        self.trim.complete(&rules.trim, shared, cx);
    }

    fn data_held(&self, waiting: [u32; 2]) -> u32 {
        self.trim.data_held(waiting)
    }

    fn queued(&self, control: bool, waiting: [u32; 2]) -> u32 {
        self.trim.queued(control, waiting)
    }
}
