//! Golden vectors: frames byte by byte, and the fields in them. `vectors/wire.jsonl` lets other implementations of the
//! format check themselves. `BLESS=1 cargo test -p pullnet-wire --test wire vectors` rewrites the file: review the
//! difference.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use pullnet_wire::switch::{self, Lengths};
use pullnet_wire::{
    Arrived, DataFields, Fate, Mac, Mark, Marks, PORT, Packet, Reason, Refused, Route, Shape, emit, parse,
};
use serde_json::{Value, json};

/// A frame with a name, and the port of the host that it is given to.
struct Case {
    name: &'static str,
    port: u16,
    frame: Vec<u8>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex")).collect()
}

fn fields(shape: &Shape) -> Value {
    match *shape {
        Shape::Data(DataFields { seq, syn, last, pulled, again, length, service, priority, stamp }) => {
            json!({
                "type": "data", "seq": seq, "syn": syn, "last": last, "pulled": pulled, "again": again,
                "length": length,
                "service": service, "priority": priority, "stamp": stamp,
            })
        }
        Shape::Ack { seq, also, pull } => json!({"type": "ack", "seq": seq, "also": also, "pull": pull}),
        Shape::Nack { seq, pull } => json!({"type": "nack", "seq": seq, "pull": pull}),
        Shape::Pull { number } => json!({"type": "pull", "number": number}),
        Shape::Probe { seq } => json!({"type": "probe", "seq": seq}),
        Shape::Reset { by_sender, reason } => {
            json!({"type": "reset", "by_sender": by_sender, "reason": reason.0})
        }
        Shape::Hello => json!({"type": "hello"}),
        Shape::Cookie { token, clock } => {
            json!({"type": "cookie", "token": format!("{token:016x}"), "clock": clock})
        }
    }
}

fn outcome(result: &Result<Arrived<'_>, Refused>) -> Value {
    match result {
        Err(refused) => json!({"refused": refused.to_string()}),
        Ok(arrived) => json!({
            "fate": if arrived.damaged { "damaged".to_owned() } else { format!("{:?}", arrived.fate).to_lowercase() },
            "mark": arrived.mark.map(|mark| format!("{mark:?}").to_lowercase()),
            "from": arrived.route.from.to_string(),
            "to": arrived.route.to.to_string(),
            "label": arrived.route.label(),
            "home": arrived.packet.home,
            "conn": arrived.packet.conn,
            "tag": format!("{:016x}", arrived.packet.tag),
            "packet": fields(&arrived.packet.shape),
            "payload": hex(arrived.payload),
        }),
    }
}

fn line(case: &Case) -> Value {
    let parsed = parse(&case.frame, &Marks::default(), case.port);
    json!({"name": case.name, "port": case.port, "frame": hex(&case.frame), "is": outcome(&parsed)})
}

