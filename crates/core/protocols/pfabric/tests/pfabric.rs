//! pFabric's hosts word by word, in the order of the README.

use pullnet_pfabric::{Pfabric, PfabricConfig, PfabricEndpoint, PfabricHeader, RankBy};
use pullnet_rng::Seed;
use pullnet_transport::channel::Channel;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{
    ConnId, CumulativeAck, DataPacket, Event, FailureReason, FlowSpec, Header, HopView, HostAddr, HostInfo,
    Protocol, SendCounts, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, PacketSeq, Packets, Picos};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

fn endpoint(config: &PfabricConfig, addr: u32) -> PfabricEndpoint {
    let info = HostInfo { addr: HostAddr(addr), rate: BitsPerSec::gbps(10) };
    Pfabric::endpoint(config, info, Seed(1).stream("test.transport", addr.into()))
}

/// Three packets at first, four at most.
fn small() -> PfabricConfig {
    PfabricConfig {
        initial_window: Packets(3),
        largest_window: Packets(4),
        give_up: Picos::from_millis(1),
        ..PfabricConfig::default()
    }
}

fn host(config: &PfabricConfig) -> Script<PfabricEndpoint> {
    Script::new(endpoint(config, 1))
}

fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * 1460)), ..FlowSpec::default() }
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

/// A packet of a flow of ten: its number and its rank.
fn data(seq: u32, rank: u32) -> PfabricHeader {
    PfabricHeader::Data { data: DataPacket { conn: CONN, seq, last: seq == 9 }, rank }
}

fn ack(cumulative: u32, answers: u32) -> Arriving<PfabricHeader> {
    arrives(acknowledgement(cumulative, Some(answers), false))
}

fn acknowledgement(cumulative: u32, answers: Option<u32>, finished: bool) -> PfabricHeader {
    PfabricHeader::Ack(CumulativeAck { conn: CONN, cumulative, answers, finished })
}

fn arrives(header: PfabricHeader) -> Arriving<PfabricHeader> {
    let wire = if matches!(header, PfabricHeader::Data { .. }) { 1500 } else { 40 };
    Arriving::new(THERE, wire, header)
}

#[test]
fn a_flow_sends_a_window_and_states_what_it_has_left() {
    let mut s = host(&small());
    s.opens(flow(10)).sends([data(0, 10), data(1, 10), data(2, 10)]);
    // The rank is what is left when the packet leaves; the window grows with the cumulative point up to its limit.
    s.at(us(5)).receives(ack(1, 0)).sends([data(3, 9), data(4, 9)]);
    s.receives(ack(2, 1)).sends([data(5, 8)]);
    // A packet acknowledged out of order takes no room, and the window does not grow.
    s.receives(ack(2, 4)).sends([data(6, 7)]);
}

#[test]
fn switches_see_flow_and_rank() {
    assert_eq!(data(3, 9).hop_view(), Some(HopView { conn: CONN, rank: 9 }));
    let probe = PfabricHeader::Probe { conn: CONN, rank: 4 };
    assert_eq!(probe.hop_view(), Some(HopView { conn: CONN, rank: 4 }));
    let ack = acknowledgement(1, None, false);
    assert_eq!(ack.hop_view(), Some(HopView { conn: CONN, rank: 0 }));
}

#[test]
fn ranks_may_be_deadlines() {
    let config = PfabricConfig { rank: RankBy::Deadline, ..small() };
    let rank = |deadline: Option<u64>| {
        let mut s = host(&config);
        s.opens(FlowSpec { deadline: deadline.map(Instant), ..flow(1) });
        s.sent()[0].packet.header.hop_view().unwrap().rank
    };
    assert_eq!((rank(Some(7_900_000)), rank(Some(0)), rank(None)), (7, 1, u32::MAX));
}

#[test]
fn a_timeout_begins_again_with_a_window_of_one_and_skips_what_is_there() {
    let mut s = host(&small());
    s.opens(flow(10)).sends([data(0, 10), data(1, 10), data(2, 10)]);
    s.at(us(5)).receives(ack(0, 1)).sends([data(3, 9)]);
    s.at(us(49)).sends_nothing();
    s.at(us(50)).sends([data(0, 9)]);
    assert!(s.reported().contains(&Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(0) }));
    // Packet 1 is there. Slow start goes to two packets, half the window of four that was lost.
    s.at(us(55)).receives(ack(2, 0)).sends([data(2, 8), data(3, 8)]);
    s.receives(ack(3, 2)).sends([data(4, 7)]);
    s.receives(ack(4, 3)).sends([data(5, 6)]);
}

#[test]
fn after_timeouts_in_a_row_a_flow_only_probes() {
    let mut s = host(&PfabricConfig { probe_after: 2, ..small() });
    s.opens(flow(10)).sent();
    s.at(us(45)).sends([data(0, 10)]);
    let probe = PfabricHeader::Probe { conn: CONN, rank: 10 };
    s.at(us(90)).sends([probe]);
    s.at(us(135)).sends([probe]);
    s.receives(arrives(acknowledgement(0, None, false)));
    s.sends([data(0, 10)]);
    // As the public pHost code does it: no probes.
    let mut s = host(&PfabricConfig { probe_after: 0, ..small() });
    s.opens(flow(10)).sent();
    s.at(us(90)).sends([data(0, 10), data(0, 10)]);
}

