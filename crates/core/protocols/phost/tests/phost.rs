//! pHost word by word, in the order of the README.

use pullnet_phost::{About, Phost, PhostConfig, PhostEndpoint, PhostHeader, Variant};
use pullnet_pull::Policy;
use pullnet_rng::Seed;
use pullnet_transport::channel::Channel;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{
    ConnId, Event, FailureReason, Fate, FlowSpec, HostAddr, HostInfo, Protocol, Received, SendCounts,
    Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Packets, Picos, WireLen};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);
/// Time of a full packet at 10 Gb/s, in nanoseconds.
const MT: u64 = 1200;

fn endpoint(config: &PhostConfig, addr: u32) -> PhostEndpoint {
    let info = HostInfo { addr: HostAddr(addr), rate: BitsPerSec::gbps(10) };
    Phost::endpoint(config, info, Seed(1).stream("test.transport", addr.into()))
}

fn authors() -> PhostConfig {
    PhostConfig { variant: Variant::Authors, ..PhostConfig::default() }
}

fn host(config: &PhostConfig) -> Script<PhostEndpoint> {
    Script::new(endpoint(config, 1))
}

fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * 1460)), ..FlowSpec::default() }
}

const fn ns(n: u64) -> Picos {
    Picos::from_nanos(n)
}

fn about(packets: u32, free: u16) -> About {
    About { packets, free, tenant: 0, priority: 0, deadline: None }
}

fn rts(about: About) -> PhostHeader {
    PhostHeader::Rts { conn: CONN, about, again: false }
}

fn data(seq: u32, number: u32, about: About) -> PhostHeader {
    PhostHeader::Data { conn: CONN, seq, number, about }
}

fn token(seq: u32, number: u32, left: u32) -> PhostHeader {
    PhostHeader::Token { conn: CONN, seq, number, left }
}

/// A packet as it arrives, full if it is data.
fn arrives(header: PhostHeader) -> Arriving<PhostHeader> {
    let wire = if matches!(header, PhostHeader::Data { .. }) { 1500 } else { 40 };
    Arriving::new(THERE, wire, header)
}

/// The same packet of another connection.
fn of(conn: u32, header: PhostHeader) -> Arriving<PhostHeader> {
    let conn = ConnId::new(conn);
    arrives(match header {
        PhostHeader::Rts { about, again, .. } => PhostHeader::Rts { conn, about, again },
        PhostHeader::Data { seq, number, about, .. } => PhostHeader::Data { conn, seq, number, about },
        other => panic!("{other:?}"),
    })
}

/// Departure times of the tokens since the last call, in packet times, with their connections.
fn tokens(script: &mut Script<PhostEndpoint>) -> Vec<(f64, u32)> {
    let of_token = |sent: pullnet_transport::script::Sent<PhostHeader>| match sent.packet.header {
        PhostHeader::Token { conn, .. } => Some((sent.at.0 as f64 / (MT * 1000) as f64, conn.get())),
        _ => None,
    };
    script.sent().into_iter().filter_map(of_token).collect()
}

// The source.

#[test]
fn free_tokens_let_a_flow_leave_at_once() {
    let short = about(2, 2);
    host(&authors()).opens(flow(2)).sends([rts(short), data(0, 0, short), data(1, 1, short)]);
    host(&authors()).opens(flow(9)).sends([rts(about(9, 0))]);
    let long = about(9, 8);
    let window = (0..8).map(|seq| data(seq, seq, long));
    host(&PhostConfig::default()).opens(flow(9)).sends([rts(long)].into_iter().chain(window));
}

#[test]
fn a_token_names_the_packet_and_is_valid_for_a_while() {
    let mut source = endpoint(&authors(), 1);
    source.open(Instant::ZERO, flow(20));
    source.poll_transmit(Instant::ZERO).unwrap();
    let give = |source: &mut PhostEndpoint, at: Instant, seq: u32| {
        let header = token(seq, seq, 20);
        let (paths, wire, fate) = (1, 40, Fate::Whole);
        source.handle(at, Received { from: THERE, paths, wire: WireLen::new(wire), fate, ce: false, header });
    };
    let (came, late) = (Instant(5_000_000), Instant(5_000_000 + MT * 1500));
    give(&mut source, came, 3);
    give(&mut source, came, 4);
    let sent = source.poll_transmit(Instant(late.0 - 1)).unwrap();
    assert_eq!(sent.header, data(3, 3, about(20, 0)));
    assert_eq!(source.poll_transmit(late), None, "the second one has expired, and nobody is told");
}

