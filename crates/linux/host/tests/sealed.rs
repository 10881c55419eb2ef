//! Encrypted streams: who has no key changes nothing, switches trim without one, keys change under load.

mod common;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use common::*;
use pullnet_host::seal::{Authentic, Cipher, Key, Keys};
use pullnet_host::{Engine, EngineOptions, Secret, StreamError, StreamOptions};
use pullnet_units::Picos;
use pullnet_wire::switch::{self, Lengths};
use pullnet_wire::{
    AUTHENTICATOR, DataFields, Marks, PORT, Packet, Reason, Route, SEALED_HEADER, Seal, Sealed, Shape,
    emit_sealed, is_sealed, parse_sealed,
};

const SERVICE: u16 = 7;
const PLAIN: u16 = 8;
/// Bytes in front of the header over IPv4.
const FRONT: usize = 14 + 20 + 8;

fn at(host: usize) -> SocketAddr {
    SocketAddr::new(address(host, false), PORT)
}

/// The keys of host `host` towards the others of `peers`; key `number` of a pair is the same at both.
fn keys(host: usize, peers: &[usize], numbers: &[u16]) -> Keys {
    let mut keys = Keys::default();
    keys.leave_plain(PLAIN);
    for peer in peers.iter().filter(|peer| **peer != host) {
        for number in numbers {
            let pair = [host.min(*peer) as u8, host.max(*peer) as u8];
            let secret = core::array::from_fn(|at| pair[at % 2] * 16 + *number as u8);
            assert!(keys.add(at(*peer), *number, Key::new(secret)));
        }
    }
    keys
}

fn keyed(host: usize, keys: Keys) -> EngineOptions {
    EngineOptions { keys: Some(keys), secret: Secret::new([host as u8 + 1; 16]), ..options(host) }
}

fn pair(seed: u64) -> Net {
    Net::new(seed, [0, 1].map(|host| keyed(host, keys(host, &[0, 1], &[1]))))
}

fn is_data_to(frame: &[u8], host: usize) -> bool {
    let packet = parse_sealed(frame, &Marks::default(), PORT).map(|sealed| sealed.packet);
    frame[..6] == mac(host).0 && packet.is_ok_and(|packet| packet.shape.is_data())
}

/// Host 0 sends `long` bytes to host 1, which sends them back; `during` is called whenever something happens.
fn echo(net: &mut Net, long: usize, mut during: impl FnMut(&mut Net)) {
    if !net.at(1).listens(SERVICE) {
        net.at(1).listen(SERVICE).unwrap();
    }
    let id = net.connect(0, 1, SERVICE);
    let mut asking = Writer::new(0, id, content(3, long));
    let mut answer = Reader::new(0, id);
    let (mut asked, mut answering): (Option<Reader>, Option<Writer>) = (None, None);
    net.until(ms(200_000), |net| {
        during(net);
        asking.go_on(net);
        if let Some(id) = net.at(1).accept(SERVICE) {
            asked = Some(Reader::new(1, id));
        }
        if let Some(reader) = &mut asked
            && reader.go_on(net)
            && answering.is_none()
        {
            answering = Some(Writer::new(1, reader.id, std::mem::take(&mut reader.bytes)));
        }
        if let Some(writer) = &mut answering {
            writer.go_on(net);
        }
        answer.go_on(net)
    });
    assert!(answer.bytes == content(3, long), "other bytes came back");
}

