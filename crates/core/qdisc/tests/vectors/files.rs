//! Golden vectors: what a queue was given, and what it did. Every switch of the project must do the same.
//!
//! The files lie in `vectors/qdisc/` in the root folder, with a schema and a README. Each test replays a file line by
//! line. `BLESS=1 cargo test -p pullnet-qdisc --test vectors` writes the files anew: look at the difference.

mod common;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Bench, Class, Pkt};
use pullnet_qdisc::{
    CutPayload, CutPayloadConfig, Discipline, DropReason, DropTail, DropTailConfig, Outcome, Pfabric, Pfc,
    Priority, Red, SharedBuffer, SharedBufferConfig, Signal, Trim, TrimConfig,
};
use pullnet_rng::{Seed, Stream};
use pullnet_settings::{Settings, Value as Text};
use pullnet_units::Instant;
use serde_json::{Map, Value, json};

/// Several ports of one switch.
struct Switch<Q: Discipline<Pkt>> {
    rules: Q::Rules,
    shared: Q::Shared,
    ports: Vec<(Q, Option<Pkt>)>,
    /// Priorities that the other end of each port's link has paused.
    paused: Vec<u8>,
}

impl<Q: Discipline<Pkt>> Switch<Q> {
    fn new(head: &Value) -> Self {
        let mut config = Q::Config::default();
        for (name, value) in head["config"].as_object().expect("the first line has a config") {
            let value = match value {
                Value::String(text) => Text::Text(text),
                Value::Bool(value) => Text::Bool(*value),
                Value::Number(number) => {
                    number.as_i64().map_or_else(|| Text::Float(number.as_f64().unwrap()), Text::Integer)
                }
                other => panic!("{name} = {other} is no setting"),
            };
            config.set(name, value).expect("a setting").expect("a value of it");
        }
        let rules = Q::rules(&config);
        let ports = head["ports"].as_u64().expect("the first line has a number of ports") as usize;
        let shared = Q::shared(&rules, ports);
        let paused = vec![0; ports];
        Self { shared, ports: (0..ports).map(|_| (Q::new(&rules), None)).collect(), rules, paused }
    }

    /// What one line asks for, with what comes of it.
    fn step(&mut self, line: &Value, free: impl Fn(&Q::Shared) -> Option<u64>) -> Value {
        let number = line["port"].as_u64().unwrap_or(0);
        let mut done = Map::new();
        done.insert("op".into(), line["op"].clone());
        done.insert("port".into(), number.into());
        let (queue, serving) = &mut self.ports[number as usize];
        let (tossed, drawn) = (Cell::new(false), Cell::new(false));
        let mut coin = || {
            tossed.set(true);
            line["coin"] != "tail"
        };
        let mut draw = || {
            drawn.set(true);
            line["draw"].as_f64().expect("an operation that needs a number has one")
        };
        let now = Instant(line["at"].as_u64().unwrap_or(0));
        let paused = self.paused[number as usize];
        let (outcomes, signals) = (Vec::new(), Vec::new());
        let mut cx = Bench { now, coin: &mut coin, draw: &mut draw, outcomes, paused, signals };
        match line["op"].as_str() {
            Some("enqueue") => {
                queue.enqueue(&self.rules, &mut self.shared, packet(&line["pkt"]), &mut cx);
                done.insert("pkt".into(), line["pkt"].clone());
                let displaced = match &cx.outcomes[..] {
                    [Outcome::Marked(_), more @ ..] if !more.is_empty() => {
                        done.insert("marked".into(), true.into());
                        more
                    }
                    all => all,
                };
                done.insert("verdict".into(), verdict(displaced));
            }
            Some("dequeue") => {
                assert!(serving.is_none(), "a packet is in service: {line}");
                *serving = queue.dequeue(&self.rules, &mut self.shared, &mut cx);
                done.insert("pkt".into(), serving.as_ref().map_or(Value::Null, words));
            }
            Some("complete") => {
                assert!(serving.take().is_some(), "no packet is in service: {line}");
                queue.complete(&self.rules, &mut self.shared, &mut cx);
            }
            Some("paused") => {
                self.paused[number as usize] = line["paused"].as_u64().expect("a mask") as u8;
                done.insert("paused".into(), line["paused"].clone());
            }
            _ => panic!("no such op: {line}"),
        }
        let signals: Vec<_> = cx.signals.iter().map(signal).collect();
        if !signals.is_empty() {
            done.insert("signals".into(), signals.into());
        }
        if tossed.get() {
            let victim = if line["coin"] == "tail" { "tail" } else { "arriving" };
            done.insert("coin".into(), victim.into());
        }
        for (name, used) in [("at", line.get("at").is_some()), ("draw", drawn.get())] {
            if used {
                done.insert(name.into(), line[name].clone());
            }
        }
        done.insert("after".into(), state(queue, serving.as_ref(), free(&self.shared)));
        Value::Object(done)
    }
}

