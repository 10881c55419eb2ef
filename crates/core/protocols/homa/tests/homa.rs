//! Homa word by word, in the order of the README.

use pullnet_homa::{Homa, HomaConfig, HomaEndpoint, HomaHeader};
use pullnet_rng::Seed;
use pullnet_transport::channel::Channel;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{
    ConnId, Event, FailureReason, FlowSpec, HostAddr, HostInfo, Protocol, SendCounts, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Packets, Picos};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

fn endpoint(config: &HomaConfig, addr: u32) -> HomaEndpoint {
    let info = HostInfo { addr: HostAddr(addr), rate: BitsPerSec::gbps(10) };
    Homa::endpoint(config, info, Seed(1).stream("test.transport", addr.into()))
}

/// Three unscheduled packets.
fn small() -> HomaConfig {
    HomaConfig { unscheduled: Packets(3), ..HomaConfig::default() }
}

fn host(config: &HomaConfig) -> Script<HomaEndpoint> {
    Script::new(endpoint(config, 1))
}

fn message(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * 1460)), ..FlowSpec::default() }
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

fn data(seq: u32, packets: u32) -> HomaHeader {
    HomaHeader::Data { conn: CONN, seq, packets }
}

fn grant(conn: u32, until: u32, priority: u8) -> HomaHeader {
    HomaHeader::Grant { conn: ConnId::new(conn), until, priority }
}

fn resend(first: u32, until: u32) -> HomaHeader {
    HomaHeader::Resend { conn: CONN, first, until }
}

fn busy(by_sender: bool) -> HomaHeader {
    HomaHeader::Busy { conn: CONN, by_sender }
}

fn arrives(header: HomaHeader) -> Arriving<HomaHeader> {
    let wire = if matches!(header, HomaHeader::Data { .. }) { 1500 } else { 40 };
    Arriving::new(THERE, wire, header)
}

/// Packet `seq` of another message.
fn of(conn: u32, seq: u32, packets: u32) -> Arriving<HomaHeader> {
    arrives(HomaHeader::Data { conn: ConnId::new(conn), seq, packets })
}

// The sender.

#[test]
fn a_message_begins_without_a_grant_and_goes_on_with_one() {
    let mut s = host(&small());
    s.opens(message(9)).sends([data(0, 9), data(1, 9), data(2, 9)]);
    s.at(us(5)).receives(arrives(grant(7, 5, 2))).sends([data(3, 9), data(4, 9)]);
    s.receives(arrives(grant(7, 4, 2))).sends_nothing();
    s.receives(arrives(grant(7, 99, 1)));
    assert_eq!(s.sent().len(), 4);
}

#[test]
fn network_priorities_come_from_the_size_and_from_grants() {
    let mut s = host(&small());
    s.opens(message(6)).receives(arrives(grant(7, 6, 2)));
    let priorities: Vec<_> = s.sent().iter().map(|sent| sent.packet.priority).collect();
    assert_eq!(priorities, [5, 5, 5, 2, 2, 2]);
    let mut s = host(&small());
    s.opens(message(1));
    assert_eq!(s.sent()[0].packet.priority, 7);
}

#[test]
fn the_message_with_the_fewest_packets_left_has_the_link() {
    let mut host = endpoint(&small(), 1);
    for (conn, packets) in [(1, 9), (2, 2), (3, 5)] {
        host.open(Instant::ZERO, FlowSpec { conn: ConnId::new(conn), ..message(packets) });
    }
    let sent: Vec<_> = core::iter::from_fn(|| host.poll_transmit(Instant::ZERO)).collect();
    let conns: Vec<_> = sent.iter().map(|packet| packet.header.conn().get()).collect();
    assert_eq!(conns, [2, 2, 3, 3, 3, 1, 1, 1]);
}

