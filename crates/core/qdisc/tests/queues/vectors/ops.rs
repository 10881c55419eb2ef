//! The operations from which the files are made.

use pullnet_rng::{RandomStream, Seed};
use serde_json::{Value, json};

use super::switch::run;

pub fn put(id: u64, len: u32, class: &str) -> Value {
    json!({ "op": "enqueue", "pkt": { "id": id, "len": len, "class": class } })
}

pub fn toss(id: u64, len: u32, coin: &str) -> Value {
    json!({ "op": "enqueue", "pkt": { "id": id, "len": len, "class": "data" }, "coin": coin })
}

/// Full data packets.
pub fn full(ids: std::ops::Range<u64>) -> Vec<Value> {
    ids.map(|id| put(id, 9064, "data")).collect()
}

/// Full data packets of ECN-capable transports.
pub fn capable(ids: std::ops::Range<u64>) -> Vec<Value> {
    let pkt = |id: u64| json!({ "id": id, "len": 9064, "class": "data", "ect": true });
    ids.map(|id| json!({ "op": "enqueue", "pkt": pkt(id) })).collect()
}

/// A number for each packet, and times a microsecond apart.
pub fn drawn(lines: Vec<Value>, seed: u64) -> Vec<Value> {
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

pub fn control(ids: std::ops::Range<u64>) -> Vec<Value> {
    ids.map(|id| put(id, 64, "control")).collect()
}

/// The packets of `lines` with these priorities, again and again.
pub fn urgent(mut lines: Vec<Value>, priorities: &[u8]) -> Vec<Value> {
    let each = lines.iter_mut().zip(priorities.iter().cycle());
    each.for_each(|(line, priority)| line["pkt"]["priority"] = (*priority).into());
    lines
}

/// The packets of `lines` with these flows and ranks, again and again.
pub fn ranked(mut lines: Vec<Value>, ranks: &[(u64, u32)]) -> Vec<Value> {
    for (line, (flow, rank)) in lines.iter_mut().zip(ranks.iter().cycle()) {
        (line["pkt"]["flow"], line["pkt"]["rank"]) = ((*flow).into(), (*rank).into());
    }
    lines
}

/// `packets` packets are served one after the other.
pub fn serve(packets: usize) -> Vec<Value> {
    (0..packets).flat_map(|_| [json!({ "op": "dequeue" }), json!({ "op": "complete" })]).collect()
}

pub fn on(port: u64, mut lines: Vec<Value>) -> Vec<Value> {
    lines.iter_mut().for_each(|line| line["port"] = port.into());
    lines
}

/// Full packets of ECN-capable transports for `port` with a priority, which came by link `ingress`.
pub fn from(ingress: u16, port: u64, priority: u8, ids: std::ops::Range<u64>) -> Vec<Value> {
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

pub fn paused(port: u64, mask: u8) -> Vec<Value> {
    vec![json!({ "op": "paused", "port": port, "paused": mask })]
}

/// Lines at a time in microseconds.
fn timed(mut lines: Vec<Value>, micros: u64) -> Vec<Value> {
    lines.iter_mut().for_each(|line| line["at"] = (micros * 1_000_000).into());
    lines
}

/// Packets whose headers ask, one after the other, at times in microseconds. Each one is served, after all packets before it.
/// `null`: four full packets arrive instead and wait.
fn conversation(question: &str, asked: &[(u64, Value)]) -> Vec<Value> {
    let mut waiting = 0;
    let lines = (0..).zip(asked).flat_map(|(id, (micros, ask))| {
        if ask.is_null() {
            waiting += 4;
            return timed(full(10 * id..10 * id + 4), *micros);
        }
        let pkt = json!({ "id": id, "len": 64, "class": "control", question: ask });
        let arrival = vec![json!({ "op": "enqueue", "pkt": pkt })];
        timed([arrival, serve(core::mem::take(&mut waiting) + 1)].concat(), *micros)
    });
    lines.collect()
}

/// Questions to a port of D3. The link has 10 Gb/s, 100 000 units.
fn rate_asks() -> Vec<Value> {
    let granted = |rate: u32, epoch: u8| json!({ "rate": rate, "epoch": epoch });
    conversation(
        "rate_ask",
        &[
            (1, json!({ "desired": 60_000 })),
            (2, json!({ "desired": 30_000 })),
            (3, json!({ "desired": 60_000, "before": 60_000, "granted": granted(100_000, 1) })),
            (4, json!({ "desired": 50_000 })),
            (5, json!({ "desired": 0, "before": 30_000, "granted": granted(0, 1) })),
            (6, json!({ "before": 60_000, "granted": granted(65_000, 1), "ends": true })),
            (7, json!({ "desired": 0 })),
            // The next two epochs: a grant that was not renewed does not count.
            (10_100, json!({ "desired": 20_000, "before": 50_000, "granted": granted(35_000, 1) })),
            (20_100, json!({ "desired": 90_000 })),
            (20_101, json!({ "desired": 0, "before": 20_000, "granted": granted(1, 1) })),
            // A queue that does not leave within two intervals lowers the capacity.
            (20_400, Value::Null),
            (20_600, Value::Null),
            (21_100, json!({ "desired": 100_000 })),
        ],
    )
}

/// Questions to a port of PDQ. The link has 10 Gb/s, 100 000 units.
fn turn_asks() -> Vec<Value> {
    let flow = |flow: u64, work: u32| json!({ "flow": flow, "work": work * 10_000, "rounds": work * 100, "offered": 100_000 });
    let with = |mut ask: Value, name: &str, value: Value| {
        ask[name] = value;
        ask
    };
    let sends = |ask: Value| with(ask, "sending", json!(100_000));
    conversation(
        "turn_ask",
        &[
            (1, flow(1, 10)),
            (2, flow(2, 20)),
            (3, with(flow(3, 30), "deadline", json!(900))),
            (4, sends(flow(1, 9))),
            (5, with(flow(4, 29), "deadline", json!(900))),
            // Limited elsewhere: what it does not use goes to the next one, but not at once.
            (6, with(with(flow(4, 29), "deadline", json!(900)), "sending", json!(60_000))),
            (7, with(flow(3, 30), "deadline", json!(900))),
            (300, with(with(flow(4, 29), "deadline", json!(900)), "sending", json!(60_000))),
            (301, with(flow(3, 30), "deadline", json!(900))),
            (302, with(flow(3, 30), "leaves", json!(true))),
            // Early Start: one round trip is left.
            (303, sends(with(flow(4, 1), "deadline", json!(900)))),
            (304, flow(1, 9)),
            // Silent flows are forgotten.
            (6_000, flow(2, 20)),
            (6_100, Value::Null),
            (6_300, sends(flow(2, 19))),
        ],
    )
}

/// Operations at ports that answer headers.
pub fn asking() -> Vec<(&'static str, Value, Vec<Value>)> {
    vec![
        (
            "d3",
            head(
                "d3",
                "rates by desire, first come, first served; epochs; the capacity follows the queue",
                1,
                json!({ "target": 1000 }),
            ),
            rate_asks(),
        ),
        (
            "pdq",
            head(
                "pdq",
                "turns by deadline, then work; early start; limits elsewhere; silence; the queue",
                1,
                json!({}),
            ),
            turn_asks(),
        ),
    ]
}

/// Operations at lossless switches with three ports.
pub fn lossless() -> Vec<(&'static str, Value, Vec<Value>)> {
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
pub fn drawn_dequeues(packets: u64) -> Vec<Value> {
    let dequeue = |n: u64| json!({ "op": "dequeue", "port": 0, "draw": n as f64 / packets as f64 });
    (0..packets).flat_map(|n| [dequeue(n), json!({ "op": "complete", "port": 0 })]).collect()
}

/// `count` ops by chance; never a dequeue while a packet is in service, and a complete only then.
pub fn any_ops(head: &Value, count: usize, seed: u64) -> Vec<Value> {
    let mut chance = Seed(seed).stream("vectors", 0);
    let ports = head["ports"].as_u64().unwrap() as u32;
    let (mut lines, mut serving): (Vec<Value>, Vec<bool>) = (Vec::new(), vec![false; ports as usize]);
    for id in 0..count {
        let port = chance.below(ports) as usize;
        let line = match chance.below(5) {
            0 | 1 if serving[port] => json!({ "op": "complete" }),
            0 | 1 => json!({ "op": "dequeue" }),
            _ if head["discipline"] == "priority" || head["discipline"] == "scdp" => {
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

pub fn any_packet(id: u64, chance: &mut RandomStream) -> Value {
    let class = ["data", "data", "data", "control", "header", "returned"][chance.below(6) as usize];
    let len = if class == "data" { 65 + chance.below(3000) } else { 64 };
    let coin = if chance.coin() { "arriving" } else { "tail" };
    json!({ "op": "enqueue", "pkt": { "id": id, "len": len, "class": class }, "coin": coin })
}

pub fn head(discipline: &str, about: &str, ports: u64, config: Value) -> Value {
    json!({ "format": "pullnet-qdisc", "version": 1, "discipline": discipline, "about": about, "ports": ports, "config": config })
}
