//! Outsiders change nothing: floods, spoofed and replayed packets, limits.

mod common;

use common::*;
use pullnet_host::{EngineOptions, StreamError, StreamId};
use pullnet_units::Picos;
use pullnet_wire::{DataFields, Mac, Marks, PORT, Packet, REPLY, Reason, Route, Shape, emit};

const SERVICE: u16 = 7;

/// A packet to host 1 with the source address `from`.
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
    let packet = Packet { home: PORT, conn, tag: 0x1234_5678_9abc_def0, shape };
    let long = emit(&mut frame, &route, &Marks::default(), &packet, &payload).unwrap();
    frame.truncate(long);
    frame
}

/// Two hosts and a stream from host 0 to host 1, at both of its ends, after its first bytes.
fn begun() -> (Net, StreamId, StreamId) {
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"begin").unwrap();
    net.pass(ms(1));
    let there = net.at(1).accept(SERVICE).unwrap();
    (net, id, there)
}

fn first_packet(length: u16, last: bool) -> Shape {
    Shape::Data(DataFields { syn: true, last, length, service: SERVICE, stamp: 5, ..DataFields::default() })
}

/// How long 4 MB take from host 0 to host 1 while strangers send `flood` packets of a kind in a millisecond to host 1.
fn transfer(flood: u32, shape: Shape) -> (Picos, Net) {
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let id = net.connect(0, 1, SERVICE);
    let (mut writer, mut reader) = (Writer::new(0, id, content(1, 4_000_000)), None);
    let (start, mut strangers, mut next) = (net.now, 0u32, net.now);
    net.until(ms(1000), |net| {
        while flood > 0 && next <= net.now {
            strangers += 1;
            let [_, a, b, c] = strangers.wrapping_mul(2_654_435_761).to_be_bytes();
            let conn = if shape == Shape::Hello { 0 } else { strangers & !REPLY };
            net.inject(forged([11, a, b, c], conn, shape));
            next = next + Picos(ms(1).0 / u64::from(flood));
        }
        if let Some(id) = net.at(1).accept(SERVICE) {
            reader = Some(Reader::new(1, id));
        }
        writer.go_on(net);
        reader.as_mut().is_some_and(|reader: &mut Reader| reader.go_on(net))
    });
    assert!(reader.unwrap().bytes == content(1, 4_000_000));
    (net.now.since(start), net)
}

#[test]
fn a_flood_from_invented_addresses_leaves_others_their_rate_and_takes_no_memory() {
    let (alone, _) = transfer(0, Shape::Hello);
    for shape in [first_packet(1000, true), first_packet(1000, false), Shape::Hello] {
        let (flooded, mut net) = transfer(1000, shape);
        assert!(flooded.0 * 9 < alone.0 * 10, "{alone:?} alone, {flooded:?} in a flood of {shape:?}");
        let totals = net.at(1).status().totals;
        assert_eq!((totals.streams, totals.peers, totals.incoming), (1, 1, 1), "{totals:?}");
        assert!(totals.remembered <= 1 && totals.tokens <= 1, "{totals:?}");
        assert!(totals.refused.unproven + totals.refused.too_fast > 1000, "{totals:?}");
        assert!(totals.resets_sent <= 2000, "answers are limited too: {totals:?}");
    }
}

/// Bytes that host 1 sends within `time` in answer to `frame`, without a follow-up from the sender.
fn answered(net: &mut Net, frame: Vec<u8>, time: Picos) -> usize {
    net.seen = Some(Vec::new());
    net.inject(frame);
    net.pass(time);
    net.seen.take().unwrap().iter().filter(|frame| frame[6..12] == mac(1).0).map(Vec::len).sum()
}

#[test]
fn who_has_proved_nothing_gets_no_more_bytes_than_it_sent() {
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let long = Shape::Data(DataFields { seq: 1, length: 5, service: SERVICE, ..DataFields::default() });
    let shapes = [
        first_packet(100, true),
        first_packet(0, true),
        long,
        Shape::Hello,
        Shape::Probe { seq: 3 },
        Shape::Ack { seq: 0, also: 0, pull: Some(5) },
        Shape::Reset { by_sender: true, reason: Reason::ABORTED },
        Shape::Cookie { token: 5, clock: 7 },
    ];
    for shape in shapes {
        let conn = if matches!(shape, Shape::Hello | Shape::Cookie { .. }) { 0 } else { 77 };
        // The address of a host that is there, so that it can be answered.
        let frame = forged([10, 0, 0, 1], conn, shape);
        let (sent, got) = (frame.len(), answered(&mut net, frame, ms(12_000)));
        assert!(got <= sent, "{got} B for {sent} B of {shape:?}");
        assert_eq!(net.at(1).accept(SERVICE), None);
        assert_eq!(net.at(1).status().totals.streams, 0);
    }
}

