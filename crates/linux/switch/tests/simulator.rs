//! A switch of frames and the engine's port behave identically for the same arrivals, to the picosecond.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Frame, Log, Toy, mac};
use proptest::prelude::*;
use pullnet_qdisc::{Discipline, SwitchConfig, with_discipline};
use pullnet_scenario::{Scenario, compile};
use pullnet_sim::{Packet, Sent, one_port};
use pullnet_switch::{Dropped, Entry, Event, Fabric, FabricSettings, Kind, PortSettings, Selection, Slot};
use pullnet_transport::{Fate, HostAddr, Packed, Small};
use pullnet_units::{BitsPerSec, Instant, NodeId, PathLabel, Picos, PortId, WireLen};

const HOSTS: u8 = 6;

/// A frame on its way to host 0.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: u64,
    from: u8,
    control: bool,
    length: usize,
}

/// Observations that must agree.
#[derive(PartialEq, Eq, Debug)]
struct Trace {
    /// Time at the other end, number, length, and whether the frame is a header.
    departures: Vec<(u64, u64, u32, bool)>,
    /// Time, number.
    returned: Vec<(u64, u64)>,
    /// Trims, returns and drops by time.
    steps: BTreeMap<u64, [u64; 3]>,
}

fn scenario(switch: &str, rate: &str, seed: u64) -> Arc<Scenario> {
    let text = format!(
        "name = \"one port\"\nseed = {seed}\nduration = \"1 ms\"\n\
         topology = {{ kind = \"star\", hosts = {HOSTS}, link = {{ rate = \"{rate}\", delay = \"1 us\" }} }}\n\
         transport = {{ kind = \"ndp\" }}\nswitch = {{ {switch} }}\n\
         [[traffic]]\nkind = \"incast\"\ndegree = 2\nsize = \"90 kB\"\n"
    );
    Arc::new(
        compile("one-port.toml", &text, &[], &BTreeMap::new()).unwrap_or_else(|errors| panic!("{errors:?}")),
    )
}

fn simulated(scenario: &Arc<Scenario>, arrivals: &[Arrival]) -> Trace {
    let packet = |(id, arrival): (u32, &Arrival)| {
        let packed = Packed { kind: 0, words: [id, 0, 0] };
        let (from, size) = (HostAddr(arrival.from.into()), arrival.length as u16);
        let sent = Sent {
            control: arrival.control,
            priority: 0,
            ect: true,
            label: PathLabel::new(0),
            size: WireLen::new(size),
        };
        (Instant(arrival.at), arrival.from.into(), Packet::new(from, HostAddr(0), sent, packed))
    };
    let packets: Vec<_> = (0..).zip(arrivals).map(packet).collect();
    let ran = one_port(scenario, PortId::new(0), &packets);
    let id = |packet: &Packet<Small>| u64::from(packet.packed().words[0]);
    let trimmed = match &scenario.switch {
        SwitchConfig::Trim(trim) => trim.trim_to.0 as u32,
        _ => 0,
    };
    let size = |packet: &Packet<Small>| pullnet_qdisc::Item::wire(packet, trimmed);
    let (back, on): (Vec<_>, Vec<_>) =
        ran.emissions.iter().partition(|(_, packet)| packet.fate() == Fate::Returned);
    let departure = |(at, packet): (Instant, Packet<Small>)| {
        (at.0, id(&packet), size(&packet), packet.fate() == Fate::Trimmed)
    };
    // A returned header arrives at the next port one window later; the time of the return itself is in `steps`.
    let window = back
        .first()
        .map_or(0, |(at, _)| at.0 - ran.steps.iter().find(|step| step.returned > 0).unwrap().at.0);
    let mut steps: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
    for step in &ran.steps {
        let sum = steps.entry(step.at.0).or_default();
        for (sum, more) in sum.iter_mut().zip([step.trimmed, step.returned, step.dropped]) {
            *sum += more;
        }
    }
    Trace {
        departures: on.into_iter().map(departure).collect(),
        returned: back.into_iter().map(|(at, packet)| (at.0 - window, id(&packet))).collect(),
        steps,
    }
}

