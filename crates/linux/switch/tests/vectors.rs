//! Replays the golden vectors of the disciplines through whole switches: frames arrive by one port and leave by the ports
//! named in the vectors.

mod common;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use common::{Frame, INCAPABLE, Log, Toy, mac};
use pullnet_qdisc::{
    CutPayload, D3, Discipline, DropTail, Pdq, Pfc, Priority, Red, ScdpSwitch, SharedBuffer, Signal, Trim,
};
use pullnet_settings::{Settings, Value as Text};
use pullnet_switch::{
    Class, Codec, Dropped, Entry, Event, Fabric, FabricSettings, Kind, PortSettings, Selection, Slot, Unknown,
};
use pullnet_transport::{Grant, Hop, RateAsk, TurnAsk};
use pullnet_units::{BitsPerSec, Instant, NodeId, PortId};
use serde_json::{Map, Value, json};

/// Question of a packet's header to its port.
#[derive(Clone, Copy)]
enum Ask {
    Rate(RateAsk),
    Turn(TurnAsk),
}

/// Questions and answers of toy frames, which have no room for them, by the frames' numbers.
#[derive(Clone, Default)]
struct Asking {
    questions: Rc<RefCell<BTreeMap<u64, Ask>>>,
    /// Name and value of each answer, as the vectors write it.
    answers: Rc<RefCell<BTreeMap<u64, (&'static str, Value)>>>,
}

impl Codec for Asking {
    fn classify(&self, frame: &[u8]) -> Class {
        Toy.classify(frame)
    }

    fn trim(&self, frame: &mut Vec<u8>, keep: usize) {
        Toy.trim(frame, keep);
    }

    fn mark(&self, frame: &mut [u8]) -> bool {
        Toy.mark(frame)
    }

    fn turn_round(&self, frame: &mut [u8]) {
        Toy.turn_round(frame);
    }

    fn at_hop(&self, frame: &mut [u8], hop: &mut dyn Hop) {
        let id = common::id_of(frame);
        let answer = match self.questions.borrow().get(&id) {
            None => None,
            Some(Ask::Rate(ask)) => {
                hop.allocate(*ask).map(|grant| ("grant", json!({ "rate": grant.rate, "epoch": grant.epoch })))
            }
            Some(Ask::Turn(ask)) => hop
                .take_turn(*ask)
                .map(|turn| ("turn", json!({ "rate": turn.rate, "probe_after": turn.probe_after }))),
        };
        if let Some(answer) = answer {
            self.answers.borrow_mut().insert(id, answer);
        }
    }
}

/// The question in the vectors' form of a packet.
fn question(packet: &Value) -> Option<Ask> {
    let number = |value: &Value| value.as_u64().unwrap_or(0) as u32;
    let rate = |ask: &Value| {
        let granted = &ask["granted"];
        Ask::Rate(RateAsk {
            desired: number(&ask["desired"]),
            before: number(&ask["before"]),
            granted: Grant { rate: number(&granted["rate"]), epoch: number(&granted["epoch"]) as u8 },
            ends: ask["ends"] == true,
        })
    };
    let turn = |ask: &Value| {
        Ask::Turn(TurnAsk {
            flow: number(&ask["flow"]).into(),
            deadline: ask["deadline"].as_u64().unwrap_or(u64::MAX),
            work: number(&ask["work"]),
            rounds: number(&ask["rounds"]) as u16,
            offered: number(&ask["offered"]),
            sending: number(&ask["sending"]),
            leaves: ask["leaves"] == true,
        })
    };
    packet.get("rate_ask").map(rate).or_else(|| packet.get("turn_ask").map(turn))
}

struct Switch<Q: Discipline<Slot>> {
    fabric: Fabric<Q, Asking, Log>,
    asking: Asking,
    ports: u32,
    /// Whether frames arrive by the port that the vector names, instead of an additional port.
    named: bool,
    pool: Option<u64>,
}

impl<Q: Discipline<Slot>> Switch<Q> {
    fn new(head: &Value) -> Self {
        let ports = head["ports"].as_u64().unwrap() as u32;
        let port = PortSettings::outside(NodeId::new(0), BitsPerSec::gbps(10));
        let settings = FabricSettings { unknown: Unknown::Drop, ..FabricSettings::default() };
        let named = Q::SIGNALS;
        let all = vec![port; ports as usize + usize::from(!named)];
        let asking = Asking::default();
        let mut fabric =
            Fabric::new(&config::<Q>(head), settings, &all, asking.clone(), Log::default()).unwrap();
        for port in 0..ports {
            let entry = Entry { ports: vec![PortId::new(port)], selection: Selection::default() };
            fabric.forward(NodeId::new(0), mac(port as u8), entry);
            fabric.pause(PortId::new(port));
        }
        let pool =
            head["config"]["pool"].as_str().map(|text| text.parse::<pullnet_units::Bytes>().unwrap().0);
        Self { fabric, asking, ports, named, pool }
    }