#[test]
fn what_is_said_is_read_by_nobody_else_and_arrives_in_any_weather() {
    let storm = Weather {
        lost: 0.02,
        doubled: 0.05,
        trimmed: 0.1,
        returned: 0.2,
        damaged: 0.02,
        delay: Picos::from_micros(50),
    };
    for weather in [Weather::FINE, storm] {
        let mut net = pair(5);
        (net.weather, net.seen) = (weather, Some(Vec::new()));
        echo(&mut net, 1_000_000, |_| {});
        let seen = net.seen.take().unwrap();
        assert!(seen.iter().all(|frame| is_sealed(frame)), "something left as it was");
        assert!(seen.iter().all(|frame| frame.len() <= 1514));
        let secret = content(3, 64);
        let holds = |frame: &&Vec<u8>| frame.windows(16).any(|part| part == &secret[..16]);
        assert_eq!(seen.iter().filter(holds).count(), 0);
        let status = net.at(1).status();
        assert!(status.streams.iter().all(|stream| stream.encrypted) && status.totals.unsealed > 500);
        let refused = status.totals.refused;
        assert_eq!((refused.plain, refused.forged), (0, 0), "{refused:?}");
        // Damage may hit the number of the key.
        assert!(refused.no_key <= net.damaged, "{refused:?} of {} damaged frames", net.damaged);
        if weather.lost > 0.0 {
            let counts = status.totals.counts;
            assert!(refused.replayed > 10 && refused.unauthentic + refused.malformed > 0, "{refused:?}");
            assert!(counts.trimmed_in > 10 && counts.damaged > 0 && counts.returned > 0, "{counts:?}");
        } else {
            assert_eq!((refused.replayed, refused.unauthentic), (0, 0));
        }
    }
}

/// A host with a stream to another one, whose first data packet has left and has not arrived.
fn caught() -> (Net, Vec<u8>) {
    let mut net = pair(1);
    net.at(1).listen(SERVICE).unwrap();
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, &[7; 500]).unwrap();
    net.seen = Some(Vec::new());
    net.until(ms(10), |net| net.seen.iter().flatten().any(|frame| is_data_to(frame, 1)));
    let frame = net.seen.take().unwrap().into_iter().find(|frame| is_data_to(frame, 1)).unwrap();
    (net, frame)
}

/// The host that the caught packet is for, before anything has come.
fn fresh(frame: &[u8]) -> Engine {
    let mut engine = Engine::new(keyed(1, keys(1, &[0, 1], &[1]))).unwrap();
    engine.listen(SERVICE).unwrap();
    assert!(is_sealed(frame));
    engine
}

#[test]
fn every_bit_of_the_header_and_of_the_addresses_is_authenticated_also_after_a_trim() {
    let (net, frame) = caught();
    let mut header = frame.clone();
    let long = switch::trim(&mut header, 0, Lengths::Corrected, &Marks::default()).unwrap();
    assert_eq!(long, FRONT + SEALED_HEADER);
    header.truncate(long);
    // Where the payload is right, its own authenticator says that the header is, too.
    for (whole, verified) in [(&frame, SEALED_HEADER - AUTHENTICATOR), (&header, SEALED_HEADER)] {
        let mut engine = fresh(whole);
        engine.receive(net.now, whole);
        let totals = engine.status().totals;
        assert_eq!((totals.unsealed, totals.incoming), (1, 1), "{totals:?}");
        // The source address, the destination port, and the header.
        let bytes = (26..30).chain(FRONT - 6..FRONT - 4).chain(FRONT..FRONT + verified);
        for bit in bytes.flat_map(|byte| (0..8).map(move |bit| 8 * byte + bit)) {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            switch::set_mark(&mut changed, pullnet_wire::Mark::Data, &Marks::default());
            let mut engine = fresh(whole);
            engine.receive(net.now, &changed);
            let totals = engine.status().totals;
            let refused = totals.refused;
            let counted = refused.unauthentic + refused.malformed + refused.no_key + refused.foreign;
            assert_eq!((totals.unsealed, counted, totals.streams), (0, 1, 0), "bit {bit}: {refused:?}");
        }
    }
}

