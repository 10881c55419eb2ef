//! The observed conversation as text, for comparison with the expected text.
//!
//! One line per host and packet type lists the packets sent, in order: the packet or pull number, and for data `s` (SYN),
//! `l` (LAST), `p` (sent on a pull) and `!` (priority 1), and `:5` for 5 bytes where the packet is not full. `0+3` is an ACK
//! or NACK of packet 0 that carries pull 3. A packet of another flow than the first begins with the flow's letter. One line
//! per flow says how it ended.

use std::fmt::Write as _;

use pullnet_ndp::NdpHeader;
use pullnet_probes::{Direction, PacketRow};
use pullnet_record::{FlowRow, RunRecord};
use pullnet_transport::{Header, Packed};
use pullnet_units::HostId;

use crate::talk::FULL;

/// Bytes of a full packet on the wire.
const WIRE: u64 = FULL + pullnet_testbed::HEADERS as u64;

/// The text of a record.
pub fn text(record: &RunRecord) -> String {
    let mut text = String::new();
    for (host, name) in [(HostId::new(0), "A"), (HostId::new(1), "B")] {
        let sent: Vec<_> = record.recorded.packets().iter().filter(|row| row.host == host).collect();
        let sent: Vec<_> = sent.into_iter().filter(|row| row.direction == Direction::Sent).collect();
        for kind in NdpHeader::KINDS {
            let words: String = sent.iter().filter(|row| row.kind == *kind).map(|row| word(row)).collect();
            if !words.is_empty() {
                let _ = writeln!(text, "{name} {kind}{words}");
            }
        }
        text += &other_paths(name, &sent);
    }
    (0..).zip(&record.flows).for_each(|(number, flow)| text += &end(number, flow));
    text
}

fn letter(flow: u32) -> char {
    (b'a' + flow as u8).into()
}

fn header(row: &PacketRow) -> NdpHeader {
    let kind = NdpHeader::KINDS.iter().position(|kind| *kind == row.kind).expect("a kind of NDP");
    NdpHeader::unpack(Packed { kind: kind as u8 | row.flags << 4, words: row.words })
}

fn word(row: &PacketRow) -> String {
    let header = header(row);
    packet(&header, u64::from(row.wire) + FULL - WIRE, header.conn().get())
}

/// A packet of the flow or connection `flow`, with `payload` bytes of payload if it is data.
pub fn packet(header: &NdpHeader, payload: u64, flow: u32) -> String {
    let rest = match *header {
        NdpHeader::Data { seq, syn, last, pulled, priority, .. } => {
            let flags = [(syn, 's'), (last, 'l'), (pulled, 'p'), (priority == 1, '!')];
            let flags: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
            if payload == FULL { format!("{seq}{flags}") } else { format!("{seq}{flags}:{payload}") }
        }
        NdpHeader::Ack { seq, pull, .. } | NdpHeader::Nack { seq, pull, .. } => {
            pull.map_or(seq.to_string(), |pull| format!("{seq}+{pull}"))
        }
        NdpHeader::Pull { number, .. } => number.to_string(),
        NdpHeader::Probe { seq, .. } => seq.to_string(),
    };
    format!(" {}{rest}", belongs(flow))
}

/// Prefix for packets of another flow than the first.
pub fn belongs(flow: u32) -> String {
    if flow == 0 { String::new() } else { letter(flow).to_string() }
}

/// Data packets that were retransmitted, each on another path than before.
fn other_paths(name: &str, sent: &[&PacketRow]) -> String {
    let data: Vec<_> = sent.iter().filter(|row| row.kind == "data").collect();
    let mut other = String::new();
    for (at, row) in data.iter().enumerate() {
        let before = data[..at].iter().rev().find(|before| before.words[..2] == row.words[..2]);
        if before.is_some_and(|before| before.path != row.path) {
            let _ = write!(other, " {}", row.words[1]);
        }
    }
    if other.is_empty() { other } else { format!("{name} other path{other}\n") }
}

fn end(number: u32, flow: &FlowRow) -> String {
    let FlowRow { delivered, packets_sent, retransmitted, timeouts, .. } = *flow;
    let mut text = format!("{}: {delivered} B", letter(number));
    let ends = [(flow.received.is_some(), " received"), (flow.acknowledged.is_some(), " acknowledged")];
    ends.iter().filter(|end| end.0).for_each(|end| text += end.1);
    let _ = write!(text, ", {packets_sent} sent, {retransmitted} again, {timeouts} timeouts");
    flow.failed.into_iter().for_each(|why| {
        let _ = write!(text, ", failed: {why}");
    });
    text + "\n"
}