fn packet(value: &Value) -> Pkt {
    let class = match value["class"].as_str() {
        Some("data") => Class::Data,
        Some("control") => Class::Control,
        Some("header") => Class::Header,
        Some("returned") => Class::Returned,
        _ => panic!("no such class: {value}"),
    };
    let flag = |name: &str| value[name].as_bool().unwrap_or(false);
    let (id, len) = (value["id"].as_u64().unwrap(), value["len"].as_u64().unwrap() as u32);
    let number = |name: &str| value[name].as_u64().unwrap_or(0);
    let (priority, ingress) = (number("priority") as u8, number("ingress") as u16);
    let (flow, rank) = (number("flow"), number("rank") as u32);
    Pkt { id, len, class, ect: flag("ect"), ce: flag("ce"), priority, ingress, flow, rank }
}

fn signal((link, signal): &(u16, Signal)) -> Value {
    json!({ "link": link, "paused": signal.paused, "quanta": signal.quanta })
}

fn words(packet: &Pkt) -> Value {
    let class = match packet.class {
        Class::Data => "data",
        Class::Control => "control",
        Class::Header => "header",
        Class::Returned => "returned",
    };
    let mut words = json!({ "id": packet.id, "len": packet.len, "class": class });
    for (name, _) in [("ect", packet.ect), ("ce", packet.ce)].into_iter().filter(|(_, set)| *set) {
        words[name] = true.into();
    }
    let numbers = [
        ("priority", packet.priority.into()),
        ("ingress", packet.ingress.into()),
        ("flow", packet.flow),
        ("rank", packet.rank.into()),
    ];
    for (name, number) in numbers.into_iter().filter(|(_, number): &(&str, u64)| *number > 0) {
        words[name] = number.into();
    }
    words
}

fn verdict(outcomes: &[Outcome<Pkt>]) -> Value {
    match outcomes {
        [] => json!("queued"),
        [Outcome::Marked(_)] => json!("marked"),
        [Outcome::Trimmed(header)] => json!({ "trimmed": header.id }),
        [Outcome::Returned { header, .. }] => json!({ "returned": header.id }),
        [Outcome::Dropped { packet, why, trimmed }] => {
            let why = match why {
                DropReason::DataQueueFull => "data queue full",
                DropReason::ControlQueueFull => "control queue full",
                DropReason::Early => "early",
            };
            json!({ "dropped": packet.id, "why": why, "trimmed": trimmed })
        }
        more => more.iter().map(|one| verdict(core::slice::from_ref(one))).collect(),
    }
}

/// What the port holds; the packet in service counts as data held, not as control held.
fn state<Q: Discipline<Pkt>>(queue: &Q, serving: Option<&Pkt>, free: Option<u64>) -> Value {
    let (mut data, mut control) = (0u64, 0u64);
    queue.waiting(&mut |packet| {
        if packet.class == Class::Data {
            data += u64::from(packet.len)
        } else {
            control += u64::from(packet.len)
        }
    });
    data += serving.filter(|packet| packet.class == Class::Data).map_or(0, |packet| u64::from(packet.len));
    let mut state = json!({
        "data_packets": queue.data_held(), "data_bytes": data,
        "control_packets": queue.queued(true), "control_bytes": control,
    });
    if let Some(free) = free {
        state["pool_free"] = free.into();
    }
    state
}

