//! Contradictions between tables: the packets of the transport have to fit the switches and the links.

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_config::{Reader, Unread};
use pullnet_qdisc::{Capacity, Divided, SwitchConfig};
use pullnet_topology::{LinkRef, Schedules, Topology};
use pullnet_transport::Framing;
use pullnet_units::{BitsPerSec, Bytes, Picos, QueueSize};
use pullnet_workload::TrafficSpec;

use crate::transport::Transport;

/// Lengths of a transport's packets on the wire; `None` where a setting was refused and stands at its default.
#[derive(Clone, Debug)]
pub(crate) struct Lengths {
    /// Path of the transport's table.
    table: String,
    /// A packet without payload.
    header: Option<Bytes>,
    /// A packet with all the payload that it can carry.
    full: Option<Bytes>,
}

impl Lengths {
    pub fn new(Transport { reader, carried, unread }: &Transport<'_>) -> Self {
        let Framing { mtu, header } = carried.config.framing();
        let known = |keys: &[&str]| !keys.iter().any(|key| unread.contains(key));
        Self {
            table: reader.path().to_owned(),
            header: known(&["header"]).then_some(Bytes(header.into())),
            full: known(&["mtu", "header"]).then_some(Bytes(u64::from(mtu) + u64::from(header))),
        }
    }
}

/// Reports contradictions between a transport and `[switch]`.
pub(crate) fn check(root: &Reader<'_>, packets: &Lengths, switch: &SwitchConfig, unread: &Unread) {
    let Some(reader) = root.table("switch", "") else { return };
    if let Some(trimmed) = switch.trim_to().filter(|_| !unread.contains(&"trim_to")) {
        trim(&reader, trimmed, packets);
    }
    for Capacity { key, room, of_data } in switch.capacities() {
        if let QueueSize::Bytes(room) = room
            && !unread.contains(&key)
        {
            capacity(&reader, key, room, of_data, packets);
        }
    }
}

/// A queue has room for one of its packets at least.
fn capacity(switch: &Reader<'_>, key: &str, room: Bytes, of_data: bool, packets: &Lengths) {
    let Lengths { table, header, full } = packets;
    if let Some(full) = full.filter(|full| of_data && room < *full) {
        let reason = format!("has no room for a packet of \"{full}\" ({table}.mtu and header); use more");
        switch.refuse(key, reason);
    } else if let Some(header) = header.filter(|header| room < *header) {
        switch.refuse(key, format!("has no room for a header of \"{header}\" ({table}.header); use more"));
    }
}

/// Reports two thresholds of a queue that cannot be compared, since one is in packets and the other in bytes, and two in the wrong
/// order.
pub(crate) fn thresholds(root: &Reader<'_>, switch: &SwitchConfig, unread: &Unread) {
    let (Some(reader), Some([low, high])) = (root.table("switch", ""), switch.thresholds()) else { return };
    if [low.0, high.0].iter().any(|key| unread.contains(key)) {
        return;
    }
    let ((key, low), (other, high)) = (low, high);
    let is_above = match (low, high) {
        (QueueSize::Packets(low), QueueSize::Packets(high)) => low > high,
        (QueueSize::Bytes(low), QueueSize::Bytes(high)) => low > high,
        _ => {
            let reason = format!(
                "has another unit than switch.{other} = \"{high}\"; state both in packets or both in bytes"
            );
            return reader.refuse(key, reason);
        }
    };
    if is_above {
        reader.refuse(key, format!("is above switch.{other} = \"{high}\"; use less, or a larger {other}"));
    }
}

/// Reports two times of a transport in the wrong order: TIMELY's thresholds, and the bounds of a retransmission timeout.
pub(crate) fn order(Transport { reader, carried, unread }: &Transport<'_>) {
    let time = |key: &str| carried.config.get(key)?.trim_matches('"').parse::<Picos>().ok();
    for [key, other] in [["low", "high"], ["min_rto", "max_rto"]] {
        let (Some(low), Some(high)) = (time(key), time(other)) else { continue };
        if low > high && !unread.contains(&key) && !unread.contains(&other) {
            let path = reader.path();
            reader
                .refuse(key, format!("is above {path}.{other} = \"{high}\"; use less, or a larger {other}"));
        }
    }
}

