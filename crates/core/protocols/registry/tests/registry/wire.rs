//! Every protocol with a wire format: sent frames are read back, and invalid frames are refused.
//! `vectors/transports.jsonl` holds frames byte by byte, so that other implementations of the format can check
//! themselves. `BLESS=1 cargo test -p pullnet-protocols --test registry wire` rewrites the file: review the difference.

use pullnet_units::WireLen;
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use proptest::prelude::*;
use pullnet_protocols::{FRAMED, Pdq, for_each_framed};
use pullnet_transport::{
    Class, Fate, Grant, Header, Hop, HostAddr, Packed, Protocol, RateAsk, Transmit, Turn, TurnAsk, Words,
};
use pullnet_wire::switch::{self, Lengths};
use pullnet_wire::{Arrival, BadPlain, Framed, HeaderOf, Mac, Mark, Marks, PORT, Refused, Route, answer};
use serde_json::{Value, json};

/// Where the host that sends listens.
const HOME: u16 = 61000;

fn route(ipv6: bool) -> Route {
    let ends = if ipv6 { ["2001:db8::1", "2001:db8::2"] } else { ["192.0.2.1", "192.0.2.2"] };
    let [from, to] = ends.map(|text| text.parse::<IpAddr>().unwrap());
    let [from_mac, to_mac] = [1, 2].map(|last| Mac([2, 0, 0, 0, 0, last]));
    Route { from_mac, to_mac, from, to, from_port: Route::port_of(5), to_port: PORT }
}

/// Any header: the words that it has, of these.
fn header<H: Header>(kind: u8, words: &[u32]) -> H {
    let mut packed = Packed::<H::Words> { kind, ..Packed::default() };
    packed.words.get_mut().iter_mut().zip(words).for_each(|(word, given)| *word = *given);
    H::unpack(packed)
}

fn transmit<P: Framed>(header: HeaderOf<P>, payload: u16, ect: bool) -> Transmit<HeaderOf<P>> {
    let is_data = P::data(&header).is_some();
    let class = if is_data { Class::Data } else { Class::Control };
    let wire = P::HEADERS as u16 + if is_data { payload } else { 0 };
    Transmit { class, ect, ..Transmit::data(HostAddr(1), 0, WireLen::new(wire), header) }
}

/// The frame of a packet, and its payload.
fn frame<P: Framed>(packet: &Transmit<HeaderOf<P>>, ipv6: bool) -> (Vec<u8>, Vec<u8>) {
    let payload: Vec<u8> = (0..P::payload(packet)).map(|at| at as u8 ^ 0x5a).collect();
    let mut out = vec![0; 2000];
    let long = P::emit(&mut out, &route(ipv6), &Marks::default(), HOME, packet, &payload).unwrap();
    out.truncate(long);
    (out, payload)
}

fn parse<P: Framed>(frame: &[u8]) -> Result<Arrival<'_, HeaderOf<P>>, Refused> {
    P::parse(frame, &Marks::default(), PORT)
}

/// ECT is what only senders of ECN-capable transports set; NDP's packets are never marked.
fn marks<P: Framed>() -> bool {
    P::NUMBER != 0
}

fn what_is_sent_is_read<P: Framed>(sent: HeaderOf<P>, payload: u16, ipv6: bool, ce: bool) {
    let packet = transmit::<P>(sent, payload, marks::<P>());
    let (mut bytes, payload) = frame::<P>(&packet, ipv6);
    if ce && marks::<P>() {
        bytes[15] |= if ipv6 { 0x30 } else { 0x03 };
        switch::set_mark(&mut bytes, Mark::Data, &Marks::default());
    }
    let arrived = parse::<P>(&bytes).unwrap();
    assert_eq!((arrived.header.pack(), arrived.home), (sent.pack(), HOME));
    assert_eq!((arrived.fate, arrived.damaged, arrived.payload), (Fate::Whole, false, &payload[..]));
    assert_eq!((arrived.ce, arrived.route), (ce && marks::<P>(), route(ipv6)));
    let received = arrived.received(HostAddr(3), 4);
    let length = if P::data(&sent).is_some() { packet.wire } else { WireLen::new(P::HEADERS as u16) };
    assert_eq!((received.from, received.paths, received.wire), (HostAddr(3), 4, length));
}