#[test]
fn what_switches_and_routers_change_is_not_covered() {
    let (net, frame) = caught();
    let taken = |frame: &[u8]| {
        let mut engine = fresh(frame);
        engine.receive(net.now, frame);
        engine.status().totals.unsealed == 1
    };
    assert!(taken(&frame));
    let mut routed = frame.clone();
    routed[..12].reverse(); // Ethernet addresses
    routed[14 + 1] |= 3; // congestion was experienced
    routed[14 + 8] -= 5; // time to live
    routed[FRONT - 8] ^= 1; // path
    switch::set_mark(&mut routed, pullnet_wire::Mark::Data, &Marks::default());
    assert!(taken(&routed));
    for (lengths, keep) in [(Lengths::Kept, 128), (Lengths::Corrected, 128), (Lengths::Corrected, 0)] {
        let mut trimmed = routed.clone();
        let long = switch::trim(&mut trimmed, keep, lengths, &Marks::default()).unwrap();
        assert!(taken(&trimmed[..long]), "{keep} B, lengths {lengths:?}");
    }
    // Cut below the header, nothing can be believed.
    assert!(!taken(&frame[..FRONT + SEALED_HEADER - 1]));
}

/// A header that a switch sends back is verified with the keys of the host that sent it.
#[test]
fn headers_that_come_back_are_verified() {
    let (mut net, frame) = caught();
    let mut back = frame;
    let long = switch::trim(&mut back, 0, Lengths::Corrected, &Marks::default()).unwrap();
    back.truncate(long);
    assert!(switch::send_back(&mut back, &Marks::default()));
    let mut forged = back.clone();
    forged[FRONT + 9] ^= 1;
    let now = net.now;
    let returned = |net: &mut Net| net.at(0).status().totals.counts.returned;
    net.at(0).receive(now, &forged);
    assert_eq!((returned(&mut net), net.at(0).status().totals.refused.unauthentic), (0, 1));
    net.at(0).receive(now, &back);
    assert_eq!(returned(&mut net), 1);
}

#[test]
fn copies_are_refused_at_once_and_after_everything_is_forgotten_and_after_a_restart() {
    let mut net = pair(1);
    net.seen = Some(Vec::new());
    net.at(1).listen(SERVICE).unwrap();
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"pay once").unwrap();
    net.finish(0, id);
    net.pass(ms(10));
    assert!(net.at(1).accept(SERVICE).is_some());
    let frames: Vec<_> = net.seen.take().unwrap();
    let copies: Vec<_> = frames.into_iter().filter(|frame| frame[..6] == mac(1).0).collect();
    assert!(copies.len() >= 2, "a HELLO and data");
    let mut before = net.at(1).status().totals;
    for pause in [1, 5000, 5000, 700_000] {
        net.pass(ms(pause));
        copies.iter().for_each(|frame| net.inject(frame.clone()));
        net.pass(ms(10));
        let after = net.at(1).status().totals;
        let more = after.refused.replayed - before.refused.replayed;
        assert_eq!((more, after.incoming), (copies.len() as u64, 1), "{:?}", after.refused);
        assert_eq!(
            (after.resets_sent, after.tokens),
            (before.resets_sent, before.tokens),
            "no answer either"
        );
        before = after;
    }
    // A restarted host knows no counters, but its tokens are different.
    net.replace(1, EngineOptions { secret: Secret::new([99; 16]), ..keyed(1, keys(1, &[0, 1], &[1])) });
    net.at(1).listen(SERVICE).unwrap();
    copies.iter().for_each(|frame| net.inject(frame.clone()));
    net.pass(ms(10));
    assert_eq!((net.at(1).accept(SERVICE), net.at(1).status().totals.incoming), (None, 0));
}

#[test]
fn a_changed_payload_comes_again_and_is_never_delivered() {
    let (mut net, mut frame) = caught();
    // The packet itself is on its way; the changed one is there first.
    let last = frame.len() - 20;
    frame[last] ^= 0x40;
    let now = net.now;
    net.at(1).receive(now, &frame);
    net.pass(ms(20));
    let counts = net.at(1).status().totals.counts;
    assert_eq!((counts.damaged, net.at(1).status().totals.refused.replayed), (1, 1), "{counts:?}");
    let id = net.at(1).accept(SERVICE).unwrap();
    assert_eq!(net.read(1, id).unwrap(), (vec![7; 500], false));
}

