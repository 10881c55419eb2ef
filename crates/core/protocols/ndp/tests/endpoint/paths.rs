//! Paths of the sender's packets: NDP (SIGCOMM 2017), section 3.1, and bursts on one path.

use crate::common::*;
use pullnet_ndp::{NdpConfig, NdpHeader};
use pullnet_transport::FlowSpec;
use pullnet_units::Packets;

#[test]
fn first_window_spreads_over_all_paths() {
    let mut s = host_with(&NdpConfig { initial_window: Packets(16), ..config() });
    s.opens(flow(16));
    let mut paths: Vec<_> = s.sent().iter().map(|sent| sent.packet.path).collect();
    paths.sort_unstable();
    assert_eq!(paths, (0..16).collect::<Vec<_>>());
}

#[test]
fn the_packets_of_a_burst_take_one_path_and_paths_differ_by_one_burst() {
    let config = NdpConfig { initial_window: Packets(64), burst: Packets(4), ..config() };
    let mut s = host_with(&config);
    s.opens(flow(200));
    let mut sent = s.sent();
    // Two packets of each burst are acknowledged before the rest of it leaves.
    s.at(us(20)).receives_all((0..64).map(|seq| word(ack(seq)))).receives(word(pull(6)));
    sent.extend(s.sent());
    s.at(us(30)).receives_all((64..70).map(|seq| word(ack(seq)))).receives(word(pull(10)));
    sent.extend(s.sent());
    let paths: Vec<_> = sent.iter().map(|sent| sent.packet.path).collect();
    assert_eq!(paths.len(), 74);
    assert!(paths[..68].chunks(4).all(|burst| burst.iter().all(|path| *path == burst[0])), "{paths:?}");
    let mut first: Vec<_> = paths[..64].chunks(4).map(|burst| burst[0]).collect();
    first.sort_unstable();
    assert_eq!(first, (0..16).collect::<Vec<_>>(), "every path once");
    assert_eq!((paths[68], paths[70]), (paths[69], paths[71]), "parts of a burst");
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