/// A switch that cuts a data packet leaves its header with the words behind it; one that sends it back too.
fn what_is_cut_is_read<P: Framed>(sent: HeaderOf<P>, payload: u16, ipv6: bool) {
    let (mut bytes, _) = frame::<P>(&transmit::<P>(sent, payload, false), ipv6);
    let header = sent.pack();
    if P::data(&sent).is_none() {
        return;
    }
    let long = switch::trim(&mut bytes, 0, Lengths::Corrected, &Marks::default());
    bytes.truncate(long.unwrap());
    let cut = parse::<P>(&bytes).unwrap();
    assert_eq!((cut.header.pack(), cut.fate, cut.length), (header, Fate::Trimmed, payload));
    assert!(switch::send_back(&mut bytes, &Marks::default()));
    let back = P::parse(&bytes, &Marks::default(), HOME).unwrap();
    assert_eq!((back.header.pack(), back.fate), (header, Fate::Returned));
}

fn whoever_turns_a_bit_is_found_out<P: Framed>(sent: HeaderOf<P>, bit: usize) {
    let (mut bytes, payload) = frame::<P>(&transmit::<P>(sent, 20, false), false);
    let bit = bit % (8 * (bytes.len() - 42));
    bytes[42 + bit / 8] ^= 1 << (bit % 8);
    match parse::<P>(&bytes) {
        Err(refused) => assert!(refused.is_malformed(), "{refused}"),
        Ok(arrived) => {
            assert!(arrived.damaged && arrived.fate == Fate::Trimmed && !payload.is_empty());
            assert_eq!(arrived.header.pack(), sent.pack());
        }
    }
}

proptest! {
    #[test]
    fn every_header_goes_over_the_wire(
        kind: u8, words: [u32; 27], payload in 1..1400u16, ipv6: bool, ce: bool, bit: usize,
    ) {
        for_each_framed!(|P| {
            let sent = header::<HeaderOf<P>>(kind, &words);
            what_is_sent_is_read::<P>(sent, payload, ipv6, ce);
            what_is_cut_is_read::<P>(sent, payload, ipv6);
            whoever_turns_a_bit_is_found_out::<P>(sent, bit);
        });
    }

    #[test]
    fn any_bytes_are_read_as_they_are_written_or_refused(mut datagram in prop::collection::vec(any::<u8>(), 0..120)) {
        // Near enough to a header that some are.
        datagram.iter_mut().take(1).for_each(|byte| *byte = 0x30 | *byte & 0x03);
        datagram.iter_mut().skip(1).take(1).for_each(|byte| *byte &= 0x31);
        datagram.iter_mut().skip(14).take(6).enumerate().for_each(|(at, byte)| *byte &= [1, 0, 3, 0, 0, 0][at]);
        for_each_framed!(|P| {
            let sealed = sealed(&datagram);
            if let Ok(arrived) = parse::<P>(&sealed) && arrived.fate == Fate::Whole {
                let mut packet = transmit::<P>(arrived.header, arrived.length, false);
                packet.class = Class::Control;
                let mut again = vec![0; 400];
                let (to, marks) = (route(false), Marks::default());
                let long = P::emit(&mut again, &to, &marks, arrived.home, &packet, arrived.payload).unwrap();
                // Bytes behind a control packet are padding.
                prop_assert_eq!(&again[42..long], &sealed[42..long]);
            }
        });
    }
}

/// A frame of this datagram with the right check of its header.
fn sealed(datagram: &[u8]) -> Vec<u8> {
    let mut bytes = datagram.to_vec();
    if bytes.len() >= 32 {
        let long = (32 + 4 * usize::from(bytes[14])).min(bytes.len());
        let check = pullnet_wire::crc32c(&[&[192, 0, 2, 1], &[192, 0, 2, 2], &bytes[..28], &bytes[32..long]]);
        bytes[28..32].copy_from_slice(&check.to_be_bytes());
    }
    let mut frame = vec![0; 300];
    let class = Marks::default().dscp(Mark::Control) << 2;
    let long = switch::put_headers(&mut frame, &route(false), class, &bytes).unwrap();
    frame.truncate(long);
    frame
}