#[test]
fn keys_change_under_load_without_loss() {
    let mut net = pair(9);
    let started = net.now;
    // Both hosts get the second key, one after the other, and later lose the first.
    let steps = [(1, 0, &[1, 2][..]), (3, 1, &[1, 2]), (6, 1, &[2]), (7, 0, &[2])];
    let mut next = 0;
    net.seen = Some(Vec::new());
    echo(&mut net, 8_000_000, |net| {
        while let Some((millis, host, numbers)) = steps.get(next)
            && net.now.since(started) >= ms(*millis)
        {
            net.at(*host).set_keys(keys(*host, &[0, 1], numbers)).unwrap();
            next += 1;
        }
    });
    assert_eq!(next, steps.len(), "the load was over at {:?}", net.now);
    let seen = net.seen.take().unwrap();
    let epoch = |frame: &Vec<u8>| parse_sealed(frame, &Marks::default(), PORT).unwrap().seal.epoch;
    let used: BTreeSet<u16> = seen.iter().map(epoch).collect();
    assert_eq!(used, BTreeSet::from([1, 2]));
    for host in [0, 1] {
        let status = net.at(host).status();
        let totals = status.totals;
        assert_eq!((totals.failed, totals.counts.timeouts, totals.counts.repeated), (0, 0, 0), "{totals:?}");
        assert_eq!((totals.refused.no_key, totals.refused.unauthentic), (0, 0), "{totals:?}");
        let [standing] = status.keys[..] else { panic!("{:?}", status.keys) };
        assert_eq!((standing.sends, standing.newest, standing.theirs), (Some(2), 2, Some(2)));
    }
    let other = Key::new([1; 32]);
    let mut changed = Keys::default();
    assert!(changed.add(at(1), 2, other));
    let error = net.at(0).set_keys(changed).unwrap_err().to_string();
    assert!(error.contains("key 2 for 10.0.0.2:61199") && error.contains("higher number"), "{error}");
}

#[test]
fn a_peer_that_has_an_older_key_only_is_found() {
    let of = [(0, &[1, 2, 5][..]), (1, &[1][..])];
    let mut net = Net::new(1, of.map(|(host, numbers)| keyed(host, keys(host, &[0, 1], numbers))));
    echo(&mut net, 1000, |_| {});
    assert!(net.now.since(pullnet_units::Instant::ZERO) < ms(50), "{:?}", net.now);
    let [standing] = net.at(0).status().keys[..] else { panic!() };
    assert_eq!((standing.sends, standing.theirs), (Some(1), Some(1)));
    // It comes back without the newer one that it had for a while.
    net.at(1).set_keys(keys(1, &[0, 1], &[1, 2])).unwrap();
    echo_again(&mut net);
    net.replace(1, EngineOptions { secret: Secret::new([50; 16]), ..keyed(1, keys(1, &[0, 1], &[1])) });
    net.pass(ms(600_000));
    echo(&mut net, 1000, |_| {});
}

fn echo_again(net: &mut Net) {
    let now = net.now;
    net.at(1).unlisten(now, SERVICE);
    echo(net, 1000, |_| {});
}

