//! Fastpass word by word, in the order of the README. Host 0 is the arbiter.

use std::collections::BTreeSet;

use pullnet_fastpass::{
    Allocation, Demand, Fastpass, FastpassConfig, FastpassEndpoint, FastpassHeader, Matching, SlotStart,
};
use pullnet_rng::Seed;
use pullnet_transport::channel::Channel;
use pullnet_transport::script::{Arriving, Script, Sent};
use pullnet_transport::{
    ConnId, DataPacket, Event, FailureReason, FlowSpec, Header, HostAddr, HostInfo, Protocol, SendCounts,
    Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, PacketSeq, Packets, Picos};

const ARBITER: HostAddr = HostAddr(0);
const BACKUP: HostAddr = HostAddr(5);
const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);
/// A slot: 1500 B at 10 Gb/s, and a 16th of that.
const SLOT: u64 = 1275;

fn endpoint(config: &FastpassConfig, addr: u32) -> FastpassEndpoint {
    let info = HostInfo { addr: HostAddr(addr), rate: BitsPerSec::gbps(10) };
    Fastpass::endpoint(config, info, Seed(1).stream("test.transport", addr.into()))
}

/// Slots begin when a schedule arrives.
fn simple() -> FastpassConfig {
    FastpassConfig { start: SlotStart::Receipt, give_up: Picos::from_millis(20), ..FastpassConfig::default() }
}

fn host(config: &FastpassConfig) -> Script<FastpassEndpoint> {
    Script::new(endpoint(config, 1))
}

fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * 1460)), paths: 4, ..FlowSpec::default() }
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

const fn ns(n: u64) -> Picos {
    Picos::from_nanos(n)
}

fn request(round: u32, packets: u32) -> FastpassHeader {
    let demand = Demand { to: THERE, packets, paths: 4, priority: 0, deadline: None };
    FastpassHeader::Request { handle: 0, round, demand }
}

/// The first slots of an epoch, all for the only flow.
fn schedule(epoch: u32, count: usize) -> FastpassHeader {
    let slots =
        core::array::from_fn(|place| (place < count).then_some(Allocation { handle: 0, path: Some(3) }));
    FastpassHeader::Schedule { epoch, slots }
}

fn from_arbiter(header: FastpassHeader) -> Arriving<FastpassHeader> {
    Arriving::new(ARBITER, 40, header)
}

fn ack(cumulative: u32, answers: u32) -> Arriving<FastpassHeader> {
    let header = FastpassHeader::Ack { conn: CONN, cumulative, answers, finished: false };
    Arriving::new(THERE, 40, header)
}

fn data(seq: u32, last: bool) -> FastpassHeader {
    FastpassHeader::Data(DataPacket { conn: CONN, seq, last })
}

fn times(sent: &[Sent<FastpassHeader>]) -> Vec<Picos> {
    sent.iter().map(|sent| sent.at.since(Instant::ZERO)).collect()
}

#[test]
fn a_flow_asks_for_its_packets_and_sends_one_per_slot() {
    let mut s = host(&simple());
    s.opens(flow(3)).sends([request(1, 3)]);
    s.at(us(3)).receives(from_arbiter(schedule(0, 2))).sends([data(0, false)]);
    s.at(us(10));
    let sent = s.sent();
    assert_eq!(times(&sent), [us(3).saturating_add(ns(SLOT))]);
    assert_eq!((sent[0].packet.path, sent[0].packet.priority), (3, 6), "the arbiter chooses the path");
    s.receives(ack(1, 0)).receives(from_arbiter(schedule(1, 1))).sends([data(2, true)]);
    s.receives(ack(3, 2)).sends([FastpassHeader::End { handle: 0 }]);
    assert!(matches!(s.reported().last(), Some(Event::Completed { .. })));
    // A slot of a flow that has ended stays empty.
    s.receives(from_arbiter(schedule(2, 1))).at(us(40)).sends_nothing();
}

