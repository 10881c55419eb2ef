//! MPTCP word by word, in the order of the README.

use pullnet_mptcp::{
    Coupling, Mptcp, MptcpConfig, MptcpEndpoint, MultipathHeader, SubflowAck, SubflowData, SubflowPaths,
};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{ConnId, Event, FailureReason, FlowSpec, HostAddr, HostInfo, Protocol, SendCounts};
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos};
use pullnet_window::NewReno;

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);
const MTU: u64 = 1000;

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

const fn ms(n: u64) -> Picos {
    Picos::from_millis(n)
}

/// Two subflows with a first window of two packets, every packet acknowledged.
fn plain() -> MptcpConfig {
    MptcpConfig {
        mtu: Bytes(MTU),
        initial_window: Packets(2),
        delayed_ack: false,
        subflows: 2,
        ..MptcpConfig::default()
    }
}

/// The same without a handshake.
fn at_once() -> MptcpConfig {
    MptcpConfig { handshake: false, ..plain() }
}

fn host(config: &MptcpConfig) -> Script<MptcpEndpoint> {
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(10) };
    Script::new(Mptcp::endpoint(config, info, Seed(1).stream("test.transport", 1)))
}

fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * MTU)), paths: 8, ..FlowSpec::default() }
}

fn syn(subflow: u32) -> MultipathHeader {
    MultipathHeader::Syn { conn: CONN, subflow }
}

fn syn_ack(subflow: u32) -> Arriving<MultipathHeader> {
    word(MultipathHeader::SynAck { conn: CONN, subflow })
}

/// Packet `seq` of a subflow that carries `data`.
fn data(subflow: u32, seq: u32, data: u32) -> MultipathHeader {
    MultipathHeader::Data(SubflowData { conn: CONN, subflow, seq, data, opens: false, last: false })
}

/// The same before anything was acknowledged on the subflow.
fn first(subflow: u32, seq: u32, data: u32) -> MultipathHeader {
    MultipathHeader::Data(SubflowData { conn: CONN, subflow, seq, data, opens: true, last: false })
}

fn last(header: MultipathHeader) -> MultipathHeader {
    let MultipathHeader::Data(SubflowData { conn, subflow, seq, data, opens, .. }) = header else {
        panic!("no data")
    };
    MultipathHeader::Data(SubflowData { conn, subflow, seq, data, opens, last: true })
}

fn acks(
    subflow: u32,
    cumulative: u32,
    data_ack: u32,
    answers: u32,
    ranges: &[(u32, u32)],
) -> MultipathHeader {
    let (ranges, echo, finished) = (ranges.iter().copied().collect(), false, false);
    let ack = SubflowAck { conn: CONN, subflow, cumulative, data_ack, answers, echo, finished, ranges };
    MultipathHeader::Ack(ack)
}

fn all(subflow: u32, data_ack: u32, answers: u32) -> MultipathHeader {
    let MultipathHeader::Ack(ack) = acks(subflow, 0, data_ack, answers, &[]) else {
        unreachable!("it is one")
    };
    MultipathHeader::Ack(SubflowAck { finished: true, ..ack })
}

fn ack(subflow: u32, cumulative: u32, data_ack: u32) -> Arriving<MultipathHeader> {
    word(acks(subflow, cumulative, data_ack, 0, &[]))
}

fn full(header: MultipathHeader) -> Arriving<MultipathHeader> {
    Arriving::new(THERE, 1058, header).on_paths(8)
}

fn word(header: MultipathHeader) -> Arriving<MultipathHeader> {
    Arriving::new(THERE, 64, header).on_paths(8)
}

/// Congestion control of a subflow.
fn reno(s: &mut Script<MptcpEndpoint>, index: usize) -> NewReno {
    let mut found = None;
    s.does(|host, _| found = host.subflow(THERE, CONN, index));
    found.and_then(|subflow| subflow.insight).expect("an open subflow").control
}

fn completed(sent: u32, again: u32, timeouts: u32) -> Event {
    Event::Completed { to: THERE, conn: CONN, counts: SendCounts { sent, again, timeouts } }
}

