//! The interpreter, and the P4 trimming switch compared with the software switch.

use pullnet_hardware::agreement::{Frames, PORTS, Profile};
use pullnet_hardware::p4::port::{Settings, Ways, host, set};
use pullnet_hardware::p4::{NDP, Outcome, PUBLISHED, Switch, parse};
use pullnet_qdisc::Trim;
use pullnet_switch::{Fabric, Ndp, PortSettings, Silent, Slot};
use pullnet_units::{BitsPerSec, NodeId, Picos, PortId};

/// A program with this ingress body; its result leaves in the first bytes of the packet.
fn program(declarations: &str, body: &str) -> String {
    format!(
        "header h_t {{ bit<8> a; bit<8> b; bit<16> c; }} struct headers_t {{ h_t h; }} struct meta_t {{ bit<8> m; }}
        {declarations}
        parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t s) {{
            state start {{ p.extract(hdr.h); transition accept; }} }}
        control V(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
        control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t s) {{ {body} }}
        control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t s) {{ apply {{ }} }}
        control C(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
        control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr.h); }} }}
        V1Switch(P(), V(), I(), E(), C(), D()) main;"
    )
}

fn ran(declarations: &str, body: &str, bytes: &[u8]) -> Vec<u8> {
    let mut switch = Switch::new(&program(declarations, body), 2, 10, 1).unwrap();
    assert_eq!(switch.arrive(1, bytes).unwrap(), Outcome::Queued { ports: vec![0], priority: 0 });
    switch.serve(0).unwrap().unwrap()
}

#[test]
fn expressions_have_the_values_of_the_language() {
    let value = |expression: &str| {
        let out = ran("", &format!("apply {{ hdr.h.c = {expression}; }}"), &[0x12, 0xfe, 0x34, 0x56, 9]);
        assert_eq!(out[4..], [9], "the payload follows");
        u16::from_be_bytes([out[2], out[3]])
    };
    assert_eq!(value("1 + 2 * 3"), 7);
    assert_eq!(value("(bit<16>) hdr.h.b + 1"), 0xff);
    assert_eq!(value("(bit<16>) (hdr.h.b + 3)"), 1, "8 bits wrap");
    assert_eq!(value("hdr.h.a ++ hdr.h.b"), 0x12fe);
    assert_eq!(value("(bit<16>) hdr.h.c[11:4]"), 0x45);
    assert_eq!(value("hdr.h.a > 3 && hdr.h.b != 0xfe ? 16w5 : 16w6"), 6);
    assert_eq!(value("1 << 3 | 0x20 ^ 0b1"), 0x29);
    assert_eq!(value("~hdr.h.c >> 12"), 0xc);
    assert_eq!(value("(bit<16>) (bit<4>) hdr.h.c"), 6);
    assert_eq!(value("0 - hdr.h.c"), 0u16.wrapping_sub(0x3456));
}

#[test]
fn statements_tables_and_registers_do_what_they_say() {
    let body = "action put(bit<8> x) { hdr.h.a = x; } action miss() { hdr.h.a = 0xee; }
        table t { key = { hdr.h.c: lpm; hdr.h.b: exact; } actions = { put; miss; } default_action = miss(); }
        apply {
            bit<16> held;
            r.read(held, 3);
            r.write(3, held + 1);
            if (t.apply().hit) { hdr.h.c[7:0] = held[7:0]; } else if (hdr.h.b == 7) { exit; }
            hdr.h.b = 1;
        }";
    let mut switch = Switch::new(&program("register<bit<16>>(4) r;", body), 2, 10, 1).unwrap();
    let lpm = |value, length| pullnet_hardware::p4::Key::Lpm { value, width: 16, length };
    let exact = pullnet_hardware::p4::Key::Exact;
    switch.machine.insert("t", &[lpm(0x1200, 8), exact(5)], "put", &[1]).unwrap();
    switch.machine.insert("t", &[lpm(0x1230, 12), exact(5)], "put", &[2]).unwrap();
    let mut one = |bytes: [u8; 4]| {
        switch.arrive(1, &bytes).unwrap();
        switch.serve(0).unwrap().unwrap()
    };
    assert_eq!(one([0, 5, 0x12, 0x99]), [1, 1, 0x12, 0]);
    assert_eq!(one([0, 5, 0x12, 0x34]), [2, 1, 0x12, 1], "the longest prefix");
    assert_eq!(one([0, 7, 0x12, 0x34]), [0xee, 7, 0x12, 0x34], "exit");
    assert_eq!(one([0, 6, 0x12, 0x34]), [0xee, 1, 0x12, 0x34]);
    assert_eq!(switch.machine.register("r", 3), Some(4));
    let refused = switch.machine.insert("t", &[exact(1)], "put", &[1]).unwrap_err().to_string();
    assert_eq!(refused, "table t: its keys are [Lpm, Exact]");
}