/// The frames in which host 0 asks host 1, and what host 1 has read of them.
fn recorded(net: &mut Net) -> Vec<Vec<u8>> {
    net.seen = Some(Vec::new());
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"pay once").unwrap();
    net.finish(0, id);
    let mut there = None;
    net.until(ms(10), |net| {
        there = there.or_else(|| net.at(1).accept(SERVICE));
        there.is_some()
    });
    assert_eq!(net.read(1, there.unwrap()).unwrap(), (b"pay once".to_vec(), true));
    let now = net.now;
    net.at(1).close(now, there.unwrap());
    net.pass(ms(1));
    let opens = |frame: &Vec<u8>| {
        let packet = pullnet_wire::parse(frame, &Marks::default(), PORT).unwrap().packet;
        matches!(packet.shape, Shape::Data(DataFields { syn: true, .. })) && frame[..6] == mac(1).0
    };
    net.seen.take().unwrap().into_iter().filter(opens).collect()
}

#[test]
fn a_copy_of_a_request_is_never_carried_out() {
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let frames = recorded(&mut net);
    assert_eq!(frames.len(), 1);
    // While the connection is remembered, after it is forgotten, and much later.
    for pause in [1, 100, 3000, 2000, 200, 8000, 60_000, 700_000, 16_000_000] {
        net.pass(ms(pause));
        frames.iter().for_each(|frame| net.inject(frame.clone()));
        net.pass(ms(10));
        assert_eq!(net.at(1).accept(SERVICE), None, "{pause} ms later");
    }
    // Nor does a restarted host.
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let frames = recorded(&mut net);
    net.replace(1, EngineOptions { seed: 77, ..options(1) });
    net.at(1).listen(SERVICE).unwrap();
    frames.iter().for_each(|frame| net.inject(frame.clone()));
    net.pass(ms(10));
    assert_eq!(net.at(1).accept(SERVICE), None);
}

#[test]
fn a_copy_of_a_request_that_was_refused_is_not_carried_out_later() {
    let mut net = Net::pair();
    net.seen = Some(Vec::new());
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"now or never").unwrap();
    net.pass(ms(10));
    assert_eq!(net.at(0).info(id).unwrap().error, Some(StreamError::Refused(Reason::NO_LISTENER)));
    net.at(1).listen(SERVICE).unwrap();
    let seen = net.seen.take().unwrap();
    seen.into_iter().filter(|frame| frame[..6] == mac(1).0).for_each(|frame| net.inject(frame));
    net.pass(ms(10));
    assert_eq!(net.at(1).accept(SERVICE), None);
}

#[test]
fn what_is_remembered_of_ended_connections_is_bounded() {
    let mut few = options(1);
    few.limits.remembered = 50;
    let mut net = Net::new(1, [options(0), few]);
    net.at(1).listen(SERVICE).unwrap();
    let (mut taken, mut most) = (0, 0);
    for _ in 0..200 {
        let id = net.connect(0, 1, SERVICE);
        net.write(0, id, b"hello").unwrap();
        net.finish(0, id);
        net.pass(ms(2));
        let now = net.now;
        while let Some(there) = net.at(1).accept(SERVICE) {
            taken += 1;
            net.at(1).close(now, there);
        }
        net.at(0).abort(now, id);
        let totals = net.at(1).status().totals;
        most = most.max(totals.remembered);
    }
    assert_eq!((taken, most), (50, 50));
    assert!(net.at(1).status().totals.refused.too_fast > 100);
    // They are forgotten in time, and others are taken.
    net.pass(ms(6000));
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"hello").unwrap();
    net.until(ms(10), |net| net.at(1).accept(SERVICE).is_some());
}

#[test]
fn openings_without_data_hold_no_place() {
    let mut few = options(1);
    (few.limits.connections, few.limits.backlog, few.limits.connections_per_peer) = (40, 8, 20);
    let mut net = Net::new(1, [options(0), few, options(2)]);
    net.at(1).listen(SERVICE).unwrap();
    // Every packet of host 2 is trimmed, and it never gets a pull: the network loses what host 1 sends to it.
    let cut = |frame: &[u8]| {
        let mut frame = frame.to_vec();
        let long = pullnet_wire::switch::trim(
            &mut frame,
            74,
            pullnet_wire::switch::Lengths::Corrected,
            &Marks::default(),
        );
        frame.truncate(long.unwrap_or(frame.len()));
        frame
    };
    for round in 0..100 {
        net.seen = Some(Vec::new());
        net.weather = if round == 0 { Weather::FINE } else { Weather { lost: 1.0, ..Weather::FINE } };
        let id = net.connect(2, 1, SERVICE);
        net.write(2, id, b"never whole").unwrap();
        net.pass(Picos::from_micros(300));
        let now = net.now;
        let seen = net.seen.take().unwrap();
        net.at(2).abort(now, id);
        net.weather = Weather::FINE;
        seen.iter().filter(|frame| frame[6..12] == mac(2).0).for_each(|frame| net.inject(cut(frame)));
        net.pass(Picos::from_micros(100));
        // Meanwhile another host is served as ever.
        let id = net.connect(0, 1, SERVICE);
        net.write(0, id, b"in between").unwrap();
        let mut there = None;
        net.until(ms(5), |net| {
            there = net.at(1).accept(SERVICE);
            there.is_some()
        });
        assert_eq!(net.at(0).info(id).unwrap().error, None);
        let now = net.now;
        net.at(0).abort(now, id);
        net.at(1).abort(now, there.unwrap());
        net.pass(Picos::from_micros(100));
    }
    let totals = net.at(1).status().totals;
    assert!(totals.streams <= 40 + 10 && totals.incoming > 150, "{totals:?}");
}

