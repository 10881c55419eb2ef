//! Replays golden vectors of the trimming queue as frames through a P4 program.

use serde_json::Value;
use thiserror::Error;

use crate::agreement::checksum;
use crate::p4::port::{Settings, Ways, host, set};
use crate::p4::{Key, NDP, Outcome, PUBLISHED, Switch};

/// The port under test, and the port for ingress and for returned headers.
const OUT: u16 = 0;
const IN: u16 = 1;

/// Reasons why a vector cannot be replayed.
#[derive(Debug, Error)]
pub enum WrongVector {
    /// A line does not follow `vectors/qdisc/schema.json`.
    #[error("line {0}: {1} is missing or wrong")]
    Line(usize, &'static str),
    /// The program lacks a setting of the vector.
    #[error("{0}")]
    Settings(String),
    /// The program failed.
    #[error("{0}")]
    Program(String),
}

/// A P4 program in the role of a vector's port.
pub struct Ported {
    switch: Switch,
    /// Encodes a frame: class, number, bytes in the vector.
    frame: fn(&str, u32, usize) -> Vec<u8>,
    /// Decodes a frame: class, number, and bytes in the vector.
    read: fn(&[u8]) -> (&'static str, u32, usize),
    serving_data: bool,
}

fn text<'a>(value: &'a Value, name: &'static str, line: usize) -> Result<&'a str, WrongVector> {
    value[name].as_str().ok_or(WrongVector::Line(line, name))
}

/// Capacity of a queue in frames. Headers of the vectors have 64 B.
fn room(config: &Value, name: &str, default: u16, bytes_count: bool) -> Result<u16, WrongVector> {
    let Some(text) = config[name].as_str() else { return Ok(default) };
    let lacks = || WrongVector::Settings(format!("{name} = {text}: the program counts frames"));
    let (number, unit) = text.split_once(' ').ok_or_else(lacks)?;
    let number: u16 = number.parse().map_err(|_| lacks())?;
    match unit {
        "packets" => Ok(number),
        "B" if bytes_count => Ok(number / 64),
        _ => Err(lacks()),
    }
}

/// `hardware/p4/ndp.p4` with the settings of a vector.
pub fn ndp_port(config: &Value) -> Result<Ported, WrongVector> {
    let program = |why: String| WrongVector::Program(why);
    let mut switch = Switch::new(NDP, 2, 2000, 1).map_err(|why| program(why.to_string()))?;
    let settings = Settings {
        data_room: room(config, "data_queue", 8, false)?,
        control_room: room(config, "control_queue", 1125, true)?,
        trim_to: 74,
        send_back: config["return_to_sender"] != false,
        mark_above: config["mark_above"]
            .as_str()
            .map(|_| room(config, "mark_above", 0, false))
            .transpose()?,
    };
    set(&mut switch, &settings).map_err(|why| program(why.to_string()))?;
    for (last, port) in [(1, OUT), (2, IN)] {
        let ways = Ways { ports: &[port], shift: 0, mask: 0 };
        host(&mut switch, [2, 0, 0, 0, 0, last], ways).map_err(|why| program(why.to_string()))?;
    }
    Ok(Ported { switch, frame: udp_frame, read: read_udp, serving_data: false })
}

/// `hardware/p4/published.p4` with the settings of a vector.
pub fn published_port(config: &Value) -> Result<Ported, WrongVector> {
    let program = |why: String| WrongVector::Program(why);
    let mut switch = Switch::new(PUBLISHED, 2, 2000, 1).map_err(|why| program(why.to_string()))?;
    let data = room(config, "data_queue", 8, false)?;
    let all = Key::Lpm { value: 0, width: 32, length: 0 };
    switch
        .machine
        .set_default("buffer", "set_room", &[data.into()])
        .and_then(|()| switch.machine.insert("ipv4_lpm", &[all], "set_next_hop", &[7, OUT.into()]))
        .and_then(|()| switch.machine.insert("forward", &[Key::Exact(7)], "set_mac", &[0x0200_0000_0001]))
        .map_err(|why| program(why.to_string()))?;
    Ok(Ported { switch, frame: artifact_frame, read: read_artifact, serving_data: false })
}

fn headers(tos: u8, protocol: u8, long: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, tos];
    bytes.extend(((long - 14) as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]);
    let sum = checksum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// A header of our format has 74 B where the vectors have 64.
fn udp_frame(class: &str, id: u32, long: usize) -> Vec<u8> {
    let long = long + 10;
    let dscp = match class {
        "data" => 3,
        "control" => 11,
        "header" => 7,
        "returned" => 15,
        _ => 0,
    };
    let mut bytes = headers(dscp << 2, 17, long);
    bytes.extend([0xc0, 0, 0xee, 0x48]);
    bytes.extend(((long - 34) as u16).to_be_bytes());
    bytes.extend([0, 0, 0x20, 0, 0xee, 0x48, 0, 0, 0, 0]);
    bytes.extend(id.to_be_bytes());
    bytes.resize(long, 0);
    bytes
}

fn read_udp(bytes: &[u8]) -> (&'static str, u32, usize) {
    let class = match bytes[15] >> 2 {
        3 => "data",
        11 => "control",
        7 => "header",
        15 => "returned",
        _ => "foreign",
    };
    let id = u32::from_be_bytes([bytes[50], bytes[51], bytes[52], bytes[53]]);
    (class, id, bytes.len() - 10)
}

/// A header of the artifact's format has 54 B. Flags: DATA 1, ACK 2; CHOPPED 128 for trimmed frames.
fn artifact_frame(class: &str, id: u32, long: usize) -> Vec<u8> {
    let long = long - 10;
    let flags: u16 = match class {
        "data" => 1,
        "control" => 2,
        "foreign" => 0,
        _ => 129,
    };
    let mut bytes = headers(0, 199, long);
    bytes.extend(flags.to_be_bytes());
    bytes.extend([0; 10]);
    bytes.extend(id.to_be_bytes());
    bytes.resize(long, 0);
    bytes
}

fn read_artifact(bytes: &[u8]) -> (&'static str, u32, usize) {
    let class = match (bytes[35], bytes.len()) {
        (1, 54) => "header",
        (1, _) => "data",
        (2, _) => "control",
        (129, _) => "header",
        _ => "foreign",
    };
    let id = u32::from_be_bytes([bytes[46], bytes[47], bytes[48], bytes[49]]);
    (class, id, bytes.len() + 10)
}

impl Ported {
    fn enqueue(&mut self, line: &Value, at: usize) -> Result<bool, WrongVector> {
        let packet = &line["pkt"];
        let class = text(packet, "class", at)?;
        let id = packet["id"].as_u64().ok_or(WrongVector::Line(at, "id"))? as u32;
        let long = packet["len"].as_u64().ok_or(WrongVector::Line(at, "len"))? as usize;
        let mut bytes = (self.frame)(class, id, long);
        if packet["ect"] == true {
            bytes[15] |= 2;
        }
        let before = self.switch.waiting(OUT);
        let outcome = self.switch.arrive(IN, &bytes);
        let outcome = outcome.map_err(|why| WrongVector::Program(why.to_string()))?;
        let (now, back) = (self.switch.waiting(OUT), self.switch.waiting(IN));
        let control = ["control", "header", "returned"].contains(&class);
        let found = match outcome {
            Outcome::Queued { priority: 0, .. } if now[0] > before[0] => "queued",
            Outcome::Queued { .. } if back.iter().sum::<usize>() > 0 => "returned",
            Outcome::Queued { .. } if control => "queued",
            Outcome::Queued { .. } => "trimmed",
            Outcome::Dropped | Outcome::NoRoom(_) => "dropped",
        };
        if found == "returned" {
            self.switch.serve(IN).map_err(|why| WrongVector::Program(why.to_string()))?;
        }
        let verdict = &line["verdict"];
        let same_victim = |name: &str| verdict[name].as_u64() == Some(id.into());
        let marked = verdict == "marked" || line["marked"] == true;
        Ok(match found {
            // Marks are visible only when the frame leaves.
            "queued" => verdict == "queued" || marked,
            name => same_victim(name),
        })
    }