#[test]
fn no_nonce_comes_twice_under_any_start_and_any_change_of_keys() {
    let mut net = Net::new(4, [0, 1, 2].map(|host| keyed(host, keys(host, &[0, 1, 2], &[1]))));
    net.seen = Some(Vec::new());
    echo(&mut net, 200_000, |_| {});
    // Keys are removed and restored under the same number, and a host restarts.
    for round in 0..4u8 {
        net.at(0).set_keys(keys(0, &[0, 2], &[1])).unwrap();
        net.at(0).set_keys(keys(0, &[0, 1, 2], &[1])).unwrap();
        echo_again(&mut net);
        let secret = Secret::new([100 + round; 16]);
        net.replace(1, EngineOptions { secret, ..keyed(1, keys(1, &[0, 1, 2], &[1])) });
        net.pass(ms(700_000));
        echo(&mut net, 20_000, |_| {});
    }
    let seen = net.seen.take().unwrap();
    let mut used = BTreeSet::new();
    for frame in &seen {
        let sealed = parse_sealed(frame, &Marks::default(), PORT).unwrap();
        let Seal { epoch, counter, salt, .. } = sealed.seal;
        assert!(used.insert((sealed.route.from, sealed.route.to, epoch, salt, counter)), "{:?}", sealed.seal);
    }
    let salts: BTreeSet<_> = used.iter().map(|(from, _, _, salt, _)| (from, salt)).collect();
    assert!(salts.len() >= 10, "{}", salts.len());
    // Without random numbers there are no keys.
    let careless = EngineOptions { secret: Secret::default(), ..keyed(0, Keys::default()) };
    assert!(Engine::new(careless).is_err_and(|error| error.to_string().contains("secret")));
}

#[test]
fn who_has_no_key_is_refused_with_the_reason_and_may_use_what_is_excepted() {
    let mut net = Net::new(1, [options(0), keyed(1, keys(1, &[1, 2], &[1]))]);
    net.at(1).listen(SERVICE).unwrap();
    net.at(1).listen(PLAIN).unwrap();
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"let me in").unwrap();
    net.pass(ms(10));
    assert_eq!(net.at(1).accept(SERVICE), None);
    let error = net.at(0).info(id).unwrap().error.unwrap();
    assert_eq!(error, StreamError::Refused(Reason::KEYED));
    assert!(error.to_string().contains("accepts encrypted streams only"), "{error}");
    assert_eq!(net.at(1).status().totals.refused.plain, 1);
    let id = net.connect(0, 1, PLAIN);
    net.write(0, id, b"hello").unwrap();
    net.pass(ms(10));
    let there = net.at(1).accept(PLAIN).unwrap();
    assert_eq!(net.read(1, there).unwrap().0, b"hello");
    assert!(!net.at(1).status().streams.iter().any(|stream| stream.encrypted));
    // The host with keys does not open what it would not take.
    let (now, to) = (net.now, at(0));
    let refused = net.at(1).connect(now, to, SERVICE, StreamOptions::default());
    assert_eq!(refused, Err(StreamError::NoKey(to)));
    assert!(net.at(1).connect(now, to, PLAIN, StreamOptions::default()).is_ok());
}