fn run(head: &Value, lines: &[Value]) -> Vec<Value> {
    let trim = || {
        let mut switch = Switch::<Trim<Pkt>>::new(head);
        lines.iter().map(|line| switch.step(line, |()| None)).collect()
    };
    let cut_payload = || {
        let mut switch = Switch::<CutPayload<Pkt>>::new(head);
        lines.iter().map(|line| switch.step(line, |()| None)).collect()
    };
    let drop_tail = || {
        let mut switch = Switch::<DropTail<Pkt>>::new(head);
        lines.iter().map(|line| switch.step(line, |()| None)).collect()
    };
    let pfabric = || {
        let mut switch = Switch::<Pfabric<Pkt>>::new(head);
        lines.iter().map(|line| switch.step(line, |()| None)).collect()
    };
    let priority = || {
        let mut switch = Switch::<Priority<Pkt>>::new(head);
        lines.iter().map(|line| switch.step(line, |()| None)).collect()
    };
    let red = || {
        let mut switch = Switch::<Red<Pkt>>::new(head);
        lines.iter().map(|line| switch.step(line, |()| None)).collect()
    };
    let shared = || {
        let mut switch = Switch::<SharedBuffer<Pkt>>::new(head);
        lines.iter().map(|line| switch.step(line, |pool| Some(pool.free()))).collect()
    };
    let pfc = || {
        let mut switch = Switch::<Pfc<Pkt>>::new(head);
        lines.iter().map(|line| switch.step(line, |memory| Some(memory.free()))).collect()
    };
    match head["discipline"].as_str() {
        Some("pfc") => pfc(),
        Some("trim") => trim(),
        Some("cut-payload") => cut_payload(),
        Some("drop-tail") => drop_tail(),
        Some("pfabric") => pfabric(),
        Some("priority") => priority(),
        Some("red") => red(),
        Some("shared-buffer") => shared(),
        _ => panic!("no such discipline: {head}"),
    }
}

// What the files are made from.

fn put(id: u64, len: u32, class: &str) -> Value {
    json!({ "op": "enqueue", "pkt": { "id": id, "len": len, "class": class } })
}

fn toss(id: u64, len: u32, coin: &str) -> Value {
    json!({ "op": "enqueue", "pkt": { "id": id, "len": len, "class": "data" }, "coin": coin })
}

/// Full data packets.
fn full(ids: std::ops::Range<u64>) -> Vec<Value> {
    ids.map(|id| put(id, 9064, "data")).collect()
}

/// Full data packets of ECN-capable transports.
fn capable(ids: std::ops::Range<u64>) -> Vec<Value> {
    let pkt = |id: u64| json!({ "id": id, "len": 9064, "class": "data", "ect": true });
    ids.map(|id| json!({ "op": "enqueue", "pkt": pkt(id) })).collect()
}

/// A number for each packet, and times a microsecond apart.
fn drawn(lines: Vec<Value>, seed: u64) -> Vec<Value> {
    let mut chance = Seed(seed).stream("vectors.draw", 0);
    let timed = |(number, mut line): (u64, Value)| {
        line["at"] = (number * 1_000_000).into();
        if line["op"] == "enqueue" {
            line["draw"] = ((chance.unit() * 1e6).round() / 1e6).into();
        }
        line
    };
    (0..).zip(lines).map(timed).collect()
}

fn control(ids: std::ops::Range<u64>) -> Vec<Value> {
    ids.map(|id| put(id, 64, "control")).collect()
}