#[test]
fn aligned_slots_are_those_that_the_arbiter_means() {
    let config = FastpassConfig { start: SlotStart::Aligned, ..simple() };
    let mut s = host(&config);
    s.opens(flow(5)).sent();
    // Epoch 1 begins at 10.2 us; its slots 8 us later.
    s.at(us(12)).receives(from_arbiter(schedule(1, 2))).at(us(30));
    assert_eq!(times(&s.sent()), [ns(18_200), ns(18_200 + SLOT)]);
    // A schedule that comes late is used at once, slots that have passed one after the other.
    s.at(us(40)).receives(from_arbiter(schedule(2, 2))).at(us(60));
    assert_eq!(times(&s.sent()), [us(40), us(40)]);
    // One from the far future is not believed.
    s.receives(from_arbiter(schedule(1 << 30, 1))).at(us(100));
    assert_eq!(times(&s.sent()), [us(60).saturating_add(ns(18_200))]);
}

#[test]
fn clocks_are_off_by_the_offset_at_most() {
    let config = FastpassConfig { start: SlotStart::Aligned, clock_offset: us(2), lead: us(20), ..simple() };
    let begin = |addr| {
        let mut s = Script::new(endpoint(&config, addr));
        s.opens(flow(1)).sent();
        s.at(us(11)).receives(from_arbiter(schedule(1, 1))).at(us(40));
        times(&s.sent())[0]
    };
    let all: Vec<_> = (1..20).map(begin).collect();
    let (first, last) = (all.iter().min().unwrap(), all.iter().max().unwrap());
    assert!(*first >= ns(28_200) && *last <= ns(32_200), "{all:?}");
    assert!(*first < ns(29_200) && *last > ns(31_200), "{all:?}");
}

#[test]
fn a_request_that_is_not_answered_is_repeated() {
    let mut s = host(&simple());
    s.opens(flow(3)).sends([request(1, 3)]);
    s.at(us(99)).sends_nothing();
    s.at(us(100)).sends([request(1, 3)]);
    // The arbiter has given two slots, and that schedule was lost.
    let status = |left| from_arbiter(FastpassHeader::Status { handle: 0, round: 1, left });
    s.receives(status(1)).at(us(110)).receives(from_arbiter(schedule(3, 1))).sends([data(0, false)]);
    // Missing packets are requested when the answers to the last slot are due.
    s.at(us(115)).receives(ack(1, 0)).at(us(159)).sends_nothing();
    s.at(us(160)).sends([request(2, 2)]);
    // Nothing is to come any more: the schedules were lost.
    s.at(us(200)).receives(from_arbiter(FastpassHeader::Status { handle: 0, round: 2, left: 0 }));
    s.at(us(250)).sends([request(3, 2)]);
}

#[test]
fn one_lost_answer_after_a_long_wait_does_not_make_the_arbiter_look_dead() {
    let mut s = host(&FastpassConfig { give_up: Picos::from_secs(5), ..simple() });
    s.opens(flow(3)).sent();
    let status = from_arbiter(FastpassHeader::Status { handle: 0, round: 1, left: 3 });
    let mut now = 0;
    while now < 40_000 {
        now += 100;
        if !s.at(us(now)).sent().is_empty() {
            s.receives(status);
        }
    }
    // The interval has grown to about 5 ms, which is longer than the arbiter may be silent.
    let mut asked = Vec::new();
    while asked.len() < 3 {
        now += 100;
        asked.extend(s.at(us(now)).sent().into_iter().map(|sent| (now, sent.packet.header)));
    }
    let first = asked[0].0;
    assert_eq!(asked, [0, 100, 200].map(|later| (first + later, request(1, 3))));
}

#[test]
fn a_flow_that_waits_for_slots_is_forgotten_by_nobody() {
    let config = FastpassConfig { give_up: Picos::from_millis(2), ..simple() };
    let (mut source, mut there) = (host(&config), Script::new(endpoint(&config, THERE.0)));
    source.opens(flow(3)).receives(from_arbiter(schedule(0, 1))).sent();
    there.receives(Arriving::new(HostAddr(1), 1500, data(0, false))).sent();
    source.receives(ack(1, 0));
    // The longest silence that the arbiter sees.
    let (mut last, mut longest) = (0, 0);
    for now in (100..50_000).step_by(100) {
        for sent in source.at(us(now)).sent() {
            match sent.packet.to {
                ARBITER => {
                    (last, longest) = (now, longest.max(now - last));
                    source.receives(from_arbiter(FastpassHeader::Status { handle: 0, round: 1, left: 2 }));
                }
                _ => drop(there.at(us(now)).receives(Arriving::new(HostAddr(1), 40, sent.packet.header))),
            }
        }
    }
    assert!(longest <= 200, "{longest} us");
    there.at(us(50_000));
    assert_eq!(there.open_flows().len(), 1);
    source.receives(from_arbiter(schedule(0, 2)));
    let left = source.at(us(50_010)).sent().into_iter().filter(|sent| sent.packet.to == THERE);
    let left: Vec<_> = left.map(|sent| sent.packet.header).collect();
    assert_eq!(left, [data(1, false), data(2, true)]);
    for header in left {
        there.receives(Arriving::new(HostAddr(1), 1500, header));
    }
    assert!(there.reported().iter().any(|event| matches!(event, Event::Received { .. })));
}