#[test]
fn a_stream_that_is_encrypted_takes_nothing_that_is_not() {
    let (mut net, frame) = caught();
    net.pass(ms(10));
    let id = net.at(1).accept(SERVICE).unwrap();
    // The attacker on the path knows number and tag, and has no key.
    let sealed = parse_sealed(&frame, &Marks::default(), PORT).unwrap();
    let shape = Shape::Reset { by_sender: true, reason: Reason::ABORTED };
    let mut reset = vec![0; 200];
    let packet = Packet { shape, ..sealed.packet };
    let long = pullnet_wire::emit(&mut reset, &sealed.route, &Marks::default(), &packet, &[]).unwrap();
    let now = net.now;
    net.at(1).receive(now, &reset[..long]);
    assert_eq!(net.at(1).status().totals.refused.plain, 1);
    assert_eq!(net.at(1).info(id).unwrap().error, None);
    // Nor can a third host with keys of its own speak for another one.
    let mut third = Net::new(1, [0, 1, 2].map(|host| keyed(host, keys(host, &[0, 1, 2], &[1]))));
    let mut engine = Engine::new(keyed(2, keys(2, &[0, 1, 2], &[1]))).unwrap();
    engine.receive(now, &frame);
    assert_eq!(engine.status().totals.refused.foreign, 1, "it is for another host");
    let mut readdressed = frame.clone();
    readdressed[33] = 3;
    switch::set_mark(&mut readdressed, pullnet_wire::Mark::Data, &Marks::default());
    let now = third.now;
    third.at(2).receive(now, &readdressed);
    assert_eq!(third.at(2).status().totals.refused.unauthentic, 1);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A frame under a key of a published test, and everything that it takes to make it again.
fn vector(name: &str, ipv6: bool, shape: Shape) -> String {
    let (from, to) = (SocketAddr::new(address(0, ipv6), PORT), SocketAddr::new(address(1, ipv6), 61200));
    let (key, salt) = (core::array::from_fn(|at| at as u8), *b"start 9BC\x00\x01\x02");
    let seal = Seal { epoch: 3, newest: 4, counter: 0x0102_0304, salt };
    let cipher = Cipher::derive(&Key::new(key), seal.epoch, &salt, from, to).unwrap();
    let route = Route {
        from_mac: mac(0),
        to_mac: mac(1),
        from: from.ip(),
        to: to.ip(),
        from_port: Route::port_of(5),
        to_port: to.port(),
    };
    let payload: Vec<u8> = (0..shape.length()).map(|at| at as u8).collect();
    let packet = Packet { home: PORT, conn: 0x0102_0304, tag: 0x0123_4567_89ab_cdef, shape };
    let mut frame = vec![0; 1514];
    let long =
        emit_sealed(&mut frame, &route, &Marks::default(), &packet, &payload, (&seal, &cipher)).unwrap();
    let sealed = parse_sealed(&frame[..long], &Marks::default(), to.port()).unwrap();
    assert_eq!((sealed.packet, sealed.seal), (packet, seal));
    let mut text = Vec::new();
    let whole = if shape.is_data() { Authentic::Whole } else { Authentic::Header };
    assert_eq!((cipher.open(&sealed, &mut text), &text), (whole, &payload));
    let trimmed = Sealed { body: None, ..sealed };
    assert_eq!((cipher.open(&trimmed, &mut text), text.len()), (Authentic::Header, 0));
    let [key, covered, frame, payload] = [&key[..], &sealed.covered, &frame[..long], &payload].map(hex);
    format!(
        "{{\"name\":\"{name}\",\"key\":\"{key}\",\"port\":{},\"covered\":\"{covered}\",\"payload\":\"{payload}\",\"frame\":\"{frame}\"}}\n",
        to.port()
    )
}

#[test]
fn frames_are_those_of_the_vectors() {
    let data = |length| {
        Shape::Data(DataFields {
            seq: 7,
            syn: true,
            length,
            service: 80,
            priority: 2,
            stamp: 0x0a_0b0c,
            ..DataFields::default()
        })
    };
    let made = [
        "{\"format\":\"pullnet-wire-sealed\",\"version\":4}\n".to_string(),
        vector("data", false, data(20)),
        vector("data over IPv6", true, data(33)),
        vector("data without payload", false, data(0)),
        vector("an acknowledgement", false, Shape::Ack { seq: 7, also: 0, pull: Some(3) }),
    ]
    .concat();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../vectors/sealed.jsonl");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), made, "BLESS=1 writes the file anew");
}

#[test]
fn a_flood_under_unknown_salts_costs_others_little_and_gets_no_answer() {
    let (mut net, frame) = caught();
    net.pass(ms(10));
    let before = net.at(1).status().totals;
    net.seen = Some(Vec::new());
    for salt in 0..50_000u32 {
        let mut forged = frame.clone();
        forged[FRONT + 36..FRONT + 40].copy_from_slice(&salt.to_be_bytes());
        let now = net.now;
        net.at(1).receive(now, &forged);
    }
    let after = net.at(1).status().totals;
    let refused = after.refused;
    assert!(refused.unauthentic <= 2001 && refused.too_fast >= 47_999, "{refused:?}");
    assert_eq!((after.unsealed, after.resets_sent), (before.unsealed, before.resets_sent));
    // Known peers are not held up.
    net.pass(ms(1));
    echo_again(&mut net);
}