#[test]
fn a_packet_that_ends_within_a_header_keeps_its_bytes() {
    let out = ran("", "apply { if (hdr.h.isValid()) { hdr.h.a = 1; } }", &[7, 8]);
    assert_eq!(out, [7, 8]);
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let refused = |text: &str| {
        parse(text).map(|_| ()).or_else(|why| Switch::new(text, 1, 1, 1).map(|_| ()).map_err(|_| why))
    };
    let line = |text: &str| refused(text).unwrap_err().to_string();
    assert!(line("header h { bit<129> x; }").starts_with("line 1: 129 is not from 1 to 128"));
    assert!(
        line("\n\nextern Foo;").starts_with("line 3: extern: this declaration is not part of the subset")
    );
    assert!(line("/* no end").contains("add */"));
    assert!(line("#define X 1").contains("#include"));
    assert!(line("const bit<4> X = 16;").contains("does not fit"));
    assert!(line("struct s { bit<8> x; }").contains("no V1Switch"));
    let refused = |body: &str| Switch::new(&program("", body), 1, 1, 1).map(|_| ()).unwrap_err().to_string();
    assert!(
        refused("apply { hdr.h.z = 1; }")
            .ends_with("there is no hdr.h.z; it is no variable, constant or field")
    );
    assert!(refused("apply { t.apply(); }").contains("there is no t.apply"));
    assert!(refused("apply { truncate(); }").ends_with("truncate takes 1 arguments, not 0"));
    assert!(refused("table t { actions = { none; } } apply { }").contains("none, which is no action"));
    let mut switch = Switch::new(&program("", "apply { hdr.h.a = hdr.h.c; }"), 1, 1, 1).unwrap();
    assert!(switch.arrive(0, &[1, 2, 3, 4]).unwrap_err().what.contains("bit<8> is expected"));
    let mut switch = Switch::new(&program("", "apply { hdr.h.a = 1; }"), 1, 1, 1).unwrap();
    assert!(switch.arrive(0, &[1]).unwrap_err().what.contains("not valid here"));
}

/// Truncated programs, or programs with one byte changed, are rejected or run; they never panic.
#[test]
fn damaged_programs_are_refused() {
    for text in [NDP, PUBLISHED] {
        for at in (0..text.len()).step_by(37).filter(|at| text.is_char_boundary(*at)) {
            let _ = Switch::new(&text[..at], 4, 1, 1);
            let changed = format!("{}}}{}", &text[..at], &text[at..]);
            let _ = Switch::new(&changed, 4, 1, 1);
        }
    }
}

fn fabric(profile: &Profile) -> Fabric<Trim<Slot>, Ndp, Silent> {
    let port = PortSettings::outside(NodeId::new(0), BitsPerSec::gbps(10));
    let mut fabric =
        Fabric::new(&profile.trim(), profile.fabric(), &[port; PORTS], Ndp::default(), Silent).unwrap();
    Profile::entries().for_each(|(mac, entry)| fabric.forward(NodeId::new(0), mac, entry));
    (0..PORTS as u32).for_each(|port| fabric.pause(PortId::new(port)));
    fabric
}

