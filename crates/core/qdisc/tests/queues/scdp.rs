//! The SCDP switch: strict priorities among symbols, trimming, ten control packets for each symbol.

use proptest::prelude::*;
use pullnet_qdisc::{
    Context, Discipline, DropReason, Item, Lookahead, Outcome, ScdpSwitch, ScdpSwitchConfig, Signal,
};
use pullnet_units::{BitsPerSec, Instant, Packets, QueueSize};

const FULL: u32 = 1500;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Pkt {
    id: u32,
    len: u32,
    control: bool,
    priority: u8,
}

impl Item for Pkt {
    fn is_control(&self) -> bool {
        self.control
    }
    fn wire(&self, _: u32) -> u32 {
        self.len
    }
    fn trim(&mut self, bytes: u32) {
        (self.len, self.control) = (bytes.min(self.len), true);
    }
    fn returnable(&self) -> bool {
        self.control
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn ect(&self) -> bool {
        false
    }
    fn mark(&mut self) {}
    fn ingress(&self) -> u16 {
        0
    }
}

#[derive(Default)]
struct Bench(Vec<Outcome<Pkt>>);

impl Context<Pkt> for Bench {
    fn now(&self) -> Instant {
        Instant::ZERO
    }
    fn rate(&self) -> BitsPerSec {
        BitsPerSec::gbps(1)
    }
    fn coin(&mut self) -> bool {
        panic!("no coin is needed")
    }
    fn unit(&mut self) -> f64 {
        panic!("no number is needed")
    }
    fn outcome(&mut self, outcome: Outcome<Pkt>) {
        self.0.push(outcome);
    }
    fn wake(&mut self, _: Instant) {
        panic!("it never lets the link idle")
    }
    fn signal(&mut self, _: u16, _: Signal) {
        panic!("it sends no signals")
    }
}

type Queue = ScdpSwitch<Pkt>;

struct Port {
    rules: <Queue as Lookahead>::Rules,
    queue: Queue,
}

impl Port {
    fn new(config: &ScdpSwitchConfig) -> Self {
        let rules = <Queue as Discipline<Pkt>>::rules(config);
        Self { queue: Queue::new(&rules), rules }
    }

    fn put(&mut self, packet: Pkt) -> Vec<Outcome<Pkt>> {
        let mut bench = Bench::default();
        self.queue.enqueue(&self.rules, &mut (), packet, &mut bench);
        bench.0
    }

    fn start(&mut self) -> Option<Pkt> {
        self.queue.dequeue(&self.rules, &mut (), &mut Bench::default())
    }

    fn complete(&mut self) {
        self.queue.complete(&self.rules, &mut (), &mut Bench::default());
    }

