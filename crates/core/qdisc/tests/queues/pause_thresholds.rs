//! Lossless switches whose thresholds are fixed, or follow the rates of links.

use crate::common::{Bench, Pkt, capable, data, idle};
use pullnet_qdisc::{Discipline, Pfc, PfcConfig};
use pullnet_units::{BitsPerSec, Bytes, Packets, QueueSize};

type Queue = Pfc<Pkt>;

/// A switch with one port and links of the given rates into it, in Gb/s.
struct Switch {
    rules: <Queue as pullnet_qdisc::Lookahead>::Rules,
    shared: <Queue as Discipline<Pkt>>::Shared,
    queue: Queue,
    cx: Bench<'static>,
}

impl Switch {
    fn new(config: &PfcConfig, rates: &[u64]) -> Self {
        let rules = Queue::rules(config);
        let mut shared = Queue::shared(&rules, rates.len());
        let rates: Vec<_> = rates.iter().map(|rate| BitsPerSec::gbps(*rate)).collect();
        Queue::links(&rules, &mut shared, &rates);
        Self { queue: Queue::new(&rules), rules, shared, cx: idle() }
    }

    fn put(&mut self, packet: Pkt) -> &mut Self {
        self.queue.enqueue(&self.rules, &mut self.shared, packet, &mut self.cx);
        self
    }

    fn serve(&mut self) -> Pkt {
        let served = self.queue.dequeue(&self.rules, &mut self.shared, &mut self.cx).expect("a packet waits");
        self.queue.complete(&self.rules, &mut self.shared, &mut self.cx);
        served
    }

    /// The priorities paused by each signal so far, with its link.
    fn signals(&self) -> Vec<(u16, u8)> {
        self.cx.signals.iter().map(|(link, signal)| (*link, signal.paused)).collect()
    }
}

/// Paused above 2 kB, resumed 1 kB below; headroom for three packets of 1 kB.
fn config() -> PfcConfig {
    PfcConfig {
        buffer: Bytes(23_000),
        reserve: Bytes(0),
        headroom: Bytes(3_000),
        pause_above: Some(Bytes(2_000)),
        resume_below: Bytes(1_000),
        ..PfcConfig::default()
    }
}

fn from(ingress: u16, id: u64) -> Pkt {
    Pkt { ingress, ..data(id, 1000) }
}

#[test]
fn a_fixed_threshold_does_not_depend_on_what_is_free() {
    // An eighth of the 7 kB that are free, the default, is less than a packet.
    let mut switch = Switch::new(&PfcConfig { buffer: Bytes(13_000), ..config() }, &[10, 10]);
    switch.put(from(1, 0)).put(from(0, 1));
    assert_eq!(switch.signals(), []);
    switch.put(from(0, 2));
    assert_eq!(switch.signals(), [(0, 1)]);
    switch.serve();
    assert_eq!(switch.signals().len(), 1, "that was the other link's");
    switch.serve();
    assert_eq!(switch.signals(), [(0, 1), (0, 0)]);
}

#[test]
fn a_link_that_is_twice_as_fast_as_the_reference_may_hold_twice_as_much() {
    let rule = PfcConfig { reference_rate: Some(BitsPerSec::gbps(10)), ..config() };
    let mut switch = Switch::new(&rule, &[10, 20]);
    assert_eq!(switch.shared.free(), 23_000 - 3_000 - 6_000, "headroom in proportion");
    (0..3).for_each(|id| {
        switch.put(from(1, id));
    });
    assert_eq!(switch.signals(), []);
    switch.put(from(1, 3)).put(from(0, 4)).put(from(0, 5));
    assert_eq!(switch.signals(), [(1, 1), (0, 1)]);
    // Without a reference all links are alike.
    let mut switch = Switch::new(&config(), &[10, 20]);
    switch.put(from(1, 0)).put(from(1, 1));
    assert_eq!(switch.signals(), [(1, 1)]);
}

#[test]
fn marks_begin_later_on_a_faster_link() {
    let marks = |reference: u64| {
        let low = QueueSize::Packets(Packets(2));
        let rule = PfcConfig {
            mark_low: Some(low),
            mark_high: low,
            reference_rate: Some(BitsPerSec::gbps(reference)),
            ..PfcConfig::default()
        };
        let mut switch = Switch::new(&rule, &[10]);
        (0..7).for_each(|id| {
            switch.put(capable(id, 1000));
        });
        (0..7).filter(|_| switch.serve().ce).count()
    };
    // The link of the port has 10 Gb/s. 6, 5, 4 and 3 packets are more than two; 6 and 5 are more than four.
    assert_eq!([10, 5].map(marks), [4, 2]);
}
