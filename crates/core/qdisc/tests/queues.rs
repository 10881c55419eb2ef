//! The disciplines, rule by rule, and what must hold for any sequence of packets.

mod common;

use common::{Class, Pkt, control, data};
use proptest::prelude::*;
use pullnet_qdisc::{
    Discipline, DropReason, DropTail, DropTailConfig, Outcome, SharedBuffer, SharedBufferConfig, Trim,
    TrimConfig, Victim,
};
use pullnet_rng::Seed;
use pullnet_units::{Bytes, Packets, QueueSize};

const FULL: u32 = 9064;

/// One port and its rules.
struct Port<Q: Discipline<Pkt>> {
    rules: Q::Rules,
    shared: Q::Shared,
    queue: Q,
}

impl<Q: Discipline<Pkt>> Port<Q> {
    fn new(config: &Q::Config) -> Self {
        let rules = Q::rules(config);
        Self { shared: Q::shared(&rules, 1), queue: Q::new(&rules), rules }
    }

    /// A packet arrives where no coin is expected.
    fn put(&mut self, packet: Pkt) -> Outcome<Pkt> {
        self.toss(packet, || panic!("no coin is needed"))
    }

    /// A packet arrives; the coin says whether it is the victim itself.
    fn toss(&mut self, packet: Pkt, coin: impl FnOnce() -> bool) -> Outcome<Pkt> {
        self.queue.enqueue(&self.rules, &mut self.shared, packet, coin)
    }

    fn fill(&mut self, packets: impl IntoIterator<Item = Pkt>) {
        packets.into_iter().for_each(|packet| assert_eq!(self.put(packet), Outcome::Queued));
    }

    fn start(&mut self) -> Option<Pkt> {
        self.queue.dequeue(&self.rules, &mut self.shared)
    }

    /// One packet is served.
    fn serve(&mut self) -> Option<Pkt> {
        let packet = self.start()?;
        self.queue.complete(&self.rules, &mut self.shared);
        Some(packet)
    }

    fn waiting(&self) -> Vec<Pkt> {
        let mut waiting = Vec::new();
        self.queue.waiting(&mut |packet| waiting.push(*packet));
        waiting
    }

    fn waiting_bytes(&self, class: fn(&Pkt) -> bool) -> u64 {
        self.waiting().iter().filter(|packet| class(packet)).map(|packet| u64::from(packet.len)).sum()
    }
}

fn trim() -> Port<Trim<Pkt>> {
    Port::new(&TrimConfig::default())
}

fn is_data(packet: &Pkt) -> bool {
    packet.class == Class::Data
}

fn header(id: u64) -> Pkt {
    Pkt { id, len: 64, class: Class::Header }
}

// The NDP switch.

#[test]
fn ten_control_packets_are_served_for_each_data_packet() {
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig {
        data_queue: QueueSize::Packets(Packets(100)),
        ..TrimConfig::default()
    });
    port.fill((0..100).map(|id| data(id, FULL)));
    port.fill((100..1100).map(control));
    let served: Vec<bool> = (0..1100).map(|_| is_data(&port.serve().unwrap())).collect();
    for round in served.chunks(11) {
        assert_eq!(round.iter().filter(|data| **data).count(), 1);
        assert!(round[10], "control goes first");
    }
}

#[test]
fn the_round_goes_on_where_control_ran_out() {
    let mut port = trim();
    port.fill((0..4).map(|id| data(id, FULL)));
    port.fill((10..14).map(control));
    let served: Vec<_> = (0..5).map(|_| port.serve().unwrap().id).collect();
    assert_eq!(served, [10, 11, 12, 13, 0]);
    // Serving data while nothing else waited does not use up its turn, nor does it start a new round.
    port.fill((20..30).map(control));
    let served: Vec<_> = (0..8).map(|_| port.serve().unwrap().id).collect();
    assert_eq!(served, [20, 21, 22, 23, 24, 25, 1, 26]);
}