#[test]
fn free_tokens_expire_with_their_packet_times() {
    let mut source = endpoint(&authors(), 1);
    source.open(Instant::ZERO, flow(2));
    source.poll_transmit(Instant::ZERO).unwrap();
    let end = Instant(MT * 3500);
    assert!(source.poll_transmit(Instant(end.0 - 1)).is_some());
    assert_eq!(source.poll_transmit(end), None);
}

/// The connections of the data packets of a source with `policy`, in order. Each of `flows` has `tokens` tokens, which say
/// how many packets it has `left`.
fn sends_in_order(policy: Policy, flows: &[FlowSpec], left: &[u32], tokens: u32) -> Vec<u32> {
    let mut source = endpoint(&PhostConfig { source: policy, ..authors() }, 1);
    for (conn, flow) in (0..).zip(flows) {
        source.open(Instant::ZERO, FlowSpec { conn: ConnId::new(conn), ..*flow });
    }
    for ((conn, left), number) in
        (0..).zip(left).flat_map(|flow| (0..tokens).map(move |number| (flow, number)))
    {
        let header = PhostHeader::Token { conn: ConnId::new(conn), seq: number, number, left: *left };
        let (paths, wire, fate) = (1, WireLen::new(40), Fate::Whole);
        source.handle(Instant::ZERO, Received { from: THERE, paths, wire, fate, ce: false, header });
    }
    let sent = core::iter::from_fn(|| source.poll_transmit(Instant::ZERO));
    sent.skip(flows.len()).map(|packet| packet.header.conn().get()).collect()
}

#[test]
fn the_source_sends_the_flow_with_the_fewest_packets_left() {
    // Flow 2 has nearly ended.
    assert_eq!(sends_in_order(Policy::Srpt, &[flow(30), flow(20), flow(40)], &[30, 20, 1], 1), [2, 1, 0]);
}

#[test]
fn policies_choose_which_flow_the_source_sends() {
    let with =
        |packets, tenant, deadline| FlowSpec { tenant, deadline: Some(Instant(deadline)), ..flow(packets) };
    let flows = [with(30, 1, 9_000_000), with(20, 1, 5_000_000), with(40, 2, 7_000_000)];
    let order = |policy| sends_in_order(policy, &flows, &[30, 20, 40], 2);
    assert_eq!(order(Policy::Srpt), [1, 1, 0, 0, 2, 2]);
    assert_eq!(order(Policy::Edf), [1, 1, 2, 2, 0, 0]);
    assert_eq!(order(Policy::RoundRobin), [0, 1, 2, 0, 1, 2]);
    // Tenants take turns; of the first one's flows the shorter one goes first.
    assert_eq!(order(Policy::Lru), [1, 2, 1, 2, 0, 0]);
}

#[test]
fn an_ack_ends_the_flow_and_only_if_everything_was_sent() {
    let mut s = host(&authors());
    s.opens(flow(9)).receives(arrives(PhostHeader::Ack { conn: CONN })).reports([]);
    let mut s = host(&authors());
    s.opens(flow(1)).receives(arrives(PhostHeader::Ack { conn: CONN }));
    let counts = SendCounts { sent: 1, again: 0, timeouts: 0 };
    s.reports([Event::Completed { to: THERE, conn: CONN, counts }]);
}

#[test]
fn an_rts_without_an_answer_is_repeated_until_the_flow_fails() {
    let mut s = host(&PhostConfig { give_up: Picos::from_millis(1), ..authors() });
    s.opens(flow(9)).sends([rts(about(9, 0))]);
    let again = PhostHeader::Rts { conn: CONN, about: about(9, 0), again: true };
    s.at(ns(199_999)).sends_nothing();
    s.at(ns(200_000)).sends([again]);
    // A destination that is alive and has no token to give.
    s.receives(arrives(PhostHeader::Wait { conn: CONN, left: 9 }));
    s.at(ns(1_199_999)).sends([again; 4]).reports([]);
    s.at(ns(1_200_000)).sends_nothing();
    let counts = SendCounts::default();
    s.reports([Event::Failed { to: THERE, conn: CONN, reason: FailureReason::ReceiverSilent, counts }]);
}

