//! Properties that hold for any sequence of packets in every discipline.

use proptest::prelude::*;
use pullnet_qdisc::{
    CutPayload, CutPayloadConfig, Discipline, DropReason, DropTail, DropTailConfig, Lookahead, Occupancy,
    Outcome, Pfc, PfcConfig, Priority, PriorityConfig, SharedBuffer, SharedBufferConfig, Sharing, Trim,
    TrimConfig,
};
use pullnet_units::{Bytes, Packets, QueueSize};

use crate::common::{Class, Pkt, data, packet};
use crate::pfabric::{pfabric, ranked};
use crate::port::{Port, gone, is_data};
use crate::priority::urgent;

/// An arrival or departure.
#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive(Class, u32, bool),
    Serve,
    Complete,
}

fn op() -> impl Strategy<Value = Op> {
    let class = prop::sample::select(vec![
        Class::Data,
        Class::Data,
        Class::Data,
        Class::Control,
        Class::Header,
        Class::Returned,
    ]);
    let arrive =
        (class, 65u32..3000, any::<bool>()).prop_map(|(class, len, coin)| Op::Arrive(class, len, coin));
    prop_oneof![3 => arrive, 2 => Just(Op::Serve), 2 => Just(Op::Complete)]
}

fn size() -> impl Strategy<Value = QueueSize> {
    prop_oneof![
        (1u32..12).prop_map(|n| QueueSize::Packets(Packets(n))),
        (3000u64..20_000).prop_map(|n| QueueSize::Bytes(Bytes(n)))
    ]
}

fn within(size: QueueSize, packets: u64, bytes: u64) -> bool {
    match size {
        QueueSize::Packets(most) => packets <= u64::from(most.0),
        QueueSize::Bytes(most) => bytes <= most.0,
    }
}

