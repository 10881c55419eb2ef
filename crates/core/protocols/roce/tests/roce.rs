//! RoCE hosts word by word, in the order of the README of `crates/core/rdma`.

use pullnet_rdma::{Endpoint, Feedback, LineRate};
use pullnet_rng::Seed;
use pullnet_roce::{RdmaHeader, Recovery, Roce, RoceConfig};
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{
    ConnId, DataPacket, Event, FailureReason, Fate, FlowSpec, HostAddr, HostInfo, Protocol, Received,
    SendCounts, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, PacketSeq, Picos, WireLen};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

/// Packets of 1250 B on the wire: 1 us at 10 Gb/s.
fn config(recovery: Recovery) -> RoceConfig {
    RoceConfig { mtu: Bytes(1202), recovery, ..RoceConfig::default() }
}

fn host(config: &RoceConfig) -> Script<Endpoint<LineRate>> {
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(10) };
    Script::new(Roce::endpoint(config, info, Seed(1).stream("test.transport", 1)))
}

fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * 1202)), ..FlowSpec::default() }
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

fn data(seq: u32) -> RdmaHeader {
    RdmaHeader::Data(DataPacket { conn: CONN, seq, last: false })
}

fn last(seq: u32) -> RdmaHeader {
    RdmaHeader::Data(DataPacket { conn: CONN, seq, last: true })
}

fn feedback(seq: u32, cumulative: u32) -> Feedback {
    Feedback { conn: CONN, seq, cumulative, marked: false }
}

fn ack(seq: u32, cumulative: u32) -> RdmaHeader {
    RdmaHeader::Ack { feedback: feedback(seq, cumulative), finished: false }
}

fn finished(seq: u32, cumulative: u32) -> RdmaHeader {
    RdmaHeader::Ack { feedback: feedback(seq, cumulative), finished: true }
}

fn nack(seq: u32, cumulative: u32) -> RdmaHeader {
    RdmaHeader::Nack(feedback(seq, cumulative))
}

fn arrives(header: RdmaHeader) -> Arriving<RdmaHeader> {
    let wire = if matches!(header, RdmaHeader::Data(..)) { 1250 } else { 60 };
    Arriving::new(THERE, wire, header)
}

// Rule 1: pacing.

#[test]
fn packets_leave_at_the_rate_of_the_link_unless_another_one_is_stated() {
    let mut s = host(&config(Recovery::GoBackN));
    s.opens(flow(9)).sends([data(0)]).at(us(1)).sends([data(1)]).at(us(3)).sends([data(2), data(3)]);
    let slow = RoceConfig { rate: Some(BitsPerSec::gbps(1)), ..config(Recovery::GoBackN) };
    let mut s = host(&slow);
    s.opens(flow(9)).sends([data(0)]).at(us(9)).sends_nothing().at(us(10)).sends([data(1)]);
}

// Rule 2: the window.

#[test]
fn a_window_limits_what_is_outstanding() {
    let mut s = host(&RoceConfig { window: Some(Bytes(2404)), ..config(Recovery::GoBackN) });
    s.opens(flow(9)).at(us(20)).sends([data(0), data(1)]);
    s.receives(arrives(ack(0, 1))).sends([data(2)]);
    s.at(us(30)).sends_nothing();
}

// Rule 3: the receiver.

