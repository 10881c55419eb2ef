//! Damaged and truncated captures: readable parts are read, and every byte is accounted for.

mod common;

use common::*;
use proptest::prelude::*;
use pullnet_capture::DamageKind;

const MICROS: u32 = 0xa1b2_c3d4;

/// `count` packets of 1 to 90 captured bytes, some milliseconds apart.
fn packets(count: u64, seed: u64) -> Vec<Seen> {
    let mut numbers = Numbers(seed | 1);
    let mut picos = 1_600_000_000_000_000_000_000;
    let mut packet = |_| {
        picos += i128::from(numbers.below(5_000)) * 1_000_000;
        let length = 1 + numbers.below(90) as usize;
        let data = (0..length).map(|_| numbers.next() as u8).collect();
        Seen { picos, wire: length as u32 + numbers.below(1400) as u32, data }
    };
    (0..count).map(&mut packet).collect()
}

fn forms(packets: &[Seen]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("pcap", pcap(Order::Little, MICROS, packets)),
        ("big pcap", pcap(Order::Big, MICROS, packets)),
        ("pcapng", pcapng(Order::Little, packets)),
        ("big pcapng", pcapng(Order::Big, packets)),
        ("erf", erf(packets)),
    ]
}

#[test]
fn every_truncation_gives_what_is_whole_and_counts_the_rest() {
    let packets = packets(12, 7);
    for (form, bytes) in forms(&packets) {
        let whole = read(&bytes);
        let mut last = 0;
        for length in 0..bytes.len() {
            let Ok(cut) = try_read(&bytes[..length]) else { continue };
            assert_eq!(cut.length, length as u64, "{form} cut at {length}");
            assert_eq!(cut.packets, whole.packets[..cut.packets.len()], "{form} cut at {length}");
            assert!(cut.packets.len() >= last, "{form} cut at {length}");
            let at_record = cut.losses.places == 0;
            assert_eq!(at_record, cut.losses.skipped == 0);
            assert!(at_record || cut.losses.damage[0].kind == DamageKind::Truncated);
            last = cut.packets.len();
        }
        assert_eq!(last, packets.len() - 1, "{form}");
    }
}

#[test]
fn truncated_compressed_streams_say_what_was_not_used() {
    let packets = packets(400, 3);
    let plain = pcap(Order::Little, MICROS, &packets);
    for (form, packed) in [("gzip", gzip(&[&plain])), ("zstd", zstd(&[&plain]))] {
        for length in (0..packed.len()).step_by(97) {
            let Ok(cut) = try_read(&packed[..length]) else { continue };
            assert_eq!(cut.packets, packets[..cut.packets.len()], "{form} cut at {length}");
            let stream = |damage: &pullnet_capture::Damage| matches!(damage.kind, DamageKind::Stream { .. });
            assert!(cut.losses.damage.iter().any(stream), "{form} cut at {length}");
        }
    }
}

#[test]
fn what_follows_a_gzip_stream_is_counted() {
    let plain = pcap(Order::Little, MICROS, &packets(40, 3));
    let packed = [gzip(&[&plain]), b"rubbish behind it".to_vec()].concat();
    let read = read(&packed);
    assert_eq!(read.packets.len(), 40);
    let unread = b"rubbish behind it".len() as u64;
    let [damage] = &read.losses.damage[..] else { panic!("{:?}", read.losses) };
    assert!(
        matches!(&damage.kind, DamageKind::Stream { unread: found, .. } if *found == unread),
        "{damage:?}"
    );
}

#[test]
fn reading_goes_on_behind_damage() {
    let packets = packets(300, 11);
    for (form, bytes) in forms(&packets) {
        let mut broken = bytes.clone();
        let middle = bytes.len() / 2;
        broken[middle..middle + 300].fill(0xff);
        let read = read(&broken);
        assert!(read.breaks >= 1, "{form}");
        assert!(read.packets.len() > 280, "{form}: {} of 300", read.packets.len());
        assert!(read.packets.iter().rev().zip(packets.iter().rev()).take(100).all(|(a, b)| a.data == b.data));
        // 300 bytes and at most a record on either side: for pcapng up to 132 bytes.
        assert!((1..=300 + 2 * 140).contains(&read.losses.skipped), "{form}: {}", read.losses.skipped);
        assert_eq!(read.length, bytes.len() as u64);
    }
}

