//! Frame rate of a switch in virtual time: the most that one core can emulate, without the cost of interfaces.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pullnet_qdisc::{Trim, TrimConfig};
use pullnet_switch::{Entry, Fabric, FabricSettings, Mac, Ndp, PortSettings, Selection, Silent, Slot};
use pullnet_units::{BitsPerSec, Instant, NodeId, Picos, PortId};
use pullnet_wire::{DataFields, Marks, PORT, Packet, Route, Shape, emit};

const HOSTS: u32 = 8;
const FRAMES: u64 = 7_000;

/// A data frame of `length` bytes from host `from` to host 0.
fn frame(from: u32, length: usize) -> Vec<u8> {
    let mac = |host: u32| pullnet_wire::Mac([2, 0, 0, 0, 0, host as u8]);
    let ip = |host: u32| std::net::IpAddr::from([10, 77, 0, host as u8 + 1]);
    let (from_mac, to_mac, from, to) = (mac(from), mac(0), ip(from), ip(0));
    let route = Route { from_mac, to_mac, from, to, from_port: Route::port_of(0), to_port: PORT };
    let payload = vec![0; length - 68];
    let shape =
        Shape::Data(DataFields { seq: 1, length: payload.len() as u16, service: 1, ..DataFields::default() });
    let mut out = vec![0; length];
    let packet = Packet { home: PORT, conn: 1, tag: 9, shape };
    emit(&mut out, &route, &Marks::default(), &packet, &payload).expect("it fits");
    out
}

/// Seven hosts send to one, each at the fraction `share` of its rate.
fn run(frames: &[Vec<u8>], rate: BitsPerSec, gap: Picos) -> u64 {
    let port = PortSettings { paced: true, ..PortSettings::outside(NodeId::new(0), rate) };
    let ports = [port; HOSTS as usize];
    let mut fabric = Fabric::<Trim<Slot>, _, _>::new(
        &TrimConfig::default(),
        FabricSettings::default(),
        &ports,
        Ndp::default(),
        Silent,
    )
    .expect("no port has a peer");
    let entry = Entry { ports: vec![PortId::new(0)], selection: Selection::default() };
    fabric.forward(NodeId::new(0), Mac::new([2, 0, 0, 0, 0, 0]), entry);
    let (mut now, mut left) = (Instant::ZERO, 0);
    for _ in 0..FRAMES / frames.len() as u64 {
        for (host, frame) in (1..).zip(frames) {
            fabric.arrive(PortId::new(host), now, frame);
        }
        now = now.after(gap);
        fabric.advance(now);
        while let Some(gone) = fabric.poll_departure() {
            left += black_box(fabric.frame(gone.frame)).len() as u64;
            fabric.release(gone.frame);
        }
    }
    left
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fabric");
    group.throughput(Throughput::Elements(FRAMES));
    let frames: Vec<_> = (1..HOSTS).map(|host| frame(host, 1514)).collect();
    let rate = BitsPerSec::gbps(1);
    group
        .bench_function("7 to 1, nothing trimmed", |b| b.iter(|| run(&frames, rate, Picos::from_micros(90))));
    group.bench_function("7 to 1, six of seven trimmed", |b| {
        b.iter(|| run(&frames, rate, Picos::from_micros(13)))
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