    fn dequeue(&mut self, line: &Value) -> Result<bool, WrongVector> {
        let served = self.switch.serve(OUT).map_err(|why| WrongVector::Program(why.to_string()))?;
        let wanted = &line["pkt"];
        let Some(bytes) = served else { return Ok(wanted.is_null()) };
        let (class, id, long) = (self.read)(&bytes);
        self.serving_data = class == "data" || class == "foreign";
        let marked = bytes[15] & 3 == 3;
        Ok(wanted["class"] == class
            && wanted["id"] == id
            && wanted["len"] == long
            && marked == (wanted["ce"] == true))
    }

    fn step(&mut self, line: &Value, at: usize) -> Result<bool, WrongVector> {
        let same = match text(line, "op", at)? {
            "enqueue" => self.enqueue(line, at)?,
            "dequeue" => self.dequeue(line)?,
            _ => {
                self.serving_data = false;
                true
            }
        };
        let waiting = self.switch.waiting(OUT);
        let (data, control) = (waiting[0] + usize::from(self.serving_data), waiting[1]);
        let after = &line["after"];
        Ok(same && after["data_packets"] == data && after["control_packets"] == control)
    }
}

/// Result of replaying the vector `text`: `yes`, the line of the first difference, or the reason why it cannot be replayed.
pub fn replay(text: &str, port: fn(&Value) -> Result<Ported, WrongVector>) -> Result<String, WrongVector> {
    let mut lines = text.lines().map(serde_json::from_str::<Value>).zip(1..);
    let mut next = || lines.next().map(|(line, at)| (line.map_err(|_| WrongVector::Line(at, "JSON")), at));
    let head = next().ok_or(WrongVector::Line(1, "head"))?.0?;
    if head["discipline"] != "trim" {
        return Ok("no: the program trims".into());
    }
    let mut port = match port(&head["config"]) {
        Err(WrongVector::Settings(why)) => return Ok(format!("no: {why}")),
        port => port?,
    };
    while let Some((line, at)) = next() {
        if !port.step(&line?, at)? {
            return Ok(format!("differs at line {at} of {}", text.lines().count()));
        }
    }
    Ok("yes".into())
}

/// Checks the paper's claims about its P4 program: data beyond the capacity is cut to headers and put into the queue of
/// control frames, control frames always go there, and the count of waiting data is 0 again when everything has left.
pub fn functional(program: Published) -> Result<bool, WrongVector> {
    let (mut port, register) = match program {
        Published::Paper => (published_port(&Value::Null)?, "qs"),
        Published::Ours => (ndp_port(&Value::Null)?, "data_frames"),
    };
    let wrong = |why: crate::p4::WrongProgram| WrongVector::Program(why.to_string());
    let mut holds = true;
    for id in 0..16 {
        let (class, data) = if id % 4 == 3 { ("control", 0) } else { ("data", 1) };
        let long = if data == 1 { 1500 } else { 64 };
        let before = port.switch.waiting(OUT);
        port.switch.arrive(IN, &(port.frame)(class, id, long)).map_err(wrong)?;
        let now = port.switch.waiting(OUT);
        let whole = data == 1 && before[0] < 8;
        holds &= now[0] - before[0] == usize::from(whole) && now[1] - before[1] == usize::from(!whole);
    }
    holds &= port.switch.machine.register(register, OUT.into()) == Some(8);
    let (mut left, mut cut) = (0, 0);
    while let Some(bytes) = port.switch.serve(OUT).map_err(wrong)? {
        let (class, _, long) = (port.read)(&bytes);
        left += 1;
        cut += usize::from(class == "header" && long == 64);
    }
    // Twelve data frames and four control frames arrived; the capacity is eight.
    Ok(holds && left == 16 && cut == 4 && port.switch.machine.register(register, OUT.into()) == Some(0))
}

/// A P4 program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Published {
    /// The paper's.
    Paper,
    /// `hardware/p4/ndp.p4`.
    Ours,
}
