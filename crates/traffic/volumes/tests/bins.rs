//! Bins against a naive count, and the treatment of implausible times.
#![allow(clippy::single_range_in_vec_init, reason = "a list of one gap is meant")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use pullnet_capture::Time;
use pullnet_units::Picos;
use pullnet_volumes::{Binner, Bins, Origin, Plan, Tally, Totals, VolumesError};

const S: i128 = 1_000_000_000_000;

fn plan(timescales: &[u64]) -> Plan {
    Plan::new(timescales.iter().map(|picos| Picos(*picos)).collect())
}

fn binned(plan: Plan, packets: &[(i128, u32)]) -> (Vec<Bins>, Totals) {
    let mut binner = Binner::new(plan);
    packets.iter().for_each(|(time, bytes)| binner.add(Time(*time), *bytes));
    binner.finish().unwrap()
}

/// Bytes by number of bin.
fn naive(packets: &[(i128, u32)], origin: i128, timescale: u64) -> BTreeMap<i128, u64> {
    let mut bins = BTreeMap::new();
    for (time, bytes) in packets {
        *bins.entry((time - origin).div_euclid(timescale.into())).or_default() += u64::from(*bytes);
    }
    bins
}

fn sums(bins: &Bins) -> Tally {
    Tally { packets: bins.packets.iter().sum(), bytes: bins.bytes.iter().sum() }
}

fn plus(a: Tally, b: Tally) -> Tally {
    Tally { packets: a.packets + b.packets, bytes: a.bytes + b.bytes }
}

/// Every packet is counted exactly once, in one of the totals.
fn adds_up(bins: &[Bins], totals: &Totals) {
    for bins in bins {
        let parts = [bins.partial, bins.in_gaps, totals.disbelieved, totals.before_origin];
        assert_eq!(parts.into_iter().fold(sums(bins), plus), totals.all, "{bins:?} {totals:?}");
    }
}

proptest! {
    #[test]
    fn bins_are_those_of_a_naive_count(
        start in -10i128 * S..2_000_000_000 * S,
        steps in prop::collection::vec((0i128..3 * S / 100, 0u32..9000), 1..400),
        timescales in prop::collection::vec(1u64..200_000_000_000, 1..5),
    ) {
        let mut time = start;
        let packets: Vec<(i128, u32)> = steps.into_iter().map(|(step, bytes)| { time += step; (time, bytes) }).collect();
        let needed = |timescale: &u64| (time - start) / i128::from(*timescale) + 1;
        prop_assume!(timescales.iter().map(needed).sum::<i128>() <= 1 << 20);
        let (bins, totals) = binned(Plan { keep_partial: true, ..plan(&timescales) }, &packets);
        for (bins, timescale) in bins.iter().zip(&timescales) {
            let expected = naive(&packets, packets[0].0, *timescale);
            let found: BTreeMap<i128, u64> = bins.bytes.iter().enumerate().map(|(i, b)| (i as i128, *b)).filter(|(i, b)| *b > 0 || expected.contains_key(i)).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(bins.start, Time(packets[0].0));
        }
        adds_up(&bins, &totals);
        let (cut, totals) = binned(plan(&timescales), &packets);
        adds_up(&cut, &totals);
        for (cut, bins) in cut.iter().zip(&bins) {
            prop_assert_eq!(&cut.bytes[..], &bins.bytes[..bins.bytes.len() - 1]);
        }
    }

    /// Any times at all, with interruptions: nothing panics, and every packet is counted once.
    #[test]
    fn any_times_add_up(
        packets in prop::collection::vec((0usize..6, -5_000i128..5_000, 0u32..2000, any::<bool>()), 1..200),
        origin in 0usize..3,
        keep_partial: bool,
    ) {
        let bases = [1_000 * S, 1_000 * S, 1_000 * S, 0, 4_000_000 * S, i128::from(i64::MAX)];
        let origin = [Origin::First, Origin::Aligned, Origin::At(Time(1_001 * S))][origin];
        let plan = Plan { origin, keep_partial, most_bins: 1 << 16, ..plan(&[S as u64 / 10, S as u64, 7]) };
        let plan = Plan { timescales: plan.timescales[..2].to_vec(), ..plan };
        let mut binner = Binner::new(plan);
        for (base, offset, bytes, interrupted) in &packets {
            if *interrupted {
                binner.interrupted();
            }
            binner.add(Time(bases[*base] + offset * S / 1000), *bytes);
        }
        if let Ok((bins, totals)) = binner.finish() {
            adds_up(&bins, &totals);
            for bins in &bins {
                prop_assert!(bins.gaps.windows(2).all(|pair| pair[0].end < pair[1].start));
                prop_assert!(bins.gaps.iter().all(|gap| gap.end <= bins.bytes.len()));
            }
        }
    }
}

#[test]
fn a_packet_on_the_border_belongs_to_the_later_bin() {
    let packets = [(5, 1), (5 + 99, 2), (5 + 100, 4), (5 + 250, 8)];
    let (bins, _) = binned(plan(&[100]), &packets);
    assert_eq!((&bins[0].bytes[..], bins[0].partial), (&[3, 4][..], Tally { packets: 1, bytes: 8 }));
}

