//! The disciplines, rule by rule, and what must hold for any sequence of packets.

mod common;

use common::{Bench, Class, Pkt, capable, control, data, packet};
use proptest::prelude::*;
use pullnet_qdisc::{
    CutPayload, CutPayloadConfig, Discipline, DropReason, DropTail, DropTailConfig, Lookahead, MarkWhen,
    Occupancy, Outcome, Pfabric, PfabricConfig, Pfc, PfcConfig, Priority, PriorityConfig, Red, RedConfig,
    SharedBuffer, SharedBufferConfig, Sharing, Signal, Trim, TrimConfig, Victim,
};
use pullnet_rng::Seed;
use pullnet_units::{Bytes, Instant, Packets, Picos, QueueSize};

const FULL: u32 = 9064;

/// One port and its rules.
struct Port<Q: Discipline<Pkt>> {
    rules: Q::Rules,
    shared: Q::Shared,
    queue: Q,
    now: Instant,
    /// Pauses that the queue has asked for.
    signals: Vec<(u16, Signal)>,
}

impl<Q: Discipline<Pkt>> Port<Q> {
    fn new(config: &Q::Config) -> Self {
        let rules = Q::rules(config);
        let shared = Q::shared(&rules, 1);
        Self { shared, queue: Q::new(&rules), rules, now: Instant::ZERO, signals: Vec::new() }
    }

