use pullnet_config::Reader;
use pullnet_settings::settings;

use crate::probe::{Facts, Load, Probe};
use crate::seen::{Direction, PacketRow, Seen, Watches};
use crate::table::Table;

/// Memory of a row while columns are made of it.
const BYTES_PER_ROW: f64 = 140.0;

settings! {
    /// Whether packets are recorded.
    pub struct PacketSettings {
        /// Every packet that a host sends or receives, with its header and its time: what two runs can be compared by.
        packets: bool = false,
    }
}

/// Every packet that a host sends or receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packets;

impl Probe for Packets {
    const TABLE: &'static str = "packets";
    const DOC: &'static str = "One row per packet that a host sent or received, in its order.";
    const WATCHES: Watches = Watches::SENT.and(Watches::RECEIVED);

    type Settings = PacketSettings;
    type Row = PacketRow;

    fn new(settings: PacketSettings, _: &Reader<'_>) -> Option<Self> {
        settings.packets.then_some(Self)
    }

    fn memory(&self, load: &Load) -> f64 {
        // A data packet is sent and received, and so is its ACK.
        4.0 * load.packets * BYTES_PER_ROW
    }

    fn note(&self, seen: &Seen, rows: &mut Vec<PacketRow>) {
        if let Seen::Packet(packet) = *seen {
            rows.push(packet);
        }
    }

    fn sort(rows: &mut [PacketRow]) {
        // The rows of one host keep their order.
        rows.sort_by_key(|row| (row.host, row.at));
    }

    fn table(&self, rows: &[PacketRow], _: Facts<'_>) -> Table {
        let way = |direction| if direction == Direction::Sent { "sent" } else { "received" };
        Self::builder(rows)
            .id(["host", "", "Number of the host."], |row| row.host.get())
            .id(["peer", "", "Number of the host at the other end."], |row| row.peer.get())
            .count(["at_ps", "ps", "When it was sent, or was there."], |row| row.at.0)
            .text(["direction", "", "sent or received."], |row| way(row.direction))
            .text(["fate", "", "whole, trimmed or returned; what leaves is whole."], |row| row.fate)
            .text(["kind", "", "Packet type, as the protocol names it."], |row| row.kind)
            .id(["flags", "", "Its flags, as the protocol packs them."], |row| row.flags.into())
            .id(["flow", "", "Number of the flow."], |row| row.words[0])
            .id(
                [
                    "number",
                    "",
                    "Second word of the header: of NDP's PULL the pull's number, else the packet's.",
                ],
                |row| row.words[1],
            )
            .id(
                ["extra", "", "Third word of the header: of NDP's ACK and NACK the pull that it carries."],
                |row| row.words[2],
            )
            .maybe_id(["path", "", "Number of the path; missing for what was received."], |row| {
                row.path.map(u32::from)
            })
            .id(["wire_bytes", "B", "Bytes on the wire when it was sent."], |row| row.wire.into())
            .finish()
    }
}
