//! Rules that write into headers: when a packet is shown to its port, and what the rule knows then.

use crate::common::{Pkt, data, idle};
use pullnet_qdisc::{
    ClassRule, Classes, Context, Discipline, DropTailConfig, DropTailRule, Item, Outcome, Signal, Split,
    SplitConfig, Verdict, Waiting,
};
use pullnet_transport::{Grant, Hop, PortState, RateAsk};
use pullnet_units::{BitsPerSec, Instant, Packets, QueueSize};

/// Drop-tail, whose ports grant the number of packets that have been shown to them.
struct Stamping {
    inner: DropTailRule,
    shown: u32,
}

struct Counter(u32);

impl Hop for Counter {
    fn allocate(&mut self, ask: RateAsk) -> Option<Grant> {
        (ask.desired > 0).then_some(Grant { rate: self.0, epoch: 1 })
    }
}

type Rules = <DropTailRule as ClassRule<1>>::Rules;

impl ClassRule<1> for Stamping {
    type Config = DropTailConfig;
    type Rules = Rules;
    type Shared = ();

    fn rules(config: &DropTailConfig) -> Rules {
        DropTailRule::rules(config)
    }
    fn shared(_: &Rules, _: usize) {}
    fn new(rules: &Rules) -> Self {
        Self { inner: DropTailRule::new(rules), shown: 0 }
    }
    fn admit<P: Item>(
        &mut self,
        rules: &Rules,
        shared: &mut (),
        arrival: (&P, u32),
        waiting: Waiting<'_, P, 1>,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        self.inner.admit(rules, shared, arrival, waiting, cx)
    }
    fn next<P: Item>(
        &mut self,
        rules: &Rules,
        waiting: Waiting<'_, P, 1>,
        cx: &mut impl Context<P>,
    ) -> Option<usize> {
        self.inner.next(rules, waiting, cx)
    }
    fn serve<P: Item>(
        &mut self,
        rules: &Rules,
        shared: &mut (),
        departure: (&P, u32),
        class: usize,
        cx: &mut impl Context<P>,
    ) -> bool {
        self.inner.serve(rules, shared, departure, class, cx)
    }
    fn write<P: Item>(
        &mut self,
        _: &Rules,
        _: &mut (),
        (packet, size): (&mut P, u32),
        cx: &mut impl Context<P>,
    ) {
        assert_eq!(packet.wire(0), size);
        self.shown += 1;
        cx.show(packet, &mut Counter(self.shown));
    }
    fn complete<P: Item>(&mut self, rules: &Rules, shared: &mut (), cx: &mut impl Context<P>) {
        self.inner.complete(rules, shared, cx);
    }
    fn data_held(&self, waiting: [u32; 1]) -> u32 {
        self.inner.data_held(waiting)
    }
    fn queued(&self, control: bool, waiting: [u32; 1]) -> u32 {
        self.inner.queued(control, waiting)
    }
}

/// Packets of a transport that requests its rank, and writes the grant there; and the states of ports that they find.
#[derive(Default)]
struct Asking {
    states: Vec<(u64, PortState)>,
}

impl Context<Pkt> for Asking {
    fn now(&self) -> Instant {
        Instant::ZERO
    }
    fn rate(&self) -> BitsPerSec {
        "10 Gbps".parse().unwrap()
    }
    fn coin(&mut self) -> bool {
        panic!("no coin is needed")
    }
    fn unit(&mut self) -> f64 {
        panic!("no number is needed")
    }
    fn outcome(&mut self, outcome: Outcome<Pkt>) {
        assert!(matches!(outcome, Outcome::Dropped { .. }), "{outcome:?}");
    }
    fn show(&mut self, packet: &mut Pkt, hop: &mut dyn Hop) {
        let ask = RateAsk { desired: packet.rank, ..RateAsk::default() };
        packet.rank = hop.allocate(ask).map_or(0, |grant| grant.rate);
        self.states.extend(hop.state().map(|state| (packet.id, state)));
    }
    fn wake(&mut self, at: Instant) {
        panic!("the link does not idle: {at:?}")
    }
    fn signal(&mut self, ingress: u16, signal: Signal) {
        panic!("nothing is paused: {ingress} {signal:?}")
    }
}

#[test]
fn packets_that_leave_are_shown_once_and_dropped_ones_never() {
    type Port = Classes<Stamping, Pkt, 1>;
    let config = DropTailConfig { queue: QueueSize::Packets(Packets(3)), ..DropTailConfig::default() };
    let rules = <Port as Discipline<Pkt>>::rules(&config);
    let mut port = <Port as Discipline<Pkt>>::new(&rules);
    let cx = &mut Asking::default();
    for id in 0..5 {
        let rank = if id == 1 { 0 } else { 77 };
        port.enqueue(&rules, &mut (), Pkt { rank, ..data(id, 1500) }, cx);
    }
    let left = core::iter::from_fn(|| {
        let packet = port.dequeue(&rules, &mut (), cx)?;
        port.complete(&rules, &mut (), cx);
        Some((packet.id, packet.rank))
    });
    let left: Vec<_> = left.collect();
    assert_eq!(left, [(0, 1), (1, 0), (2, 3)], "the second requested nothing; two were dropped");
}

#[test]
fn the_second_class_of_a_split_port_shows_its_state() {
    for telemetry in [true, false] {
        let rules =
            <Split<Pkt> as Discipline<Pkt>>::rules(&SplitConfig { telemetry, ..SplitConfig::default() });
        let (mut port, cx) = (Split::<Pkt>::new(&rules), &mut Asking::default());
        for (id, priority) in [(0, 0), (1, 1), (2, 1), (3, 0), (4, 1)] {
            port.enqueue(&rules, &mut (), Pkt { priority, ..data(id, 1500) }, cx);
        }
        while port.dequeue(&rules, &mut (), cx).is_some() {
            port.complete(&rules, &mut (), cx);
        }
        let found: Vec<_> = cx.states.iter().map(|(id, state)| (*id, state.sent, state.waiting)).collect();
        let expected = [(1, 0, 3000), (2, 1500, 1500), (4, 3000, 0)];
        assert_eq!(found, if telemetry { &expected[..] } else { &[] });
    }
}

#[test]
fn where_transports_ask_nothing_nothing_is_written() {
    let (mut packet, mut cx) = (data(1, 1500), idle());
    cx.show(&mut packet, &mut Counter(9));
    assert_eq!(packet, data(1, 1500));
}
