//! Packets with arbitrary times: each is counted once at every timescale, or the capture is rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_capture::Time;
use pullnet_units::Picos;
use pullnet_volumes::{Binner, Origin, Plan};

const S: i128 = 1_000_000_000_000;

/// Decodes a packet's two bytes: the step in time, and whether packets are missing before it.
fn step(bytes: &[u8]) -> (i128, bool) {
    let units = [1, S / 1000, S, 3600 * S, 86_400 * S, -S / 1000, -S, -86_400 * S];
    (i128::from(bytes[0]) * units[usize::from(bytes[1] & 7)], bytes[1] & 8 != 0)
}

fuzz_target!(|bytes: &[u8]| {
    let [first, rest @ ..] = bytes else { return };
    let mut plan = Plan::new(vec![Picos(u64::from(*first) * 1_000_000_000 + 7), Picos::from_secs(10)]);
    plan.keep_partial = first & 1 == 1;
    plan.origin = [Origin::First, Origin::Aligned, Origin::At(Time(1_000_000 * S))][usize::from(first % 3)];
    plan.most_bins = 1 << 14;
    let mut binner = Binner::new(plan);
    let mut time = 1_000_000 * S;
    for pair in rest.chunks_exact(2) {
        let (distance, interrupted) = step(pair);
        time += distance;
        if interrupted {
            binner.interrupted();
        }
        binner.add(Time(time), u32::from(pair[1]));
    }
    let Ok((bins, totals)) = binner.finish() else { return };
    for bins in &bins {
        let packets = bins.packets.iter().sum::<u64>() + bins.partial.packets + bins.in_gaps.packets;
        assert_eq!(packets + totals.disbelieved.packets + totals.before_origin.packets, totals.all.packets);
        let bytes = bins.bytes.iter().sum::<u64>() + bins.partial.bytes + bins.in_gaps.bytes;
        assert_eq!(bytes + totals.disbelieved.bytes + totals.before_origin.bytes, totals.all.bytes);
    }
});
