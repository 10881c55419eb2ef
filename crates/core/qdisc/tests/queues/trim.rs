//! The NDP switch.

use pullnet_qdisc::{Discipline, DropReason, Lookahead, Outcome, Trim, TrimConfig, Victim};
use pullnet_rng::Seed;
use pullnet_units::{Bytes, Packets, QueueSize};

use crate::common::{Class, Pkt, control, data, packet};
use crate::port::{FULL, Port, back, gone, header, is_data, trim};

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
