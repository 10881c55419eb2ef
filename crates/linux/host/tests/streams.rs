//! Streams between engines in virtual time.

mod common;

use common::*;
use pullnet_host::{EngineOptions, Read, StreamError, StreamOptions};
use pullnet_units::Picos;
use pullnet_wire::Reason;

const SERVICE: u16 = 7;

/// A stream from host 0 that host 1 has accepted, with its first bytes read.
fn joined(net: &mut Net) -> (pullnet_host::StreamId, pullnet_host::StreamId) {
    net.at(1).listen(SERVICE).unwrap();
    let here = net.connect(0, 1, SERVICE);
    net.write(0, here, b"hello").unwrap();
    let mut there = None;
    net.until(ms(10), |net| {
        there = net.at(1).accept(SERVICE);
        there.is_some()
    });
    let there = there.unwrap();
    assert_eq!(net.read(1, there).unwrap(), (b"hello".to_vec(), false));
    (here, there)
}

#[test]
fn data_travels_in_the_first_packet_and_the_answer_in_the_next() {
    let mut net = Net::pair();
    let (here, there) = joined(&mut net);
    assert!(net.now.0 < Picos::from_micros(10).0, "one way, no handshake: {:?}", net.now);
    net.write(1, there, b"world").unwrap();
    net.finish(1, there);
    net.finish(0, here);
    let (mut reader, mut other) = (Reader::new(0, here), Reader::new(1, there));
    net.until(ms(10), |net| reader.go_on(net) & other.go_on(net));
    assert_eq!(reader.bytes, b"world");
    let now = net.now;
    net.at(0).close(now, here);
    net.at(1).close(now, there);
    net.pass(ms(20));
    assert_eq!((net.at(0).streams(), net.at(1).streams()), (0, 0));
    let totals = net.at(1).status().totals;
    assert_eq!((totals.incoming, totals.counts.received_bytes, totals.counts.acknowledged_bytes), (1, 5, 5));
    assert_eq!(totals.resets_sent + totals.resets_received + totals.failed, 0);
}

#[test]
fn a_request_with_its_end_is_one_packet_and_so_is_the_answer() {
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let here = net.connect(0, 1, SERVICE);
    net.write(0, here, &[1; 1000]).unwrap();
    net.finish(0, here);
    net.until(ms(10), |net| net.at(1).status().totals.counts.received == 1);
    let there = net.at(1).accept(SERVICE).unwrap();
    assert_eq!(net.read(1, there).unwrap(), (vec![1; 1000], true));
    net.write(1, there, &[2; 1000]).unwrap();
    net.finish(1, there);
    let mut reader = Reader::new(0, here);
    net.until(ms(10), |net| reader.go_on(net));
    net.pass(ms(1));
    let sent = net.statuses().iter().map(|status| status.totals.counts.sent).sum::<u64>();
    assert_eq!((reader.bytes, sent), (vec![2; 1000], 2));
}

#[test]
fn small_writes_join_while_earlier_ones_wait() {
    let mut net = Net::pair();
    let (here, there) = joined(&mut net);
    // All at one time: the link takes one packet of them, the others fill packets.
    (0..10_000).for_each(|_| assert_eq!(net.write(0, here, b"0123456789").unwrap(), 10));
    net.finish(0, here);
    let mut reader = Reader::new(1, there);
    net.until(ms(10), |net| reader.go_on(net));
    assert_eq!(reader.bytes.len(), 100_000);
    assert!(net.at(0).status().totals.counts.sent <= 72, "{:?}", net.at(0).status().totals.counts);
}