/// Blocks lost by a disk or during a copy read as zeros, and sixteen zeros are a possible header of a pcap record.
#[test]
fn zeros_are_no_packets_and_hide_none_behind_them() {
    let packets = packets(300, 11);
    for (form, bytes) in forms(&packets) {
        let sound = read(&bytes).packets;
        for at in bytes.len() / 2..bytes.len() / 2 + 160 {
            for length in [40, 512] {
                let mut broken = bytes.clone();
                broken[at..at + length].fill(0);
                let read = read(&broken);
                let what = format!("{form}: {length} zeros at {at}");
                let known = |seen: &&Seen| sound.iter().any(|packet| packet == *seen);
                let changed = read.packets.iter().filter(|seen| !known(seen)).count();
                // The packets in which the zeros begin and end.
                assert!(changed <= 2, "{what}: {changed} packets are none of the capture's");
                assert!(read.packets.len() <= 300, "{what}: {} of 300", read.packets.len());
                assert!(read.packets.len() >= 280, "{what}: {} of 300", read.packets.len());
                assert_eq!(read.packets.last(), sound.last(), "{what}");
                // 512 zeros cover several headers.
                assert!(length == 40 || read.breaks >= 1, "{what}: no gap");
                assert!(read.losses.skipped <= 512 + 2 * 140, "{what}: {} skipped", read.losses.skipped);
            }
        }
    }
}

/// One packet with an absurd time does not make all later ones implausible.
#[test]
fn damage_behind_an_impossible_time_loses_as_little_as_elsewhere() {
    for wrong in [0, 4_000_000_000] {
        let mut packets = packets(300, 5);
        packets[140].picos = wrong * 1_000_000_000_000;
        for (form, bytes) in forms(&packets) {
            let mut broken = bytes.clone();
            let behind = forms(&packets[..142]).into_iter().find(|(name, _)| *name == form).unwrap().1.len();
            broken[behind..behind + 100].fill(0xff);
            let read = read(&broken);
            assert!(read.packets.len() >= 290, "{form}: {} of 300", read.packets.len());
        }
    }
}

#[test]
fn a_clock_that_is_set_by_years_costs_no_packet() {
    let mut packets = packets(300, 5);
    for packet in &mut packets[150..] {
        packet.picos += 100_000_000 * 1_000_000_000_000;
    }
    for (form, bytes) in forms(&packets) {
        let read = read(&bytes);
        assert_eq!((read.packets.len(), read.breaks), (300, 0), "{form}");
    }
}

#[test]
fn a_block_whose_lengths_disagree_is_left_out() {
    let packets = packets(20, 5);
    let mut bytes = pcapng(Order::Little, &packets);
    let tenth = pcapng(Order::Little, &packets[..10]).len();
    bytes[tenth - 4] ^= 4;
    let read = read(&bytes);
    assert_eq!(read.packets.len(), 19);
    assert_eq!(read.losses.damage[0].kind, DamageKind::Lengths);
    assert_eq!((read.breaks, read.losses.records, read.losses.places), (1, 1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Bit flips after the file header lose a bounded number of packets, and every byte is accounted for.
    #[test]
    fn bit_flips_never_lose_count(seed in 1u64.., flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..6)) {
        for (form, bytes) in forms(&packets(60, seed)) {
            let mut flipped = bytes.clone();
            for (index, bit) in &flips {
                let at = 24 + index.index(bytes.len() - 24);
                flipped[at] ^= 1 << bit;
            }
            let Ok(read) = try_read(&flipped) else { continue };
            prop_assert_eq!(read.length, bytes.len() as u64, "{}", form);
            prop_assert!(read.losses.skipped <= bytes.len() as u64);
            prop_assert_eq!(read.losses.places > 0, read.losses.skipped > 0, "{}: {:?}", form, read.losses);
            let accounted: u64 = read.losses.damage.iter().map(|damage| damage.skipped).sum();
            prop_assert!(read.losses.places > 16 || accounted == read.losses.skipped);
            prop_assert!(read.breaks as u64 <= read.losses.places);
        }
    }

    /// Arbitrary bytes are read to their end or rejected.
    #[test]
    fn any_bytes_end(mut bytes in prop::collection::vec(any::<u8>(), 0..2000), head in 0usize..8) {
        let heads = [
            pcap_header(Order::Little, MICROS), pcap_header(Order::Big, MICROS), section(Order::Little),
            pcapng(Order::Big, &[]), erf(&three()), vec![0x1f, 0x8b, 8, 0], vec![0x28, 0xb5, 0x2f, 0xfd], vec![],
        ];
        bytes.splice(0..0, heads[head].iter().copied());
        if let Ok(read) = try_read(&bytes) {
            let packed = matches!(head, 5 | 6);
            prop_assert!(packed || read.length == bytes.len() as u64);
        }
    }
}