// Subflows.

#[test]
fn further_subflows_join_once_the_first_one_is_established() {
    let mut s = host(&MptcpConfig { subflows: 3, ..plain() });
    s.opens(flow(100)).sends([syn(0)]);
    s.at(us(50)).receives(syn_ack(0)).sends([syn(1), syn(2), data(0, 0, 0), data(0, 1, 1)]);
    s.at(us(100)).receives(syn_ack(2)).sends([data(2, 0, 2), data(2, 1, 3)]);
    s.receives(syn_ack(1)).sends([data(1, 0, 4), data(1, 1, 5)]);
    // A repeated SYN-ACK changes nothing.
    s.receives(syn_ack(1)).sends_nothing();
}

#[test]
fn without_a_handshake_all_send_at_once() {
    let mut s = host(&at_once());
    s.opens(flow(100)).sends([first(0, 0, 0), first(1, 0, 1), first(0, 1, 2), first(1, 1, 3)]);
}

#[test]
fn every_subflow_keeps_a_path_of_its_own() {
    let mut s = host(&MptcpConfig { subflows: 8, handshake: false, ..plain() });
    s.opens(flow(100));
    let mut paths = [None; 8];
    let sent = s.sent();
    assert_eq!(sent.len(), 16);
    for sent in sent {
        let MultipathHeader::Data(SubflowData { subflow, .. }) = sent.packet.header else {
            panic!("no data")
        };
        let path = paths[subflow as usize].get_or_insert(sent.packet.path);
        assert_eq!(*path, sent.packet.path);
    }
    let mut paths = paths.map(|path| path.expect("a path"));
    paths.sort_unstable();
    assert_eq!(paths, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn random_paths_may_coincide_and_more_subflows_than_paths_share_them_evenly() {
    let paths_of = |config: &MptcpConfig, paths: u16| {
        let mut s = host(config);
        s.opens(FlowSpec { paths, ..flow(100) });
        (0..config.subflows as usize)
            .map(|index| {
                let mut path = 0;
                s.does(|host, _| path = host.subflow(THERE, CONN, index).expect("a subflow").path);
                path
            })
            .collect::<Vec<_>>()
    };
    let eight = MptcpConfig { subflows: 8, ..at_once() };
    let mut paths = paths_of(&eight, 4);
    paths.sort_unstable();
    assert_eq!(paths, [0, 0, 1, 1, 2, 2, 3, 3]);
    let mut paths = paths_of(&MptcpConfig { subflow_paths: SubflowPaths::Random, ..eight }, 8);
    paths.sort_unstable();
    paths.dedup();
    assert!(paths.len() < 8, "eight draws of eight paths are hardly ever all different: {paths:?}");
}

#[test]
fn a_syn_that_is_lost_tries_another_path() {
    let mut s = host(&plain());
    s.opens(flow(100)).at(ms(20_000));
    let mut paths: Vec<u16> = s.sent().iter().map(|sent| sent.packet.path).collect();
    assert!(paths.len() >= 5);
    paths.dedup();
    assert!(paths.len() > 1, "{paths:?}");
}

// Data.

#[test]
fn the_receiver_puts_together_what_subflows_bring_and_acknowledges_both() {
    let mut s = host(&plain());
    s.receives(word(syn(0))).sends([MultipathHeader::SynAck { conn: CONN, subflow: 0 }]);
    s.receives(word(syn(1))).sends([MultipathHeader::SynAck { conn: CONN, subflow: 1 }]);
    s.receives(full(first(1, 0, 1))).sends([acks(1, 1, 0, 1, &[])]);
    s.receives(full(first(0, 0, 0))).sends([acks(0, 1, 2, 0, &[])]);
    s.receives(full(first(1, 2, 3))).sends([acks(1, 1, 2, 3, &[(2, 3)])]);
    // The same data on another subflow is delivered once.
    s.receives(full(first(0, 1, 3))).sends([acks(0, 2, 2, 3, &[])]);
    s.receives(full(last(first(0, 2, 4)))).sends([acks(0, 3, 2, 4, &[])]);
    s.receives(full(first(1, 1, 2))).sends([all(1, 5, 2)]);
    // Late packets are answered from memory; nothing joins or opens any more.
    s.receives(full(first(0, 1, 3))).sends([all(0, 4, 3)]);
    s.receives(word(syn(2))).sends_nothing();
    let delivered: Vec<_> = s
        .reported()
        .into_iter()
        .filter_map(|event| if let Event::Delivered { seq, .. } = event { Some(seq.get()) } else { None })
        .collect();
    assert_eq!(delivered, [1, 0, 3, 4, 2]);
}

#[test]
fn a_join_needs_a_connection() {
    let mut s = host(&plain());
    s.receives(word(syn(1))).sends_nothing();
    s.receives(full(data(0, 0, 0))).sends_nothing();
    assert_eq!(s.reported(), [Event::Stray { peer: THERE, conn: CONN }; 2]);
}

#[test]
fn an_ack_carries_three_ranges_beside_the_data_ack() {
    let mut s = host(&at_once());
    [1, 3, 5, 7].into_iter().for_each(|seq| {
        s.receives(full(first(0, seq, seq)));
    });
    let sent = s.sent();
    assert_eq!(sent[3].packet.header, acks(0, 0, 0, 7, &[(7, 8), (5, 6), (3, 4)]));
    assert_eq!(sent.iter().map(|sent| sent.packet.wire.get()).collect::<Vec<_>>(), [70, 78, 86, 86]);
}

#[test]
fn a_flow_ends_with_the_ack_of_all_data() {
    let mut s = host(&at_once());
    s.opens(flow(3)).sends([first(0, 0, 0), first(1, 0, 1), last(first(0, 1, 2))]);
    s.receives(ack(0, 2, 1)).sends_nothing();
    s.receives(word(all(1, 3, 1))).sends_nothing();
    assert_eq!(s.reported().last(), Some(&completed(3, 0, 0)));
    assert!(s.at(ms(500)).open_flows().is_empty());
}

#[test]
fn every_delayed_ack_leaves_when_all_data_has_arrived() {
    let mut s = host(&MptcpConfig { delayed_ack: true, subflows: 3, ..at_once() });
    s.receives(full(first(0, 0, 0))).sends_nothing();
    s.receives(full(first(1, 0, 1))).sends_nothing();
    s.receives(full(first(2, 0, 2))).sends_nothing();
    s.receives(full(first(2, 1, 3))).sends([acks(2, 2, 4, 2, &[])]);
    // Each names the packet that has waited for it, which on subflow 1 is not the last one.
    s.receives(full(last(first(1, 1, 4)))).sends([all(0, 5, 0), all(1, 5, 1)]);
    s.at(ms(500)).sends_nothing();
}

#[test]
fn no_data_leaves_beyond_the_receive_window_of_the_connection() {
    let mut s = host(&MptcpConfig { receive_window: Packets(3), ..at_once() });
    s.opens(flow(10)).sends([first(0, 0, 0), first(1, 0, 1), first(0, 1, 2)]);
    // Room on the subflow, none in the connection.
    s.receives(ack(1, 1, 0)).sends_nothing();
    s.receives(ack(0, 1, 2)).sends([data(0, 2, 3), data(1, 1, 4)]);
}

// Failure.

#[test]
fn what_a_subflow_is_stuck_with_leaves_on_another_one() {
    let mut s = host(&MptcpConfig { min_rto: ms(10), ..at_once() });
    s.opens(flow(5)).sends([first(0, 0, 0), first(1, 0, 1), first(0, 1, 2), first(1, 1, 3)]);
    s.at(us(100)).receives(ack(0, 2, 1)).sends([last(data(0, 2, 4))]);
    s.receives(ack(0, 3, 1)).sends_nothing();
    // One second later the timer of subflow 1, which has no sample, runs out: its data leaves on both.
    s.at(ms(999)).sends_nothing();
    s.at(ms(1000)).sends([first(1, 0, 1), data(0, 3, 1), data(0, 4, 3)]);
    s.receives(ack(0, 4, 3)).receives(word(all(0, 5, 3))).sends_nothing();
    assert_eq!(s.reported().last(), Some(&completed(8, 3, 1)));
}

#[test]
fn a_subflow_that_is_given_up_does_not_end_the_flow() {
    let mut s = host(&MptcpConfig { retries: 1, max_rto: ms(200), ..at_once() });
    s.opens(flow(4)).sends([first(0, 0, 0), first(1, 0, 1), first(0, 1, 2), last(first(1, 1, 3))]);
    s.at(us(100)).receives(ack(0, 2, 1)).at(ms(2000));
    let sent: Vec<_> = s.sent().iter().map(|sent| sent.packet.header).collect();
    // Subflow 1 retransmits once. Subflow 0 has the data of both packets, and repeats that until it is given up as well.
    assert_eq!(
        sent.iter()
            .filter(|header| matches!(header, MultipathHeader::Data(SubflowData { subflow: 1, .. })))
            .count(),
        1
    );
    let reason =
        FailureReason::of_protocol(&"the receiver is silent: too many timeouts in a row on every subflow");
    let failed = |event: &Event| matches!(event, Event::Failed { reason: why, .. } if *why == reason);
    assert!(s.reported().iter().any(failed));
}

#[test]
fn a_flow_whose_syn_nobody_answers_fails() {
    let mut s = host(&MptcpConfig { retries: 2, ..plain() });
    s.opens(flow(4)).at(ms(60_000));
    assert_eq!(s.sent().len(), 3);
    let failed = |event: &Event| matches!(event, Event::Failed { reason: FailureReason::SynUnanswered, .. });
    assert!(s.reported().iter().any(failed));
}

#[test]
fn a_trimmed_packet_is_reported_and_leaves_again_on_its_subflow() {
    let config = MptcpConfig { nack: true, ..at_once() };
    let nack = MultipathHeader::Nack { conn: CONN, subflow: 1, seq: 0, data: 1 };
    let mut s = host(&config);
    s.receives(full(first(1, 0, 1)).trimmed()).sends([nack]);
    let mut s = host(&config);
    s.opens(flow(4)).sent();
    s.receives(word(nack)).sends([first(1, 0, 1)]);
}

// Coupling.

#[test]
fn windows_are_coupled_by_lia() {
    let mut s = host(&MptcpConfig { initial_threshold: Some(Packets(2)), ..at_once() });
    s.opens(flow(1000)).sent();
    // Round-trip times of 100 us and 200 us, windows of two packets: 2 / 1^2 over (2 / 1 + 2 / 2)^2, and the window of subflow
    // 1 has grown before by what subflow 0 alone knew: nothing.
    s.at(us(100)).receives(ack(0, 1, 1));
    assert_eq!(reno(&mut s, 0).window, 2.5);
    s.at(us(200)).receives(ack(1, 1, 2));
    // When the ACK came subflow 1 had no round-trip time; subflow 0 alone allows 1 / 2.5.
    assert_eq!(reno(&mut s, 1).window, 2.0 + 1.0 / 2.5);
    s.receives(ack(1, 2, 2));
    let (rates, best) = (2.5 / 100.0 + 2.4 / 200.0, 2.5 / 100.0 / 100.0);
    let grown = reno(&mut s, 1).window - 2.4;
    assert!((grown - best / (rates * rates)).abs() < 1e-9, "{grown}");
}

#[test]
fn uncoupled_subflows_grow_as_tcp() {
    let config =
        MptcpConfig { coupling: Coupling::Uncoupled, initial_threshold: Some(Packets(2)), ..at_once() };
    let mut s = host(&config);
    s.opens(flow(1000)).sent();
    for subflow in [0, 1] {
        s.at(us(100)).receives(ack(subflow, 1, 0));
        assert_eq!(reno(&mut s, subflow as usize).window, 2.5);
    }
}
