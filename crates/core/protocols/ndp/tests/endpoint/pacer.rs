//! The pull pacer, rule by rule: NDP (SIGCOMM 2017), sections 3.2 and 4.

use crate::common::*;
use pullnet_ndp::{NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_settings::{Settings, Value};
use pullnet_transport::script::{Arriving, Script, Sent};
use pullnet_transport::{ConnId, HostAddr, TimerKind};
use pullnet_units::{Bytes, Picos};

fn plain() -> NdpConfig {
    NdpConfig { piggyback: false, ..config() }
}

/// Packet `seq` of a connection from host `from`.
fn packet(from: u32, seq: u32, priority: u8) -> Arriving<NdpHeader> {
    let header =
        NdpHeader::Data { conn: ConnId::new(from), seq, syn: true, last: false, pulled: false, priority };
    Arriving::new(HostAddr(from), FULL, header)
}

fn pull_times(s: &mut Script<NdpEndpoint>) -> Vec<u64> {
    let pull = |sent: &Sent<NdpHeader>| matches!(sent.packet.header, NdpHeader::Pull { .. });
    s.sent().iter().filter(|sent| pull(sent)).map(|sent| sent.at.0).collect()
}

/// Whom the pulls go to, in order.
fn pulled(s: &mut Script<NdpEndpoint>) -> Vec<u32> {
    let pull = |sent: &Sent<NdpHeader>| {
        matches!(sent.packet.header, NdpHeader::Pull { .. }).then_some(sent.packet.to.0)
    };
    s.sent().iter().filter_map(pull).collect()
}

fn gaps(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn one_pull_leaves_per_packet_time_of_the_link() {
    let mut s = host_with(&plain());
    s.receives_all((0..4).map(|seq| full(data(seq))));
    s.at(us(100));
    assert_eq!(gaps(&pull_times(&mut s)), [PACE.0; 3]);
}

#[test]
fn pulls_for_1500_byte_packets_are_1_25_us_apart() {
    let mut s = host_with(&NdpConfig { mtu: Bytes(1500), ..plain() });
    s.receives_all((0..4).map(|seq| full(data(seq)).long(1564)));
    s.at(us(100));
    assert_eq!(gaps(&pull_times(&mut s)), [1_251_200; 3]);
}

#[test]
fn pulls_are_paced_by_the_bytes_of_each_connection() {
    let mut s = host_with(&plain());
    s.receives_all([
        packet(5, 0, 0).long(1064),
        packet(6, 0, 0),
        packet(5, 1, 0).long(1064),
        packet(6, 1, 0),
    ]);
    s.at(us(100));
    // A pull for 1064 bytes is followed after 0.85 us, one for 9064 after 7.25 us.
    assert_eq!(gaps(&pull_times(&mut s)), [851_200, PACE.0, 851_200]);
}

#[test]
fn the_next_slot_is_now_or_an_interval_after_the_last_pull() {
    let mut s = host_with(&plain());
    s.receives(full(data(0)));
    s.at(us(50)).receives(full(data(1)));
    s.at(us(51)).receives(full(data(2)));
    s.at(us(100));
    assert_eq!(pull_times(&mut s), [0, 50_000_000, 50_000_000 + PACE.0]);
}

#[test]
fn a_slower_pull_rate_spreads_pulls() {
    let mut s = host_with(&NdpConfig { pull_rate: 0.5, ..plain() });
    s.receives_all((0..3).map(|seq| full(data(seq))));
    s.at(us(100));
    assert_eq!(gaps(&pull_times(&mut s)), [2 * PACE.0; 2]);
}

#[test]
fn a_measured_spacing_replaces_the_pace() {
    let mut measured = plain();
    measured.set("pull_spacing", Value::Text("3 us:0, 5 us:1")).unwrap().unwrap();
    let mut s = host_with(&measured);
    s.receives_all((0..4).map(|seq| full(data(seq))));
    s.at(us(100));
    let gaps = gaps(&pull_times(&mut s));
    assert!(gaps.len() == 3 && gaps.iter().all(|gap| (3_000_000..=5_000_000).contains(gap)), "{gaps:?}");
}

#[test]
fn pulls_that_ride_on_answers_are_paced_too() {
    let mut s = host();
    s.receives_all((0..3).map(|seq| full(data(seq)))).sends([ack_pull(0, 1), ack(1), ack(2)]);
    s.at(us(100));
    assert_eq!(pull_times(&mut s), [PACE.0, 2 * PACE.0]);
}

#[test]
fn connections_are_pulled_in_turn() {
    let mut s = host_with(&plain());
    // Host 5 has four packets before host 6 has one.
    s.receives_all((0..4).map(|seq| packet(5, seq, 0)));
    s.receives_all((0..2).map(|seq| packet(6, seq, 0)));
    s.receives(packet(7, 0, 0));
    s.at(us(100));
    assert_eq!(pulled(&mut s), [5, 6, 7, 5, 6, 5, 5]);
}

#[test]
fn a_marked_connection_is_pulled_strictly_first() {
    let mut s = host_with(&plain());
    s.receives_all((0..3).map(|seq| packet(5, seq, 0)));
    s.receives_all((0..3).map(|seq| packet(6, seq, 1)));
    s.at(us(100));
    assert_eq!(pulled(&mut s), [6, 6, 6, 5, 5, 5]);
}

#[test]
fn a_marked_connection_overtakes_pulls_that_wait() {
    let mut s = host_with(&plain());
    s.receives_all((0..4).map(|seq| packet(5, seq, 0)));
    s.at(us(1)).receives_all((0..2).map(|seq| packet(6, seq, 9)));
    s.at(us(100));
    assert_eq!(pulled(&mut s), [5, 6, 6, 5, 5, 5]);
}

#[test]
fn a_finished_connection_leaves_its_slots_to_others() {
    let mut s = host_with(&plain());
    s.receives_all([packet(5, 0, 0), packet(6, 0, 0), packet(6, 1, 0)]);
    let last =
        NdpHeader::Data { conn: ConnId::new(5), seq: 1, syn: true, last: true, pulled: false, priority: 0 };
    s.receives(Arriving::new(HostAddr(5), FULL, last));
    s.at(us(100));
    assert_eq!(pull_times(&mut s), [0, PACE.0]);
}

#[test]
fn the_link_never_idles_in_an_incast() {
    let mut s = host_with(&plain());
    let senders = 50;
    s.receives_all((5..5 + senders).flat_map(|from| (0..4).map(move |seq| packet(from, seq, 0).trimmed())));
    s.at(ms(10));
    let times = pull_times(&mut s);
    assert_eq!(times.len(), 4 * senders as usize);
    assert!(gaps(&times).iter().all(|gap| *gap == PACE.0));
}

#[test]
fn the_deadline_of_the_next_pull_is_known_by_name() {
    let mut s = host_with(&plain());
    s.receives_all([full(data(0)), full(data(1))]);
    s.at(Picos(0));
    let deadline = s.deadline().unwrap();
    assert_eq!((deadline.at.0, deadline.timer), (PACE.0, TimerKind::PullPacer));
}
