//! What settings of different tables say to each other: a transport's packets have to fit the switches.

use pullnet_protocols::ProtocolConfig;
use pullnet_settings::{Setting, Value};
use pullnet_topology::{LinkRef, Schedules, Topology};
use pullnet_units::{BitsPerSec, Bytes, Picos, QueueSize};

use crate::table::{Reader, Unread};

/// A simulated packet states its trimmed length in units of this many bytes ...
const TRIM_UNIT: u64 = 8;
/// ... and up to this many.
const MAX_TRIM: u64 = 256;

/// The sizes of a table of settings, where they could be read.
pub(crate) struct Sizes<'a> {
    pub get: &'a dyn Fn(&str) -> Option<String>,
    pub unread: &'a Unread,
}

impl Sizes<'_> {
    /// The bytes of the setting `key`; `None` if there is none, if it counts packets, or if it could not be read.
    fn of(&self, key: &str) -> Option<u64> {
        if self.unread.contains(&key) { None } else { (self.get)(key).and_then(|text| size(&text)) }
    }

    /// A whole packet on the wire.
    fn full_packet(&self) -> Option<Bytes> {
        Some(Bytes(self.of("mtu")? + self.of("header")?))
    }
}

/// Reports contradictions between `[transport]` and `[switch]`.
pub(crate) fn check(root: &Reader<'_>, transport: &Sizes<'_>, switch: &Sizes<'_>) {
    let Some(reader) = root.table("switch", "") else { return };
    if let (Some(trimmed), Some(header)) = (switch.of("trim_to"), transport.of("header")) {
        trim(&reader, trimmed, header);
    }
    let Some(full) = transport.full_packet() else { return };
    for key in ["data_queue", "queue", "pool"] {
        if switch.of(key).is_some_and(|room| room < full.0) {
            reader.refuse(
                key,
                format!("has no room for a packet of \"{full}\" (transport.mtu and header); use more"),
            );
        }
    }
}

/// A simulated packet has to arrive within 2^47 ps, about 140 s; the rest is for the time until it is looked at.
const LONGEST_TRANSIT: Picos = Picos::from_secs(60);

/// Reports links on which a full packet would take too long.
pub(crate) fn links(root: &Reader<'_>, topology: &Topology, faults: &Schedules, transport: &Sizes<'_>) {
    let Some(full) = transport.full_packet() else { return };
    let transit = |link: LinkRef| {
        let built = topology.link(link);
        built.delay.saturating_add(slowest(built.rate, faults, link).serialization(full))
    };
    let Some(slowest) = topology.links().max_by_key(|link| transit(*link)) else { return };
    let time = transit(slowest);
    if time > LONGEST_TRANSIT
        && let Some(reader) = root.table("topology", "")
    {
        let name = match slowest {
            LinkRef::Nic(host) => topology.nic_name(host),
            LinkRef::Port(port) => topology.port_name(port),
        };
        reader.refuse_table(format!(
            "a packet of \"{full}\" would be on the link {name} for {time}; use a rate, a delay, faults and a \
             transport.mtu that make it at most {LONGEST_TRANSIT}"
        ));
    }
}

/// The lowest rate that a link ever has.
fn slowest(built: BitsPerSec, faults: &Schedules, link: LinkRef) -> BitsPerSec {
    let changes = faults.get(link).map_or(&[][..], |schedule| schedule.changes());
    changes.iter().map(|(_, state)| state.rate).min().map_or(built, |rate| rate.min(built))
}

/// What a trim leaves has to hold the header, and has to be a length that a simulated packet can have.
fn trim(switch: &Reader<'_>, trimmed: u64, header: u64) {
    if trimmed < header {
        let header = Bytes(header);
        let reason =
            format!("cuts into the header of transport.header = \"{header}\"; use at least \"{header}\"");
        switch.refuse("trim_to", reason);
    } else if trimmed > MAX_TRIM || !trimmed.is_multiple_of(TRIM_UNIT) {
        let reason =
            format!("is no length of a trimmed packet; use a multiple of {TRIM_UNIT} B up to {MAX_TRIM} B");
        switch.refuse("trim_to", reason);
    }
}

/// Where switches choose the path, the sender's choice changes nothing.
pub(crate) fn paths_without_effect(root: &Reader<'_>, transport: &ProtocolConfig) {
    let Some(reader) = root.table("transport", "") else { return };
    let row = pullnet_protocols::PROTOCOLS.iter().find(|row| row.name == transport.name());
    let defaults = row.map(|row| (row.default)());
    for key in ["paths", "scoreboard"] {
        if transport.get(key) != defaults.as_ref().and_then(|defaults| defaults.get(key)) {
            reader.no_effect(
                key,
                "switch.forwarding lets the switches choose the path; leave one of the two out",
            );
        }
    }
}

/// The bytes of a size as a setting writes it; `None` for what counts packets.
fn size(text: &str) -> Option<u64> {
    match QueueSize::read(Value::Text(text.trim_matches('"'))) {
        Ok(QueueSize::Bytes(Bytes(bytes))) => Some(bytes),
        _ => None,
    }
}