/// The packets of `lines` with these priorities, again and again.
fn urgent(mut lines: Vec<Value>, priorities: &[u8]) -> Vec<Value> {
    let each = lines.iter_mut().zip(priorities.iter().cycle());
    each.for_each(|(line, priority)| line["pkt"]["priority"] = (*priority).into());
    lines
}

/// The packets of `lines` with these flows and ranks, again and again.
fn ranked(mut lines: Vec<Value>, ranks: &[(u64, u32)]) -> Vec<Value> {
    for (line, (flow, rank)) in lines.iter_mut().zip(ranks.iter().cycle()) {
        (line["pkt"]["flow"], line["pkt"]["rank"]) = ((*flow).into(), (*rank).into());
    }
    lines
}

/// `packets` packets are served one after the other.
fn serve(packets: usize) -> Vec<Value> {
    (0..packets).flat_map(|_| [json!({ "op": "dequeue" }), json!({ "op": "complete" })]).collect()
}

fn on(port: u64, mut lines: Vec<Value>) -> Vec<Value> {
    lines.iter_mut().for_each(|line| line["port"] = port.into());
    lines
}

/// Full packets of ECN-capable transports for `port` with a priority, which came by link `ingress`.
fn from(ingress: u16, port: u64, priority: u8, ids: std::ops::Range<u64>) -> Vec<Value> {
    let pkt = |id: u64| {
        let mut pkt = json!({ "id": id, "len": 1500, "class": "data", "ect": true });
        for (name, number) in [("priority", priority.into()), ("ingress", ingress)] {
            if number != 0 {
                pkt[name] = number.into();
            }
        }
        pkt
    };
    on(port, ids.map(|id| json!({ "op": "enqueue", "pkt": pkt(id) })).collect())
}

fn paused(port: u64, mask: u8) -> Vec<Value> {
    vec![json!({ "op": "paused", "port": port, "paused": mask })]
}

/// What happens at lossless switches with three ports.
fn lossless() -> Vec<(&'static str, Value, Vec<Value>)> {
    let memory = json!({ "buffer": "60 kB", "reserve": "2 kB", "headroom": "6 kB", "alpha": 0.5 });
    let mut whole = memory.clone();
    (whole["pause"], whole["quanta"], whole["schedule"]) = (json!("link"), json!(0), json!("round-robin"));
    let mut marks = memory.clone();
    (marks["mark_low"], marks["mark_high"], marks["mark_probability"]) =
        (json!("3 kB"), json!("9 kB"), json!(0.5));
    vec![
        (
            "pfc-priority",
            head(
                "pfc",
                "a link that fills its share pauses one priority, then its headroom, then drops",
                3,
                memory,
            ),
            [
                from(1, 0, 3, 0..14),
                from(2, 0, 3, 14..16),
                from(1, 0, 5, 16..20),
                on(0, serve(8)),
                from(1, 2, 3, 20..24),
                on(0, serve(9)),
                on(2, serve(4)),
            ]
            .concat(),
        ),
        (
            "pfc-obeys",
            head("pfc", "a paused priority waits while others are served", 3, json!({})),
            [
                from(1, 0, 0, 0..2),
                from(1, 0, 6, 2..4),
                paused(0, 0x40),
                on(0, serve(1)),
                paused(0, 0x41),
                on(0, vec![json!({ "op": "dequeue" })]),
                paused(0, 0),
                on(0, serve(3)),
            ]
            .concat(),
        ),
        (
            "pfc-link",
            head("pfc", "pauses of whole links without a timer; priorities take turns", 3, whole),
            [from(1, 0, 3, 0..8), from(1, 0, 1, 8..14), on(0, serve(10))].concat(),
        ),
        (
            "pfc-mark",
            head("pfc", "marks as packets leave, more of them where more waits behind", 3, marks),
            [from(1, 0, 2, 0..8), drawn_dequeues(8)].concat(),
        ),
    ]
}