    /// Lets the queue do something; `None` where a packet simply waits.
    fn with<R>(
        &mut self,
        coin: &mut dyn FnMut() -> bool,
        draw: &mut dyn FnMut() -> f64,
        act: impl FnOnce(&mut Q, &Q::Rules, &mut Q::Shared, &mut Bench<'_>) -> R,
    ) -> (R, Option<Outcome<Pkt>>) {
        let (outcomes, signals) = (Vec::new(), Vec::new());
        let mut bench = Bench { now: self.now, coin, draw, outcomes, paused: 0, signals };
        let result = act(&mut self.queue, &self.rules, &mut self.shared, &mut bench);
        assert!(bench.outcomes.len() < 2, "{:?}", bench.outcomes);
        self.signals.append(&mut bench.signals);
        (result, bench.outcomes.pop())
    }

    /// A packet arrives where no chance is expected.
    fn put(&mut self, packet: Pkt) -> Option<Outcome<Pkt>> {
        self.toss(packet, || panic!("no coin is needed"))
    }

    /// A packet arrives; the coin says whether it is the victim itself.
    fn toss(&mut self, packet: Pkt, mut coin: impl FnMut() -> bool) -> Option<Outcome<Pkt>> {
        let mut draw = || panic!("no number is needed");
        self.with(&mut coin, &mut draw, |queue, rules, shared, cx| queue.enqueue(rules, shared, packet, cx)).1
    }

    /// A packet arrives where a random number is drawn.
    fn draw(&mut self, packet: Pkt, number: f64) -> Option<Outcome<Pkt>> {
        let mut coin = || panic!("no coin is needed");
        self.with(&mut coin, &mut || number, |queue, rules, shared, cx| {
            queue.enqueue(rules, shared, packet, cx)
        })
        .1
    }

    fn fill(&mut self, packets: impl IntoIterator<Item = Pkt>) {
        packets.into_iter().for_each(|packet| assert_eq!(self.put(packet), None));
    }

    fn start(&mut self) -> Option<Pkt> {
        let (mut coin, mut draw) = (|| panic!("no coin is needed"), || panic!("no number is needed"));
        self.with(&mut coin, &mut draw, |queue, rules, shared, cx| queue.dequeue(rules, shared, cx)).0
    }

    fn complete(&mut self) {
        let (mut coin, mut draw) = (|| panic!("no coin is needed"), || panic!("no number is needed"));
        self.with(&mut coin, &mut draw, |queue, rules, shared, cx| queue.complete(rules, shared, cx));
    }

    /// One packet is served.
    fn serve(&mut self) -> Option<Pkt> {
        let packet = self.start()?;
        self.complete();
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

/// A header that goes back; `trimmed` here.
fn back(header: Pkt, trimmed: bool) -> Outcome<Pkt> {
    Outcome::Returned { header, trimmed }
}

fn gone(packet: Pkt, why: DropReason, trimmed: bool) -> Outcome<Pkt> {
    Outcome::Dropped { packet, why, trimmed }
}

fn header(id: u64) -> Pkt {
    packet(id, 64, Class::Header)
}

// The lossless switch.

/// A packet of priority 2 from link `ingress`.
fn from(ingress: u16, id: u64) -> Pkt {
    Pkt { priority: 2, ingress, ..data(id, 1000) }
}

fn pause(ingress: u16, paused: u8) -> (u16, Signal) {
    (ingress, Signal { paused, quanta: 65_535 })
}

/// 10 kB of shared memory, of which one priority of a link may hold half of what is free; headroom for three packets.
fn lossless() -> Port<Pfc<Pkt>> {
    Port::new(&PfcConfig {
        buffer: Bytes(13_000),
        reserve: Bytes(0),
        headroom: Bytes(3_000),
        alpha: 0.5,
        resume_below: Bytes(1_000),
        ..PfcConfig::default()
    })
}

#[test]
fn a_link_that_fills_its_share_is_paused_and_its_headroom_takes_what_still_comes() {
    let mut port = lossless();
    // 3 kB are held and 7 kB free: a fourth packet makes 4 kB of a threshold of 3.5 kB.
    port.fill((0..3).map(|id| from(0, id)));
    assert_eq!(port.signals, []);
    port.fill((3..6).map(|id| from(0, id)));
    assert_eq!(port.signals, [pause(0, 0b100)], "a pause is sent once");
    let next = from(0, 6);
    assert_eq!(port.put(next), Some(gone(next, DropReason::DataQueueFull, false)), "the headroom is full");
    // Packets of other links find room; other priorities have a share of their own.
    port.fill([from(1, 8), Pkt { priority: 5, ..from(0, 9) }]);
    assert_eq!(port.signals.len(), 1);
}

#[test]
fn a_pause_ends_well_below_the_threshold() {
    let mut port = lossless();
    port.fill((0..6).map(|id| from(0, id)));
    for _ in 0..3 {
        port.serve().unwrap();
    }
    assert_eq!(port.signals, [pause(0, 0b100)], "3 kB of a threshold of 3.5 kB are not low enough");
    port.serve().unwrap();
    assert_eq!(port.signals[1..], [pause(0, 0)]);
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
    assert_eq!(port.toss(data(8, FULL), || true), Some(Outcome::Trimmed(header(8))));
    port.complete();
    port.fill([data(9, FULL)]);
    assert_eq!(port.queue.data_held(), 8);
}

#[test]
fn the_default_control_queue_holds_1125_headers() {
    let mut port = trim();
    port.fill((0..1125).map(control));
    let dropped = gone(control(1125), DropReason::ControlQueueFull, false);
    assert_eq!(port.put(control(1125)), Some(dropped));
    assert_eq!(port.queue.queued(true), 1125);
}

#[test]
fn the_coin_spares_the_tail_or_trims_it() {
    let mut port = trim();
    port.fill((0..8).map(|id| data(id, FULL)));
    assert_eq!(port.toss(data(8, FULL), || true), Some(Outcome::Trimmed(header(8))));
    assert_eq!(port.toss(data(9, FULL), || false), Some(Outcome::Trimmed(header(7))));
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
        .filter(|n| port.toss(data(8 + n, FULL), || chance.coin()) == Some(Outcome::Trimmed(header(8 + n))))
        .count();
    // Binomial: mean 50,000, standard deviation 158; five of them.
    assert!((49_209..=50_791).contains(&spared), "{spared}");
}

#[test]
fn without_the_coin_the_arriving_packet_is_the_victim() {
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig { victim: Victim::Arriving, ..TrimConfig::default() });
    port.fill((0..8).map(|id| data(id, FULL)));
    assert_eq!(port.put(data(8, FULL)), Some(Outcome::Trimmed(header(8))));
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
    assert_eq!(port.put(data(1, FULL)), Some(Outcome::Trimmed(header(1))));
}

#[test]
fn a_long_packet_does_not_take_the_room_of_a_short_one() {
    let bytes = QueueSize::Bytes(Bytes(10_000));
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig { data_queue: bytes, ..TrimConfig::default() });
    port.fill([data(0, FULL), data(1, 100)]);
    // 836 bytes are free, and 936 without the tail: no coin could help.
    assert_eq!(port.put(data(2, FULL)), Some(Outcome::Trimmed(header(2))));
    assert_eq!(port.toss(data(3, 930), || false), Some(Outcome::Trimmed(header(1))));
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
    assert_eq!(port.toss(data(20, FULL), || true), Some(back(header(20), true)));
    assert_eq!(port.toss(data(21, FULL), || false), Some(back(header(7), true)));
    assert_eq!(port.put(header(22)), Some(back(header(22), false)));
    let returned = packet(23, 64, Class::Returned);
    let dropped = gone(returned, DropReason::ControlQueueFull, false);
    assert_eq!(port.put(returned), Some(dropped));
}

#[test]
fn a_control_packet_without_room_is_dropped() {
    let mut port = crowded(true);
    let dropped = gone(control(20), DropReason::ControlQueueFull, false);
    assert_eq!(port.put(control(20)), Some(dropped));
}

#[test]
fn without_return_to_sender_a_header_without_room_is_dropped() {
    let mut port = crowded(false);
    let dropped = gone(header(20), DropReason::ControlQueueFull, true);
    assert_eq!(port.toss(data(20, FULL), || true), Some(dropped));
}

#[test]
fn what_is_served_next_is_never_shorter_than_promised() {
    let mut port = Port::<Trim<Pkt>>::new(&TrimConfig { trim_to: Bytes(256), ..TrimConfig::default() });
    port.fill((0..2).map(|id| data(id, 100)));
    port.fill((10..12).map(|id| packet(id, 256, Class::Header)));
    assert_eq!(port.queue.shortest_next(&port.rules), Some(100));
}

// Drop-tail.

#[test]
fn drop_tail_holds_its_packets_and_drops_the_next() {
    let mut port = Port::<DropTail<Pkt>>::new(&DropTailConfig {
        queue: QueueSize::Packets(Packets(3)),
        ..DropTailConfig::default()
    });
    port.fill([data(0, FULL), control(1), data(2, FULL)]);
    let full = |packet, why| gone(packet, why, false);
    assert_eq!(port.put(data(3, 65)), Some(full(data(3, 65), DropReason::DataQueueFull)));
    assert_eq!(port.put(control(4)), Some(full(control(4), DropReason::ControlQueueFull)));
    assert_eq!((0..3).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn drop_tail_counts_the_packet_in_service() {
    let mut port = Port::<DropTail<Pkt>>::new(&DropTailConfig {
        queue: QueueSize::Bytes(Bytes(10_000)),
        ..DropTailConfig::default()
    });
    port.fill([data(0, FULL)]);
    port.start();
    port.fill([data(1, 936)]);
    assert!(matches!(port.put(data(2, 1)), Some(Outcome::Dropped { .. })));
    port.complete();
    port.fill([data(3, FULL)]);
}

// Cut Payload.

fn cut(threshold: u32, occupancy: Occupancy, queue: u32) -> Port<CutPayload<Pkt>> {
    let size = |packets| QueueSize::Packets(Packets(packets));
    let (threshold, queue) = (size(threshold), size(queue));
    Port::new(&CutPayloadConfig { threshold, occupancy, queue, ..CutPayloadConfig::default() })
}

#[test]
fn a_header_waits_behind_the_data_that_came_before_it() {
    let mut port = cut(2, Occupancy::Data, 10);
    port.fill([data(0, FULL), data(1, FULL)]);
    assert_eq!(port.put(data(2, FULL)), Some(Outcome::Trimmed(header(2))));
    assert_eq!(port.serve(), Some(data(0, FULL)));
    // There is room again; the new packet keeps its payload and its place behind the header.
    port.fill([data(3, FULL)]);
    let served: Vec<Pkt> = std::iter::from_fn(|| port.serve()).collect();
    assert_eq!(served, [data(1, FULL), header(2), data(3, FULL)]);
}

#[test]
fn headers_that_count_towards_the_threshold_keep_data_out() {
    for (occupancy, kept) in [(Occupancy::All, false), (Occupancy::Data, true)] {
        let mut port = cut(4, occupancy, 10);
        port.fill((10..14).map(header));
        let outcome = port.put(data(0, FULL));
        assert_eq!(outcome.is_none(), kept, "{occupancy:?}: {outcome:?}");
    }
}

#[test]
fn a_full_cut_payload_port_drops_headers_and_returns_none() {
    let mut port = cut(2, Occupancy::Data, 3);
    port.fill([data(0, FULL), data(1, FULL), header(2)]);
    assert_eq!(port.put(data(3, FULL)), Some(gone(header(3), DropReason::ControlQueueFull, true)));
    assert_eq!(port.put(control(4)), Some(gone(control(4), DropReason::ControlQueueFull, false)));
    // The packet in service takes room until it has left.
    port.start();
    assert!(matches!(port.put(header(5)), Some(Outcome::Dropped { .. })));
    port.complete();
    assert_eq!(port.put(header(5)), None);
}

// Shared memory.

#[test]
fn a_port_may_hold_alpha_times_what_is_free() {
    let config = SharedBufferConfig { pool: Bytes(10_000), alpha: 1.0, ..SharedBufferConfig::default() };
    let mut port = Port::<SharedBuffer<Pkt>>::new(&config);
    let admitted = (0..20).take_while(|id| port.put(data(*id, 1000)).is_none()).count();
    // 5000 held and 5000 free still admits one; 6000 and 4000 does not.
    assert_eq!((admitted, port.shared.free()), (6, 4000));
    // Another port of the switch has a share of its own.
    let mut other = Port::<SharedBuffer<Pkt>>::new(&config);
    core::mem::swap(&mut other.shared, &mut port.shared);
    assert_eq!(other.put(data(99, 1000)), None);
}

// Marks.

#[test]
fn drop_tail_marks_above_its_threshold_on_arrival() {
    let above = Some(QueueSize::Packets(Packets(2)));
    let mut port =
        Port::<DropTail<Pkt>>::new(&DropTailConfig { mark_above: above, ..DropTailConfig::default() });
    port.fill((0..3).map(|id| capable(id, FULL)));
    // Three are held, the limit is two: packets that can be marked are, others wait as they are.
    let marked = |id| Some(Outcome::Marked(Pkt { ce: true, ..capable(id, FULL) }));
    assert_eq!(port.put(capable(3, FULL)), marked(3));
    assert_eq!(port.put(data(4, FULL)), None);
    assert_eq!(port.start().map(|packet| packet.ce), Some(false));
    // The packet in service is held, too.
    assert_eq!(port.put(capable(5, FULL)), marked(5));
    let served: Vec<bool> = (0..5).map(|_| port.start().unwrap().ce).collect();
    assert_eq!(served, [false, false, true, false, true]);
}

#[test]
fn drop_tail_marks_what_leaves_more_than_the_threshold_behind() {
    let (above, at) = (Some(QueueSize::Packets(Packets(1))), MarkWhen::Dequeue);
    let config = DropTailConfig { mark_above: above, mark_at: at, ..DropTailConfig::default() };
    let mut port = Port::<DropTail<Pkt>>::new(&config);
    port.fill((0..4).map(|id| capable(id, FULL)));
    let served: Vec<bool> = (0..4).map(|_| port.serve().unwrap().ce).collect();
    assert_eq!(served, [true, true, false, false]);
}

#[test]
fn a_trimming_port_marks_data_by_the_data_that_it_holds() {
    for (above, unit) in
        [(QueueSize::Packets(Packets(2)), "packets"), (QueueSize::Bytes(Bytes(2 * 9064)), "bytes")]
    {
        let mut port =
            Port::<Trim<Pkt>>::new(&TrimConfig { mark_above: Some(above), ..TrimConfig::default() });
        port.fill((20..30).map(control));
        port.fill((0..3).map(|id| capable(id, FULL)));
        let marked = |id| Some(Outcome::Marked(Pkt { ce: true, ..capable(id, FULL) }));
        assert_eq!(port.put(capable(3, FULL)), marked(3), "{unit}");
        assert!((20..30).all(|id| port.serve().unwrap().id == id));
        assert_eq!(port.serve().unwrap(), capable(0, FULL));
        assert_eq!(port.put(capable(4, FULL)), marked(4), "{unit}");
        port.serve();
        port.serve();
        assert_eq!(port.put(capable(5, FULL)), None, "{unit}");
    }
}

// Strict priority.

const fn urgent(id: u64, priority: u8) -> Pkt {
    Pkt { priority, ..data(id, FULL) }
}

#[test]
fn the_most_urgent_class_is_served_first_and_in_order() {
    let mut port = Port::<Priority<Pkt>>::new(&PriorityConfig::default());
    port.fill((0..8).map(|id| urgent(id, id as u8 / 2 * 2)));
    port.start();
    // A packet in service is not interrupted.
    port.fill([urgent(8, 7)]);
    port.complete();
    let served: Vec<_> = (0..8).map(|_| port.serve().unwrap().id).collect();
    assert_eq!(served, [8, 7, 4, 5, 2, 3, 0, 1]);
}

#[test]
fn classes_share_the_room_of_the_port_or_have_their_own() {
    let config = |sharing| PriorityConfig {
        queue: QueueSize::Packets(Packets(2)),
        sharing,
        mark_above: Some(QueueSize::Packets(Packets(1))),
        ..PriorityConfig::default()
    };
    let mut shared = Port::<Priority<Pkt>>::new(&config(Sharing::Port));
    shared.fill([urgent(0, 0), urgent(1, 0)]);
    let dropped = gone(urgent(2, 7), DropReason::DataQueueFull, false);
    assert_eq!(shared.put(urgent(2, 7)), Some(dropped));
    let mut own = Port::<Priority<Pkt>>::new(&config(Sharing::Class));
    own.fill([urgent(0, 0), urgent(1, 0), urgent(2, 7)]);
    own.start();
    // The packet in service holds room of its class, and the threshold counts that class alone.
    assert_eq!(own.put(Pkt { ect: true, ..urgent(3, 7) }), None);
    assert!(matches!(own.put(urgent(4, 7)), Some(Outcome::Dropped { .. })));
    assert_eq!(own.put(Pkt { ect: true, ..urgent(5, 3) }), None);
    own.complete();
    assert_eq!(own.put(urgent(6, 7)), None);
    assert_eq!((0..4).map(|_| own.serve().unwrap().id).collect::<Vec<_>>(), [3, 6, 5, 0]);
}

// pFabric.

const fn ranked(id: u64, flow: u64, rank: u32) -> Pkt {
    Pkt { flow, rank, ..data(id, FULL) }
}

fn pfabric(packets: u32) -> Port<Pfabric<Pkt>> {
    Port::new(&PfabricConfig { queue: QueueSize::Packets(Packets(packets)) })
}

#[test]
fn the_earliest_packet_of_the_most_urgent_flow_is_served() {
    let mut port = pfabric(9);
    // Later packets of a flow are more urgent, and carry its earlier ones along.
    port.fill([ranked(0, 1, 9), ranked(1, 2, 5), ranked(2, 1, 3), ranked(3, 3, 5)]);
    let served: Vec<_> = (0..4).map(|_| port.serve().unwrap().id).collect();
    assert_eq!(served, [0, 2, 1, 3]);
}

#[test]
fn the_least_urgent_packets_make_room() {
    let mut port = pfabric(3);
    port.fill([ranked(0, 1, 9)]);
    port.start();
    port.fill([ranked(1, 2, 5), ranked(2, 3, 5)]);
    let full = |packet| Some(gone(packet, DropReason::DataQueueFull, false));
    assert_eq!(port.put(ranked(3, 4, 1)), full(ranked(2, 3, 5)), "the newest of the largest rank");
    assert_eq!(port.put(ranked(4, 5, 8)), full(ranked(4, 5, 8)), "the arriving one itself");
    // The packet in service has the largest rank of all, and stays.
    port.complete();
    assert_eq!((0..2).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), [3, 1]);
}

#[test]
fn packets_without_a_rank_are_served_in_order() {
    let mut port = pfabric(3);
    port.fill((0..3).map(|id| data(id, FULL)));
    assert!(matches!(port.put(data(3, FULL)), Some(Outcome::Dropped { packet: Pkt { id: 3, .. }, .. })));
    assert_eq!((0..3).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), [0, 1, 2]);
}

// Random early detection.

fn red(weight: f64, even: bool) -> Port<Red<Pkt>> {
    Port::new(&RedConfig { weight, even, probability: 0.5, ..RedConfig::default() })
}

#[test]
fn red_without_averaging_marks_by_the_queue_itself() {
    let mut port = red(1.0, false);
    port.fill((0..6).map(|id| capable(id, FULL)));
    // Six packets lie a tenth of the way from 5 to 15: the probability is 0.05.
    assert_eq!(port.draw(capable(6, FULL), 0.051), None);
    assert!(matches!(port.draw(capable(7, FULL), 0.099), Some(Outcome::Marked(_))));
    assert!(matches!(port.draw(data(8, FULL), 0.149), Some(Outcome::Dropped { why: DropReason::Early, .. })));
    (8..15).for_each(|id| assert_eq!(port.draw(capable(id, FULL), 0.999), None));
    // From `high` on every packet is chosen.
    assert!(matches!(port.put(capable(15, FULL)), Some(Outcome::Marked(_))));
    assert!(matches!(port.put(data(16, FULL)), Some(Outcome::Dropped { why: DropReason::Early, .. })));
}

#[test]
fn red_spreads_marks_evenly() {
    let mut port = red(1.0, true);
    port.fill((0..10).map(|id| capable(id, FULL)).take(6));
    // At a steady queue of ten the base is 1/4: after a mark the probabilities are 1/3, 1/2 and 1.
    (6..10).for_each(|id| assert_eq!(port.draw(capable(id, FULL), 0.999), None));
    let mut port_at_ten = |number| {
        let outcome = port.draw(capable(50, FULL), number);
        port.serve();
        outcome.is_some()
    };
    assert!(port_at_ten(0.0));
    assert!(!port_at_ten(0.34) && !port_at_ten(0.51) && port_at_ten(0.999));
}

#[test]
fn red_forgets_while_the_port_is_idle() {
    let mut port = red(0.5, false);
    (0..12).for_each(|id| assert_eq!(port.draw(capable(id, FULL), 0.999), None));
    (0..12).for_each(|_| assert!(port.serve().is_some()));
    // A hundred packet times at 10 Gb/s later the average is near zero.
    port.now = port.now.after(Picos(100 * 1_200_000));
    assert_eq!(port.put(capable(20, FULL)), None);
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
                let (priority, flow, rank) = ((len % 8) as u8, u64::from(len % 5), len % 11);
                let arriving = Pkt { priority, flow, rank, ..packet(arrived, len, class) };
                let shorter = port.toss(arriving, || coin);
                arrived += 1;
                gone +=
                    u64::from(matches!(shorter, Some(Outcome::Returned { .. } | Outcome::Dropped { .. })));
            }
            Op::Serve if serving.is_none() => {
                serving = port.start();
                gone += u64::from(serving.is_some());
            }
            Op::Complete if serving.is_some() => {
                port.complete();
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
        let (mut full, room) = (Port::<Trim<Pkt>> { queue: port.queue.clone(), rules: port.rules, shared: (), now: port.now, signals: Vec::new() }, port.queue.data_room(&port.rules, largest));
        for id in 0..room.min(1000) {
            prop_assert_eq!(full.put(data(id.into(), largest)), None);
        }
        let room = port.queue.control_room(&port.rules);
        for id in 0..room.min(1000) {
            let returned = matches!(port.toss(data(id.into(), largest), || id % 2 == 0), Some(Outcome::Returned { .. }));
            prop_assert!(!returned);
        }
    }

