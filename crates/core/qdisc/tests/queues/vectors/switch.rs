//! The switch that replays a file.

use std::cell::Cell;

use pullnet_qdisc::{
    CutPayload, D3, Discipline, DropReason, DropTail, Outcome, Pdq, Pfabric, Pfc, Priority, Red, ScdpSwitch,
    SharedBuffer, Signal, Trim,
};
use pullnet_settings::{Settings, Value as Text};
use pullnet_transport::{Grant, RateAsk, TurnAsk};
use pullnet_units::Instant;
use serde_json::{Map, Value, json};

use crate::common::{Answer, Asks, Bench, Class, Pkt};

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

    /// Carries out one line, and returns its result.
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
        note_inputs(&mut done, line, tossed.get(), drawn.get());
        done.insert("after".into(), state(queue, serving.as_ref(), free(&self.shared)));
        Value::Object(done)
    }
}

/// Adds the coin, the time and the random number of `line`, where the operation has used them.
fn note_inputs(done: &mut Map<String, Value>, line: &Value, tossed: bool, drawn: bool) {
    if tossed {
        let victim = if line["coin"] == "tail" { "tail" } else { "arriving" };
        done.insert("coin".into(), victim.into());
    }
    for (name, used) in [("at", line.get("at").is_some()), ("draw", drawn)] {
        if used {
            done.insert(name.into(), line[name].clone());
        }
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
    let (ect, ce, asks) = (flag("ect"), flag("ce"), asks(value));
    Pkt { id, len, class, ect, ce, priority, ingress, flow, rank, asks, answer: None }
}

/// What the header of a packet asks.
fn asks(packet: &Value) -> Option<Asks> {
    let rate = |ask: &Value| {
        let number = |value: &Value| value.as_u64().unwrap_or(0) as u32;
        let granted =
            Grant { rate: number(&ask["granted"]["rate"]), epoch: number(&ask["granted"]["epoch"]) as u8 };
        let ends = ask["ends"] == true;
        Asks::Rate(RateAsk {
            desired: number(&ask["desired"]),
            before: number(&ask["before"]),
            granted,
            ends,
        })
    };
    let turn = |ask: &Value| {
        let number = |name: &str| ask[name].as_u64().unwrap_or(0) as u32;
        Asks::Turn(TurnAsk {
            flow: number("flow").into(),
            deadline: ask["deadline"].as_u64().unwrap_or(u64::MAX),
            work: number("work"),
            rounds: number("rounds") as u16,
            offered: number("offered"),
            sending: number("sending"),
            leaves: ask["leaves"] == true,
        })
    };
    packet.get("rate_ask").map(rate).or_else(|| packet.get("turn_ask").map(turn))
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
    match packet.answer {
        Some(Answer::Grant(grant)) => {
            words["grant"] = json!({ "rate": grant.rate, "epoch": grant.epoch });
        }
        Some(Answer::Turn(turn)) => {
            words["turn"] = json!({ "rate": turn.rate, "probe_after": turn.probe_after });
        }
        None => {}
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

/// Content of the port; the packet in service counts as data held, not as control held.
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

/// Results of a switch of one discipline; `free` returns how much of its shared memory is free.
fn play<Q: Discipline<Pkt>>(
    head: &Value,
    lines: &[Value],
    free: fn(&Q::Shared) -> Option<u64>,
) -> Vec<Value> {
    let mut switch = Switch::<Q>::new(head);
    lines.iter().map(|line| switch.step(line, free)).collect()
}

/// Results of the switch that `head` names, line by line.
pub fn run(head: &Value, lines: &[Value]) -> Vec<Value> {
    match head["discipline"].as_str() {
        Some("cut-payload") => play::<CutPayload<Pkt>>(head, lines, |()| None),
        Some("d3") => play::<D3<Pkt>>(head, lines, |()| None),
        Some("drop-tail") => play::<DropTail<Pkt>>(head, lines, |()| None),
        Some("pdq") => play::<Pdq<Pkt>>(head, lines, |()| None),
        Some("pfabric") => play::<Pfabric<Pkt>>(head, lines, |()| None),
        Some("pfc") => play::<Pfc<Pkt>>(head, lines, |memory| Some(memory.free())),
        Some("priority") => play::<Priority<Pkt>>(head, lines, |()| None),
        Some("red") => play::<Red<Pkt>>(head, lines, |()| None),
        Some("scdp") => play::<ScdpSwitch<Pkt>>(head, lines, |()| None),
        Some("shared-buffer") => play::<SharedBuffer<Pkt>>(head, lines, |pool| Some(pool.free())),
        Some("trim") => play::<Trim<Pkt>>(head, lines, |()| None),
        _ => panic!("no such discipline: {head}"),
    }
}
