//! Two classes that divide a link.

mod common;

use common::{Bench, Pkt, capable};
use pullnet_qdisc::{Context, Discipline, Item, Outcome, Signal, Split, SplitConfig};
use pullnet_units::{BitsPerSec, Instant, Packets, QueueSize};

/// A packet with a priority.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Ranked(Pkt, u8);

impl Item for Ranked {
    fn is_control(&self) -> bool {
        self.0.is_control()
    }
    fn wire(&self, trimmed: u32) -> u32 {
        self.0.wire(trimmed)
    }
    fn trim(&mut self, bytes: u32) {
        self.0.trim(bytes);
    }
    fn returnable(&self) -> bool {
        self.0.returnable()
    }
    fn priority(&self) -> u8 {
        self.1
    }
    fn ect(&self) -> bool {
        self.0.ect()
    }
    fn mark(&mut self) {
        self.0.mark();
    }
    fn ingress(&self) -> u16 {
        0
    }
}

/// The surroundings of the port, and what it reports.
struct Around<'a>(Bench<'a>, Vec<Outcome<Ranked>>);

impl Context<Ranked> for Around<'_> {
    fn now(&self) -> Instant {
        self.0.now()
    }
    fn rate(&self) -> BitsPerSec {
        self.0.rate()
    }
    fn coin(&mut self) -> bool {
        self.0.coin()
    }
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }
    fn outcome(&mut self, outcome: Outcome<Ranked>) {
        self.1.push(outcome);
    }
    fn wake(&mut self, at: Instant) {
        self.0.wake(at);
    }
    fn signal(&mut self, ingress: u16, signal: Signal) {
        self.0.signal(ingress, signal);
    }
}

/// Lets the port do something; returns what it reported.
fn act<R>(act: impl FnOnce(&mut Around<'_>) -> R) -> (R, Vec<Outcome<Ranked>>) {
    let (mut coin, mut draw) = (|| true, || panic!("no number is needed"));
    let (outcomes, signals) = (Vec::new(), Vec::new());
    let bench = Bench { now: Instant::ZERO, coin: &mut coin, draw: &mut draw, outcomes, paused: 0, signals };
    let mut around = Around(bench, Vec::new());
    let result = act(&mut around);
    (result, around.1)
}

const LENGTH: u32 = 1500;

fn packet(id: u64, priority: u8) -> Ranked {
    Ranked(capable(id, LENGTH), priority)
}

/// Bytes of each class among `count` packets that leave a port on which both always have packets of `lengths`.
fn served(share: f64, lengths: [u32; 2], count: u64) -> [u64; 2] {
    let config = SplitConfig { trim_share: share, ..SplitConfig::default() };
    let rules = <Split<Ranked> as Discipline<Ranked>>::rules(&config);
    let mut port = Split::<Ranked>::new(&rules);
    let put = |port: &mut Split<Ranked>, priority: u8| {
        let mut packet = packet(0, priority);
        packet.0.len = lengths[usize::from(priority)];
        assert!(act(|cx| port.enqueue(&rules, &mut (), packet, cx)).1.is_empty());
    };
    (0..3).for_each(|_| [0, 1].into_iter().for_each(|priority| put(&mut port, priority)));
    let mut bytes = [0; 2];
    for _ in 0..count {
        let left = act(|cx| port.dequeue(&rules, &mut (), cx)).0.expect("both classes wait");
        bytes[usize::from(left.1)] += u64::from(left.0.len);
        act(|cx| port.complete(&rules, &mut (), cx));
        put(&mut port, left.1);
    }
    bytes
}

#[test]
fn the_link_is_divided_by_bytes() {
    for (share, lengths) in [(0.5, [1500, 1500]), (0.5, [9000, 300]), (0.25, [1500, 900]), (0.9, [200, 9000])]
    {
        let [trim, tail] = served(share, lengths, 20_000);
        let got = trim as f64 / (trim + tail) as f64;
        assert!((got - share).abs() < 0.005, "class 0 has {got} of the link and not {share}: {lengths:?}");
    }
}

#[test]
fn a_class_that_waited_for_nothing_saves_nothing_up() {
    let rules = <Split<Ranked> as Discipline<Ranked>>::rules(&SplitConfig::default());
    let mut port = Split::<Ranked>::new(&rules);
    let put = |port: &mut Split<Ranked>, id, priority| {
        act(|cx| port.enqueue(&rules, &mut (), packet(id, priority), cx))
    };
    let serve = |port: &mut Split<Ranked>| {
        let left = act(|cx| port.dequeue(&rules, &mut (), cx)).0;
        act(|cx| port.complete(&rules, &mut (), cx));
        left.map(|left| left.1)
    };
    for id in 0..100 {
        put(&mut port, id, 1);
        assert_eq!(serve(&mut port), Some(1), "the link never idles while a class has packets");
    }
    (0..6).for_each(|id| drop(put(&mut port, id, u8::from(id % 2 == 1))));
    let order: Vec<_> = std::iter::from_fn(|| serve(&mut port)).collect();
    assert_eq!(order, [0, 1, 0, 1, 0, 1]);
}

#[test]
fn one_class_trims_and_the_other_marks_and_drops() {
    let queue = QueueSize::Packets(Packets(2));
    let config = SplitConfig {
        data_queue: queue,
        queue,
        mark_above: Some(QueueSize::Packets(Packets(1))),
        ..SplitConfig::default()
    };
    let rules = <Split<Ranked> as Discipline<Ranked>>::rules(&config);
    let mut port = Split::<Ranked>::new(&rules);
    let mut reported = Vec::new();
    for (id, priority) in [(0, 0), (1, 0), (2, 0), (3, 1), (4, 5), (5, 1)] {
        reported.extend(act(|cx| port.enqueue(&rules, &mut (), packet(id, priority), cx)).1);
    }
    let brief = |outcome: &Outcome<Ranked>| match outcome {
        Outcome::Trimmed(packet) => ("trimmed", packet.0.id),
        Outcome::Marked(packet) => ("marked", packet.0.id),
        Outcome::Dropped { packet, .. } => ("dropped", packet.0.id),
        Outcome::Returned { header, .. } => ("returned", header.0.id),
    };
    let brief: Vec<_> = reported.iter().map(brief).collect();
    assert_eq!(brief, [("trimmed", 2), ("dropped", 5)]);
    assert_eq!((port.queued(false), port.queued(true)), (4, 1));
}