#[test]
fn a_stream_whose_first_packets_were_trimmed_goes_on_with_its_data() {
    let mut net = Net::pair();
    net.weather = Weather { trimmed: 0.7, ..Weather::FINE };
    net.at(1).listen(SERVICE).unwrap();
    for number in 0..50 {
        let id = net.connect(0, 1, SERVICE);
        let (mut writer, mut reader) = (Writer::new(0, id, content(number, 20_000)), None);
        net.until(ms(1000), |net| {
            reader = reader.take().or_else(|| net.at(1).accept(SERVICE).map(|id| Reader::new(1, id)));
            writer.go_on(net);
            reader.as_mut().is_some_and(|reader: &mut Reader| reader.go_on(net))
        });
        assert!(reader.unwrap().bytes == content(number, 20_000));
    }
}

#[test]
fn packets_of_others_do_not_touch_a_stream() {
    let (mut net, id, there) = begun();
    net.write(1, there, &[9; 60_000]).unwrap();
    net.pass(Picos::from_micros(20));
    let number = net.at(1).status().streams[0].number;
    let data = |seq| {
        Shape::Data(DataFields { seq, last: true, length: 9, service: SERVICE, ..DataFields::default() })
    };
    let reset = |by_sender| Shape::Reset { by_sender, reason: Reason::ABORTED };
    let mut shapes =
        vec![data(1), reset(true), reset(false), Shape::Probe { seq: 0 }, Shape::Pull { number: 9 }];
    shapes.extend((0..40).map(|seq| Shape::Ack { seq, also: u32::MAX, pull: Some(40) }));
    for shape in shapes {
        // The right host with the right number and another number, and another host: all without the tag.
        for from in [[10, 0, 0, 1], [10, 0, 0, 9]] {
            for conn in [number, number ^ 1, number | REPLY] {
                net.inject(forged(from, conn, shape));
            }
        }
    }
    net.pass(ms(1));
    assert!(net.at(1).status().totals.refused.forged > 40);
    let (bytes, ended) = net.read(0, id).unwrap();
    assert!(bytes == vec![9; 60_000] && !ended, "{} B", bytes.len());
    assert_eq!(net.read(1, there).unwrap(), (b"begin".to_vec(), false));
    assert_eq!(net.at(1).info(there).unwrap().error, None);
    assert_eq!(net.at(1).streams(), 1);
    net.write(0, id, b" and end").unwrap();
    net.finish(0, id);
    net.pass(ms(1));
    assert_eq!(net.read(1, there).unwrap(), (b" and end".to_vec(), true));
}

#[test]
fn a_frame_from_elsewhere_does_not_redirect_a_stream() {
    let (mut net, id, there) = begun();
    net.seen = Some(Vec::new());
    net.write(0, id, b"more").unwrap();
    net.pass(ms(1));
    // Even with the tag, which an observer has seen: a packet of host 0 from another Ethernet address.
    let seen = net.seen.take().unwrap();
    for mut frame in seen.into_iter().filter(|frame| frame[6..12] == mac(0).0) {
        frame[6..12].copy_from_slice(&mac(2).0);
        net.inject(frame);
    }
    net.pass(ms(1));
    net.seen = Some(Vec::new());
    net.write(1, there, &[7; 5000]).unwrap();
    net.pass(ms(1));
    assert_eq!(net.read(0, id).unwrap().0.len(), 5000);
    assert!(net.seen.take().unwrap().iter().all(|frame| frame[..6] != mac(2).0));
}

#[test]
fn what_streams_hold_to_be_sent_is_bounded_and_every_stream_goes_on() {
    let mut few = options(0);
    few.limits.send_memory = 50_000;
    let mut net = Net::new(1, [few, options(1)]);
    net.at(1).listen(SERVICE).unwrap();
    let ids: Vec<_> = (0..100).map(|_| net.connect(0, 1, SERVICE)).collect();
    let taken: Vec<_> = ids.iter().map(|id| net.write(0, *id, &[1; 30_000]).unwrap()).collect();
    let packet = options(0).payload_room();
    assert!(
        taken.iter().sum::<usize>() <= 50_000 + 100 * packet && taken.iter().all(|taken| *taken >= packet)
    );
    assert_eq!(net.at(0).status().totals.sending_bytes, taken.iter().sum::<usize>() as u64);
    net.pass(ms(50));
    assert_eq!(net.at(0).status().totals.sending_bytes, 0);
    for id in &ids {
        assert!(net.write(0, *id, &[1; 1000]).unwrap() == 1000, "it has all been acknowledged");
    }
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