/// `packets` packets are served at port 0, with a number for each.
fn drawn_dequeues(packets: u64) -> Vec<Value> {
    let dequeue = |n: u64| json!({ "op": "dequeue", "port": 0, "draw": n as f64 / packets as f64 });
    (0..packets).flat_map(|n| [dequeue(n), json!({ "op": "complete", "port": 0 })]).collect()
}

/// `count` ops by chance; never a dequeue while a packet is in service, and a complete only then.
fn any_ops(head: &Value, count: usize, seed: u64) -> Vec<Value> {
    let mut chance = Seed(seed).stream("vectors", 0);
    let ports = head["ports"].as_u64().unwrap() as u32;
    let (mut lines, mut serving): (Vec<Value>, Vec<bool>) = (Vec::new(), vec![false; ports as usize]);
    for id in 0..count {
        let port = chance.below(ports) as usize;
        let line = match chance.below(5) {
            0 | 1 if serving[port] => json!({ "op": "complete" }),
            0 | 1 => json!({ "op": "dequeue" }),
            _ if head["discipline"] == "priority" => {
                let priority = chance.below(8) as u8;
                urgent(vec![any_packet(id as u64, &mut chance)], &[priority]).remove(0)
            }
            _ if head["discipline"] == "pfabric" => {
                let rank = (1 + u64::from(chance.below(4)), 1 + chance.below(9));
                ranked(vec![any_packet(id as u64, &mut chance)], &[rank]).remove(0)
            }
            _ => any_packet(id as u64, &mut chance),
        };
        lines.extend(on(port as u64, vec![line]));
        // Only the queue knows whether a dequeue found a packet.
        serving[port] = match run(head, &lines).last() {
            Some(done) if done["op"] == "dequeue" => !done["pkt"].is_null(),
            Some(done) if done["op"] == "complete" => false,
            _ => serving[port],
        };
    }
    lines
}

fn any_packet(id: u64, chance: &mut Stream) -> Value {
    let class = ["data", "data", "data", "control", "header", "returned"][chance.below(6) as usize];
    let len = if class == "data" { 65 + chance.below(3000) } else { 64 };
    let coin = if chance.coin() { "arriving" } else { "tail" };
    json!({ "op": "enqueue", "pkt": { "id": id, "len": len, "class": class }, "coin": coin })
}

fn head(discipline: &str, about: &str, ports: u64, config: Value) -> Value {
    json!({ "format": "pullnet-qdisc", "version": 1, "discipline": discipline, "about": about, "ports": ports, "config": config })
}