#[test]
fn slots_that_were_lost_are_requested_again_without_a_timeout() {
    let mut s = host(&simple());
    s.opens(flow(3)).sent();
    s.receives(from_arbiter(schedule(0, 1))).sends([data(0, false)]);
    s.at(us(5)).receives(ack(1, 0)).reported();
    // The schedule with the other two slots is lost.
    s.receives(from_arbiter(FastpassHeader::Status { handle: 0, round: 1, left: 0 }));
    s.at(us(55)).sends([request(2, 2)]).reports([]);
    s.receives(from_arbiter(schedule(5, 2))).at(us(70)).sends([data(1, false), data(2, true)]);
    // Packet 1 is lost; the slot for its repetition is lost once.
    s.receives(ack(1, 2)).reported();
    s.at(us(200)).sends([request(3, 1)]);
    s.reports([Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(1) }]);
    s.receives(from_arbiter(FastpassHeader::Status { handle: 0, round: 3, left: 0 }));
    s.at(us(300)).sends([request(4, 1)]).reports([]);
}

#[test]
fn unacknowledged_packets_are_requested_again() {
    let mut s = host(&simple());
    s.opens(flow(3)).sent();
    s.receives(from_arbiter(schedule(0, 3))).at(us(5)).sends([data(0, false), data(1, false), data(2, true)]);
    s.receives(ack(1, 0)).receives(ack(1, 2)).reported();
    s.at(us(53)).sends([request(2, 1)]);
    s.reports([Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(1) }]);
    s.receives(from_arbiter(schedule(5, 1))).sends([data(1, false)]);
    s.receives(ack(3, 1));
    let counts = SendCounts { sent: 4, again: 1, timeouts: 1 };
    assert_eq!(s.reported().last(), Some(&Event::Completed { to: THERE, conn: CONN, counts }));
}

#[test]
fn where_nothing_is_answered_one_slot_is_enough_to_try() {
    let mut s = host(&simple());
    s.opens(flow(9)).sent();
    s.receives(from_arbiter(schedule(0, 8))).at(us(9));
    assert_eq!(s.sent().len(), 8);
    // One slot of the request is still to come; then silence.
    s.receives(from_arbiter(schedule(1, 1))).sends([data(8, true)]);
    s.at(us(59)).sends([request(2, 1)]);
    // Each request for one slot gets it; in the end the flow fails.
    s.receives(from_arbiter(schedule(2, 1)));
    let mut now = 60;
    let failed = loop {
        let asked =
            |sent: &Sent<FastpassHeader>| matches!(sent.packet.header, FastpassHeader::Request { .. });
        if s.at(us(now)).sent().iter().any(asked) {
            s.receives(from_arbiter(schedule(0, 1)));
        }
        if let Some(event) = s.reported().into_iter().find(|event| matches!(event, Event::Failed { .. })) {
            break event;
        }
        now += 20;
        assert!(now < 30_000, "it never ends");
    };
    assert!(matches!(failed, Event::Failed { reason: FailureReason::ReceiverSilent, .. }));
    assert!(now >= 20_000 && s.open_flows().is_empty());
}

