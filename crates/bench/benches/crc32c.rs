//! The check of a payload (CRC-32C): bytes per second of one thread, for a header and for full packets of 1500 and 9000 B.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pullnet_wire::{HEADER, crc32c, payload_room};

fn check(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("crc32c");
    for length in [HEADER, payload_room(1500, false), payload_room(9000, false)] {
        let bytes: Vec<u8> = (0..length).map(|index| (index * 31) as u8).collect();
        group.throughput(Throughput::Bytes(length as u64));
        group.bench_function(BenchmarkId::from_parameter(length), |bench| {
            bench.iter(|| crc32c(&[black_box(&bytes)]));
        });
    }
    group.finish();
}

criterion_group!(benches, check);
criterion_main!(benches);