fn route(ipv6: bool) -> Route {
    let addresses: [IpAddr; 2] = if ipv6 {
        ["2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap()]
    } else {
        ["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()]
    };
    Route {
        from_mac: Mac([2, 0, 0, 0, 0, 1]),
        to_mac: Mac([2, 0, 0, 0, 0, 2]),
        from: addresses[0],
        to: addresses[1],
        from_port: Route::port_of(5),
        to_port: PORT,
    }
}

fn frame(route: &Route, shape: Shape) -> Vec<u8> {
    let payload: Vec<u8> = (0..shape.length()).map(|at| at as u8).collect();
    let alone = matches!(shape, Shape::Hello | Shape::Cookie { .. });
    let conn = if alone { 0 } else { 0x0102_0304 };
    let packet = Packet { home: 61000, conn, tag: 0x0123_4567_89ab_cdef, shape };
    let mut out = vec![0; 2000];
    let long = emit(&mut out, route, &Marks::default(), &packet, &payload).unwrap();
    out.truncate(long);
    out
}

fn data(length: u16) -> Shape {
    Shape::Data(DataFields {
        seq: 7,
        syn: true,
        length,
        service: 80,
        priority: 2,
        stamp: 0x0a_0b0c,
        ..DataFields::default()
    })
}

fn trimmed(mut frame: Vec<u8>, keep: usize, lengths: Lengths) -> Vec<u8> {
    let long = switch::trim(&mut frame, keep, lengths, &Marks::default()).unwrap();
    frame.truncate(long);
    frame
}

fn changed(mut frame: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut frame);
    frame
}

/// Every type of packet as it is sent.
fn sent() -> Vec<Case> {
    let last =
        Shape::Data(DataFields { seq: 90, last: true, pulled: true, again: true, ..DataFields::default() });
    let shapes = [
        ("data", data(20)),
        ("the last packet, empty", last),
        ("ack", Shape::Ack { seq: 7, also: 0, pull: None }),
        ("ack with a pull", Shape::Ack { seq: 7, also: 0, pull: Some(3) }),
        ("ack of four packets with a pull", Shape::Ack { seq: 40, also: 0x8000_0005, pull: Some(9) }),
        ("nack", Shape::Nack { seq: 8, pull: None }),
        ("nack with a pull", Shape::Nack { seq: 8, pull: Some(4) }),
        ("pull", Shape::Pull { number: 0xffff_ffff }),
        ("probe", Shape::Probe { seq: 9 }),
        ("reset by the receiver", Shape::Reset { by_sender: false, reason: Reason::NO_LISTENER }),
        ("reset by the sender", Shape::Reset { by_sender: true, reason: Reason::ABORTED }),
        ("hello", Shape::Hello),
        ("cookie", Shape::Cookie { token: 0xfedc_ba98_7654_3210, clock: 0x01_0203 }),
    ];
    let case = |(name, shape)| Case { name, port: PORT, frame: frame(&route(false), shape) };
    shapes.into_iter().map(case).collect()
}

/// Data frames after switches have marked, trimmed or returned them.
fn on_the_way() -> Vec<Case> {
    let (v4, v6) = (route(false), route(true));
    let short = frame(&v4, data(12));
    let header = trimmed(frame(&v4, data(200)), 74, Lengths::Corrected);
    let returned = changed(header.clone(), |frame| assert!(switch::send_back(frame, &Marks::default())));
    let remarked = changed(short, |frame| assert!(switch::set_mark(frame, Mark::Trimmed, &Marks::default())));
    let case = |name, frame| Case { name, port: PORT, frame };
    vec![
        case("data over IPv6", frame(&v6, data(20))),
        case("trimmed to 74 B, lengths corrected", header.clone()),
        case("trimmed to 74 B, lengths kept", trimmed(frame(&v4, data(200)), 74, Lengths::Kept)),
        case("trimmed to 100 B", trimmed(frame(&v4, data(200)), 100, Lengths::Corrected)),
        case("trimmed to 94 B over IPv6", trimmed(frame(&v6, data(200)), 0, Lengths::Corrected)),
        case("trimmed, padded by a network card", changed(header, |frame| frame.resize(80, 0))),
        case("marked as trimmed, but all of it is there", remarked),
        Case { name: "returned", port: 61000, frame: returned },
        case(
            "a VLAN tag in front",
            changed(frame(&v4, data(4)), |frame| {
                frame.splice(12..12, [0x81, 0, 0, 9]);
            }),
        ),
    ]
}

/// Frames that must be refused.
fn wrong() -> Vec<Case> {
    let flip = |at: usize| changed(frame(&route(false), data(20)), |frame| frame[at] ^= 1);
    let case = |name, frame| Case { name, port: PORT, frame };
    let resealed = |at: usize, value: u8| {
        let route = route(false);
        changed(frame(&route, Shape::Pull { number: 1 }), |frame| {
            frame[42 + at] = value;
            let check = pullnet_wire::crc32c(&[&[192, 0, 2, 1], &[192, 0, 2, 2], &frame[42..70]]);
            frame[70..74].copy_from_slice(&check.to_be_bytes());
        })
    };
    vec![
        case("a wrong bit in the payload", flip(90)),
        case("a wrong bit in the packet number", flip(53)),
        case("a wrong bit in the IPv4 header", flip(22)),
        case("one byte short of a header", frame(&route(false), Shape::Pull { number: 1 })[..73].to_vec()),
        case("version 1", resealed(0, 0x13)),
        case("packet type 9", resealed(0, 0x29)),
        case("a flag that a pull does not have", resealed(1, 2)),
        case("a reserved byte that is not 0", resealed(17, 1)),
        case(
            "a fragment",
            changed(frame(&route(false), data(20)), |frame| {
                frame[20] = 0x20;
                switch::set_mark(frame, Mark::Data, &Marks::default());
            }),
        ),
        Case { name: "another port", port: 7, frame: frame(&route(false), data(20)) },
        case("not IP", vec![0; 60]),
        case("nothing", Vec::new()),
    ]
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/wire.jsonl")
}

#[test]
fn frames_say_what_the_vectors_say() {
    let cases: Vec<Case> = sent().into_iter().chain(on_the_way()).chain(wrong()).collect();
    let marks = Marks::default();
    let dscp = [Mark::Data, Mark::Control, Mark::Trimmed, Mark::Returned].map(|mark| marks.dscp(mark));
    let head = json!({"format": "pullnet-wire", "version": 2, "dscp": {
        "data": dscp[0], "control": dscp[1], "trimmed": dscp[2], "returned": dscp[3],
    }});
    let lines = std::iter::once(head).chain(cases.iter().map(line));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    if std::env::var_os("BLESS").is_some() {
        fs::write(path(), &text).expect("the vectors can be written");
    }
    let held = fs::read_to_string(path()).expect("the vectors are there");
    for (held, made) in held.lines().zip(text.lines()) {
        assert_eq!(held, made);
    }
    assert_eq!(held.lines().count(), text.lines().count());
}

/// The file alone, without what made it: every frame is read as the file says, and written again as it was.
#[test]
fn the_file_is_read_by_itself() {
    let held = fs::read_to_string(path()).expect("the vectors are there");
    let mut whole = 0;
    for line in held.lines().skip(1) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let frame = bytes(line["frame"].as_str().expect("a frame"));
        let port = line["port"].as_u64().expect("a port") as u16;
        let parsed = parse(&frame, &Marks::default(), port);
        assert_eq!(outcome(&parsed), line["is"], "{}", line["name"]);
        let Ok(arrived) = parsed else { continue };
        let as_sent = matches!(arrived.mark, Some(Mark::Data | Mark::Control)) && frame[12] != 0x81;
        if arrived.fate == Fate::Whole && as_sent {
            let mut again = vec![0; 2000];
            let long = emit(&mut again, &arrived.route, &Marks::default(), &arrived.packet, arrived.payload)
                .unwrap();
            assert_eq!(again[..long], frame[..], "{}", line["name"]);
            whole += 1;
        }
    }
    assert!(whole >= 10, "only {whole} frames were written again");
}