#[test]
fn a_silent_receiver_fails_the_flow() {
    let mut s = host(&small());
    s.opens(flow(2)).at(us(999));
    assert!(s.reported().iter().all(|event| matches!(event, Event::TimedOut { .. })));
    s.at(us(1000));
    let failed = s.reported().pop();
    assert!(
        matches!(failed, Some(Event::Failed { reason, .. }) if reason.as_str() == "no data packet is acknowledged"),
        "{failed:?}"
    );
    assert_eq!(s.open_flows(), []);
}

/// A path may pass probes, and never a whole packet.
#[test]
fn answers_to_probes_alone_do_not_keep_a_flow() {
    let mut s = host(&PfabricConfig { probe_after: 1, ..small() });
    s.opens(flow(10)).sent();
    for micros in (50..1000).step_by(50) {
        s.at(us(micros));
        s.receives(arrives(acknowledgement(0, None, false)));
    }
    s.reported();
    s.at(us(1000));
    let failed = s.reported().pop();
    assert!(matches!(failed, Some(Event::Failed { .. })), "{failed:?}");
    assert_eq!(s.open_flows(), []);
}

#[test]
fn every_packet_is_acknowledged_and_a_finished_flow_says_so() {
    let mut s = host(&small());
    let last = |seq| PfabricHeader::Data { data: DataPacket { conn: CONN, seq, last: true }, rank: 1 };
    let answer = |cumulative, seq, finished| acknowledgement(cumulative, Some(seq), finished);
    s.receives(arrives(last(2))).sends([answer(0, 2, false)]);
    s.receives(arrives(data(0, 3))).sends([answer(1, 0, false)]);
    s.receives(arrives(data(0, 3))).sends([answer(1, 0, false)]);
    let probe = PfabricHeader::Probe { conn: CONN, rank: 1 };
    let probed = acknowledgement(1, None, false);
    s.receives(arrives(probe)).sends([probed]);
    s.receives(arrives(data(1, 3))).sends([answer(3, 1, true)]);
    assert_eq!(s.reported().last(), Some(&Event::Received { slot: 0 }));
    // The last ACK was lost.
    s.receives(arrives(data(1, 3))).sends([answer(0, 1, true)]);
}

#[test]
fn the_flow_with_the_fewest_packets_left_has_the_link() {
    let mut host = endpoint(&small(), 1);
    for (conn, packets) in [(1, 9), (2, 3), (3, 5)] {
        host.open(Instant::ZERO, FlowSpec { conn: ConnId::new(conn), ..flow(packets) });
    }
    let sent: Vec<_> = core::iter::from_fn(|| host.poll_transmit(Instant::ZERO)).collect();
    let conns: Vec<_> = sent.iter().map(|packet| packet.header.concerns().unwrap().0.get()).collect();
    assert_eq!(conns, [2, 2, 2, 3, 3, 3, 1, 1, 1]);
}

/// Runs one flow through a network that loses `lost` percent of all packets; returns how long it took.
fn run(config: &PfabricConfig, packets: u64, lost: u32, seed: u64) -> (Picos, SendCounts) {
    let sides = [1, 2].map(|addr| (HostAddr(addr), endpoint(config, addr)));
    let mut channel = Channel::new(sides, BitsPerSec::gbps(10), 4);
    channel.open(0, FlowSpec { paths: 4, ..flow(packets) });
    let mut chance = Seed(seed).stream("test.loss", 0);
    channel.completion(Instant(20_000_000_000_000), us(1), |_| chance.below(100) < lost)
}

#[test]
fn a_long_flow_fills_the_link() {
    let (took, counts) = run(&PfabricConfig::default(), 1000, 0, 1);
    assert_eq!((counts.sent, counts.again), (1000, 0));
    // A thousand packets of 1.2 us, and a round trip.
    assert!(took < us(1205), "{took}");
}

#[test]
fn no_flow_hangs_where_one_packet_in_twenty_is_lost() {
    for probe_after in [0, 1, 5] {
        let config = PfabricConfig { probe_after, ..PfabricConfig::default() };
        for seed in 0..50 {
            let (_, counts) = run(&config, 1 + seed * 7, 5, seed);
            assert_eq!(u64::from(counts.sent - counts.again), 1 + seed * 7);
        }
    }
}

/// A receiver forgets a flow that its own host has starved for long, and takes later packets for those of another one.
#[test]
fn a_flow_fails_that_its_receiver_has_forgotten() {
    let mut s = host(&small());
    s.opens(flow(10)).sends([data(0, 10), data(1, 10), data(2, 10)]);
    for seq in 0..9 {
        s.receives(ack(seq + 1, seq)).sent();
    }
    s.reported();
    s.at(us(5)).receives(ack(0, 9));
    let (reason, counts) = (FailureReason::Forgotten, SendCounts { sent: 10, again: 0, timeouts: 0 });
    assert_eq!(
        s.reported(),
        [
            Event::Acked { to: THERE, conn: CONN, latency: us(5) },
            Event::Failed { to: THERE, conn: CONN, reason, counts }
        ]
    );
}