    fn step(&mut self, line: &Value) -> Value {
        let port = PortId::new(line["port"].as_u64().unwrap() as u32);
        let mut done = Map::new();
        if let Some(at) = line["at"].as_u64() {
            self.fabric.advance(Instant(at));
            done.insert("at".into(), at.into());
        }
        done.insert("op".into(), line["op"].clone());
        done.insert("port".into(), port.get().into());
        let asked: Vec<_> = self.asked();
        match line["op"].as_str().unwrap() {
            "paused" => {
                let mask = line["paused"].as_u64().unwrap() as u8;
                self.fabric.arrive(port, self.fabric.now(), &common::pause_frame(mask, 65_535));
                self.fabric.advance(self.fabric.now());
                done.insert("paused".into(), mask.into());
            }
            "enqueue" => self.enqueue(port, line, &mut done),
            "dequeue" => {
                if let Some(draw) = line["draw"].as_f64() {
                    self.fabric.next_draw(port, draw);
                    done.insert("draw".into(), draw.into());
                }
                self.fabric.resume(port);
                self.fabric.pause(port);
                done.insert("pkt".into(), self.in_service(port));
            }
            "complete" => {
                assert!(self.fabric.serving(port).is_some(), "a packet is in service");
                self.fabric.finish(port);
                self.fabric.advance(self.fabric.now());
            }
            op => panic!("{op} is no op"),
        }
        let change = |(link, (before, after)): (usize, (Signal, Signal))| {
            (before != after).then(|| json!({ "link": link, "paused": after.paused, "quanta": after.quanta }))
        };
        let signals: Vec<_> = asked.into_iter().zip(self.asked()).enumerate().filter_map(change).collect();
        if !signals.is_empty() {
            done.insert("signals".into(), signals.into());
        }
        done.insert("after".into(), self.state(port));
        Value::Object(done)
    }

    /// The latest pause signal to each neighbour.
    fn asked(&self) -> Vec<Signal> {
        (0..self.ports).map(|port| self.fabric.asked(PortId::new(port))).collect()
    }

    fn enqueue(&mut self, port: PortId, line: &Value, done: &mut Map<String, Value>) {
        let (kind, id) = (kind(&line["pkt"]["class"]), line["pkt"]["id"].as_u64().unwrap());
        let length = line["pkt"]["len"].as_u64().unwrap() as usize;
        let mut frame = Frame { from: 99, to: port.get() as u8, kind, label: 0, id, length }.bytes();
        let priority = line["pkt"]["priority"].as_u64().unwrap_or(0) as u8;
        frame[12] = priority << 4 | if line["pkt"]["ect"] == true { 0 } else { INCAPABLE };
        if let Some(question) = question(&line["pkt"]) {
            self.asking.questions.borrow_mut().insert(id, question);
        }
        frame[10] = line["pkt"]["ingress"].as_u64().unwrap_or(0) as u8;
        assert_eq!(frame.len(), length, "the vector's packet is too short for a frame");
        if let Some(coin) = line["coin"].as_str() {
            self.fabric.next_coin(port, coin != "tail");
        }
        if let Some(draw) = line["draw"].as_f64() {
            self.fabric.next_draw(port, draw);
            done.insert("draw".into(), draw.into());
        }
        let before = self.fabric.observer().0.len();
        let marked = self.fabric.counters(port).ecn_marked_packets;
        let link = if self.named { line["pkt"]["ingress"].as_u64().unwrap_or(0) as u32 } else { self.ports };
        self.fabric.arrive(PortId::new(link), self.fabric.now(), &frame);
        self.fabric.advance(self.fabric.now());
        let events: Vec<_> =
            self.fabric.observer().0[before..].iter().map(|(_, _, event, id, _)| (*event, *id)).collect();
        done.insert("pkt".into(), line["pkt"].clone());
        if let Some(coin) = line.get("coin") {
            done.insert("coin".into(), coin.clone());
        }
        assert!(!self.fabric.coin_waits(port), "the vector's coin was not drawn: {line}");
        let marked = self.fabric.counters(port).ecn_marked_packets > marked;
        let displaced = verdict(&events[1..]);
        if marked && displaced != "queued" {
            done.insert("marked".into(), true.into());
        }
        done.insert(
            "verdict".into(),
            if marked && displaced == "queued" { "marked".into() } else { displaced },
        );
    }