#[test]
fn the_arbiter_answers_with_slots_for_all() {
    let mut s = Script::new(endpoint(&FastpassConfig { rack: Some(4), ..simple() }, 0));
    let ask = |from, to: u32, packets| {
        let demand = Demand { to: HostAddr(to), packets, paths: 2, priority: 0, deadline: None };
        Arriving::new(HostAddr(from), 40, FastpassHeader::Request { handle: 3, round: 1, demand })
    };
    s.at(us(1)).receives(ask(1, 9, 2)).receives(ask(2, 9, 1)).receives(ask(5, 8, 1)).sends_nothing();
    s.at(us(11));
    let sent = s.sent();
    assert!(sent.iter().all(|sent| sent.at == Instant::ZERO.after(ns(10_200))));
    let slots = |to: u32| -> Vec<Option<u8>> {
        let found = sent.iter().find(|sent| sent.packet.to == HostAddr(to)).expect("a schedule");
        let FastpassHeader::Schedule { epoch: 1, slots } = found.packet.header else { panic!("{found:?}") };
        slots.iter().map(|slot| slot.map(|slot| slot.path.expect("a path"))).collect()
    };
    let (one, two, five) = (slots(1), slots(2), slots(5));
    // Host 2 has less to send to host 9; host 5 sends to the same rack by the other path.
    assert_eq!((two[0].is_some(), one[0].is_some(), one[1].is_some()), (true, false, true));
    assert_ne!(two[0], five[0]);
    let probe = |answer| FastpassHeader::Probe { answer };
    s.receives(Arriving::new(HostAddr(9), 40, probe(false))).sends([probe(true)]);
    // A host without an arbiter does not answer.
    host(&simple()).receives(Arriving::new(HostAddr(9), 40, probe(false))).sends_nothing();
}

#[test]
fn a_flow_of_the_arbiter_itself_needs_no_packets_to_get_its_slots() {
    let mut s = Script::new(endpoint(&simple(), 0));
    s.at(us(1)).opens(flow(2)).sends_nothing();
    s.at(us(12)).sends([data(0, false), data(1, true)]);
    s.receives(ack(2, 1)).sends_nothing();
    assert!(matches!(s.reported().last(), Some(Event::Completed { .. })));
}

#[test]
fn a_timer_of_a_flow_of_the_arbiter_itself_reaches_it_at_once() {
    let mut s = Script::new(endpoint(&simple(), 0));
    s.at(us(1)).opens(flow(2)).at(us(12)).sends([data(0, false), data(1, true)]);
    // 50 us after the last slot, at 61.475 us, the flow asks again; the epoch after that begins at 71.4 us.
    s.receives(ack(1, 0)).at(us(71)).sends_nothing();
    s.at(us(72));
    assert_eq!(times(&s.sent()), [ns(71_400)]);
}

#[test]
fn no_deadline_stays_where_a_flow_of_the_arbiter_itself_asks_as_an_epoch_begins() {
    // The last slot is at 11.475 us; 59.925 us later, when the seventh epoch begins, the flow asks again.
    let mut host = endpoint(&FastpassConfig { resend: ns(59_925), ..simple() }, 0);
    let epoch = Instant::ZERO.after(ns(71_400));
    let mut now = Instant::ZERO.after(us(1));
    host.open(now, flow(2));
    let mut sent = Vec::new();
    while now <= epoch {
        sent.extend(core::iter::from_fn(|| host.poll_transmit(now)).map(|packet| (now, packet.header)));
        let next = host.poll_timeout().map_or(Instant::NEVER, |deadline| deadline.at);
        assert!(next > now, "{next:?} at {now:?}");
        now = next;
        host.handle_timeout(now);
    }
    assert_eq!(sent.last().map(|(at, _)| *at), Some(epoch), "{sent:?}");
}