    #[test]
    fn drop_tail_conserves_packets_and_keeps_its_capacity(ops in prop::collection::vec(op(), 0..300), queue in size()) {
        conserved(&mut Port::<DropTail<Pkt>>::new(&DropTailConfig { queue, ..DropTailConfig::default() }), &ops, |port, serving| {
            let held = port.waiting().len() as u64 + u64::from(serving.is_some());
            let bytes = port.waiting_bytes(|_| true) + serving.map_or(0, |packet| packet.len.into());
            prop_assert!(within(queue, held, bytes));
            Ok(())
        })?;
    }

    #[test]
    fn cut_payload_conserves_packets_and_keeps_its_capacities(
        ops in prop::collection::vec(op(), 0..300),
        threshold in size(),
        queue in size(),
        all: bool,
    ) {
        let occupancy = if all { Occupancy::All } else { Occupancy::Data };
        let config = CutPayloadConfig { threshold, occupancy, queue, ..CutPayloadConfig::default() };
        conserved(&mut Port::<CutPayload<Pkt>>::new(&config), &ops, |port, serving| {
            let held = port.waiting().len() as u64 + u64::from(serving.is_some());
            let bytes = port.waiting_bytes(|_| true) + serving.map_or(0, |packet| packet.len.into());
            prop_assert!(within(queue, held, bytes));
            let of_data = serving.filter(is_data).map_or(0, |packet| u64::from(packet.len));
            let data = port.waiting_bytes(is_data) + of_data;
            prop_assert!(within(threshold, port.queue.data_held().into(), data));
            Ok(())
        })?;
    }