#[test]
fn packets_that_are_asked_for_leave_again_and_others_are_busy() {
    let mut s = host(&small());
    s.opens(message(9)).sent();
    s.receives(arrives(resend(1, 3))).sends([data(1, 9), data(2, 9)]);
    // A grant that was lost is repeated by asking: the packets leave, nothing was to be repeated.
    s.receives(arrives(resend(3, 5))).sends([busy(true), data(3, 9), data(4, 9)]);
    let counts = SendCounts { sent: 7, again: 2, timeouts: 0 };
    assert_eq!(s.open_flows()[0].counts, counts);
}

#[test]
fn a_sender_that_hears_nothing_asks_until_the_message_fails() {
    let mut s = host(&HomaConfig { give_up: Picos::from_millis(3), ..small() });
    s.opens(message(9)).sent();
    let query = HomaHeader::Query { conn: CONN, packets: 9 };
    s.at(us(999)).sends_nothing();
    s.at(us(1000)).sends([query]);
    s.receives(arrives(busy(false)));
    s.at(us(3999)).sends([query; 2]).reports([]);
    s.at(us(4000));
    let counts = SendCounts { sent: 3, again: 0, timeouts: 0 };
    s.reports([Event::Failed { to: THERE, conn: CONN, reason: FailureReason::ReceiverSilent, counts }]);
}

/// A path may pass requests, and never the packets.
#[test]
fn requests_for_the_same_packets_alone_do_not_keep_a_message() {
    let mut s = host(&HomaConfig { give_up: Picos::from_millis(3), ..small() });
    s.opens(message(3)).sent();
    for half in 1..=7 {
        s.at(us(500 * half)).receives(arrives(resend(0, 3))).sends([data(0, 3), data(1, 3), data(2, 3)]);
    }
    s.at(us(4499)).reports([]);
    s.at(us(4500));
    let failed = s.reported().pop();
    assert!(matches!(failed, Some(Event::Failed { .. })), "{failed:?}");
    // Requests that move on are progress.
    let mut s = host(&HomaConfig { give_up: Picos::from_millis(3), ..small() });
    s.opens(message(3)).sent();
    for (half, first) in (1..=12).zip([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]) {
        s.at(us(500 * half)).receives(arrives(resend(first, 3))).sent();
    }
    s.at(us(6999)).reports([]);
}

#[test]
fn an_ack_ends_the_message_and_only_if_everything_was_sent() {
    let mut s = host(&small());
    s.opens(message(9)).receives(arrives(HomaHeader::Ack { conn: CONN })).reports([]);
    let mut s = host(&small());
    s.opens(message(3)).receives(arrives(HomaHeader::Ack { conn: CONN }));
    let counts = SendCounts { sent: 3, again: 0, timeouts: 0 };
    s.reports([Event::Completed { to: THERE, conn: CONN, counts }]);
}

// The receiver.

#[test]
fn one_round_trip_of_packets_is_granted_beyond_what_is_there() {
    let mut s = host(&small());
    s.receives(of(7, 0, 9)).sends([grant(7, 4, 0)]);
    s.receives(of(7, 1, 9)).sends([grant(7, 5, 0)]);
    s.receives(of(7, 1, 9)).sends_nothing();
    s.receives(of(7, 8, 9)).sends_nothing();
    (2..6).for_each(|seq| {
        s.receives(of(7, seq, 9));
    });
    s.sends([grant(7, 6, 0), grant(7, 7, 0), grant(7, 8, 0), grant(7, 9, 0)]);
    (6..9).for_each(|seq| {
        s.receives(of(7, seq, 9));
    });
    s.sends([HomaHeader::Ack { conn: CONN }]);
    assert_eq!(s.reported().last(), Some(&Event::Received { slot: 0 }));
}