#[test]
fn a_silent_arbiter_is_replaced_by_the_backup_then_by_a_window() {
    let config = FastpassConfig { backup: Some(BACKUP.0), fallback_window: Packets(2), ..simple() };
    let mut s = host(&config);
    s.opens(flow(5)).at(us(999));
    assert!(s.sent().iter().all(|sent| sent.packet.to == ARBITER));
    s.at(us(1000));
    let sent = s.sent();
    assert_eq!((sent[0].packet.to, sent[0].packet.header), (BACKUP, request(2, 5)));
    // The backup is silent, too.
    s.at(us(2000));
    let left: Vec<_> = s.sent().into_iter().filter(|sent| sent.packet.to == THERE).collect();
    assert_eq!(
        left.iter().map(|sent| sent.packet.header).collect::<Vec<_>>(),
        [data(0, false), data(1, false)]
    );
    assert!(left.iter().all(|sent| sent.packet.priority == 0));
    s.at(us(2010)).receives(ack(1, 0)).sends([data(2, false)]);
    // A timeout begins again with one packet.
    s.at(us(2510)).sends([data(1, false)]);
    // Both are asked from time to time; the first that answers gives slots again.
    s.at(us(6000));
    let probes: Vec<_> = s.sent().into_iter().filter(|sent| sent.packet.to != THERE).collect();
    assert_eq!(probes.iter().map(|sent| sent.packet.to).collect::<Vec<_>>(), [ARBITER, BACKUP]);
    s.receives(Arriving::new(BACKUP, 40, FastpassHeader::Probe { answer: true })).sends([request(3, 1)]);
    s.receives(ack(2, 1)).receives(Arriving::new(BACKUP, 40, schedule(600, 1))).sends([data(2, false)]);
    // When the first one is back, the flow leaves the backup.
    s.receives(from_arbiter(FastpassHeader::Probe { answer: true }));
    let sent: Vec<_> = s.sent().into_iter().map(|sent| (sent.packet.to, sent.packet.header)).collect();
    assert_eq!(sent, [(BACKUP, FastpassHeader::End { handle: 0 }), (ARBITER, request(4, 3))]);
}

#[test]
fn without_an_arbiter_nothing_leaves_that_is_acknowledged() {
    let mut s = host(&simple());
    s.opens(flow(3)).receives(from_arbiter(schedule(0, 3))).at(us(5)).sent();
    s.receives(ack(0, 1)).at(us(60)).sends([request(2, 2)]);
    // Packet 0 leaves again; the arbiter dies before the slot for packet 2, and packet 1 is there.
    s.receives(from_arbiter(schedule(6, 1))).sends([data(0, false)]);
    s.at(us(1_500));
    let left: Vec<_> = s.sent().into_iter().filter(|sent| sent.packet.to == THERE).collect();
    assert_eq!(left.iter().map(|sent| sent.packet.header).collect::<Vec<_>>(), [data(2, true)]);
}

#[test]
fn without_an_arbiter_a_packet_times_out_once_for_each_time_that_it_has_left() {
    let mut s = host(&simple());
    s.opens(flow(3)).receives(from_arbiter(schedule(0, 3))).at(us(5)).sent();
    s.receives(ack(0, 1)).receives(ack(0, 2)).at(us(60)).sends([request(2, 1)]);
    let timed_out = |s: &mut Script<FastpassEndpoint>| {
        s.reported().iter().filter(|event| matches!(event, Event::TimedOut { .. })).count()
    };
    assert_eq!(timed_out(&mut s), 1);
    // The arbiter is silent. Packet 0 has not left again when the timer without an arbiter ends, and leaves then.
    s.at(us(1_500)).sent();
    s.at(us(1_700));
    assert!(s.sent().iter().any(|sent| sent.packet.header == data(0, false)));
    assert_eq!(timed_out(&mut s), 0);
    s.at(us(2_100));
    assert_eq!(timed_out(&mut s), 1);
}

#[test]
fn a_host_without_flows_asks_nobody() {
    let mut s = host(&simple());
    s.opens(flow(1)).at(us(1100)).receives(ack(1, 0)).sent();
    assert_eq!(s.open_flows(), []);
    s.at(us(15_000)).sends_nothing();
    // The next flow does without from the start, and finds out when the arbiter is back.
    s.opens(FlowSpec { conn: ConnId::new(8), ..flow(1) });
    let first = s.sent()[0].packet.header;
    assert_eq!(first, FastpassHeader::Data(DataPacket { conn: ConnId::new(8), seq: 0, last: true }));
    s.at(us(19_999)).sent().iter().for_each(|sent| assert_eq!(sent.packet.to, THERE));
    let again = FastpassHeader::Data(DataPacket { conn: ConnId::new(8), seq: 0, last: true });
    s.at(us(20_000)).sends([FastpassHeader::Probe { answer: false }, again]);
}