    #[test]
    fn a_priority_port_conserves_packets_and_keeps_its_capacity(
        ops in prop::collection::vec(op(), 0..300),
        queue in size(),
        own: bool,
    ) {
        let sharing = if own { Sharing::Class } else { Sharing::Port };
        let config = PriorityConfig { queue, sharing, ..PriorityConfig::default() };
        conserved(&mut Port::<Priority<Pkt>>::new(&config), &ops, |port, serving| {
            let all = || port.waiting().into_iter().chain(serving);
            for class in 0..8 {
                let counts = |packet: &Pkt| !own || packet.priority == class;
                let bytes = all().filter(counts).map(|packet| u64::from(packet.len)).sum();
                prop_assert!(within(queue, all().filter(counts).count() as u64, bytes));
            }
            Ok(())
        })?;
    }

    #[test]
    fn strict_priority_is_a_stable_sort(steps in prop::collection::vec(prop::option::weighted(0.6, 0u8..8), 0..200)) {
        let mut port = Port::<Priority<Pkt>>::new(&PriorityConfig::default());
        let mut model: Vec<Pkt> = Vec::new();
        for (id, step) in (0..).zip(steps) {
            match step {
                Some(priority) => {
                    port.fill([urgent(id, priority)]);
                    model.push(urgent(id, priority));
                }
                None => {
                    let first = model.iter().rev().max_by_key(|packet| packet.priority).map(|packet| packet.id);
                    let at = model.iter().position(|packet| Some(packet.id) == first);
                    prop_assert_eq!(port.serve(), at.map(|at| model.remove(at)));
                }
            }
        }
    }

