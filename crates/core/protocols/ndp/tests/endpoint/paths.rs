//! Paths of the sender's packets: NDP (SIGCOMM 2017), section 3.1, and bursts on one path.

use crate::common::*;
use pullnet_ndp::{NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_transport::FlowSpec;
use pullnet_transport::script::Script;
use pullnet_units::Packets;

#[test]
fn first_window_spreads_over_all_paths() {
    let mut s = host_with(&NdpConfig { initial_window: Packets(16), ..config() });
    s.opens(flow(16));
    let mut paths: Vec<_> = s.sent().iter().map(|sent| sent.packet.path).collect();
    paths.sort_unstable();
    assert_eq!(paths, (0..16).collect::<Vec<_>>());
}

/// Packets in a round. All of them are answered before the next round.
const ROUND: u32 = 64;

/// Paths of the packets that leave next.
fn paths(s: &mut Script<NdpEndpoint>) -> Vec<u16> {
    s.sent().iter().map(|sent| sent.packet.path).collect()
}

/// Answers all packets of round `round`, the first `trimmed` of them by NACKs, and pulls a whole round of new ones.
fn answers(s: &mut Script<NdpEndpoint>, round: u32, trimmed: u32) {
    let seqs = round * ROUND..(round + 1) * ROUND;
    let answer = |seq: u32| word(if seq < round * ROUND + trimmed { nack(seq) } else { ack(seq) });
    s.at(us(20 * u64::from(round + 1))).receives_all(seqs.map(answer));
}

/// Whether the packets lie in bursts of `length` packets, each on one path, and in no longer ones.
fn are_bursts_of(paths: &[u16], length: usize) -> bool {
    let all_alike = |length| paths.chunks(length).all(|burst| burst.iter().all(|path| *path == burst[0]));
    all_alike(length) && !all_alike(2 * length)
}

#[test]
fn bursts_double_while_packets_arrive_whole_up_to_the_longest() {
    let mut s = host_with(&NdpConfig { initial_window: Packets(ROUND), burst: Packets(8), ..config() });
    s.opens(FlowSpec { size: None, ..flow(1) });
    for round in 0..24 {
        let length = 1 << (round / 4).min(3);
        let paths = paths(&mut s);
        assert_eq!(paths.len(), ROUND as usize);
        assert!(are_bursts_of(&paths, length), "round {round}, {length}: {paths:?}");
        answers(&mut s, round, 0);
        s.receives(word(pull((round + 1) * ROUND)));
    }
}

#[test]
fn after_a_trimmed_packet_each_takes_a_path_of_its_own() {
    let mut s = host_with(&NdpConfig { initial_window: Packets(ROUND), burst: Packets(64), ..config() });
    s.opens(FlowSpec { size: None, ..flow(1) });
    for round in 0..9 {
        s.sent();
        answers(&mut s, round, 0);
        s.receives(word(pull((round + 1) * ROUND)));
    }
    assert!(are_bursts_of(&paths(&mut s), 4));
    // The NACK comes first, and 63 ACKs behind it: too few to double anything.
    answers(&mut s, 9, 1);
    s.receives(word(pull(10 * ROUND)));
    let again = paths(&mut s);
    assert!(are_bursts_of(&again[1..], 1), "{again:?}");
}

#[test]
fn without_longer_bursts_no_packet_follows_another_one() {
    let mut s = host_with(&NdpConfig { initial_window: Packets(16), ..config() });
    s.opens(FlowSpec { size: None, ..flow(1) });
    for round in 0..40 {
        let mut paths = paths(&mut s);
        paths.sort_unstable();
        assert_eq!(paths, (0..16).collect::<Vec<_>>());
        s.at(us(20 * (round + 1))).receives_all((0..16).map(|seq| word(ack(16 * round as u32 + seq))));
        s.receives(word(pull(16 * (round as u32 + 1))));
    }
}

#[test]
fn the_paths_of_a_connection_differ_by_one_packet_at_most() {
    // Without a scoreboard no path is left out; all timers are looked at, and pulls come one by one.
    let mut s = host_with(&NdpConfig { scoreboard: false, ..config() });
    s.opens(FlowSpec { size: None, ..flow(1) });
    let mut used = [0u32; 16];
    for number in 1..400 {
        let sent = s.sent();
        let mut seqs = Vec::new();
        for sent in sent {
            let NdpHeader::Data { seq, .. } = sent.packet.header else { continue };
            seqs.push(seq);
            used[usize::from(sent.packet.path)] += 1;
            let (least, most) = (used.iter().min().unwrap(), used.iter().max().unwrap());
            assert!(most - least <= 1, "{used:?}");
        }
        s.at(us(300 * u64::from(number))).receives_all(seqs.into_iter().map(|seq| word(ack(seq))));
        s.receives(word(pull(number)));
    }
    assert!(used.iter().sum::<u32>() >= 400);
}