#[test]
fn each_queue_is_served_alone_where_the_other_is_empty() {
    let mut port = trim();
    port.fill((0..8).map(|id| data(id, FULL)));
    assert_eq!((0..8).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    port.fill((0..50).map(control));
    assert_eq!((0..50).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
    assert_eq!(port.serve(), None);
}

#[test]
fn the_default_data_queue_holds_eight_packets_with_the_one_in_service() {
    let mut port = trim();
    port.fill([data(0, FULL)]);
    assert_eq!(port.start().map(|packet| packet.id), Some(0));
    port.fill((1..8).map(|id| data(id, FULL)));
    assert_eq!(port.toss(data(8, FULL), || true), Outcome::Trimmed(header(8)));
    port.queue.complete(&port.rules, &mut port.shared);
    port.fill([data(9, FULL)]);
    assert_eq!(port.queue.data_held(), 8);
}

#[test]
fn the_default_control_queue_holds_1125_headers() {
    let mut port = trim();
    port.fill((0..1125).map(control));
    let dropped =
        Outcome::Dropped { packet: control(1125), why: DropReason::ControlQueueFull, trimmed: false };
    assert_eq!(port.put(control(1125)), dropped);
    assert_eq!(port.queue.queued(true), 1125);
}

#[test]
fn the_coin_spares_the_tail_or_trims_it() {
    let mut port = trim();
    port.fill((0..8).map(|id| data(id, FULL)));
    assert_eq!(port.toss(data(8, FULL), || true), Outcome::Trimmed(header(8)));
    assert_eq!(port.toss(data(9, FULL), || false), Outcome::Trimmed(header(7)));
    let waiting: Vec<_> =
        port.waiting().iter().filter(|packet| is_data(packet)).map(|packet| packet.id).collect();
    assert_eq!(waiting, [0, 1, 2, 3, 4, 5, 6, 9]);
}

#[test]
fn the_coin_is_fair() {
    let mut chance = Seed(11).stream("test.coin", 0);
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig {
        control_queue: QueueSize::Packets(Packets(1_000_000)),
        ..TrimConfig::default()
    });
    port.fill((0..8).map(|id| data(id, FULL)));
    let trials = 100_000u64;
    let spared = (0..trials)
        .filter(|n| port.toss(data(8 + n, FULL), || chance.coin()) == Outcome::Trimmed(header(8 + n)))
        .count();
    // Binomial: mean 50,000, standard deviation 158; five of them.
    assert!((49_209..=50_791).contains(&spared), "{spared}");
}

#[test]
fn without_the_coin_the_arriving_packet_is_the_victim() {
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig { victim: Victim::Arriving, ..TrimConfig::default() });
    port.fill((0..8).map(|id| data(id, FULL)));
    assert_eq!(port.put(data(8, FULL)), Outcome::Trimmed(header(8)));
}

#[test]
fn the_packet_in_service_is_no_victim() {
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig {
        data_queue: QueueSize::Packets(Packets(1)),
        ..TrimConfig::default()
    });
    port.fill([data(0, FULL)]);
    port.start();
    // There is no tail: no coin is needed either.
    assert_eq!(port.put(data(1, FULL)), Outcome::Trimmed(header(1)));
}

#[test]
fn a_long_packet_does_not_take_the_room_of_a_short_one() {
    let bytes = QueueSize::Bytes(Bytes(10_000));
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig { data_queue: bytes, ..TrimConfig::default() });
    port.fill([data(0, FULL), data(1, 100)]);
    // 836 bytes are free, and 936 without the tail: no coin could help.
    assert_eq!(port.put(data(2, FULL)), Outcome::Trimmed(header(2)));
    assert_eq!(port.toss(data(3, 930), || false), Outcome::Trimmed(header(1)));
}

/// A port whose control queue of four packets is full, as is its data queue.
fn crowded(return_to_sender: bool) -> Port<Trim<Pkt>> {
    let control_queue = QueueSize::Packets(Packets(4));
    let mut port =
        Port::<Trim<Pkt>>::new(&TrimConfig { control_queue, return_to_sender, ..TrimConfig::default() });
    port.fill((0..8).map(|id| data(id, FULL)));
    port.fill((10..14).map(control));
    port
}

#[test]
fn a_header_without_room_is_returned_once() {
    let mut port = crowded(true);
    assert_eq!(port.toss(data(20, FULL), || true), Outcome::Returned(header(20)));
    assert_eq!(port.toss(data(21, FULL), || false), Outcome::Returned(header(7)));
    assert_eq!(port.put(header(22)), Outcome::Returned(header(22)));
    let returned = Pkt { id: 23, len: 64, class: Class::Returned };
    let dropped = Outcome::Dropped { packet: returned, why: DropReason::ControlQueueFull, trimmed: false };
    assert_eq!(port.put(returned), dropped);
}