#[test]
fn a_receiver_that_goes_back_names_the_missing_packet_once_in_a_while() {
    let mut s = host(&config(Recovery::GoBackN));
    s.receives(arrives(data(0))).sends([ack(0, 1)]);
    s.at(us(1)).receives(arrives(data(2))).sends([nack(2, 1)]);
    s.at(us(2)).receives(arrives(data(3))).sends_nothing();
    s.at(us(500)).receives(arrives(data(4))).sends_nothing();
    s.at(us(501)).receives(arrives(data(5))).sends([nack(5, 1)]);
    // Packets that arrived out of order were discarded.
    s.receives(arrives(data(1))).sends([ack(1, 2)]);
    // The ACK of a packet that comes again may have been lost.
    s.receives(arrives(data(0))).sends([ack(0, 2)]);
    s.receives(arrives(last(2))).sends([finished(2, 3)]);
    let delivered = |seq| Event::Delivered { slot: 0, seq, bytes: 1202 };
    let opened = Event::Opened { slot: 0, peer: THERE, conn: CONN };
    s.reports([
        opened,
        delivered(PacketSeq::new(0)),
        delivered(PacketSeq::new(1)),
        delivered(PacketSeq::new(2)),
        Event::Received { slot: 0 },
    ]);
    // A late copy does not open the connection again.
    s.receives(arrives(last(2))).sends([finished(2, 3)]).reports([]);
}

#[test]
fn a_receiver_that_selects_keeps_what_it_has() {
    let mut s = host(&config(Recovery::Selective));
    s.receives(arrives(data(0))).sends([ack(0, 1)]);
    s.receives(arrives(data(2))).sends([nack(2, 1)]);
    s.receives(arrives(last(3))).sends([nack(3, 1)]);
    s.receives(arrives(data(1))).sends([finished(1, 4)]);
}

#[test]
fn a_packet_without_payload_counts_as_lost() {
    let mut s = host(&config(Recovery::GoBackN));
    s.receives(arrives(data(0)).trimmed()).sends_nothing().reports([]);
}

// Rule 4: the sender repeats.

#[test]
fn a_nack_has_go_back_n_go_on_from_the_missing_packet() {
    let mut s = host(&config(Recovery::GoBackN));
    s.opens(flow(9)).at(us(4)).sends([data(0), data(1), data(2), data(3), data(4)]);
    s.receives(arrives(nack(2, 1))).at(us(6)).sends([data(1), data(2)]);
    // An ACK of the first copies moves it on; an old NACK does nothing.
    s.receives(arrives(ack(3, 4))).receives(arrives(nack(2, 1))).at(us(8)).sends([data(4), data(5)]);
}

#[test]
fn a_nack_has_selective_repeat_send_only_what_is_missing_and_once() {
    let mut s = host(&config(Recovery::Selective));
    s.opens(flow(9)).at(us(4)).sends([data(0), data(1), data(2), data(3), data(4)]);
    s.receives(arrives(nack(3, 1))).at(us(6)).sends([data(1), data(2)]);
    s.receives(arrives(nack(4, 1))).at(us(7)).sends([data(5)]);
    s.receives(arrives(ack(1, 2))).receives(arrives(ack(2, 5))).at(us(8)).sends([data(6)]);
}

#[test]
fn a_timeout_repeats_everything_without_an_ack() {
    for (recovery, repeated) in
        [(Recovery::GoBackN, vec![data(1), data(2), last(3)]), (Recovery::Selective, vec![data(1), last(3)])]
    {
        let mut s = host(&config(recovery));
        s.opens(flow(4)).at(us(3)).sends([data(0), data(1), data(2), last(3)]);
        s.receives(arrives(ack(0, 1)));
        let answer = if recovery == Recovery::Selective { ack(2, 1) } else { ack(0, 1) };
        s.receives(arrives(answer)).reported();
        // The timer runs from the last packet that left.
        s.at(us(4002)).sends_nothing().at(us(4010)).sends(repeated);
        s.reports([Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(1) }]);
    }
}

// Rule 5: the end.

#[test]
fn a_flow_ends_when_all_is_acknowledged_or_nobody_answers() {
    let mut s = host(&config(Recovery::GoBackN));
    s.opens(flow(2)).at(us(1)).sends([data(0), last(1)]);
    s.receives(arrives(finished(1, 2)));
    let counts = SendCounts { sent: 2, again: 0, timeouts: 0 };
    assert_eq!(s.reported().last(), Some(&Event::Completed { to: THERE, conn: CONN, counts }));

    let quick = RoceConfig { give_up: Picos::from_millis(10), ..config(Recovery::GoBackN) };
    let mut s = host(&quick);
    s.opens(flow(1)).at(us(10_001));
    let failed = |event: &Event| matches!(event, Event::Failed { reason: FailureReason::ReceiverSilent, .. });
    assert!(s.reported().iter().any(failed));
    assert_eq!(s.sent().len(), 3, "the first packet and two timeouts");
}