/// Carries a megabyte each way, on several streams at once.
fn exchange(seed: u64, weather: Weather, ipv6: bool) {
    let mut net = Net::new(seed, [options_of(0, ipv6), options_of(1, ipv6)]);
    net.weather = weather;
    net.at(1).listen(SERVICE).unwrap();
    let mut writers: Vec<_> = (0..4)
        .map(|at| {
            let id = net.connect(0, 1, SERVICE);
            Writer::new(0, id, content(at, 250_000 + at as usize))
        })
        .collect();
    let mut readers: Vec<Reader> = Vec::new();
    net.until(ms(60_000), |net| {
        while let Some(id) = net.at(1).accept(SERVICE) {
            readers.push(Reader::new(1, id));
            writers.push(Writer::new(1, id, content(100, 300_000)));
        }
        let written = writers.iter_mut().fold(true, |all, writer| writer.go_on(net) & all);
        let read = readers.iter_mut().fold(true, |all, reader| reader.go_on(net) & all);
        written && read && readers.len() == 4
    });
    let mut back: Vec<_> = writers.iter().take(4).map(|writer| Reader::new(0, writer.id)).collect();
    net.until(ms(60_000), |net| back.iter_mut().fold(true, |all, reader| reader.go_on(net) & all));
    let mut hashes: Vec<_> = readers.iter().map(|reader| blake3::hash(&reader.bytes)).collect();
    let mut expected: Vec<_> = (0..4).map(|at| blake3::hash(&content(at, 250_000 + at as usize))).collect();
    hashes.sort_by_key(|hash| *hash.as_bytes());
    expected.sort_by_key(|hash| *hash.as_bytes());
    assert_eq!(hashes, expected);
    let answer = blake3::hash(&content(100, 300_000));
    assert!(back.iter().all(|reader| blake3::hash(&reader.bytes) == answer));
    everything_ends(&mut net, &readers, &back);
}

/// After the applications have let go, nothing is left at either host, each byte having been delivered once.
fn everything_ends(net: &mut Net, there: &[Reader], here: &[Reader]) {
    let now = net.now;
    here.iter().for_each(|reader| net.at(0).close(now, reader.id));
    there.iter().for_each(|reader| net.at(1).close(now, reader.id));
    net.pass(ms(30_000));
    for (status, bytes) in net.statuses().iter().zip([1_200_000, 1_000_006]) {
        let totals = &status.totals;
        assert_eq!((totals.streams, totals.peers, totals.waiting_bytes, totals.failed), (0, 0, 0, 0));
        assert_eq!((totals.counts.received_bytes, totals.counts.read_bytes), (bytes, bytes));
    }
    assert_eq!([net.at(0).deadline(), net.at(1).deadline()], [None, None]);
}

#[test]
fn contents_arrive_in_fine_weather() {
    exchange(1, Weather::FINE, false);
    exchange(2, Weather::FINE, true);
}

#[test]
fn contents_arrive_once_whatever_the_network_does() {
    let bad = Weather {
        lost: 0.02,
        doubled: 0.02,
        trimmed: 0.2,
        returned: 0.1,
        damaged: 0.02,
        delay: Picos::from_micros(300),
    };
    for seed in 0..12 {
        exchange(seed, bad, seed % 2 == 1);
    }
    exchange(100, Weather { lost: 0.3, ..bad }, false);
    exchange(101, Weather { trimmed: 0.9, ..Weather::FINE }, false);
}

#[test]
fn a_reader_that_does_not_read_holds_its_sender_and_nothing_is_lost() {
    let mut net = Net::pair();
    let (here, there) = joined(&mut net);
    net.at(1).listen(SERVICE + 1).unwrap();
    let other = net.connect(0, 1, SERVICE + 1);
    let mut writer = Writer::new(0, here, content(1, 8_000_000));
    net.until(ms(1000), |net| {
        writer.go_on(net);
        net.at(1).status().streams[0].held
    });
    // Much longer than a silent peer is waited for.
    for _ in 0..60 {
        net.pass(ms(1000));
        writer.go_on(&mut net);
    }
    let status = net.at(1).status();
    let waiting = status.streams[0].waiting_bytes;
    assert!(status.streams[0].held && (1_000_000..1_100_000).contains(&waiting), "{waiting}");
    assert_eq!(net.at(0).info(here).unwrap().error, None);
    // Others are not held up.
    let mut second = Writer::new(0, other, content(2, 500_000));
    second.go_on(&mut net);
    net.pass(ms(1));
    let accepted = net.at(1).accept(SERVICE + 1).unwrap();
    let mut reader = Reader::new(1, accepted);
    net.until(ms(100), |net| reader.go_on(net));
    assert_eq!(reader.bytes, content(2, 500_000));
    let mut reader = Reader::new(1, there);
    net.until(ms(1000), |net| writer.go_on(net) & reader.go_on(net));
    assert!(reader.bytes == content(1, 8_000_000));
    assert_eq!(net.at(1).status().totals.counts.no_room, 0);
}