    #[test]
    fn a_pfabric_port_conserves_packets_and_keeps_its_capacity(ops in prop::collection::vec(op(), 0..300), most in 1u32..12) {
        conserved(&mut pfabric(most), &ops, |port, serving| {
            prop_assert!(port.waiting().len() + usize::from(serving.is_some()) <= most as usize);
            Ok(())
        })?;
    }

    #[test]
    fn a_pfabric_port_holds_and_serves_the_most_urgent_packets(
        steps in prop::collection::vec(prop::option::weighted(0.7, (0u64..4, 0u32..9)), 0..200),
        most in 1usize..9,
    ) {
        let mut port = pfabric(most as u32);
        let mut model: Vec<Pkt> = Vec::new();
        for (id, step) in (0..).zip(steps) {
            let Some((flow, rank)) = step else {
                let first = model.iter().min_by_key(|packet| (packet.rank, packet.id)).map(|packet| packet.flow);
                let at = model.iter().position(|packet| Some(packet.flow) == first);
                prop_assert_eq!(port.serve(), at.map(|at| model.remove(at)));
                continue;
            };
            model.push(ranked(id, flow, rank));
            let dropped = port.put(ranked(id, flow, rank));
            let last = model.iter().max_by_key(|packet| (packet.rank, packet.id)).copied();
            let expected = last.filter(|_| model.len() > most);
            model.retain(|packet| Some(*packet) != expected);
            prop_assert_eq!(dropped, expected.map(|packet| gone(packet, DropReason::DataQueueFull, false)));
        }
    }