/// A receiver that hears nothing of a slow flow for long forgets what it has.
#[test]
fn a_flow_fails_that_its_receiver_has_forgotten() {
    let mut s = host(&config(Recovery::Selective));
    s.opens(flow(2)).at(us(1)).sends([data(0), last(1)]);
    s.receives(arrives(ack(0, 1))).receives(arrives(nack(1, 0)));
    let counts = SendCounts { sent: 2, again: 0, timeouts: 0 };
    let reason = FailureReason::Forgotten;
    assert_eq!(s.reported().last(), Some(&Event::Failed { to: THERE, conn: CONN, reason, counts }));

    // With go-back-N the receiver requests the first packet, which the sender has dropped by now. Such answers are no sign of life.
    let quick = RoceConfig { give_up: Picos::from_millis(10), ..config(Recovery::GoBackN) };
    let mut s = host(&quick);
    s.opens(flow(2)).at(us(1)).sends([data(0), last(1)]);
    s.at(us(2)).receives(arrives(ack(0, 1)));
    for at in [4_000, 8_000, 9_990] {
        s.at(us(at)).receives(arrives(nack(1, 0)));
    }
    s.at(us(10_003));
    let failed = |event: &Event| matches!(event, Event::Failed { reason: FailureReason::ReceiverSilent, .. });
    assert!(s.reported().iter().any(failed));
}

#[test]
fn a_paused_flow_fails_while_it_waits_for_its_turn() {
    let quick = RoceConfig { give_up: Picos::from_millis(10), ..config(Recovery::GoBackN) };
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(10) };
    let mut host = Roce::endpoint(&quick, info, Seed(1).stream("test.transport", 1));
    host.open(Instant::ZERO, flow(3));
    for leaves in [Instant::ZERO, Instant::ZERO.after(us(1))] {
        host.handle_timeout(leaves);
        assert!(host.poll_transmit(leaves).is_some());
    }
    // From now on the link takes no packet. The time to fail moves with the last answer, which comes while the flow is in line.
    let heard = Instant::ZERO.after(us(2));
    host.handle_timeout(heard);
    let (from, paths, wire, fate, header) = (THERE, 1, 60, Fate::Whole, ack(0, 1));
    host.handle(heard, Received { from, paths, wire: WireLen::new(wire), ce: false, fate, header });
    let end = heard.after(quick.give_up);
    while let Some(deadline) = host.poll_timeout().filter(|deadline| deadline.at <= end) {
        host.handle_timeout(deadline.at);
    }
    let (reason, counts) = (FailureReason::ReceiverSilent, SendCounts { sent: 2, again: 0, timeouts: 0 });
    let acked = Event::Acked { to: THERE, conn: CONN, latency: us(2) };
    assert_eq!(host.poll_event(), Some(acked));
    assert_eq!(host.poll_event(), Some(Event::Failed { to: THERE, conn: CONN, reason, counts }));
}

#[test]
fn late_packets_do_not_open_a_flow_again_that_its_receiver_gave_up() {
    let quick = RoceConfig { give_up: Picos::from_millis(10), ..config(Recovery::GoBackN) };
    let mut s = host(&quick);
    s.receives(arrives(data(0))).sends([ack(0, 1)]);
    s.at(us(20_000));
    assert_eq!(s.reported().last(), Some(&Event::Silent { slot: 0 }));
    s.at(us(30_000)).receives(arrives(data(1))).sends_nothing();
    s.reports([Event::Stray { peer: THERE, conn: CONN }]);
    assert!(s.open_flows().is_empty());
}