#[test]
fn an_idle_stream_lives_and_goes_on_at_once() {
    let mut net = Net::pair();
    let (here, there) = joined(&mut net);
    net.pass(ms(100_000));
    let before = net.now;
    net.write(0, here, b"still there").unwrap();
    net.until(ms(10), |net| net.at(1).info(there).unwrap().waiting > 0);
    assert!(net.now.since(before) < Picos::from_micros(20));
    assert_eq!(net.read(1, there).unwrap().0, b"still there");
}

#[test]
fn nobody_listens() {
    let mut net = Net::pair();
    let id = net.connect(0, 1, SERVICE);
    net.write(0, id, b"anybody?").unwrap();
    net.pass(ms(1));
    assert_eq!(net.read(0, id), Err(StreamError::Refused(Reason::NO_LISTENER)));
    assert_eq!(net.write(0, id, b"?"), Err(StreamError::Refused(Reason::NO_LISTENER)));
    // A copy that arrives later, when the service has a listener, opens nothing.
    assert_eq!(net.at(1).status().totals.refused.no_listener, 1);
}

#[test]
fn a_peer_that_dies_is_noticed_in_every_state() {
    let mut net = Net::pair();
    let (sends, _) = joined(&mut net);
    let waits = net.connect(0, 1, SERVICE);
    net.write(0, waits, b"a question").unwrap();
    net.finish(0, waits);
    net.until(ms(10), |net| net.at(1).accept(SERVICE).is_some());
    let receives = net.connect(0, 1, SERVICE);
    net.write(0, receives, b"another").unwrap();
    net.finish(0, receives);
    let mut there = None;
    net.until(ms(10), |net| {
        there = there.or_else(|| net.at(1).accept(SERVICE));
        there.is_some()
    });
    net.write(1, there.unwrap(), b"begins").unwrap();
    net.pass(ms(20_000));
    for id in [sends, waits, receives] {
        assert_eq!(net.at(0).info(id).unwrap().error, None, "all are alive");
    }
    net.kill(1);
    net.pass(ms(11_000));
    for id in [sends, waits, receives] {
        assert_eq!(net.at(0).info(id).unwrap().error, Some(StreamError::Silent), "{id:?}");
    }
    assert_eq!(net.read(0, receives), Err(StreamError::Silent));
}

#[test]
fn a_host_that_was_started_anew_says_so() {
    let mut net = Net::pair();
    let (here, _) = joined(&mut net);
    let waits = net.connect(0, 1, SERVICE);
    net.write(0, waits, b"a question").unwrap();
    net.finish(0, waits);
    net.pass(ms(10));
    net.replace(1, EngineOptions { seed: 77, ..options(1) });
    net.write(0, here, b"are you there?").unwrap();
    net.pass(ms(2000));
    assert_eq!(net.read(0, here), Err(StreamError::Reset(Reason::UNKNOWN)));
    assert_eq!(net.read(0, waits), Err(StreamError::Reset(Reason::UNKNOWN)));
}