/// Runs `ops` on a port; checks that packets are conserved, and `holds` after every step with the packet in service.
fn conserved<Q: Discipline<Pkt>>(
    port: &mut Port<Q>,
    ops: &[Op],
    holds: impl Fn(&Port<Q>, Option<Pkt>) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let (mut arrived, mut gone, mut serving) = (0u64, 0u64, None);
    for op in ops {
        match *op {
            Op::Arrive(class, len, coin) => {
                let len = if class == Class::Data { len } else { 64 };
                let (priority, flow, rank) = ((len % 8) as u8, u64::from(len % 5), len % 11);
                let arriving = Pkt { priority, flow, rank, ..packet(arrived, len, class) };
                let shorter = port.toss(arriving, || coin);
                arrived += 1;
                gone +=
                    u64::from(matches!(shorter, Some(Outcome::Returned { .. } | Outcome::Dropped { .. })));
            }
            Op::Serve if serving.is_none() => {
                serving = port.start();
                gone += u64::from(serving.is_some());
            }
            Op::Complete if serving.is_some() => {
                port.complete();
                serving = None;
            }
            _ => {}
        }
        let waiting = port.waiting();
        prop_assert_eq!(arrived, gone + waiting.len() as u64);
        let data = waiting.iter().filter(|packet| is_data(packet)).count() as u32;
        prop_assert_eq!(port.queue.data_held(), data + u32::from(serving.as_ref().is_some_and(is_data)));
        prop_assert_eq!(port.queue.queued(true), waiting.len() as u32 - data);
        prop_assert_eq!(port.queue.is_empty(), waiting.is_empty());
        holds(port, serving)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_trimming_port_conserves_packets_and_keeps_its_capacity(
        ops in prop::collection::vec(op(), 0..300),
        data_queue in size(),
        control_queue in size(),
        return_to_sender: bool,
        control_per_data in 1u32..12,
    ) {
        let config = TrimConfig { data_queue, control_queue, return_to_sender, control_per_data, ..TrimConfig::default() };
        conserved(&mut Port::<Trim<Pkt>>::new(&config), &ops, |port, serving| {
            let serving = serving.filter(is_data).map_or(0, |packet| u64::from(packet.len));
            prop_assert!(within(data_queue, port.queue.data_held().into(), port.waiting_bytes(is_data) + serving));
            let control = port.waiting_bytes(|packet| !is_data(packet));
            prop_assert!(within(control_queue, port.queue.queued(true).into(), control));
            Ok(())
        })?;
    }

    #[test]
    fn room_that_is_promised_is_there(
        ops in prop::collection::vec(op(), 0..100),
        data_queue in size(),
        control_queue in size(),
        largest in 65u32..3000,
    ) {
        let config = TrimConfig { data_queue, control_queue, ..TrimConfig::default() };
        let mut port = Port::<Trim<Pkt>>::new(&config);
        conserved(&mut port, &ops, |_, _| Ok(()))?;
        let (mut full, room) = (Port::<Trim<Pkt>> { queue: port.queue.clone(), rules: port.rules, shared: (), now: port.now, signals: Vec::new() }, port.queue.data_room(&port.rules, largest));
        for id in 0..room.min(1000) {
            prop_assert_eq!(full.put(data(id.into(), largest)), None);
        }
        let room = port.queue.control_room(&port.rules);
        for id in 0..room.min(1000) {
            let returned = matches!(port.toss(data(id.into(), largest), || id % 2 == 0), Some(Outcome::Returned { .. }));
            prop_assert!(!returned);
        }
    }

    #[test]
    fn drop_tail_conserves_packets_and_keeps_its_capacity(ops in prop::collection::vec(op(), 0..300), queue in size()) {
        conserved(&mut Port::<DropTail<Pkt>>::new(&DropTailConfig { queue, ..DropTailConfig::default() }), &ops, |port, serving| {
            let held = port.waiting().len() as u64 + u64::from(serving.is_some());
            let bytes = port.waiting_bytes(|_| true) + serving.map_or(0, |packet| packet.len.into());
            prop_assert!(within(queue, held, bytes));
            Ok(())
        })?;
    }

    #[test]
    fn cut_payload_conserves_packets_and_keeps_its_capacities(
        ops in prop::collection::vec(op(), 0..300),
        threshold in size(),
        queue in size(),
        all: bool,
    ) {
        let occupancy = if all { Occupancy::All } else { Occupancy::Data };
        let config = CutPayloadConfig { threshold, occupancy, queue, ..CutPayloadConfig::default() };
        conserved(&mut Port::<CutPayload<Pkt>>::new(&config), &ops, |port, serving| {
            let held = port.waiting().len() as u64 + u64::from(serving.is_some());
            let bytes = port.waiting_bytes(|_| true) + serving.map_or(0, |packet| packet.len.into());
            prop_assert!(within(queue, held, bytes));
            let of_data = serving.filter(is_data).map_or(0, |packet| u64::from(packet.len));
            let data = port.waiting_bytes(is_data) + of_data;
            prop_assert!(within(threshold, port.queue.data_held().into(), data));
            Ok(())
        })?;
    }

    #[test]
    fn a_priority_port_conserves_packets_and_keeps_its_capacity(
        ops in prop::collection::vec(op(), 0..300),
        queue in size(),
        own: bool,
    ) {
        let sharing = if own { Sharing::Class } else { Sharing::Port };
        let config = PriorityConfig { queue, sharing, ..PriorityConfig::default() };
        conserved(&mut Port::<Priority<Pkt>>::new(&config), &ops, |port, serving| {
            let all = || port.waiting().into_iter().chain(serving);
            for class in 0..8 {
                let counts = |packet: &Pkt| !own || packet.priority == class;
                let bytes = all().filter(counts).map(|packet| u64::from(packet.len)).sum();
                prop_assert!(within(queue, all().filter(counts).count() as u64, bytes));
            }
            Ok(())
        })?;
    }

    #[test]
    fn strict_priority_is_a_stable_sort(steps in prop::collection::vec(prop::option::weighted(0.6, 0u8..8), 0..200)) {
        let mut port = Port::<Priority<Pkt>>::new(&PriorityConfig::default());
        let mut model: Vec<Pkt> = Vec::new();
        for (id, step) in (0..).zip(steps) {
            match step {
                Some(priority) => {
                    port.fill([urgent(id, priority)]);
                    model.push(urgent(id, priority));
                }
                None => {
                    let first = model.iter().rev().max_by_key(|packet| packet.priority).map(|packet| packet.id);
                    let at = model.iter().position(|packet| Some(packet.id) == first);
                    prop_assert_eq!(port.serve(), at.map(|at| model.remove(at)));
                }
            }
        }
    }

    #[test]
    fn a_pfabric_port_conserves_packets_and_keeps_its_capacity(ops in prop::collection::vec(op(), 0..300), most in 1u32..12) {
        conserved(&mut pfabric(most), &ops, |port, serving| {
            prop_assert!(port.waiting().len() + usize::from(serving.is_some()) <= most as usize);
            Ok(())
        })?;
    }

    #[test]
    fn a_pfabric_port_holds_and_serves_the_most_urgent_packets(
        steps in prop::collection::vec(prop::option::weighted(0.7, (0u64..4, 0u32..9)), 0..200),
        most in 1usize..9,
    ) {
        let mut port = pfabric(most as u32);
        let mut model: Vec<Pkt> = Vec::new();
        for (id, step) in (0..).zip(steps) {
            let Some((flow, rank)) = step else {
                let first = model.iter().min_by_key(|packet| (packet.rank, packet.id)).map(|packet| packet.flow);
                let at = model.iter().position(|packet| Some(packet.flow) == first);
                prop_assert_eq!(port.serve(), at.map(|at| model.remove(at)));
                continue;
            };
            model.push(ranked(id, flow, rank));
            let dropped = port.put(ranked(id, flow, rank));
            let last = model.iter().max_by_key(|packet| (packet.rank, packet.id)).copied();
            let expected = last.filter(|_| model.len() > most);
            model.retain(|packet| Some(*packet) != expected);
            prop_assert_eq!(dropped, expected.map(|packet| gone(packet, DropReason::DataQueueFull, false)));
        }
    }

    #[test]
    fn a_pool_is_what_its_ports_do_not_hold(ops in prop::collection::vec(op(), 0..300), pool in 3000u64..30_000, alpha in 0.1f64..10.0) {
        let config = SharedBufferConfig { pool: Bytes(pool), alpha, ..SharedBufferConfig::default() };
        conserved(&mut Port::<SharedBuffer<Pkt>>::new(&config), &ops, |port, serving| {
            let held = port.waiting_bytes(|_| true) + serving.map_or(0, |packet| packet.len.into());
            prop_assert_eq!(port.shared.free() + held, pool);
            Ok(())
        })?;
    }

    #[test]
    fn a_lossless_port_keeps_within_its_memory_and_takes_back_every_pause(
        ops in prop::collection::vec(op(), 0..300), headroom in 0u64..6000, reserve in 0u64..3000, alpha in 0.1f64..10.0
    ) {
        let config = PfcConfig {
            buffer: Bytes(20_000), headroom: Bytes(headroom), reserve: Bytes(reserve), alpha, resume_below: Bytes(500), ..PfcConfig::default()
        };
        let mut port = Port::<Pfc<Pkt>>::new(&config);
        conserved(&mut port, &ops, |port, _| {
            prop_assert!(port.waiting_bytes(|_| true) <= 20_000);
            Ok(())
        })?;
        // A packet may still be in service.
        port.queue.complete(&port.rules, &mut port.shared, &mut crate::common::idle());
        while port.serve().is_some() {}
        prop_assert_eq!(port.shared.free(), 20_000 - headroom - reserve);
        prop_assert!(port.signals.last().is_none_or(|(_, signal)| signal.paused == 0));
    }
}
