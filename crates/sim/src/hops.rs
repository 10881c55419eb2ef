//! Optional record of packets at every hop: when they came and left, what they waited behind, and what became of them.

use std::collections::VecDeque;

use pullnet_probes::HopRow;
use pullnet_qdisc::{Item, Outcome};
use pullnet_session::flow_of;
use pullnet_transport::{Fate, HostAddr, Words};
use pullnet_units::{FlowId, HostId, Instant, PacketSeq, Picos};

use crate::line::Line;
use crate::network::Network;
use crate::packet::Packet;

/// Identifies a packet in the queue of one port. Packets with the same key keep their order there.
type Key = (FlowId, Option<PacketSeq>, HostAddr, u8, bool);

/// Reads the key of a packet of a recorded flow.
fn key<W: Words>(net: &Network<W>, packet: &Packet<W>) -> Option<Key> {
    let (conn, number) = net.headers.about(packet.packed())?;
    let recorded = net.probes().hops.as_ref().is_some_and(|hops| hops.has(flow_of(conn)));
    recorded.then(|| (flow_of(conn), number, packet.from(), packet.packed().kind & 0x0f, packet.was_data()))
}

/// Kind of a packet at a port: `data`, `header` (trimmed), `returned` or `control`.
pub fn class<W: Words>(packet: &Packet<W>) -> &'static str {
    match packet.fate() {
        _ if !packet.was_data() => "control",
        Fate::Whole => "data",
        Fate::Trimmed => "header",
        Fate::Returned => "returned",
    }
}

/// The row of a packet that has just come to a port.
fn row<W: Words>(
    net: &Network<W>,
    now: Instant,
    packet: &Packet<W>,
    (flow, number, from, ..): Key,
) -> HopRow {
    HopRow {
        row: 0,
        flow,
        number,
        from: net.topology().host(from).unwrap_or(HostId::new(0)),
        kind: net.headers.kind(packet.packed()),
        class: class(packet),
        priority: packet.priority(),
        wire: packet.wire(net.trimmed),
        at: now,
        start: None,
        out: None,
        busy: Picos::ZERO,
        ahead: [0; 2],
        ahead_own: 0,
        behind: [0; 2],
        outcome: "waiting",
    }
}

/// Losses and copies on a link before a packet is sent.
#[derive(Clone, Copy, Default)]
pub struct LineState(u64, u64);

impl LineState {
    /// The state of `line`.
    pub fn of(line: &Line) -> Self {
        Self(line.lost(), line.copied())
    }

    /// Outcome of the packet that was sent since; `so_far` is its outcome until then.
    fn outcome(self, line: &Line, so_far: &'static str) -> &'static str {
        let now = Self::of(line);
        match so_far {
            _ if now.0 > self.0 => "lost",
            "waiting" if now.1 > self.1 => "replicated",
            "waiting" => "sent",
            other => other,
        }
    }
}

/// The record of one port.
#[derive(Clone, Default, Debug)]
pub struct HopLog {
    /// Packets that have come, in their order.
    rows: Vec<HopRow>,
    /// Packets among them that wait, with their rows.
    waiting: VecDeque<(Key, u32)>,
    /// Bytes of whole data packets, and of control packets and headers, that have gone into service.
    served: [u64; 2],
}

impl HopLog {
    /// A packet comes at `now`, while the packet in service takes until `free_at`. `queue` visits the packets that wait.
    pub fn arrived<W: Words>(
        &mut self,
        net: &Network<W>,
        (now, free_at): (Instant, Instant),
        packet: &Packet<W>,
        queue: impl FnOnce(&mut dyn FnMut(&Packet<W>)),
    ) {
        let Some(key) = key(net, packet).filter(|_| net.hop_count.one_more()) else { return };
        let mut row = row(net, now, packet, key);
        row.busy = free_at.since(now);
        row.behind = self.served;
        queue(&mut |ahead| {
            let bytes = u64::from(ahead.wire(net.trimmed));
            row.ahead[usize::from(ahead.is_control())] += bytes;
            let own = net.headers.about(ahead.packed()).is_some_and(|(conn, _)| flow_of(conn) == key.0);
            row.ahead_own += if own { bytes } else { 0 };
        });
        self.waiting.push_back((key, self.rows.len() as u32));
        self.rows.push(row);
    }

    /// The row of a packet that waits.
    fn find<W: Words>(&mut self, net: &Network<W>, packet: &Packet<W>) -> Option<(usize, &mut HopRow)> {
        let wanted = key(net, packet)?;
        let place = self.waiting.iter().position(|(key, _)| *key == wanted)?;
        let row = self.rows.get_mut(self.waiting[place].1 as usize)?;
        Some((place, row))
    }

    /// The queue has done something to a packet that has come.
    pub fn note<W: Words>(&mut self, net: &Network<W>, outcome: &Outcome<Packet<W>>) {
        let (packet, what) = match outcome {
            Outcome::Marked(packet) => (packet, "marked"),
            Outcome::Trimmed(packet) => (packet, "trimmed"),
            Outcome::Returned { header, .. } => (header, "returned"),
            Outcome::Dropped { packet, .. } => (packet, "dropped"),
        };
        let served = self.served;
        let Some((place, row)) = self.find(net, packet) else { return };
        row.outcome = if row.outcome == "trimmed" && what == "marked" { "trimmed" } else { what };
        if matches!(what, "returned" | "dropped") {
            row.behind = since(served, row.behind);
            self.waiting.remove(place);
        }
    }

    /// A packet goes into service during `span`; `before` is the state of the link before.
    pub fn served<W: Words>(
        &mut self,
        net: &Network<W>,
        span: (Instant, Instant),
        packet: &Packet<W>,
        (line, before): (&Line, LineState),
    ) {
        let served = self.served;
        if let Some((place, row)) = self.find(net, packet) {
            row.behind = since(served, row.behind);
            (row.start, row.out) = (Some(span.0), Some(span.1));
            row.outcome = before.outcome(line, row.outcome);
            self.waiting.remove(place);
        }
        self.served[usize::from(packet.is_control())] += u64::from(packet.wire(net.trimmed));
    }

    /// All rows, for the port in row `port` of the table of ports. A packet that still waits has waited behind all that was
    /// served since it came.
    pub fn rows(&self, port: u32) -> impl Iterator<Item = HopRow> + '_ {
        let open = |row: &HopRow| row.start.is_none() && !matches!(row.outcome, "returned" | "dropped");
        self.rows.iter().map(move |row| {
            let behind = if open(row) { since(self.served, row.behind) } else { row.behind };
            HopRow { row: port, behind, ..*row }
        })
    }
}

fn since(now: [u64; 2], then: [u64; 2]) -> [u64; 2] {
    [now[0] - then[0], now[1] - then[1]]
}

/// The row of a packet that the NIC of `host` sends during `span`: it waits in the transport, not at the NIC.
pub fn at_nic<W: Words>(
    net: &Network<W>,
    host: HostId,
    span: (Instant, Instant),
    packet: &Packet<W>,
    (line, before): (&Line, LineState),
) -> Option<HopRow> {
    let key = key(net, packet).filter(|_| net.hop_count.one_more())?;
    let (start, out) = (Some(span.0), Some(span.1));
    let outcome = before.outcome(line, "waiting");
    Some(HopRow { row: host.get(), start, out, outcome, ..row(net, span.0, packet, key) })
}