#[test]
fn the_shortest_messages_are_granted_at_the_lowest_priorities_that_suffice() {
    let mut s = host(&HomaConfig { overcommitment: 2, ..small() });
    s.receives(of(1, 0, 30)).sends([grant(1, 4, 0)]);
    // The shorter one is more urgent; both are granted.
    s.receives(of(2, 0, 20)).sends([grant(2, 4, 1)]);
    s.receives(of(1, 1, 30)).sends([grant(1, 5, 0)]);
    // A third one waits, and so does the longest.
    s.receives(of(3, 0, 10)).sends([grant(3, 4, 1)]);
    s.receives(of(1, 2, 30)).sends_nothing();
    // All of the third is granted: the first has its turn again.
    (1..7).for_each(|seq| {
        s.receives(of(3, seq, 10));
    });
    let sent: Vec<_> = s.sent().iter().map(|sent| sent.packet.header).collect();
    assert_eq!(sent.last(), Some(&grant(3, 10, 1)));
    s.receives(of(3, 7, 10)).sends([grant(1, 6, 0)]);
}

#[test]
fn missing_packets_are_asked_for_and_finished_messages_are_acknowledged_again() {
    let mut s = host(&small());
    s.receives(of(7, 2, 3)).sends_nothing();
    s.at(us(999)).sends_nothing();
    s.at(us(1000)).sends([resend(0, 2)]);
    s.receives(of(7, 0, 3)).receives(of(7, 1, 3)).sends([HomaHeader::Ack { conn: CONN }]);
    s.receives(of(7, 1, 3)).sends([HomaHeader::Ack { conn: CONN }]);
}

#[test]
fn a_query_is_answered_by_what_is_missing_or_by_patience() {
    let mut s = host(&small());
    let query = arrives(HomaHeader::Query { conn: CONN, packets: 9 });
    s.receives(query).sends([resend(0, 3)]);
    s.receives(of(7, 0, 9)).receives(of(7, 1, 9)).receives(of(7, 2, 9)).sent();
    s.receives(query).sends([resend(3, 6)]);
    let mut s = host(&HomaConfig { overcommitment: 1, ..small() });
    s.receives(of(1, 0, 5)).sent();
    (0..3).for_each(|seq| {
        s.receives(of(7, seq, 9));
    });
    s.sends_nothing();
    s.receives(query).sends([busy(false)]);
}

#[test]
fn a_message_whose_sender_does_not_answer_makes_room_for_another() {
    let mut s = host(&HomaConfig { overcommitment: 1, ..small() });
    s.receives(of(1, 0, 20)).sent();
    s.at(us(500));
    (0..3).for_each(|seq| {
        s.receives(of(7, seq, 30));
    });
    s.sends_nothing();
    s.at(us(1000)).sends([HomaHeader::Resend { conn: ConnId::new(1), first: 1, until: 4 }, grant(7, 6, 0)]);
}

// Both ends.

/// Runs one message through a network that loses `lost` percent of all packets; returns how long it took.
fn run(config: &HomaConfig, packets: u64, lost: u32, seed: u64) -> (Picos, SendCounts) {
    let sides = [1, 2].map(|addr| (HostAddr(addr), endpoint(config, addr)));
    let mut channel = Channel::new(sides, BitsPerSec::gbps(10), 4);
    channel.open(0, FlowSpec { paths: 4, ..message(packets) });
    let mut chance = Seed(seed).stream("test.loss", 0);
    channel.completion(Instant(20_000_000_000_000), us(1), |_| chance.below(100) < lost)
}

#[test]
fn a_long_message_fills_the_link() {
    let (took, counts) = run(&HomaConfig::default(), 1000, 0, 1);
    assert_eq!((counts.sent, counts.again), (1000, 0));
    // A thousand packets of 1.2 us, and a round trip.
    assert!(took < us(1205), "{took}");
}

#[test]
fn no_message_hangs_where_one_packet_in_twenty_is_lost() {
    for overcommitment in [0, 1] {
        let config = HomaConfig { overcommitment, ..HomaConfig::default() };
        for seed in 0..50 {
            let (_, counts) = run(&config, 1 + seed * 7, 5, seed);
            assert_eq!(u64::from(counts.sent - counts.again), 1 + seed * 7);
        }
    }
}