    fn serve(&mut self) -> Option<Pkt> {
        let packet = self.start()?;
        self.complete();
        Some(packet)
    }
}

fn symbol(id: u32, priority: u8) -> Pkt {
    Pkt { id, len: FULL, control: false, priority }
}

fn pull(id: u32) -> Pkt {
    Pkt { id, len: 64, control: true, priority: 0 }
}

fn served(port: &mut Port) -> Vec<u32> {
    std::iter::from_fn(|| port.serve()).map(|packet| packet.id).collect()
}

#[test]
fn more_urgent_symbols_go_first_and_equal_ones_in_order() {
    let mut port = Port::new(&ScdpSwitchConfig::default());
    for (id, priority) in [(0, 3), (1, 5), (2, 7), (3, 5), (4, 4), (5, 6), (6, 7), (7, 3)] {
        assert_eq!(port.put(symbol(id, priority)), []);
    }
    assert_eq!(served(&mut port), [2, 6, 5, 1, 3, 4, 0, 7]);
}

#[test]
fn what_is_less_urgent_than_the_last_level_shares_it() {
    let mut port = Port::new(&ScdpSwitchConfig::default());
    for (id, priority) in [(0, 0), (1, 3), (2, 1), (3, 2)] {
        port.put(symbol(id, priority));
    }
    assert_eq!(served(&mut port), [0, 1, 2, 3]);
}

#[test]
fn ten_control_packets_are_served_for_each_symbol() {
    let mut port = Port::new(&ScdpSwitchConfig::default());
    (0..3).for_each(|id| assert_eq!(port.put(symbol(id, 7)), []));
    (100..125).for_each(|id| assert_eq!(port.put(pull(id)), []));
    let order = served(&mut port);
    let symbols: Vec<_> = order.iter().enumerate().filter(|(_, id)| **id < 100).map(|(at, _)| at).collect();
    assert_eq!(symbols, [10, 21, 27]);
}

#[test]
fn all_priorities_share_the_room_and_the_arriving_symbol_is_trimmed() {
    let mut port = Port::new(&ScdpSwitchConfig::default());
    (0..20).for_each(|id| assert_eq!(port.put(symbol(id, 3 + (id % 5) as u8)), []));
    let header = Pkt { len: 64, control: true, ..symbol(20, 7) };
    assert_eq!(port.put(symbol(20, 7)), [Outcome::Trimmed(header)]);
    assert_eq!((port.queue.data_held(), port.queue.queued(true)), (20, 1));
    // The header leaves before every symbol, and the symbol in service keeps its place until it has left.
    assert_eq!(port.serve(), Some(header));
    port.start().expect("a symbol");
    assert_eq!(port.put(symbol(21, 3)), [Outcome::Trimmed(Pkt { len: 64, control: true, ..symbol(21, 3) })]);
    port.complete();
    assert_eq!(port.put(symbol(22, 3)), []);
}

#[test]
fn a_header_without_room_is_dropped_and_never_sent_back() {
    let config = ScdpSwitchConfig {
        data_queue: QueueSize::Packets(Packets(1)),
        control_queue: QueueSize::Packets(Packets(1)),
        ..ScdpSwitchConfig::default()
    };
    let mut port = Port::new(&config);
    assert_eq!([port.put(symbol(0, 7)), port.put(pull(1))], [vec![], vec![]]);
    let packet = Pkt { len: 64, control: true, ..symbol(2, 7) };
    assert_eq!(
        port.put(symbol(2, 7)),
        [Outcome::Dropped { packet, why: DropReason::ControlQueueFull, trimmed: true }]
    );
    let dropped = Outcome::Dropped { packet: pull(3), why: DropReason::ControlQueueFull, trimmed: false };
    assert_eq!(port.put(pull(3)), [dropped]);
}

proptest! {
    /// For any arrivals, nothing exceeds its room, nothing is lost without a report, and the promises of the lookahead hold.
    #[test]
    fn rooms_hold_and_every_packet_is_accounted_for(
        room in 1u32..8, control in 1u32..8, per in 1u32..4, ops in prop::collection::vec((0u8..4, 0u8..8), 0..200),
    ) {
        let config = ScdpSwitchConfig {
            data_queue: QueueSize::Packets(Packets(room)),
            control_queue: QueueSize::Packets(Packets(control)),
            control_per_data: per,
            ..ScdpSwitchConfig::default()
        };
        let mut port = Port::new(&config);
        let (mut inside, mut serving) = (0, None);
        for (id, (what, priority)) in (0..).zip(ops) {
            match what {
                0 if serving.is_none() => serving = port.start().inspect(|_| inside -= 1),
                0 => {
                    serving = None;
                    port.complete();
                }
                1 => inside += i32::from(port.put(pull(id)).is_empty()),
                _ => {
                    let sure = port.queue.data_room(&port.rules, FULL) > 0;
                    let outcome = port.put(symbol(id, priority));
                    prop_assert!(!sure || outcome.is_empty());
                    inside += i32::from(!matches!(outcome[..], [Outcome::Dropped { .. }]));
                }
            }
            prop_assert!(port.queue.data_held() <= room && port.queue.queued(true) <= control);
            prop_assert_eq!(port.queue.queued(true) + port.queue.queued(false), inside as u32);
            prop_assert_eq!(port.queue.is_empty(), inside == 0);
        }
    }
}