fn switched<Q: Discipline<Slot>>(
    config: &Q::Config,
    rate: BitsPerSec,
    seed: u64,
    arrivals: &[Arrival],
) -> Trace {
    let port =
        PortSettings { node: NodeId::new(0), rate, delay: Picos::from_micros(1), paced: false, peer: None };
    let settings = FabricSettings { seed, ..FabricSettings::default() };
    let ports = [port; HOSTS as usize];
    let mut fabric = Fabric::<Q, _, _>::new(config, settings, &ports, Toy, Log::default()).unwrap();
    let entry = Entry { ports: vec![PortId::new(0)], selection: Selection::default() };
    fabric.forward(NodeId::new(0), mac(0), entry);
    for (id, Arrival { at, from, control, length }) in (0..).zip(arrivals) {
        let kind = if *control { Kind::Control } else { Kind::Data };
        let frame = Frame { from: *from, to: 0, kind, label: 0, id, length: *length }.bytes();
        // The engine may look ahead; a driver only knows about past arrivals.
        fabric.advance(Instant(at - 1));
        fabric.arrive(PortId::new((*from).into()), Instant(*at), &frame);
    }
    fabric.advance(Instant(u64::MAX - 1));
    let mut departures = Vec::new();
    while let Some(gone) = fabric.poll_departure() {
        let frame = fabric.frame(gone.frame);
        departures.push((
            gone.at.0,
            common::id_of(frame),
            frame.len() as u32,
            common::kind_of(frame) == Kind::Header,
        ));
        fabric.release(gone.frame);
    }
    assert_eq!(fabric.frames_held(), 0, "every frame is given back");
    let (mut steps, mut returned) = (BTreeMap::<u64, [u64; 3]>::new(), Vec::new());
    for (at, port, event, id, _) in &fabric.observer().0 {
        let which = match event {
            Event::Trimmed => 0,
            Event::Returned => 1,
            // A returned header has no way back here: hosts have no entries.
            Event::Dropped(Dropped::NoRoute) => continue,
            Event::Dropped(_) => 2,
            _ => continue,
        };
        assert_eq!(*port, PortId::new(0));
        steps.entry(at.0).or_default()[which] += 1;
        if which == 1 {
            returned.push((at.0, *id));
        }
    }
    let trims: u64 = steps.values().map(|step| step[0]).sum();
    assert_eq!(fabric.counters(PortId::new(0)).trim_packets, trims);
    Trace { departures, returned, steps }
}

fn compare(switch: &str, rate: &str, seed: u64, arrivals: &[Arrival]) {
    let scenario = scenario(switch, rate, seed);
    let expected = simulated(&scenario, arrivals);
    let rate = rate.parse().unwrap();
    let found =
        with_discipline!(&scenario.switch, |config: Q| switched::<Q<Slot>>(config, rate, seed, arrivals));
    assert_eq!(found, expected);
}

/// Bursts from several links, with simultaneous arrivals, at about the rate of the port. Data is at least as long as a
/// trimmed header: of shorter data, the engine's packets keep a multiple of 8 B.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap =
        prop_oneof![3 => Just(0u64), 2 => 1u64..100_000, 3 => 500_000u64..9_000_000, 1 => Just(7_251_200)];
    let length = prop_oneof![Just(9064usize), Just(1564), 128usize..9064];
    let arrival = (gap, 1..HOSTS, prop::bool::weighted(0.3), length);
    prop::collection::vec(arrival, 1..250).prop_map(|rows| {
        let mut at = 1;
        let mut place = |(gap, from, control, length): (u64, u8, bool, usize)| {
            at += gap;
            Arrival { at, from, control, length: if control { 64 } else { length } }
        };
        rows.into_iter().map(&mut place).collect()
    })
}

fn switch() -> impl Strategy<Value = String> {
    let queue = prop_oneof![Just("1 packets"), Just("8 packets"), Just("20 kB")];
    let control = prop_oneof![Just("72 kB"), Just("3 packets"), Just("640 B")];
    let trim =
        (queue.clone(), control, 1u32..12, any::<bool>(), any::<bool>(), prop_oneof![Just(64), Just(128)]);
    prop_oneof![
        3 => trim.prop_map(|(data, control, ratio, arriving, back, left)| format!(
            "kind = \"trim\", data_queue = \"{data}\", control_queue = \"{control}\", control_per_data = {ratio}, \
             victim = \"{}\", return_to_sender = {back}, trim_to = \"{left} B\"",
            if arriving { "arriving" } else { "coin" }
        )),
        1 => queue.prop_map(|queue| format!("kind = \"drop-tail\", queue = \"{queue}\"")),
        1 => Just("kind = \"shared-buffer\", pool = \"60 kB\", alpha = 0.7".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_same_departures_trims_and_drops_at_the_same_times(
        arrivals in arrivals(),
        switch in switch(),
        rate in prop_oneof![Just("10 Gbps"), Just("1 Gbps"), Just("3000000001 bps")],
        seed in 0u64..1000,
    ) {
        compare(&switch, rate, seed, &arrivals);
    }
}
