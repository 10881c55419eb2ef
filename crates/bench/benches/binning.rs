//! Sorts packets of a capture into bins of 5 ms, 100 ms, 1 s and 5 s at once; packets per second of one thread.

use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pullnet_capture::{Filter, Reader};
use pullnet_units::Picos;
use pullnet_volumes::{Count, Plan};

const PACKETS: u64 = 200_000;
/// Captured bytes of each packet.
const SNAP: usize = 100;

/// Time and length of a packet: 5 us apart on average, of any Ethernet length.
fn packet(number: u64) -> (u64, u32) {
    let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (number * 5_000 + scattered % 5_000, 60 + (scattered % 1455) as u32)
}

fn headers() -> Vec<u8> {
    let mut data = vec![0; SNAP];
    data[12..14].copy_from_slice(&[8, 0]);
    data[14..34].copy_from_slice(&[0x45, 0, 5, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 192, 0, 2, 9]);
    data
}

fn pcap() -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, SNAP as u32, 1] {
        bytes.extend(value.to_le_bytes());
    }
    let data = headers();
    for (nanos, length) in (0..PACKETS).map(packet) {
        for value in [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, SNAP as u32, length] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(&data);
    }
    bytes
}

fn pcapng() -> Vec<u8> {
    let mut bytes = Vec::new();
    let section = [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    let interface = [1, 28, 1, 0, 9 | 1 << 16, 9, 28];
    section.iter().chain(&interface).for_each(|value| bytes.extend(value.to_le_bytes()));
    let data = headers();
    let block = 32 + SNAP as u32;
    for (nanos, length) in (0..PACKETS).map(packet) {
        let head = [6, block, 0, (nanos >> 32) as u32, nanos as u32, SNAP as u32, length];
        head.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        bytes.extend(&data);
        bytes.extend(block.to_le_bytes());
    }
    bytes
}

fn read(bytes: &Arc<[u8]>, filter: Option<&Filter>) -> u64 {
    let reader = Reader::open(Cursor::new(Arc::clone(bytes))).expect("a capture");
    let scales = [5, 100, 1_000, 5_000].map(Picos::from_millis);
    let mut count = Count::new(reader, filter.cloned(), Plan::new(scales.to_vec()));
    while count.advance(1 << 18) {}
    let finished = count.finish().expect("packets");
    assert_eq!(finished.totals.all.packets, PACKETS);
    finished.bins[0].bytes.iter().sum()
}

fn binning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("binning");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(20);
    let filter: Filter = "tcp, src 10.0.0.0/8".parse().expect("a filter");
    for (format, bytes) in [("pcap", pcap()), ("pcapng", pcapng())] {
        let bytes: Arc<[u8]> = bytes.into();
        group.bench_function(BenchmarkId::new(format, "all"), |bench| {
            bench.iter(|| read(black_box(&bytes), None))
        });
        group.bench_function(BenchmarkId::new(format, "filter"), |bench| {
            bench.iter(|| read(black_box(&bytes), Some(&filter)));
        });
    }
    group.finish();
}

criterion_group!(benches, binning);
criterion_main!(benches);