/// Every file: its name, its first line and its ops.
fn files() -> Vec<(&'static str, Value, Vec<Value>)> {
    let tiny = json!({ "control_queue": "640 B" });
    let mut files = vec![
        (
            "trim-service",
            head(
                "trim",
                "ten control packets for each data packet while both wait; either alone otherwise",
                1,
                json!({}),
            ),
            [full(0..5), control(10..40), serve(35), vec![json!({ "op": "dequeue" })]].concat(),
        ),
        (
            "trim-coin",
            head("trim", "a full data queue: the coin spares the tail or trims it", 1, json!({})),
            [
                full(0..8),
                vec![
                    toss(8, 9064, "arriving"),
                    toss(9, 9064, "tail"),
                    toss(10, 9064, "tail"),
                    toss(11, 1564, "arriving"),
                ],
                serve(12),
            ]
            .concat(),
        ),
        (
            "trim-in-service",
            head(
                "trim",
                "the packet in service takes room and is no victim",
                1,
                json!({ "data_queue": "2 packets" }),
            ),
            [
                full(0..1),
                vec![json!({ "op": "dequeue" })],
                full(1..2),
                vec![toss(2, 9064, "tail"), json!({ "op": "complete" })],
                full(3..4),
                serve(3),
            ]
            .concat(),
        ),
        (
            "trim-return",
            head(
                "trim",
                "a full control queue: headers go back once, everything else is dropped",
                1,
                tiny.clone(),
            ),
            [
                full(0..8),
                control(10..20),
                vec![
                    toss(20, 9064, "arriving"),
                    toss(21, 9064, "tail"),
                    put(22, 64, "header"),
                    put(23, 64, "returned"),
                    put(24, 64, "control"),
                ],
                serve(4),
                vec![put(25, 64, "returned"), toss(26, 9064, "tail")],
            ]
            .concat(),
        ),
        (
            "trim-drop",
            head(
                "trim",
                "the same without return-to-sender",
                1,
                json!({ "control_queue": "640 B", "return_to_sender": false }),
            ),
            [
                full(0..8),
                control(10..20),
                vec![toss(20, 9064, "arriving"), toss(21, 9064, "tail"), put(22, 64, "header")],
            ]
            .concat(),
        ),
        (
            "trim-arriving",
            head(
                "trim",
                "no coin: the arriving packet is always the victim",
                1,
                json!({ "victim": "arriving" }),
            ),
            [full(0..10), serve(3)].concat(),
        ),
        (
            "trim-bytes",
            head(
                "trim",
                "room in bytes: a long packet does not take the room of a short tail",
                1,
                json!({ "data_queue": "10 kB" }),
            ),
            [
                full(0..1),
                vec![
                    put(1, 100, "data"),
                    toss(2, 9064, "tail"),
                    toss(3, 866, "tail"),
                    put(4, 70, "data"),
                    toss(5, 65, "arriving"),
                ],
                serve(6),
            ]
            .concat(),
        ),
        (
            "cut-payload",
            head(
                "cut-payload",
                "headers wait behind data in one queue and count towards the threshold in bytes",
                1,
                json!({ "threshold": "20 kB", "queue": "20192 B" }),
            ),
            [
                full(0..4),
                control(4..5),
                vec![put(5, 64, "header"), put(6, 64, "returned"), put(7, 1700, "data")],
                vec![json!({ "op": "dequeue" })],
                full(8..9),
                vec![json!({ "op": "complete" })],
                full(9..12),
                serve(5),
                full(12..14),
                serve(6),
            ]
            .concat(),
        ),
        (
            "cut-payload-data",
            head(
                "cut-payload",
                "only data counts towards the threshold; a packet that finds no room in the queue leaves its header",
                1,
                json!({ "threshold": "2 packets", "occupancy": "data", "queue": "6 packets" }),
            ),
            [
                control(100..103),
                full(0..4),
                control(103..106),
                serve(4),
                full(4..6),
                control(106..109),
                full(6..7),
                serve(6),
                control(110..115),
                full(7..9),
                serve(2),
            ]
            .concat(),
        ),
        (
            "drop-tail-packets",
            head(
                "drop-tail",
                "one queue for all; the packet in service takes room",
                1,
                json!({ "queue": "3 packets" }),
            ),
            [
                full(0..1),
                vec![json!({ "op": "dequeue" })],
                control(1..3),
                full(3..4),
                control(4..5),
                vec![json!({ "op": "complete" })],
                full(5..6),
                serve(3),
            ]
            .concat(),
        ),
        (
            "drop-tail-bytes",
            head("drop-tail", "room in bytes", 1, json!({ "queue": "10 kB" })),
            [full(0..2), control(2..20), serve(2), full(20..21)].concat(),
        ),
        (
            "drop-tail-mark",
            head(
                "drop-tail",
                "ECN: packets that can be marked are, while more than two are held on arrival",
                1,
                json!({ "mark_above": "2 packets" }),
            ),
            [capable(0..5), full(5..7), capable(7..8), serve(6), capable(8..12), serve(6)].concat(),
        ),
        (
            "drop-tail-mark-leaving",
            head(
                "drop-tail",
                "ECN: packets that can be marked are, where more than 20 kB stay behind them",
                1,
                json!({ "mark_above": "20 kB", "mark_at": "dequeue" }),
            ),
            [capable(0..4), full(4..6), serve(2), capable(6..9), serve(7)].concat(),
        ),
        (
            "pfabric-service",
            head(
                "pfabric",
                "the flow of the packet with the smallest rank is served, its earliest packet first",
                1,
                json!({ "queue": "100 kB" }),
            ),
            [
                ranked(full(0..6), &[(1, 9), (2, 5), (1, 8), (2, 4), (1, 3), (3, 4)]),
                serve(2),
                control(6..8),
                serve(6),
                vec![json!({ "op": "dequeue" })],
            ]
            .concat(),
        ),
        (
            "pfabric-evict",
            head(
                "pfabric",
                "without room the packets with the largest rank go, the newest of several; not the one in service",
                1,
                json!({ "queue": "30 kB" }),
            ),
            [
                ranked(full(0..1), &[(1, 99)]),
                vec![json!({ "op": "dequeue" })],
                ranked(full(1..3), &[(2, 7), (3, 7)]),
                ranked(full(3..6), &[(4, 5), (5, 7), (6, 1)]),
                ranked(vec![put(6, 100, "data"), put(7, 100, "data")], &[(7, 60)]),
                vec![json!({ "op": "complete" })],
                ranked(full(8..10), &[(8, 2)]),
                serve(3),
            ]
            .concat(),
        ),
        (
            "priority-service",
            head("priority", "the most urgent class first, in order of arrival within a class", 1, json!({})),
            [
                urgent(full(0..6), &[0, 3, 7, 3, 0, 7]),
                serve(3),
                urgent(control(6..8), &[1, 7]),
                serve(5),
                vec![json!({ "op": "dequeue" })],
            ]
            .concat(),
        ),
        (
            "priority-port",
            head(
                "priority",
                "classes share the room of the port: a full port drops urgent packets too",
                1,
                json!({ "queue": "40 kB", "mark_above": "2 packets" }),
            ),
            [
                urgent(capable(0..6), &[0]),
                urgent(capable(6..7), &[7]),
                serve(1),
                urgent(full(7..8), &[7]),
                urgent(capable(8..9), &[5]),
                serve(4),
            ]
            .concat(),
        ),
        (
            "priority-class",
            head(
                "priority",
                "each class has room and a threshold of its own; the packet in service counts in its class",
                1,
                json!({ "queue": "3 packets", "sharing": "class", "mark_above": "1 packets", "mark_at": "dequeue" }),
            ),
            [
                urgent(capable(0..5), &[2]),
                urgent(capable(5..9), &[6]),
                vec![json!({ "op": "dequeue" })],
                urgent(full(9..10), &[6]),
                vec![json!({ "op": "complete" })],
                urgent(full(10..11), &[6]),
                serve(6),
            ]
            .concat(),
        ),
        (
            "trim-mark",
            head("trim", "ECN: data is marked by the data held", 1, json!({ "mark_above": "3 packets" })),
            [
                control(100..104),
                capable(0..8),
                vec![toss(8, 9064, "tail")],
                serve(8),
                capable(9..13),
                serve(9),
            ]
            .concat(),
        ),
        (
            "red",
            head(
                "red",
                "random early detection: marks or early drops between low and high, spread evenly",
                1,
                json!({ "weight": 0.5, "probability": 0.4, "low": "3 packets", "high": "12 packets", "queue": "16 packets" }),
            ),
            drawn(
                [
                    capable(0..10),
                    full(10..14),
                    capable(14..24),
                    serve(9),
                    full(24..30),
                    serve(5),
                    capable(30..34),
                ]
                .concat(),
                31,
            ),
        ),
        (
            "shared-buffer",
            head(
                "shared-buffer",
                "a port may hold alpha times what is free; ports share one pool",
                2,
                json!({ "pool": "100 kB", "alpha": 1.0 }),
            ),
            [
                on(0, full(0..8)),
                on(1, full(8..13)),
                on(0, serve(3)),
                on(1, full(13..15)),
                on(0, full(15..17)),
            ]
            .concat(),
        ),
    ];
    let random = [
        (
            "trim-random",
            head(
                "trim",
                "any packets in any order, room in packets",
                1,
                json!({ "data_queue": "4 packets", "control_queue": "6 packets" }),
            ),
            21,
        ),
        (
            "trim-random-bytes",
            head(
                "trim",
                "any packets in any order, room in bytes",
                1,
                json!({ "data_queue": "7 kB", "control_queue": "320 B" }),
            ),
            22,
        ),
        (
            "cut-payload-random",
            head(
                "cut-payload",
                "any packets in any order",
                1,
                json!({ "threshold": "7 kB", "queue": "7500 B" }),
            ),
            25,
        ),
        (
            "drop-tail-random",
            head("drop-tail", "any packets in any order", 1, json!({ "queue": "8 kB" })),
            23,
        ),
        (
            "pfabric-random",
            head("pfabric", "any packets of any flow and rank in any order", 1, json!({ "queue": "8 kB" })),
            27,
        ),
        (
            "priority-random",
            head("priority", "any packets of any priority in any order", 1, json!({ "queue": "16 kB" })),
            25,
        ),
        (
            "priority-random-class",
            head(
                "priority",
                "the same with room for each class",
                1,
                json!({ "queue": "2 packets", "sharing": "class" }),
            ),
            26,
        ),
        (
            "shared-buffer-random",
            head(
                "shared-buffer",
                "any packets in any order at three ports",
                3,
                json!({ "pool": "20 kB", "alpha": 0.5 }),
            ),
            24,
        ),
    ];
    files.extend(lossless());
    for (name, head, seed) in random {
        let ops = any_ops(&head, 250, seed);
        files.push((name, head, ops));
    }
    files
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/qdisc")
}