#[test]
fn a_flow_whose_destination_answers_waits_for_as_long_as_it_takes() {
    let mut s = host(&PhostConfig { give_up: Picos::from_millis(1), rts_timeout: ns(10_000), ..authors() });
    s.opens(flow(9)).sent();
    for slice in 1..=10_000 {
        s.at(ns(slice * 10_000));
        let asked = s.sent();
        // One answer in four arrives.
        if !asked.is_empty() && slice % 4 == 0 {
            s.receives(arrives(PhostHeader::Wait { conn: CONN, left: 9 }));
        }
    }
    s.reports([]);
}

// The destination.

#[test]
fn one_token_per_packet_time_goes_to_the_shortest_flow() {
    let mut s = host(&authors());
    s.receives(of(1, rts(about(30, 0)))).receives(of(2, rts(about(12, 0))));
    s.at(ns(3 * MT));
    assert_eq!(tokens(&mut s), [(0.0, 2), (1.0, 2), (2.0, 2), (3.0, 2)]);
    // Seven packets of flow 1 are missing, fewer than of flow 2.
    (0..23).for_each(|seq| {
        s.receives(of(1, data(seq, 0, about(30, 0))));
    });
    s.at(ns(4 * MT));
    assert_eq!(tokens(&mut s), [(4.0, 1)]);
}

#[test]
fn free_tokens_take_the_place_of_tokens() {
    let mut s = host(&authors());
    s.receives(of(1, rts(about(30, 0)))).at(ns(0));
    assert_eq!(tokens(&mut s), [(0.0, 1)]);
    s.receives(of(2, rts(about(3, 3)))).receives(of(2, data(0, 0, about(3, 3))));
    s.receives(of(2, data(1, 1, about(3, 3)))).receives(of(2, data(2, 2, about(3, 3))));
    s.at(ns(5 * MT));
    assert_eq!(tokens(&mut s), [(4.0, 1), (5.0, 1)]);
}

#[test]
fn a_flow_that_leaves_its_tokens_unanswered_is_downgraded_for_a_while() {
    let mut s = host(&authors());
    s.receives(of(1, rts(about(30, 0)))).receives(of(2, rts(about(40, 0))));
    s.at(ns(16 * MT));
    let given = tokens(&mut s);
    let expected: Vec<_> = (0..16).map(|n| (n as f64, if n < 8 { 1 } else { 2 })).collect();
    assert_eq!(given, expected, "eight for each, then none");
    // The last token of flow 1 was at 7.
    s.at(ns(7 * MT + 25 * MT));
    assert_eq!(tokens(&mut s), [(32.0, 1)], "one token to try");
    s.receives(of(1, data(8, 8, about(30, 0))));
    s.at(ns(36 * MT));
    assert_eq!(tokens(&mut s).iter().map(|(_, conn)| *conn).collect::<Vec<_>>(), [1, 1, 1, 1]);
}

/// A destination whose only flow has eight unanswered tokens, so that its clock found none to give a token to at 8.
fn idle_clock(config: &PhostConfig) -> Script<PhostEndpoint> {
    let mut s = host(config);
    s.receives(of(1, rts(about(30, 0)))).at(ns(10 * MT));
    assert_eq!(tokens(&mut s).len(), 8);
    s
}

#[test]
fn data_wakes_the_clock_and_in_the_authors_form_only_timers_and_new_flows_do() {
    let answer = || of(1, data(0, 0, about(30, 0)));
    let mut s = idle_clock(&PhostConfig { data_wakes: Some(true), ..authors() });
    s.receives(answer()).at(ns(31 * MT));
    assert_eq!(tokens(&mut s), [(10.0, 1)]);
    // The last token was at 7.
    let mut s = idle_clock(&authors());
    s.receives(answer()).receives(of(1, data(1, 1, about(30, 0)))).at(ns(35 * MT));
    assert_eq!(tokens(&mut s), [(32.0, 1), (33.0, 1)]);
    // A new flow wakes it; its two free tokens go first.
    let mut s = idle_clock(&authors());
    s.receives(answer()).at(ns(12 * MT));
    s.receives(of(2, rts(about(2, 2)))).at(ns(15 * MT));
    assert_eq!(tokens(&mut s), [(14.0, 1)]);
}

