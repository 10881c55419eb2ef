//! Two classes that divide a link.

use crate::common::{Bench, Pkt, data};
use pullnet_qdisc::{Discipline, Outcome, Split, SplitConfig};
use pullnet_units::{Instant, Packets, QueueSize};

/// Lets the port do something; returns what it reported.
fn act<R>(act: impl FnOnce(&mut Bench<'_>) -> R) -> (R, Vec<Outcome<Pkt>>) {
    let (mut coin, mut draw) = (|| true, || panic!("no number is needed"));
    let (outcomes, signals) = (Vec::new(), Vec::new());
    let mut bench =
        Bench { now: Instant::ZERO, coin: &mut coin, draw: &mut draw, outcomes, paused: 0, signals };
    let result = act(&mut bench);
    (result, bench.outcomes)
}

const LENGTH: u32 = 1500;

fn packet(id: u64, priority: u8) -> Pkt {
    Pkt { priority, ect: true, ..data(id, LENGTH) }
}

/// Bytes of each class among `count` packets that leave a port on which both always have packets of `lengths`.
fn served(share: f64, lengths: [u32; 2], count: u64) -> [u64; 2] {
    let config = SplitConfig { trim_share: share, ..SplitConfig::default() };
    let rules = <Split<Pkt> as Discipline<Pkt>>::rules(&config);
    let mut port = Split::<Pkt>::new(&rules);
    let put = |port: &mut Split<Pkt>, priority: u8| {
        let mut packet = packet(0, priority);
        packet.len = lengths[usize::from(priority)];
        assert!(act(|cx| port.enqueue(&rules, &mut (), packet, cx)).1.is_empty());
    };
    (0..3).for_each(|_| [0, 1].into_iter().for_each(|priority| put(&mut port, priority)));
    let mut bytes = [0; 2];
    for _ in 0..count {
        let left = act(|cx| port.dequeue(&rules, &mut (), cx)).0.expect("both classes wait");
        bytes[usize::from(left.priority)] += u64::from(left.len);
        act(|cx| port.complete(&rules, &mut (), cx));
        put(&mut port, left.priority);
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
    let rules = <Split<Pkt> as Discipline<Pkt>>::rules(&SplitConfig::default());
    let mut port = Split::<Pkt>::new(&rules);
    let put = |port: &mut Split<Pkt>, id, priority| {
        act(|cx| port.enqueue(&rules, &mut (), packet(id, priority), cx))
    };
    let serve = |port: &mut Split<Pkt>| {
        let left = act(|cx| port.dequeue(&rules, &mut (), cx)).0;
        act(|cx| port.complete(&rules, &mut (), cx));
        left.map(|left| left.priority)
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
    let rules = <Split<Pkt> as Discipline<Pkt>>::rules(&config);
    let mut port = Split::<Pkt>::new(&rules);
    let mut reported = Vec::new();
    for (id, priority) in [(0, 0), (1, 0), (2, 0), (3, 1), (4, 5), (5, 1)] {
        reported.extend(act(|cx| port.enqueue(&rules, &mut (), packet(id, priority), cx)).1);
    }
    let brief = |outcome: &Outcome<Pkt>| match outcome {
        Outcome::Trimmed(packet) => ("trimmed", packet.id),
        Outcome::Marked(packet) => ("marked", packet.id),
        Outcome::Dropped { packet, .. } => ("dropped", packet.id),
        Outcome::Returned { header, .. } => ("returned", header.id),
    };
    let brief: Vec<_> = reported.iter().map(brief).collect();
    assert_eq!(brief, [("trimmed", 2), ("dropped", 5)]);
    assert_eq!((port.queued(false), port.queued(true)), (4, 1));
}