fn text(head: &Value, lines: &[Value]) -> String {
    std::iter::once(head).chain(lines).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_queues_do_what_the_vectors_say() {
    if std::env::var_os("BLESS").is_some() {
        for (name, head, ops) in files() {
            fs::write(folder().join(name).with_extension("jsonl"), text(&head, &run(&head, &ops))).unwrap();
        }
    }
    let mut names: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    names.sort();
    assert!(names.len() >= 32, "{names:?}");
    for path in names {
        replay(&path);
    }
}

fn replay(path: &Path) {
    let lines: Vec<Value> =
        fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (head, lines) = lines.split_first().expect("a first line");
    assert_eq!(
        (&head["format"], &head["version"]),
        (&json!("pullnet-qdisc"), &json!(1)),
        "{}",
        path.display()
    );
    for (number, (done, expected)) in (2..).zip(run(head, lines).iter().zip(lines)) {
        assert_eq!(done, expected, "done (left) and expected (right) at {}:{number}", path.display());
    }
}

#[test]
fn the_vectors_are_what_this_file_makes() {
    for (name, head, ops) in files() {
        let path = folder().join(name).with_extension("jsonl");
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text(&head, &run(&head, &ops)),
            "{} is not up to date; BLESS=1 writes it",
            path.display()
        );
    }
}

#[test]
fn the_defaults_that_vectors_rely_on_are_those_of_the_settings() {
    let default = |fields: &[pullnet_settings::Field], name: &str| {
        fields.iter().find(|field| field.name == name).map(|field| field.default)
    };
    assert_eq!(default(TrimConfig::FIELDS, "data_queue"), Some("8 packets"));
    assert_eq!(default(TrimConfig::FIELDS, "control_queue"), Some("72 kB"));
    assert_eq!(default(TrimConfig::FIELDS, "control_per_data"), Some("10"));
    assert_eq!(default(TrimConfig::FIELDS, "trim_to"), Some("64 B"));
    assert_eq!(default(CutPayloadConfig::FIELDS, "trim_to"), Some("64 B"));
    assert_eq!(default(DropTailConfig::FIELDS, "queue"), Some("200 packets"));
    assert_eq!(default(SharedBufferConfig::FIELDS, "alpha"), Some("1.0"));
}