    #[test]
    fn a_pool_is_what_its_ports_do_not_hold(ops in prop::collection::vec(op(), 0..300), pool in 3000u64..30_000, alpha in 0.1f64..10.0) {
        let config = SharedBufferConfig { pool: Bytes(pool), alpha, ..SharedBufferConfig::default() };
        conserved(&mut Port::<SharedBuffer<Pkt>>::new(&config), &ops, |port, serving| {
            let held = port.waiting_bytes(|_| true) + serving.map_or(0, |packet| packet.len.into());
            prop_assert_eq!(port.shared.free() + held, pool);
            Ok(())
        })?;
    }

    #[test]
    fn a_lossless_port_keeps_within_its_memory_and_takes_back_every_pause(
        ops in prop::collection::vec(op(), 0..300), headroom in 0u64..6000, reserve in 0u64..3000, alpha in 0.1f64..10.0
    ) {
        let config = PfcConfig {
            buffer: Bytes(20_000), headroom: Bytes(headroom), reserve: Bytes(reserve), alpha, resume_below: Bytes(500), ..PfcConfig::default()
        };
        let mut port = Port::<Pfc<Pkt>>::new(&config);
        conserved(&mut port, &ops, |port, _| {
            prop_assert!(port.waiting_bytes(|_| true) <= 20_000);
            Ok(())
        })?;
        // A packet may still be in service.
        port.queue.complete(&port.rules, &mut port.shared, &mut common::idle());
        while port.serve().is_some() {}
        prop_assert_eq!(port.shared.free(), 20_000 - headroom - reserve);
        prop_assert!(port.signals.last().is_none_or(|(_, signal)| signal.paused == 0));
    }
}