    fn in_service(&self, port: PortId) -> Value {
        let Some((slot, _)) = self.fabric.serving(port) else { return Value::Null };
        let frame = self.fabric.frame(slot.frame);
        let mut pkt =
            json!({ "id": common::id_of(frame), "len": frame.len(), "class": class(common::kind_of(frame)) });
        for (name, _) in
            [("ect", frame[12] & 15 != INCAPABLE), ("ce", frame[13] == 1)].into_iter().filter(|(_, set)| *set)
        {
            pkt[name] = true.into();
        }
        for (name, number) in [("priority", frame[12] >> 4), ("ingress", frame[6 + 4])] {
            if number != 0 {
                pkt[name] = number.into();
            }
        }
        if let Some((name, answer)) = self.asking.answers.borrow().get(&common::id_of(frame)) {
            pkt[*name] = answer.clone();
        }
        pkt
    }

    fn state(&self, port: PortId) -> Value {
        let held = self.fabric.held(port);
        let mut state = json!({
            "data_packets": held.data_packets, "data_bytes": held.data_bytes,
            "control_packets": held.control_packets, "control_bytes": held.control_bytes,
        });
        if let Some(pool) = self.pool {
            let all = (0..self.ports).map(|port| self.fabric.held(PortId::new(port)));
            let serving = (0..self.ports).filter_map(|port| self.fabric.serving(PortId::new(port)));
            let control: u64 = serving
                .filter(|(slot, _)| slot.kind != Kind::Data)
                .map(|(slot, _)| u64::from(slot.length))
                .sum();
            state["pool_free"] =
                (pool - control - all.map(|held| held.data_bytes + held.control_bytes).sum::<u64>()).into();
        }
        state
    }
}

fn config<Q: Discipline<Slot>>(head: &Value) -> Q::Config {
    let mut config = Q::Config::default();
    for (name, value) in head["config"].as_object().unwrap() {
        let value = match value {
            Value::String(text) => Text::Text(text),
            Value::Bool(value) => Text::Bool(*value),
            other => other.as_i64().map_or_else(|| Text::Float(other.as_f64().unwrap()), Text::Integer),
        };
        config.set(name, value).expect("a setting").expect("a value of it");
    }
    config
}

fn kind(class: &Value) -> Kind {
    match class.as_str().unwrap() {
        "data" => Kind::Data,
        "control" => Kind::Control,
        "header" => Kind::Header,
        "returned" => Kind::Returned,
        other => panic!("{other} is no class"),
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => "data",
        Kind::Control => "control",
        Kind::Header => "header",
        Kind::Returned => "returned",
        Kind::Foreign => panic!("vectors have no foreign frames"),
    }
}

/// The vectors' name for the outcome of a frame's arrival.
fn verdict(events: &[(Event, u64)]) -> Value {
    let trimmed = events.iter().any(|(event, _)| *event == Event::Trimmed);
    for (event, id) in events {
        match event {
            Event::Returned => return json!({ "returned": id }),
            Event::Dropped(why) => {
                let why = match why {
                    Dropped::DataQueueFull => "data queue full",
                    Dropped::Early => "early",
                    _ => "control queue full",
                };
                return json!({ "dropped": id, "why": why, "trimmed": trimmed });
            }
            _ => {}
        }
    }
    match events {
        [] => json!("queued"),
        [(Event::Trimmed, id)] => json!({ "trimmed": id }),
        other => panic!("{other:?}"),
    }
}

fn replay<Q: Discipline<Slot>>(name: &str, head: &Value, lines: &[Value]) {
    let mut switch = Switch::<Q>::new(head);
    for (number, line) in (2..).zip(lines) {
        let mut expected = line.clone();
        if switch.named {
            // The free part of the shared memory is not visible from outside.
            expected["after"].as_object_mut().unwrap().remove("pool_free");
        }
        assert_eq!(switch.step(line), expected, "{name}, line {number}");
    }
}

#[test]
fn a_switch_of_frames_decides_as_the_vectors_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/qdisc");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let (name, text) = (path.display().to_string(), fs::read_to_string(&path).unwrap());
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (head, lines) = lines.split_first().unwrap();
        match head["discipline"].as_str().unwrap() {
            "trim" => replay::<Trim<Slot>>(&name, head, lines),
            "cut-payload" => replay::<CutPayload<Slot>>(&name, head, lines),
            "drop-tail" => replay::<DropTail<Slot>>(&name, head, lines),
            "priority" => replay::<Priority<Slot>>(&name, head, lines),
            "red" => replay::<Red<Slot>>(&name, head, lines),
            "scdp" => replay::<ScdpSwitch<Slot>>(&name, head, lines),
            // Frames state neither flow nor rank.
            "pfabric" => continue,
            "d3" => replay::<D3<Slot>>(&name, head, lines),
            "pdq" => replay::<Pdq<Slot>>(&name, head, lines),
            "pfc" => replay::<Pfc<Slot>>(&name, head, lines),
            "shared-buffer" => replay::<SharedBuffer<Slot>>(&name, head, lines),
            other => panic!("{name}: {other} is not replayed"),
        }
        files += 1;
    }
    assert!(files >= 24, "the vectors are not there");
}