#[test]
fn an_announcement_takes_the_next_turns_of_the_clock() {
    let mut s = host(&authors());
    s.receives(of(1, rts(about(30, 0)))).receives(of(2, rts(about(1, 1)))).at(ns(MT / 2));
    assert_eq!(tokens(&mut s), []);
    // The first announcement has the turn at 0, the second that at 1.
    s.receives(of(2, data(0, 0, about(1, 1)))).receives(of(3, rts(about(1, 1)))).at(ns(2 * MT));
    assert_eq!(tokens(&mut s), [(2.0, 1)]);
}

#[test]
fn missing_packets_get_tokens_again_from_the_first_hole_on() {
    let flow = about(9, 0);
    let mut s = host(&authors());
    s.receives(arrives(rts(flow)));
    for seq in 0..9u32 {
        s.at(ns(u64::from(seq) * MT));
        if seq != 3 && seq != 5 {
            s.receives(arrives(data(seq, seq, flow)));
        }
    }
    s.sent();
    // Nine packet times after the last token.
    s.at(ns(17 * MT - 1)).sends_nothing();
    s.at(ns(18 * MT)).sends([token(3, 9, 2), token(5, 10, 2)]);
    s.receives(arrives(data(5, 10, flow)));
    s.at(ns(27 * MT)).sends([token(3, 11, 1)]);
}

#[test]
fn free_tokens_that_bring_nothing_are_followed_by_tokens() {
    let mut s = host(&authors());
    s.receives(arrives(rts(about(2, 2)))).at(ns(4 * MT - 1)).sends_nothing();
    s.at(ns(5 * MT)).sends([token(0, 2, 2), token(1, 3, 2)]);
    let mut s = host(&PhostConfig { free_wait: 1.5, ..authors() });
    s.receives(arrives(rts(about(2, 2)))).at(ns(5 * MT + MT / 2) - ns(1)).sends_nothing();
    s.at(ns(5 * MT + MT / 2)).sends([token(0, 2, 2)]);
}

#[test]
fn data_stands_in_for_a_lost_rts() {
    let mut s = host(&authors());
    s.receives(arrives(data(1, 1, about(2, 2)))).receives(arrives(data(0, 0, about(2, 2))));
    s.sends([PhostHeader::Ack { conn: CONN }]);
    assert_eq!(s.reported().last(), Some(&Event::Received { slot: 0 }));
}

#[test]
fn one_ack_says_that_everything_is_there_and_is_repeated_when_asked() {
    let flow = about(1, 1);
    let mut s = host(&authors());
    s.receives(arrives(rts(flow))).sends_nothing();
    s.receives(arrives(data(0, 0, flow))).sends([PhostHeader::Ack { conn: CONN }]);
    s.receives(arrives(data(0, 0, flow))).sends([PhostHeader::Ack { conn: CONN }]);
    let again = PhostHeader::Rts { conn: CONN, about: flow, again: true };
    s.receives(arrives(again)).sends([PhostHeader::Ack { conn: CONN }]);
}

#[test]
fn a_repeated_rts_is_answered_while_others_go_first() {
    let mut s = host(&authors());
    s.receives(of(1, rts(about(30, 0)))).receives(of(2, rts(about(12, 0)))).sent();
    let again = PhostHeader::Rts { conn: ConnId::new(1), about: about(30, 0), again: true };
    s.receives(arrives(again)).sends([PhostHeader::Wait { conn: ConnId::new(1), left: 30 }]);
}

// Policies.

/// The connections of the first tokens of a destination with `policy`, to which flows with these facts are announced.
fn order(policy: Policy, flows: &[About], count: u64) -> Vec<u32> {
    let mut s = host(&PhostConfig { destination: policy, window: Some(Packets(100)), ..authors() });
    let announce = |(conn, about): (u32, &About)| of(conn, rts(*about));
    (0..).zip(flows).map(announce).for_each(|packet| {
        s.receives(packet);
    });
    s.at(ns(count * MT));
    tokens(&mut s).into_iter().map(|(_, conn)| conn).take(count as usize).collect()
}

#[test]
fn policies_choose_who_gets_tokens() {
    let with = |packets, tenant, deadline: Option<u64>| About {
        tenant,
        deadline: deadline.map(Instant),
        ..about(packets, 0)
    };
    let flows = [with(30, 1, Some(9_000_000)), with(20, 1, Some(5_000_000)), with(40, 2, Some(7_000_000))];
    assert_eq!(order(Policy::Edf, &flows, 3), [1, 1, 1]);
    assert_eq!(order(Policy::RoundRobin, &flows, 6), [0, 1, 2, 0, 1, 2]);
    assert_eq!(order(Policy::Lru, &flows, 4), [1, 2, 1, 2]);
    let urgent = [with(10, 0, None), About { priority: 1, ..with(50, 0, None) }];
    assert_eq!(order(Policy::Srpt, &urgent, 2), [1, 1]);
}