#[test]
fn every_transport_has_a_number_of_its_own() {
    let mut named = BTreeMap::<u8, &str>::new();
    for_each_framed!(|P| {
        let other = named.insert(P::NUMBER, P::NAME).unwrap_or(P::NAME);
        let name = P::NAME;
        assert_eq!(
            other,
            name,
            "{other} and {name} have the same Framed::NUMBER, {}: change that of the new one",
            P::NUMBER
        );
    });
}

#[test]
fn nobody_takes_the_packets_of_another_transport() {
    for_each_framed!(|P| {
        let (bytes, _) = frame::<P>(&transmit::<P>(header::<HeaderOf<P>>(0, &[7, 1]), 20, false), false);
        for_each_framed!(|Q| {
            let refused = parse::<Q>(&bytes).err();
            assert_eq!(refused.is_none(), P::NUMBER == Q::NUMBER, "{} at {}", P::NAME, Q::NAME);
        });
    });
}

#[test]
fn every_refusal_says_where_and_what() {
    type Tcp = pullnet_protocols::Tcp;
    let (bytes, _) =
        frame::<Tcp>(&transmit::<Tcp>(header::<HeaderOf<Tcp>>(3, &[7, 1, 2, 5, 9]), 0, false), false);
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut datagram = bytes[42..].to_vec();
        change(&mut datagram);
        parse::<Tcp>(&sealed(&datagram)).unwrap_err().to_string()
    };
    assert_eq!(refused(&|d| d[0] = 0x23), "byte 0: version 2; this transport has version 3");
    assert_eq!(refused(&|d| d[16] = 9), "byte 16: transport number 9; this host speaks number 1");
    assert_eq!(refused(&|d| d[14] = 24), "byte 14: 24 words behind the header; there are at most 23");
    assert_eq!(refused(&|d| d[14] = 2), "4 B behind the header, where its words have 8 B");
    assert_eq!(refused(&|d| d[18] = 4), "byte 18: 0x04, which must be 0");
    let fields = "type 12, flags 0x00: no packet of this transport has these fields";
    assert_eq!(refused(&|d| d[0] = 0x3c), fields);
    // An ACK that carries payload, and one whose SACK range is empty.
    assert!(refused(&|d| d[1] |= 1).contains("flags 0x01"));
    assert!(refused(&|d| d[32..36].copy_from_slice(&[0, 0, 0, 5])).contains("type 3"));
    assert_eq!(refused(&|d| d.truncate(31)), "31 B behind UDP, where a header has 32 B");
    assert!(matches!(parse::<Tcp>(&[0; 60]), Err(Refused::Foreign)));
    assert!(matches!(parse::<Tcp>(&sealed(&[0x20; 40])), Err(Refused::Plain(BadPlain::Version(2)))));
}

#[test]
fn a_priority_reaches_the_switch_in_the_class_selector() {
    let mut names = Vec::new();
    for_each_framed!(|P| {
        // NDP's own header has the priority, which is for the receiver; its switches know none.
        if P::NAME != "ndp" {
            carries_priorities::<P>();
            names.push(P::NAME);
        }
    });
    assert!(names.contains(&"tcp") && names.contains(&"scdp"), "{names:?}");
}

fn carries_priorities<P: Framed>() {
    let data = (0..16).map(|kind| header::<HeaderOf<P>>(kind, &[7, 1, 2, 3]));
    let sent = data.into_iter().find(|header| P::data(header).is_some()).expect("a data packet");
    let whole = |priority| Transmit { priority, ..transmit::<P>(sent, 20, false) };
    let plain = parse::<P>(&frame::<P>(&whole(0), false).0).unwrap().header;
    for priority in 2..8 {
        for ipv6 in [false, true] {
            let (bytes, _) = frame::<P>(&whole(priority), ipv6);
            assert_eq!(switch::dscp(&bytes).map(|dscp| dscp >> 3), Some(priority), "{}", P::NAME);
            assert_eq!(switch::mark(&bytes, &Marks::default()), Some(Mark::Data), "{}", P::NAME);
            assert_eq!(parse::<P>(&bytes).unwrap().header.pack(), plain.pack(), "{}", P::NAME);
        }
    }
    let (packet, payload) = (whole(1), [0; 20]);
    let refused = P::emit(&mut [0; 200], &route(false), &Marks::default(), HOME, &packet, &payload);
    let text = "priority 1: no DSCP value stands for it; data has 0 and 2 to 7, control packets have 0";
    assert_eq!(refused.unwrap_err().to_string(), text, "{}: the value of control", P::NAME);
}