#[test]
fn a_host_that_was_started_anew_carries_out_nothing_that_the_one_before_may_have() {
    let mut net = Net::pair();
    net.at(1).listen(SERVICE).unwrap();
    let asks = net.connect(0, 1, SERVICE);
    net.write(0, asks, b"only once").unwrap();
    net.finish(0, asks);
    let mut there = None;
    net.until(ms(10), |net| {
        there = net.at(1).accept(SERVICE);
        there.is_some()
    });
    assert_eq!(net.read(1, there.unwrap()).unwrap(), (b"only once".to_vec(), true));
    // It dies before its acknowledgement has left.
    net.replace(1, EngineOptions { seed: 77, ..options(1) });
    net.at(1).listen(SERVICE).unwrap();
    net.pass(ms(10_000));
    assert_eq!(net.at(1).accept(SERVICE), None);
    assert_eq!(net.read(0, asks), Err(StreamError::Reset(Reason::STALE)));
    // The next one is taken at once, though its token was of the host before the restart: that host cannot have carried it
    // out.
    net.replace(1, EngineOptions { seed: 78, ..options(1) });
    net.at(1).listen(SERVICE).unwrap();
    let again = net.connect(0, 1, SERVICE);
    net.write(0, again, b"another").unwrap();
    net.finish(0, again);
    net.until(ms(100), |net| net.at(1).accept(SERVICE).is_some());
    assert_eq!(net.at(0).info(again).unwrap().error, None);
}

#[test]
fn aborting_ends_both_ends_and_closing_refuses_what_still_comes() {
    let mut net = Net::pair();
    let (here, there) = joined(&mut net);
    let now = net.now;
    net.at(1).abort(now, there);
    net.pass(ms(1));
    assert_eq!(net.read(0, here), Err(StreamError::Reset(Reason::ABORTED)));
    assert_eq!((net.at(0).streams(), net.at(1).streams()), (1, 0));
    net.at(1).unlisten(now, SERVICE);
    let (here, there) = joined(&mut net);
    let mut writer = Writer::new(0, here, vec![1; 1_000_000]);
    writer.go_on(&mut net);
    net.write(1, there, b"enough").unwrap();
    let now = net.now;
    net.at(1).close(now, there);
    net.pass(ms(10));
    assert_eq!(net.read(0, here).unwrap(), (b"enough".to_vec(), true));
    assert_eq!(net.write(0, here, b"x"), Err(StreamError::Reset(Reason::ABORTED)));
    assert_eq!(net.at(1).streams(), 0);
}

#[test]
fn limits_refuse_streams_on_both_sides() {
    let mut few = options(1);
    few.limits.connections = 4;
    few.limits.backlog = 3;
    let mut net = Net::new(1, [options(0), few]);
    net.at(1).listen(SERVICE).unwrap();
    let ids: Vec<_> = (0..4).map(|_| net.connect(0, 1, SERVICE)).collect();
    ids.iter().for_each(|id| assert_eq!(net.write(0, *id, b"let me in").unwrap(), 9));
    net.pass(ms(5));
    let refused = ids
        .iter()
        .filter(|id| net.at(0).info(**id).unwrap().error == Some(StreamError::Refused(Reason::FULL)));
    assert_eq!(refused.count(), 2, "one host gets two of three places");
    let to = net.endpoint(0);
    let now = net.now;
    let more: Vec<_> =
        (0..3).map(|_| net.at(1).connect(now, to, 1, StreamOptions::default()).is_ok()).collect();
    assert_eq!(more, [true, true, false]);
}

#[test]
fn a_stream_that_is_gone_is_never_confused_with_another() {
    let mut net = Net::pair();
    let (here, _) = joined(&mut net);
    let now = net.now;
    net.at(0).abort(now, here);
    let next = net.connect(0, 1, SERVICE);
    assert_ne!(here, next);
    let mut out = [0; 10];
    assert_eq!(net.at(0).read(now, here, &mut out), Err(StreamError::Closed));
    assert_eq!(net.write(0, here, b"x"), Err(StreamError::Closed));
    assert_eq!(net.at(0).read(now, next, &mut out), Ok(Read::Nothing));
    assert_eq!(net.at(0).info(here), None);
}