/// Reports a switch whose ports set aside all of its memory, or more, and one that takes no full packet even when it is empty.
pub(crate) fn memory(
    root: &Reader<'_>,
    topology: &Topology,
    (switch, unread): (&SwitchConfig, &Unread),
    packets: &[Lengths],
) {
    let Some(reader) = root.table("switch", "") else { return };
    let mut rates = BTreeMap::<_, Vec<_>>::new();
    for port in topology.ports.iter() {
        rates.entry(port.node).or_default().push(port.link.rate);
    }
    let divided =
        || rates.iter().filter_map(|(node, rates)| Some((node, rates.len(), switch.divided(rates)?)));
    let most = divided().max_by_key(|(_, _, divided)| divided.set_aside);
    let least = divided().min_by_key(|(_, _, divided)| divided.largest);
    let (Some((node, ports, most)), Some((narrow, _, least))) = (most, least) else { return };
    let Divided { key, memory, set_aside, by, .. } = most;
    if memory <= set_aside && !unread.contains(&key) {
        let reason = format!(
            "leaves nothing to share: the {ports} ports of {} set \"{set_aside}\" aside ({by}); use more",
            topology.node_name(*node)
        );
        reader.refuse(key, reason);
    } else if let Some((table, full)) = largest(packets).filter(|(_, full)| least.largest < *full) {
        reader.refuse_table(format!(
            "takes no packet of \"{full}\" ({table}.mtu and header), even when it is empty: a link of {} may bring \"{}\" at most \
             ({}); use more",
            topology.node_name(*narrow),
            least.largest,
            least.limited_by
        ));
    }
}

/// The longest full packet, with the table of its transport.
fn largest(packets: &[Lengths]) -> Option<(&str, Bytes)> {
    let full = packets.iter().filter_map(|lengths| Some((lengths.table.as_str(), lengths.full?)));
    full.max_by_key(|(_, full)| *full)
}

/// A simulated packet has to arrive within 2^47 ps, about 140 s; the rest is for the time until it is looked at.
const LONGEST_TRANSIT: Picos = Picos::from_secs(60);

/// Reports links on which a full packet would take too long.
pub(crate) fn links(root: &Reader<'_>, topology: &Topology, faults: &Schedules, packets: &Lengths) {
    let Some(full) = packets.full else { return };
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
             {}.mtu that make it at most {LONGEST_TRANSIT}",
            packets.table
        ));
    }
}

/// The lowest rate that a link ever has.
fn slowest(built: BitsPerSec, faults: &Schedules, link: LinkRef) -> BitsPerSec {
    let changes = faults.get(link).map_or(&[][..], |schedule| schedule.changes());
    changes.iter().map(|(_, state)| state.rate).min().map_or(built, |rate| rate.min(built))
}

/// A trim has to leave the header and to cut something.
fn trim(switch: &Reader<'_>, trimmed: Bytes, packets: &Lengths) {
    let Lengths { table, header, full } = packets;
    if let Some(header) = header.filter(|header| trimmed < *header) {
        let reason =
            format!("cuts into the header of {table}.header = \"{header}\"; use at least \"{header}\"");
        switch.refuse("trim_to", reason);
    } else if let Some(full) = full.filter(|full| trimmed >= *full) {
        let reason = format!("cuts nothing from a packet of \"{full}\" ({table}.mtu and header); use less");
        switch.refuse("trim_to", reason);
    }
}