#[test]
fn aligned_bins_begin_at_whole_multiples() {
    let packets = [(250, 1), (299, 2), (300, 4), (399, 8), (400, 16)];
    let aligned = Plan { origin: Origin::Aligned, ..plan(&[100]) };
    let (bins, totals) = binned(aligned.clone(), &packets);
    assert_eq!((&bins[0].bytes[..], bins[0].start), (&[12][..], Time(300)));
    adds_up(&bins, &totals);
    let (bins, _) = binned(Plan { keep_partial: true, ..aligned }, &packets);
    assert_eq!((&bins[0].bytes[..], bins[0].start), (&[3, 12, 16][..], Time(200)));
}

#[test]
fn packets_out_of_order_go_to_their_own_bins() {
    let packets = [(0, 1), (3 * S, 2), (S, 4), (2 * S, 8), (4 * S, 16)];
    let (bins, totals) = binned(plan(&[S as u64]), &packets);
    assert_eq!(bins[0].bytes, [1, 4, 8, 2]);
    assert_eq!((totals.reordered, totals.most_behind), (2, 2 * S as u64));
}

#[test]
fn a_packet_too_far_back_is_left_out_and_leaves_a_gap() {
    let packets = [(100 * S, 1), (103 * S, 2), (50 * S, 999), (104 * S, 4), (106 * S, 8), (108 * S, 0)];
    let (bins, totals) = binned(plan(&[S as u64]), &packets);
    assert_eq!(totals.disbelieved, Tally { packets: 1, bytes: 999 });
    assert_eq!((&bins[0].bytes[..], &bins[0].gaps[..]), (&[1, 0, 0, 0, 0, 0, 8, 0][..], &[3..5][..]));
    adds_up(&bins, &totals);
}

#[test]
fn one_absurd_jump_is_left_out_but_a_clock_that_was_set_is_followed() {
    let day = 86_400 * S;
    let far = 2 * day;
    let odd = [(0, 1), (S, 1), (2 * S, 1), (far, 7), (3 * S, 1), (5 * S, 1)];
    let (bins, totals) = binned(plan(&[S as u64]), &odd);
    assert_eq!((bins[0].bytes.len(), totals.disbelieved.bytes), (5, 7));
    assert_eq!(bins[0].gaps, [2..4]);
    let set = [(0, 1), (S, 1), (2 * S, 1), (far, 7), (far + S, 8), (far + 2 * S, 9), (far + 3 * S, 10)];
    let (bins, totals) = binned(plan(&[S as u64]), &set);
    adds_up(&bins, &totals);
    assert_eq!((totals.disbelieved.packets, totals.clock_set), (0, 1));
    let day_in_bins = (far / S) as usize;
    assert_eq!(bins[0].gaps, [2..day_in_bins + 1]);
    assert_eq!(bins[0].bytes[day_in_bins + 1..], [8, 9]);
}

#[test]
fn odd_times_at_the_begin_do_not_spoil_the_rest() {
    let far = 1_700_000_000 * S;
    let packets = [(0, 1), (far, 2), (far + S, 4), (far + 2 * S, 8), (far + 3 * S, 16)];
    let (bins, totals) = binned(plan(&[S as u64]), &packets);
    assert_eq!((&bins[0].bytes[..], bins[0].start), (&[2, 4, 8][..], Time(far)));
    assert_eq!(totals.disbelieved, Tally { packets: 1, bytes: 1 });
    adds_up(&bins, &totals);
}

#[test]
fn what_is_missing_between_packets_is_a_gap() {
    let mut binner = Binner::new(plan(&[S as u64, 3 * S as u64]));
    binner.add(Time(0), 1);
    binner.add(Time(S), 2);
    binner.interrupted();
    binner.add(Time(4 * S), 4);
    binner.add(Time(9 * S), 8);
    let (bins, totals) = binner.finish().unwrap();
    assert_eq!((&bins[0].gaps[..], bins[0].in_gaps), (&[1..5][..], Tally { packets: 2, bytes: 6 }));
    assert_eq!((&bins[1].gaps[..], &bins[1].bytes[..]), (&[0..2][..], &[0, 0, 0][..]));
    adds_up(&bins, &totals);
}

#[test]
fn too_many_bins_are_refused_with_what_would_work() {
    let mut binner = Binner::new(plan(&[1_000, S as u64]));
    (0..=86_400).for_each(|second| binner.add(Time(second * S), 100));
    let error = binner.finish().unwrap_err();
    assert_eq!(
        error.to_string(),
        "lasts 86400.000 s, which are 86400000086402 bins of 1 ns; at most 33554432 are kept. Use a timescale of \
         10 ms or more"
    );
    let (bins, _) = binned(plan(&[10_000_000_000]), &[(0, 1), (43_200 * S, 1), (86_400 * S, 1)]);
    assert_eq!(bins[0].bytes.len(), 8_640_000);
}

#[test]
fn no_packets_and_packets_before_the_origin_are_said_so() {
    assert_eq!(Binner::new(plan(&[1])).finish(), Err(VolumesError::NoPackets));
    let mut binner = Binner::new(Plan { origin: Origin::At(Time(9 * S)), ..plan(&[1]) });
    binner.add(Time(7 * S), 1);
    let text = binner.finish().unwrap_err().to_string();
    assert_eq!(text, "has no packet after the origin; its last is 2.000000 s before it");
}
