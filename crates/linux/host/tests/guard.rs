//! Who does not belong changes nothing: floods, spoofed and replayed packets, limits.

mod common;

use common::*;
use pullnet_host::{EngineOptions, Limits, StreamError};
use pullnet_units::Picos;
use pullnet_wire::{Mac, Marks, PORT, Packet, REPLY, Reason, Route, Shape, emit};

const SERVICE: u16 = 7;

/// A packet to host 1 from `from`, whoever that is.
fn forged(from: [u8; 4], conn: u32, shape: Shape) -> Vec<u8> {
    let route = Route {
        from_mac: Mac([6; 6]),
        to_mac: mac(1),
        from: from.into(),
        to: address(1, false),
        from_port: Route::port_of(1),
        to_port: PORT,
    };
    let payload = vec![0x66; shape.length().into()];
    let mut frame = vec![0; 1514];
    let packet = Packet { home: PORT, conn, shape };
    let long = emit(&mut frame, &route, &Marks::default(), &packet, &payload).unwrap();
    frame.truncate(long);
    frame
}

fn first_packet(length: u16, last: bool) -> Shape {
    Shape::Data {
        seq: 0,
        syn: true,
        last,
        pulled: false,
        again: false,
        length,
        service: SERVICE,
        priority: 0,
    }
}

/// How long 4 MB take from host 0 to host 1 while strangers send `flood` first packets in a millisecond to host 1.
fn transfer(flood: u32) -> (Picos, pullnet_host::Status) {
    let mut few = options(1);
    few.limits = Limits { connections: 200, openings_per_second: 1000, ..few.limits };
    let mut net = Net::new(1, [options(0), few]);
    net.at(1).listen(SERVICE).unwrap();
    let id = net.connect(0, 1, SERVICE);
    let (mut writer, mut reader) = (Writer::new(0, id, content(1, 4_000_000)), None);
    let (start, mut strangers, mut next) = (net.now, 0u32, net.now);
    net.until(ms(1000), |net| {
        while flood > 0 && next <= net.now {
            strangers += 1;
            let [_, a, b, c] = strangers.wrapping_mul(2_654_435_761).to_be_bytes();
            net.inject(forged([11, a, b, c], strangers & !REPLY, first_packet(1000, strangers % 2 == 0)));
            next = next + Picos(ms(1).0 / u64::from(flood));
        }
        // The application takes whatever comes, and reads what it knows.
        while let Some(id) = net.at(1).accept(SERVICE) {
            let known = net.at(1).info(id).unwrap().peer.ip() == address(0, false);
            reader = if known { Some(Reader::new(1, id)) } else { reader.take() };
        }
        writer.go_on(net);
        reader.as_mut().is_some_and(|reader: &mut Reader| reader.go_on(net))
    });
    assert!(reader.unwrap().bytes == content(1, 4_000_000));
    (net.now.since(start), net.at(1).status())
}

#[test]
fn a_flood_of_first_packets_leaves_others_their_rate_and_takes_no_memory() {
    let (alone, _) = transfer(0);
    let (flooded, status) = transfer(1000);
    assert!(flooded.0 * 9 < alone.0 * 10, "{alone:?} alone, {flooded:?} in a flood");
    let totals = status.totals;
    assert!(totals.streams <= 101 && totals.peers <= 101, "{totals:?}");
    assert!(totals.incoming <= 200 && totals.waiting_bytes < 200_000, "{totals:?}");
    assert!(totals.refused.too_fast + totals.refused.full > 2000, "{totals:?}");
    assert!(totals.resets_sent <= 2000, "answers are limited too: {totals:?}");
}

#[test]
fn strangers_leave_room_for_hosts_that_are_known() {
    let mut few = options(1);
    few.limits.connections = 10;
    let mut net = Net::new(1, [options(0), few]);
    net.at(1).listen(SERVICE).unwrap();
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"hello").unwrap();
    net.pass(ms(1));
    // What host 0 acknowledges shows that it is where it says.
    let there = net.at(1).accept(SERVICE).unwrap();
    net.write(1, there, b"welcome").unwrap();
    net.pass(ms(1));
    (1..100).for_each(|number| net.inject(forged([11, 0, 0, number], 1, first_packet(10, false))));
    net.pass(ms(1));
    assert_eq!(net.at(1).status().totals.streams, 1 + 5);
    let more = net.connect(0, 1, SERVICE);
    net.write(0, more, b"again").unwrap();
    net.pass(ms(1));
    assert_eq!(net.at(0).info(more).unwrap().error, None);
    // The strangers never say anything again, and are forgotten.
    net.pass(ms(40_000));
    assert_eq!((net.at(1).status().totals.streams, net.at(1).status().totals.peers), (2, 1));
}