/// Refuses ports that forget a flow while it still relies on them. Ports keep nothing of flows whose headers they do not write.
pub(crate) fn renewal(
    root: &Reader<'_>,
    Transport { reader, carried, unread }: &Transport<'_>,
    (switch, unread_of_switch): (&SwitchConfig, &Unread),
) {
    let entry = carried.config.entry();
    let (Some(setting), Some((key, kept))) = (entry.renewal_setting, switch.forgets_after()) else { return };
    if !entry.relies_on.is_some_and(|reliance| switch.supports(reliance)) {
        return;
    }
    let text = carried.config.get(setting).unwrap_or_default();
    let Ok(relied_on) = text.trim_matches('"').parse::<Picos>() else { return };
    if kept <= relied_on
        && !unread.contains(&setting)
        && !unread_of_switch.contains(&key)
        && let Some(table) = root.table("switch", "")
    {
        let reason = format!(
            "ends before flows stop relying on it ({}.{setting} = \"{relied_on}\"); use more, such as \"{}\"",
            reader.path(),
            relied_on.saturating_mul(2)
        );
        table.refuse(key, reason);
    }
}

/// Every timeout of a transport has to run out before its flows give up, or one loss fails a flow. Hosts that make use of
/// trimmed packets need no timeout for those: 100 s turns the timers off.
pub(crate) fn patience(Transport { reader, carried, unread }: &Transport<'_>) {
    if carried.config.hears_headers() {
        return;
    }
    let row = carried.config.entry();
    let time = |key: &str| carried.config.get(key)?.trim_matches('"').parse::<Picos>().ok();
    let Some(give_up) = time("give_up").filter(|_| !unread.contains(&"give_up")) else { return };
    let is_timeout = |key: &&str| key.ends_with("timeout") || row.timeout_setting == Some(*key);
    for key in row.fields.iter().map(|field| field.name).filter(is_timeout) {
        if time(key).is_some_and(|timeout| timeout >= give_up) && !unread.contains(&key) {
            let reason = format!(
                "is not below {}.give_up = \"{give_up}\", so that one loss fails a flow; use less, such as \"{}\", or a larger \
                 give_up",
                reader.path(),
                Picos(give_up.0 / 10)
            );
            reader.refuse(key, reason);
        }
    }
}

/// Most packets of a flow: their numbers have 32 bits, and one past the last has to be a number too.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

/// Reports flows of a block with more packets than the transport can number.
pub(crate) fn numbers(
    reader: &Reader<'_>,
    block: &TrafficSpec,
    files: &BTreeMap<String, Arc<[u8]>>,
    Lengths { table, header, full }: &Lengths,
) {
    let (Some(header), Some(full)) = (header, full) else { return };
    let mtu = full.0 - header.0;
    let too_large = |(_, size): &(&str, Bytes)| size.0.div_ceil(mtu) > MOST_PACKETS;
    for (key, size) in block.largest_flows(files).into_iter().filter(too_large) {
        let reason = format!(
            "is more than {MOST_PACKETS} packets of {table}.mtu = \"{}\", which is as far as packets are numbered; use at \
             most \"{}\", a larger {table}.mtu or \"endless\"",
            Bytes(mtu),
            Bytes(mtu.saturating_mul(MOST_PACKETS)),
        );
        reader.refuse_as(key, format!("a flow of \"{size}\""), reason);
    }
}

/// Where switches choose the path, the sender's choice changes nothing.
pub(crate) fn paths_without_effect(Transport { reader, carried, .. }: &Transport<'_>) {
    let transport = &carried.config;
    let row = transport.entry();
    let defaults = (row.default)();
    for key in row.path_settings {
        if transport.get(key) != defaults.get(key) {
            reader.no_effect(
                key,
                "switch.forwarding lets the switches choose the path; leave one of the two out",
            );
        }
    }
}

/// A class that the switch does not have.
pub(crate) fn class(Transport { reader, carried, .. }: &Transport<'_>, switch: &SwitchConfig) {
    let (Some(class), classes, kind) = (carried.class, switch.classes(), switch.name()) else { return };
    if classes == 1 {
        reader.no_effect("class", format!("switch.kind = \"{kind}\" has one class for all; leave it out"));
    } else if class >= classes {
        let most = classes - 1;
        reader.refuse("class", format!("is no class of switch.kind = \"{kind}\"; use 0 to {most}"));
    }
}