/// Every data packet has the same headers, so that a sender knows how much payload fits into a frame.
#[test]
fn a_data_frame_has_the_length_that_its_transport_counts() {
    for_each_framed!(|P| {
        let lengths = [0, u32::MAX].map(|word| {
            let all = (0..=u8::MAX).map(|kind| header::<HeaderOf<P>>(kind, &[word; 27]));
            let data = all.filter(|header| P::data(header).is_some());
            let lengths = data.map(|header| frame::<P>(&transmit::<P>(header, 20, false), false).0.len());
            lengths.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        });
        assert_eq!(lengths, [[P::HEADERS + 20], [P::HEADERS + 20]], "{}", P::NAME);
    });
}

/// A port that grants every desired rate and pauses no flow.
struct Generous;

impl Hop for Generous {
    fn allocate(&mut self, ask: RateAsk) -> Option<Grant> {
        Some(Grant { rate: ask.desired, epoch: 9 })
    }

    fn take_turn(&mut self, ask: TurnAsk) -> Option<Turn> {
        Some(Turn { rate: ask.offered / 2, probe_after: 7 })
    }
}

/// The largest and the smallest value of every field.
#[test]
fn a_port_answers_every_header_at_the_ends_of_its_fields() {
    for_each_framed!(|P| {
        for (kind, word) in (0..=u8::MAX).flat_map(|kind| [(kind, 0), (kind, u32::MAX)]) {
            let sent = header::<HeaderOf<P>>(kind, &[word; 27]);
            let answered = sent.at_hop(&mut Generous).unwrap_or(sent);
            let packed = answered.pack();
            assert_eq!(HeaderOf::<P>::unpack(packed), answered, "{}: {sent:?}", P::NAME);
        }
    });
}

proptest! {
    /// The answer of a port to a frame is that to the header, with the right check; nothing else of the frame changes.
    #[test]
    fn a_port_answers_a_frame_as_it_answers_its_header(
        kind: u8, words: [u32; 27], payload in 1..1400u16, ipv6: bool, bit: usize,
    ) {
        for_each_framed!(|P| {
            let sent = header::<HeaderOf<P>>(kind, &words);
            let (mut bytes, payload) = frame::<P>(&transmit::<P>(sent, payload, false), ipv6);
            let before = bytes.clone();
            // A checksum as a NIC writes it, which the answer makes wrong.
            let checksum = if ipv6 { 60 } else { 40 };
            bytes[checksum..checksum + 2].copy_from_slice(&[0x12, 0x34]);
            let answered = sent.at_hop(&mut Generous);
            prop_assert_eq!(answer::<P>(&mut bytes, &mut Generous), answered.is_some());
            let arrived = parse::<P>(&bytes).unwrap();
            prop_assert_eq!(arrived.header, answered.unwrap_or(sent));
            prop_assert_eq!((arrived.fate, arrived.payload), (Fate::Whole, &payload[..]));
            prop_assert_eq!(bytes[checksum] == 0, answered.is_some());
            // A frame that was damaged on its way is left as it is.
            let mut damaged = before;
            let (long, at) = (damaged.len() - payload.len(), if ipv6 { 62 } else { 42 });
            let bit = bit % (8 * (32.min(long - at)));
            damaged[at + bit / 8] ^= 1 << (bit % 8);
            let copy = damaged.clone();
            prop_assert!(!answer::<P>(&mut damaged, &mut Generous));
            prop_assert_eq!(damaged, copy);
        });
    }
}