fn p4_switch(profile: &Profile) -> Switch {
    let mut switch = Switch::new(NDP, PORTS as u16, 1000, 1).unwrap();
    let [data_room, control_room] = profile.rooms().map(|room| room as u16);
    let mark_above = profile.marks_above();
    set(&mut switch, &Settings { data_room, control_room, trim_to: 64, send_back: true, mark_above })
        .unwrap();
    for (mac, entry) in Profile::entries() {
        let ports: Vec<u16> = entry.ports.iter().map(|port| port.get() as u16).collect();
        let ways = Ways { ports: &ports, shift: entry.selection.shift, mask: entry.selection.mask };
        host(&mut switch, mac.bytes(), ways).unwrap();
    }
    switch
}

/// Data and control frames of each port, in order.
type Left = Vec<[Vec<Vec<u8>>; 2]>;

fn drain_fabric(fabric: &mut Fabric<Trim<Slot>, Ndp, Silent>) -> Left {
    let mut left: Left = vec![Default::default(); PORTS];
    (0..PORTS as u32).for_each(|port| fabric.resume(PortId::new(port)));
    fabric.advance(fabric.now().after(Picos::from_secs(1)));
    (0..PORTS as u32).for_each(|port| fabric.pause(PortId::new(port)));
    while let Some(departure) = fabric.poll_departure() {
        let bytes = fabric.frame(departure.frame).to_vec();
        left[departure.port.get() as usize][usize::from(is_control(&bytes))].push(bytes);
        fabric.release(departure.frame);
    }
    left
}

fn drain_p4(switch: &mut Switch) -> Left {
    let mut left: Left = vec![Default::default(); PORTS];
    for (port, classes) in left.iter_mut().enumerate() {
        while let Some(bytes) = switch.serve(port as u16).unwrap() {
            classes[usize::from(is_control(&bytes))].push(bytes);
        }
        assert_eq!(
            switch.machine.register("data_frames", port),
            Some(0),
            "the count is 0 when the queue is empty"
        );
        assert_eq!(switch.machine.register("control_frames", port), Some(0));
    }
    left
}

/// A trimmed frame that was too short to lose bytes keeps its mark; both switches send it among the control frames, so here
/// its length identifies it.
fn is_control(bytes: &[u8]) -> bool {
    use pullnet_switch::{Codec, Kind};
    let class = Ndp::default().classify(bytes);
    !matches!(class.kind, Kind::Data | Kind::Foreign)
}

/// Batches of random frames, valid and invalid, arrive while nothing is served; then everything leaves. Bytes and order
/// within a class must equal those of a software switch that always trims the arriving frame.
#[test]
fn the_program_does_what_the_software_switch_does() {
    let profile = Profile::probe(false, false, false, false, true, false);
    let (mut fabric, mut switch) = (fabric(&profile), p4_switch(&profile));
    let (mut compared, mut batch) = (0, 0);
    for (port, given) in Frames::new(profile, 5, 20_000) {
        // The interpreter ignores check sequences, and short frames are handled by the software switch only.
        if given.is_bad() {
            continue;
        }
        let now = fabric.now();
        fabric.arrive(PortId::new(port as u32), now, &given.bytes);
        fabric.advance(now);
        while fabric.come_round() {}
        switch.arrive(port as u16, &given.bytes).unwrap();
        batch += 1;
        if batch % 40 == 0 {
            let (ours, theirs) = (drain_p4(&mut switch), drain_fabric(&mut fabric));
            compared += theirs.iter().flatten().map(Vec::len).sum::<usize>();
            for (port, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert_eq!(ours, theirs, "port {port}, batch {}", batch / 40);
            }
        }
    }
    assert!(compared > 8000, "{compared} frames left");
}