#[test]
fn network_priorities_follow_the_settings() {
    let sent = |config: &PhostConfig, packets: u64| {
        let mut s = host(config);
        s.opens(flow(packets));
        s.sent().iter().map(|sent| sent.packet.priority).take(2).collect::<Vec<_>>()
    };
    let with = |priorities| PhostConfig { priorities: Some(priorities), ..PhostConfig::default() };
    assert_eq!((sent(&with(0), 1), sent(&with(1), 1)), (vec![0, 0], vec![7, 0]));
    assert_eq!((sent(&with(2), 8), sent(&with(2), 9)), (vec![7, 6], vec![7, 0]));
}

// Both ends.

/// Runs one flow through a network that loses what `lost` says; returns how long it took.
fn run(
    config: &PhostConfig,
    packets: u64,
    mut lost: impl FnMut(u64, &PhostHeader) -> bool,
) -> (Picos, SendCounts) {
    let sides = [1, 2].map(|addr| (HostAddr(addr), endpoint(config, addr)));
    let mut channel = Channel::new(sides, BitsPerSec::gbps(10), 4);
    channel.open(0, FlowSpec { paths: 4, ..flow(packets) });
    let mut count = 0;
    channel.completion(Instant(20_000_000_000_000), ns(1000), |packet| {
        count += 1;
        lost(count, &packet.header)
    })
}

#[test]
fn a_long_flow_fills_the_link() {
    for variant in [Variant::Paper, Variant::Slides, Variant::Authors, Variant::Ndp] {
        let (took, counts) = run(&PhostConfig { variant, ..PhostConfig::default() }, 1000, |_, _| false);
        assert_eq!((counts.sent, counts.again), (1000, 0), "{variant:?}");
        // At most two round trips and the headers beside a thousand packet times.
        assert!(took < ns(1000 * MT + 10_000), "{variant:?}: {took}");
    }
}

#[test]
fn a_flow_survives_the_loss_of_its_first_and_last_packets() {
    for packets in [1, 8, 9, 40] {
        let only = |wanted: fn(&PhostHeader, u64) -> bool| {
            let mut done = false;
            run(&authors(), packets, move |_, header| {
                let hit = !done && wanted(header, packets);
                done |= hit;
                hit
            })
            .0
        };
        let last = |header: &PhostHeader, packets: u64| matches!(header, PhostHeader::Token { seq, .. } if u64::from(*seq) + 1 == packets);
        let rts = only(|header, _| matches!(header, PhostHeader::Rts { .. }));
        assert!(rts < ns(packets * MT + 210_000), "{packets} packets, no RTS: {rts}");
        let token = only(last);
        assert!(token < ns(packets * MT + 60_000), "{packets} packets, no last token: {token}");
        let ack = only(|header, _| matches!(header, PhostHeader::Ack { .. }));
        assert!(ack < ns(packets * MT + 250_000), "{packets} packets, no ACK: {ack}");
    }
}

#[test]
fn no_flow_hangs_where_one_packet_in_twenty_is_lost() {
    for variant in [Variant::Paper, Variant::Slides, Variant::Authors, Variant::Ndp] {
        for seed in 0..50 {
            let mut chance = Seed(seed).stream("test.loss", 0);
            let config = PhostConfig { variant, ..PhostConfig::default() };
            let (_, counts) = run(&config, 1 + seed * 7, |_, _| chance.below(20) == 0);
            assert_eq!(u64::from(counts.sent - counts.again), 1 + seed * 7);
        }
    }
}

#[test]
fn a_failed_path_holds_no_flow_for_ever() {
    for variant in [Variant::Paper, Variant::Slides, Variant::Authors, Variant::Ndp] {
        for packets in 1..40 {
            let config = PhostConfig { variant, ..PhostConfig::default() };
            let sides = [1, 2].map(|addr| (HostAddr(addr), endpoint(&config, addr)));
            let mut channel = Channel::new(sides, BitsPerSec::gbps(10), 2);
            channel.open(0, FlowSpec { paths: 2, ..flow(packets) });
            let limit = Instant(20_000_000_000_000);
            channel.completion(limit, ns(1000), |packet| packet.path == 0);
        }
    }
}