#[test]
fn a_control_packet_without_room_is_dropped() {
    let mut port = crowded(true);
    let dropped = Outcome::Dropped { packet: control(20), why: DropReason::ControlQueueFull, trimmed: false };
    assert_eq!(port.put(control(20)), dropped);
}

#[test]
fn without_return_to_sender_a_header_without_room_is_dropped() {
    let mut port = crowded(false);
    let dropped = Outcome::Dropped { packet: header(20), why: DropReason::ControlQueueFull, trimmed: true };
    assert_eq!(port.toss(data(20, FULL), || true), dropped);
}

#[test]
fn what_is_served_next_is_never_shorter_than_promised() {
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig { trim_to: Bytes(256), ..TrimConfig::default() });
    port.fill((0..2).map(|id| data(id, 100)));
    port.fill((10..12).map(|id| Pkt { id, len: 256, class: Class::Header }));
    assert_eq!(port.queue.shortest_next(), Some(100));
}

// Drop-tail.

#[test]
fn drop_tail_holds_its_packets_and_drops_the_next() {
    let mut port = Port::<DropTail<Pkt>>::new(&DropTailConfig { queue: QueueSize::Packets(Packets(3)) });
    port.fill([data(0, FULL), control(1), data(2, FULL)]);
    let full = |packet, why| Outcome::Dropped { packet, why, trimmed: false };
    assert_eq!(port.put(data(3, 65)), full(data(3, 65), DropReason::DataQueueFull));
    assert_eq!(port.put(control(4)), full(control(4), DropReason::ControlQueueFull));
    assert_eq!((0..3).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn drop_tail_counts_the_packet_in_service() {
    let mut port = Port::<DropTail<Pkt>>::new(&DropTailConfig { queue: QueueSize::Bytes(Bytes(10_000)) });
    port.fill([data(0, FULL)]);
    port.start();
    port.fill([data(1, 936)]);
    assert!(matches!(port.put(data(2, 1)), Outcome::Dropped { .. }));
    port.queue.complete(&port.rules, &mut port.shared);
    port.fill([data(3, FULL)]);
}

// Shared memory.

#[test]
fn a_port_may_hold_alpha_times_what_is_free() {
    let config = SharedBufferConfig { pool: Bytes(10_000), alpha: 1.0 };
    let rules = SharedBuffer::<Pkt>::rules(&config);
    let (mut pool, mut port) =
        (<SharedBuffer<Pkt> as Discipline<Pkt>>::shared(&rules, 2), SharedBuffer::<Pkt>::new(&rules));
    let admitted = (0..20)
        .take_while(|id| port.enqueue(&rules, &mut pool, data(*id, 1000), || true) == Outcome::Queued)
        .count();
    // 5000 held and 5000 free still admits one; 6000 and 4000 does not.
    assert_eq!((admitted, pool.free()), (6, 4000));
    // Another port of the switch has a share of its own.
    let mut other = SharedBuffer::<Pkt>::new(&rules);
    assert_eq!(other.enqueue(&rules, &mut pool, data(99, 1000), || true), Outcome::Queued);
}

// What holds for any sequence of packets.

/// What arrives or leaves.
#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive(Class, u32, bool),
    Serve,
    Complete,
}

fn op() -> impl Strategy<Value = Op> {
    let class = prop::sample::select(vec![
        Class::Data,
        Class::Data,
        Class::Data,
        Class::Control,
        Class::Header,
        Class::Returned,
    ]);
    let arrive =
        (class, 65u32..3000, any::<bool>()).prop_map(|(class, len, coin)| Op::Arrive(class, len, coin));
    prop_oneof![3 => arrive, 2 => Just(Op::Serve), 2 => Just(Op::Complete)]
}

fn size() -> impl Strategy<Value = QueueSize> {
    prop_oneof![
        (1u32..12).prop_map(|n| QueueSize::Packets(Packets(n))),
        (3000u64..20_000).prop_map(|n| QueueSize::Bytes(Bytes(n)))
    ]
}

fn within(size: QueueSize, packets: u64, bytes: u64) -> bool {
    match size {
        QueueSize::Packets(most) => packets <= u64::from(most.0),
        QueueSize::Bytes(most) => bytes <= most.0,
    }
}

/// Runs `ops` on a port; checks that packets are conserved, and `holds` after every step with the packet in service.
fn conserved<Q: Discipline<Pkt>>(
    port: &mut Port<Q>,
    ops: &[Op],
    holds: impl Fn(&Port<Q>, Option<Pkt>) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let (mut arrived, mut gone, mut serving) = (0u64, 0u64, None);
    for op in ops {
        match *op {
            Op::Arrive(class, len, coin) => {
                let len = if class == Class::Data { len } else { 64 };
                let shorter = port.toss(Pkt { id: arrived, len, class }, || coin);
                arrived += 1;
                gone += u64::from(matches!(shorter, Outcome::Returned(_) | Outcome::Dropped { .. }));
            }
            Op::Serve if serving.is_none() => {
                serving = port.start();
                gone += u64::from(serving.is_some());
            }
            Op::Complete if serving.is_some() => {
                port.queue.complete(&port.rules, &mut port.shared);
                serving = None;
            }
            _ => {}
        }
        let waiting = port.waiting();
        prop_assert_eq!(arrived, gone + waiting.len() as u64);
        let data = waiting.iter().filter(|packet| is_data(packet)).count() as u32;
        prop_assert_eq!(port.queue.data_held(), data + u32::from(serving.as_ref().is_some_and(is_data)));
        prop_assert_eq!(port.queue.queued(true), waiting.len() as u32 - data);
        prop_assert_eq!(port.queue.is_empty(), waiting.is_empty());
        holds(port, serving)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_trimming_port_conserves_packets_and_keeps_its_capacity(
        ops in prop::collection::vec(op(), 0..300),
        data_queue in size(),
        control_queue in size(),
        return_to_sender: bool,
        control_per_data in 1u32..12,
    ) {
        let config = TrimConfig { data_queue, control_queue, return_to_sender, control_per_data, ..TrimConfig::default() };
        conserved(&mut Port::<Trim<Pkt>>::new(&config), &ops, |port, serving| {
            let serving = serving.filter(is_data).map_or(0, |packet| u64::from(packet.len));
            prop_assert!(within(data_queue, port.queue.data_held().into(), port.waiting_bytes(is_data) + serving));
            let control = port.waiting_bytes(|packet| !is_data(packet));
            prop_assert!(within(control_queue, port.queue.queued(true).into(), control));
            Ok(())
        })?;
    }

    #[test]
    fn room_that_is_promised_is_there(
        ops in prop::collection::vec(op(), 0..100),
        data_queue in size(),
        control_queue in size(),
        largest in 65u32..3000,
    ) {
        let config = TrimConfig { data_queue, control_queue, ..TrimConfig::default() };
        let mut port = Port::<Trim<Pkt>>::new(&config);
        conserved(&mut port, &ops, |_, _| Ok(()))?;
        let (mut full, room) = (Port::<Trim<Pkt>> { queue: port.queue.clone(), rules: port.rules, shared: () }, port.queue.data_room(&port.rules, largest));
        for id in 0..room.min(1000) {
            prop_assert_eq!(full.put(data(id.into(), largest)), Outcome::Queued);
        }
        let room = port.queue.control_room(&port.rules);
        for id in 0..room.min(1000) {
            prop_assert!(!matches!(port.toss(data(id.into(), largest), || id % 2 == 0), Outcome::Returned(_)));
        }
    }

    #[test]
    fn drop_tail_conserves_packets_and_keeps_its_capacity(ops in prop::collection::vec(op(), 0..300), queue in size()) {
        conserved(&mut Port::<DropTail<Pkt>>::new(&DropTailConfig { queue }), &ops, |port, serving| {
            let held = port.waiting().len() as u64 + u64::from(serving.is_some());
            let bytes = port.waiting_bytes(|_| true) + serving.map_or(0, |packet| packet.len.into());
            prop_assert!(within(queue, held, bytes));
            Ok(())
        })?;
    }

    #[test]
    fn a_pool_is_what_its_ports_do_not_hold(ops in prop::collection::vec(op(), 0..300), pool in 3000u64..30_000, alpha in 0.1f64..10.0) {
        let config = SharedBufferConfig { pool: Bytes(pool), alpha };
        conserved(&mut Port::<SharedBuffer<Pkt>>::new(&config), &ops, |port, serving| {
            let held = port.waiting_bytes(|_| true) + serving.map_or(0, |packet| packet.len.into());
            prop_assert_eq!(port.shared.free() + held, pool);
            Ok(())
        })?;
    }
}