#[test]
fn packets_of_others_do_not_touch_a_stream() {
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"begin").unwrap();
    net.pass(ms(1));
    let there = net.at(1).accept(SERVICE).unwrap();
    let number = net.at(1).status().streams[0].number;
    let data = |seq| Shape::Data {
        seq,
        syn: false,
        last: true,
        pulled: false,
        again: false,
        length: 9,
        service: SERVICE,
        priority: 0,
    };
    let reset = |by_sender| Shape::Reset { by_sender, reason: Reason::ABORTED };
    for shape in [data(1), reset(true), reset(false), Shape::Probe { seq: 0 }, Shape::Pull { number: 9 }] {
        // Another host with the right number, and the right host with another number.
        net.inject(forged([10, 0, 0, 9], number, shape));
        net.inject(forged([10, 0, 0, 1], number ^ 1, shape));
        net.inject(forged([10, 0, 0, 9], number | REPLY, shape));
    }
    net.pass(ms(1));
    assert_eq!(net.read(1, there).unwrap(), (b"begin".to_vec(), false));
    assert_eq!(net.at(1).info(there).unwrap().error, None);
    assert_eq!(net.at(1).streams(), 1);
    net.write(0, id, b" and end").unwrap();
    net.finish(0, id);
    net.pass(ms(1));
    assert_eq!(net.read(1, there).unwrap(), (b" and end".to_vec(), true));
}

#[test]
fn a_replayed_stream_is_not_carried_out_again() {
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let replayed = forged([10, 0, 0, 1], 77, first_packet(100, true));
    let mut accepted = 0;
    let mut accept_all = |net: &mut Net| {
        while let Some(id) = net.at(1).accept(SERVICE) {
            accepted += 1;
            let now = net.now;
            assert_eq!(net.read(1, id).unwrap().0.len(), 100);
            net.at(1).close(now, id);
        }
        accepted
    };
    for _ in 0..20 {
        net.inject(replayed.clone());
        net.pass(ms(500));
        assert_eq!(accept_all(&mut net), 1);
    }
    // Nor one that was refused.
    let refused = forged(
        [10, 0, 0, 1],
        78,
        Shape::Data {
            seq: 0,
            syn: true,
            last: true,
            pulled: false,
            again: false,
            length: 1,
            service: SERVICE + 1,
            priority: 0,
        },
    );
    net.inject(refused.clone());
    net.pass(ms(1));
    net.at(1).listen(SERVICE + 1).unwrap();
    net.inject(refused);
    net.pass(ms(1));
    assert_eq!(net.at(1).accept(SERVICE + 1), None);
}

#[test]
fn one_peer_cannot_have_everything() {
    let mut few = options(1);
    few.limits.connections_per_peer = 3;
    let mut net = Net::new(1, [options(0), few, options(2)]);
    net.at(1).listen(SERVICE).unwrap();
    let ids: Vec<_> = (0..5).map(|_| net.connect(0, 1, SERVICE)).collect();
    for id in &ids {
        net.write(0, *id, b"mine").unwrap();
    }
    net.pass(ms(1));
    let refused = Some(StreamError::Refused(Reason::FULL));
    let count = ids.iter().filter(|id| net.at(0).info(**id).unwrap().error == refused).count();
    assert_eq!(count, 2);
    let other = net.connect(2, 1, SERVICE);
    net.write(2, other, b"mine").unwrap();
    net.pass(ms(1));
    assert_eq!(net.at(2).info(other).unwrap().error, None);
}

#[test]
fn options_that_cannot_work_are_refused_with_what_would() {
    let refused = |change: fn(&mut EngineOptions)| {
        let mut options = options(0);
        change(&mut options);
        pullnet_host::Engine::new(options).err().map(|error| error.to_string())
    };
    let small = refused(|options| options.mtu = 100).unwrap();
    assert!(small.contains("mtu = 100") && small.contains("256 to 60000"), "{small}");
    assert!(refused(|options| options.paths = 0).unwrap().contains("1 to 16384 paths"));
    assert_eq!(refused(|options| options.mtu = 9000), None);
}