#[test]
fn a_port_answers_only_the_transport_whose_number_the_frame_has() {
    for_each_framed!(|P| {
        for_each_framed!(|Q| {
            let (mut bytes, _) = frame::<P>(
                &transmit::<P>(header::<HeaderOf<P>>(0x20, &[7, 1, 5, 1 << 31]), 20, false),
                false,
            );
            let asks = ["d3", "rcp", "pdq"].contains(&P::NAME) && P::NUMBER == Q::NUMBER;
            assert_eq!(answer::<Q>(&mut bytes, &mut Generous), asks, "{} at {}", P::NAME, Q::NAME);
        });
    });
}

#[test]
fn what_is_no_frame_is_not_answered() {
    let (bytes, _) = frame::<Pdq>(&transmit::<Pdq>(header::<HeaderOf<Pdq>>(0, &[7, 1]), 20, false), false);
    for length in 0..bytes.len().min(42 + 52) {
        assert!(!answer::<Pdq>(&mut bytes[..length].to_vec(), &mut Generous), "{length} B");
    }
}

#[test]
fn a_priority_of_a_control_packet_is_refused_rather_than_lost() {
    type Tcp = pullnet_protocols::Tcp;
    let packet = Transmit { priority: 3, ..transmit::<Tcp>(header::<HeaderOf<Tcp>>(3, &[1]), 0, false) };
    let refused = Tcp::emit(&mut [0; 200], &route(false), &Marks::default(), HOME, &packet, &[]);
    let text = "priority 3: no DSCP value stands for it; data has 0 and 2 to 7, control packets have 0";
    assert_eq!(refused.unwrap_err().to_string(), text, "an ACK");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The frames of one protocol: every type of packet, with few words and with many.
fn vectors<P: Framed>(lines: &mut Vec<Value>) {
    if P::NUMBER == 0 {
        return; // NDP has a file of its own.
    }
    let few = [0x0102_0304, 7, 11, 0];
    let many = [0x0102_0304, 7, 11, 13, 17, 19, 23, 0, 0, 0, 0];
    for (kind, name) in (0..).zip(<HeaderOf<P> as Header>::KINDS) {
        for (flags, words) in [(0x00, &few[..]), (0x30, &many[..])] {
            let packet = transmit::<P>(header::<HeaderOf<P>>(kind | flags, words), 12, P::NUMBER == 2);
            let (bytes, payload) = frame::<P>(&packet, false);
            let packed = packet.header.pack();
            lines.push(json!({
                "protocol": P::NAME, "type": name, "flags": packed.kind & 0xf0, "words": packed.words.get(),
                "home": HOME, "ect": packet.ect, "payload": hex(&payload), "frame": hex(&bytes),
            }));
        }
    }
}

/// What to do where a file of the tree differs from what the code makes.
const REGENERATE: &str = "after an intended change run `BLESS=1 cargo test -p pullnet-protocols --test registry wire` and review the difference";

#[test]
fn the_numbers_of_transports_are_those_of_the_reference() {
    let mut transports = Vec::new();
    for_each_framed!(|P| transports.push((P::NUMBER, P::NAME)));
    // NDP, number 0, has headers of its own.
    transports.retain(|(number, _)| *number > 0);
    transports.sort_unstable();
    let names: Vec<_> = transports.iter().map(|(number, name)| format!("{number} {name}")).collect();
    let made = format!("| 16 | transport: {} |", names.join(", "));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../docs/wire.md");
    let page = fs::read_to_string(&path).expect("the reference is there");
    let held = page.lines().find(|line| line.starts_with("| 16 | transport: ")).expect("a row of byte 16");
    if std::env::var_os("BLESS").is_some() {
        return fs::write(&path, page.replace(held, &made)).expect("the reference can be written");
    }
    assert_eq!(held, made, "docs/wire.md: {REGENERATE}");
}

#[test]
fn frames_are_those_of_the_vectors() {
    let mut lines = vec![json!({"format": "pullnet-transports", "version": 3})];
    for_each_framed!(|P| vectors::<P>(&mut lines));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../vectors/transports.jsonl");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &text).expect("the vectors can be written");
    }
    let held = fs::read_to_string(&path).expect("the vectors are there");
    for (held, made) in held.lines().zip(text.lines()) {
        assert_eq!(held, made, "{REGENERATE}");
    }
    assert_eq!(held.lines().count(), text.lines().count(), "{REGENERATE}");
    assert!(FRAMED.contains(&"ndp"));
}