/// Runs one flow of host 1 through a network that loses `lost` percent of all packets; returns how long it took.
fn run(config: &FastpassConfig, packets: u64, lost: u32, seed: u64) -> (Picos, SendCounts) {
    let sides = [1, 0].map(|addr| (HostAddr(addr), endpoint(config, addr)));
    let mut channel = Channel::new(sides, BitsPerSec::gbps(10), 4);
    channel.open(0, FlowSpec { to: ARBITER, ..flow(packets) });
    let mut chance = Seed(seed).stream("test.loss", 0);
    channel.completion(Instant(60_000_000_000_000), us(1), |_| chance.below(100) < lost)
}

#[test]
fn a_long_flow_fills_its_slots() {
    for (start, most) in [(SlotStart::Aligned, 1310), (SlotStart::Receipt, 1300)] {
        let (took, counts) = run(&FastpassConfig { start, ..FastpassConfig::default() }, 1000, 0, 1);
        assert_eq!((counts.sent, counts.again), (1000, 0));
        // A thousand slots of 1.275 us, an epoch to wait for, the lead and a round trip.
        assert!(took < us(most), "{took}");
    }
}

#[test]
fn no_flow_hangs_where_one_packet_in_twenty_is_lost() {
    let config = FastpassConfig::default;
    let variants = [
        config(),
        FastpassConfig { start: SlotStart::Receipt, ..config() },
        FastpassConfig { matching: Matching::MaxMin, clock_offset: us(1), ..config() },
        // No host has this address: every packet leaves without a slot.
        FastpassConfig { arbiter: 9, ..config() },
    ];
    for config in variants {
        for seed in 0..50 {
            let (_, counts) = run(&config, 1 + seed * 7, 5, seed);
            assert_eq!(u64::from(counts.sent - counts.again), 1 + seed * 7);
        }
    }
}

/// Two flows that arrive by turns: their ACKs would keep step with paths taken in turn.
#[test]
fn control_packets_in_a_fixed_order_take_all_paths() {
    let mut s = host(&simple());
    for seq in 0..32 {
        for conn in [7, 8].map(ConnId::new) {
            let header = FastpassHeader::Data(DataPacket { conn, seq, last: false });
            s.receives(Arriving::new(THERE, 1500, header).on_paths(2));
        }
    }
    let sent = s.sent();
    for conn in [7, 8].map(ConnId::new) {
        let own = |header| matches!(header, FastpassHeader::Ack { conn: of, .. } if of == conn);
        let paths: BTreeSet<_> =
            sent.iter().filter(|sent| own(sent.packet.header)).map(|sent| sent.packet.path).collect();
        assert_eq!(paths.len(), 2, "{paths:?}");
    }
}

/// With a failed link, a sender may have few attempts: of two answers in a row, one has to take another path.
#[test]
fn answers_to_repeated_packets_take_all_paths_in_turn() {
    let mut s = host(&simple());
    let arrives = |seq, last| Arriving::new(THERE, 1500, data(seq, last)).on_paths(4);
    let mut paths_of = |header: Arriving<FastpassHeader>| -> Vec<u16> {
        s.receives(header).sent();
        for _ in 0..8 {
            s.receives(header);
        }
        s.sent().iter().map(|sent| sent.packet.path).collect()
    };
    let open = paths_of(arrives(1, true));
    assert_eq!(open, [1, 2, 3, 0, 1, 2, 3, 0]);
    // The flow ends with its first packet.
    let ended = paths_of(arrives(0, false));
    assert_eq!(ended, open);
}

#[test]
fn control_packets_concern_no_flow_of_their_own() {
    assert_eq!(request(1, 1).concerns(), None);
    assert_eq!(data(4, false).concerns(), Some((CONN, Some(PacketSeq::new(4)))));
}

#[test]
fn two_flows_of_a_host_share_its_slots() {
    let mut host = endpoint(&simple(), 0);
    for (conn, packets) in [(1, 9), (2, 3)] {
        host.open(Instant(1), FlowSpec { conn: ConnId::new(conn), to: HostAddr(conn + 2), ..flow(packets) });
    }
    let mut conns = Vec::new();
    while let Some(due) = host.poll_timeout().filter(|due| due.at < Instant::ZERO.after(us(30))) {
        host.handle_timeout(due.at);
        while let Some(packet) = host.poll_transmit(due.at) {
            conns.push(packet.header.concerns().expect("data").0.get());
        }
    }
    assert_eq!(conns, [2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
}
