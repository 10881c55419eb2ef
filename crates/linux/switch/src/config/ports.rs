//! `[[port]]`, and the tables that name ports.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use pullnet_config::{Reader, Shape};
use pullnet_settings::Settings;
use pullnet_topology::Effect;
use pullnet_units::{NodeId, PortId};

use super::check::has_loop;
use super::dpdk::device;
use super::tables::{FaultSettings, ForwardSettings, GroupSettings, Io, PortFileSettings};
use super::{NamedPort, Outside};
use crate::fault::{Fault, PortLine};
use crate::forward::{Entry, Selection};
use crate::mac::Mac;
use crate::settings::PortSettings;

/// The entries of a list with their settings; skips entries with errors.
fn list<'a, S: Settings>(root: &Reader<'a>, key: &str) -> Vec<(Reader<'a>, S)> {
    let read = |reader: Reader<'a>| {
        reader.no_other_keys_than(&Shape::of(&[S::FIELDS]));
        let settings = reader.read::<S>();
        settings.good().then_some((reader, settings.value))
    };
    root.list(key).into_iter().filter_map(read).collect()
}

/// Reads every port of a file with this `io`; switches are numbered in the order of their first ports.
pub(super) fn read(root: &Reader<'_>, io: Option<Io>) -> Vec<NamedPort> {
    if !root.has("port") || root.is_empty_list("port") {
        root.missing("port", "write for instance [[port]] with name, interface and rate".to_owned());
    }
    let written = list::<PortFileSettings>(root, "port");
    let mut switches: Vec<&str> = Vec::new();
    for (_, port) in &written {
        if !switches.contains(&port.switch.as_str()) {
            switches.push(&port.switch);
        }
    }
    let number = |name: &str| switches.iter().position(|switch| *switch == name).unwrap_or(0) as u32;
    for (index, (reader, port)) in written.iter().enumerate() {
        check(reader, port, &written[..index], &written);
        check_outside(reader, port, io);
    }
    let position = |name: &String| (0..).zip(&written).find(|(_, (_, port))| port.name == *name);
    let named = |(reader, port): &(Reader<'_>, PortFileSettings)| {
        let peer = port.peer.as_ref().and_then(position).map(|(number, _)| PortId::new(number));
        let PortFileSettings { rate, delay, paced, .. } = *port;
        NamedPort {
            name: port.name.clone(),
            switch: port.switch.clone(),
            outside: outside(reader, port),
            settings: PortSettings { node: NodeId::new(number(&port.switch)), rate, delay, paced, peer },
        }
    };
    written.iter().map(named).collect()
}

type Written<'a> = [(Reader<'a>, PortFileSettings)];

/// Checks a port against the ports before it, and against all ports.
fn check(reader: &Reader<'_>, port: &PortFileSettings, before: &Written<'_>, all: &Written<'_>) {
    if port.name.contains(char::is_whitespace) {
        reader.refuse("name", "has a space in it; leave it out");
    }
    if before.iter().any(|(_, other)| other.name == port.name) {
        reader.refuse("name", "is the name of an earlier port; give it another one");
    }
    match (outside_name(port), &port.peer) {
        (None, None) => reader.refuse_table("is on no interface and has no peer; give it one of the two"),
        (Some(_), Some(_)) => {
            reader.refuse("peer", "is one too many beside an interface; leave one of the two out");
        }
        (Some(on), None) => {
            if before.iter().any(|(_, other)| outside_name(other) == Some(on)) {
                let key = if port.device.is_some() { "device" } else { "interface" };
                reader.refuse(key, "is that of an earlier port; a port has one of its own");
            }
        }
        (None, Some(peer)) => check_peer(reader, port, peer, all),
    }
}

/// Name of the device or interface of a port.
fn outside_name(port: &PortFileSettings) -> Option<&str> {
    let device = port.device.as_deref().and_then(|device| device.split(',').next());
    device.or(port.interface.as_deref())
}

/// Reads what is outside of a port.
fn outside(reader: &Reader<'_>, port: &PortFileSettings) -> Option<Outside> {
    match &port.device {
        Some(text) => {
            let mtu = port.mtu.map(|mtu| mtu.0 as usize);
            Some(Outside::Device { device: device(reader, "device", text)?, mtu })
        }
        None => port.interface.clone().map(Outside::Interface),
    }
}

/// Checks that what is outside of a port suits the `io` of the file.
fn check_outside(reader: &Reader<'_>, port: &PortFileSettings, io: Option<Io>) {
    if port.device.is_none() {
        reader.no_effect("mtu", "it is for devices of DPDK; leave it out");
    }
    match (io, &port.interface, &port.device) {
        (Some(Io::Dpdk), Some(interface), _) => reader.refuse(
            "interface",
            format!("has no effect with io = \"dpdk\"; write device = \"net_af_packet0,iface={interface}\""),
        ),
        (Some(Io::Packet | Io::Xdp), _, Some(_)) => {
            reader.refuse("device", "needs io = \"dpdk\"; or name an interface");
        }
        _ => {}
    }
}

fn check_peer(reader: &Reader<'_>, port: &PortFileSettings, peer: &str, all: &Written<'_>) {
    reader.no_effect("paced", "a line inside the file is exact by itself; leave it out");
    let back = all.iter().find(|(_, other)| other.name == peer).map(|(_, other)| other.peer.as_deref());
    match back {
        _ if peer == port.name => reader.refuse("peer", "is the port itself; name another one"),
        None => reader
            .refuse("peer", format!("is no port; {}", known(all.iter().map(|(_, port)| port.name.as_str())))),
        Some(back) if back != Some(&port.name) => {
            reader.refuse(
                "peer",
                format!("does not name this port as its peer; give it peer = \"{}\"", port.name),
            );
        }
        Some(_) => {}
    }
}

fn known<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("there is \"{}\"", names.collect::<Vec<_>>().join("\", \""))
}

/// Reads every fixed entry.
pub(super) fn entries(
    root: &Reader<'_>,
    ports: &[NamedPort],
    names: &BTreeMap<&str, PortId>,
) -> Vec<(NodeId, Mac, Entry)> {
    let mut entries: Vec<(NodeId, Mac, Entry)> = Vec::new();
    for (reader, forward) in list::<ForwardSettings>(root, "forward") {
        let Some(entry) = entry(&reader, &forward, ports, names) else { continue };
        if entries.iter().any(|(node, mac, _)| (*node, *mac) == (entry.0, entry.1)) {
            reader.refuse("mac", "has an earlier entry at this switch; name all its ports in one");
        }
        entries.push(entry);
    }
    entries
}

fn entry(
    reader: &Reader<'_>,
    forward: &ForwardSettings,
    ports: &[NamedPort],
    names: &BTreeMap<&str, PortId>,
) -> Option<(NodeId, Mac, Entry)> {
    let mac = forward.mac.parse::<Mac>().map_err(|wrong| reader.refuse("mac", wrong.to_string())).ok();
    let (node, of_entry) = ports_of(reader, (&forward.switch, &forward.ports), ports, names);
    let selection = Selection { shift: forward.shift, mask: forward.mask };
    (!of_entry.is_empty()).then_some((node?, mac?, Entry { ports: of_entry, selection }))
}

/// The switch called `switch`, and those of its ports that `listed` names.
fn ports_of(
    reader: &Reader<'_>,
    (switch, listed): (&str, &str),
    ports: &[NamedPort],
    names: &BTreeMap<&str, PortId>,
) -> (Option<NodeId>, Vec<PortId>) {
    let node = ports.iter().find(|port| port.switch == switch).map(|port| port.settings.node);
    if node.is_none() {
        reader.refuse("switch", "has no port; name a switch that has one");
    }
    let mut found = Vec::new();
    for name in listed.split_whitespace() {
        match names.get(name) {
            Some(port) if found.contains(port) => {
                reader.refuse("ports", format!("names \"{name}\" twice; name each port once"));
            }
            Some(port) if ports[port.get() as usize].switch == switch => found.push(*port),
            Some(_) => reader.refuse("ports", format!("names \"{name}\", which is a port of another switch")),
            None => reader.refuse(
                "ports",
                format!("names \"{name}\", which is no port; {}", known(names.keys().copied())),
            ),
        }
    }
    (node, found)
}

/// A multicast group at one switch: its Ethernet address and the ports to its members.
pub type GroupEntry = (NodeId, Mac, Vec<PortId>);

/// Reads every multicast group.
pub(super) fn groups(
    root: &Reader<'_>,
    ports: &[NamedPort],
    names: &BTreeMap<&str, PortId>,
) -> Vec<GroupEntry> {
    let mut groups: Vec<GroupEntry> = Vec::new();
    for (reader, group) in list::<GroupSettings>(root, "group") {
        let address = group.address.parse::<Ipv4Addr>().ok().filter(Ipv4Addr::is_multicast);
        if address.is_none() {
            let what = "is no IPv4 multicast address; use one from 224.0.0.0 to 239.255.255.255";
            reader.refuse("address", what);
        }
        let (node, members) = ports_of(&reader, (&group.switch, &group.ports), ports, names);
        let (Some(address), Some(node), false) = (address, node, members.is_empty()) else { continue };
        let mac = Mac::of_group(address);
        if groups.iter().any(|(other, known, _)| (*other, *known) == (node, mac)) {
            let what = "has the Ethernet address of an earlier group at this switch; use another one";
            reader.refuse("address", what);
        }
        groups.push((node, mac, members));
        if has_loop(ports, |port| of_group(&groups, mac, port)) {
            let what =
                "let frames of the group go round for ever, for they join switches in a ring; leave one out";
            reader.refuse("ports", what);
        }
    }
    groups
}

/// Whether `port` is one of the group `mac` at its switch.
fn of_group(groups: &[GroupEntry], mac: Mac, port: PortId) -> bool {
    groups.iter().any(|(_, other, ports)| *other == mac && ports.contains(&port))
}

/// Reads every fault of `ports`.
pub(super) fn faults(root: &Reader<'_>, ports: &[NamedPort], names: &BTreeMap<&str, PortId>) -> Vec<Fault> {
    let of_one = |(reader, fault): (Reader<'_>, FaultSettings)| one(&reader, &fault, ports, names);
    list::<FaultSettings>(root, "fault").into_iter().flat_map(of_one).collect()
}

fn one(
    reader: &Reader<'_>,
    fault: &FaultSettings,
    ports: &[NamedPort],
    names: &BTreeMap<&str, PortId>,
) -> Vec<Fault> {
    let Some(port) = names.get(fault.port.as_str()).copied() else {
        reader.refuse("port", format!("is no port; {}", known(names.keys().copied())));
        return Vec::new();
    };
    let trouble = &fault.trouble;
    if trouble.until.is_some_and(|until| until <= trouble.from) {
        reader.refuse("until", "is not after the beginning; use a later end or none");
    }
    let own = ports[port.get() as usize].settings.rate;
    if trouble.rate.is_some_and(|rate| rate >= own) {
        reader.refuse("rate", format!("is no slower than the port, which has {own}; use a lower rate"));
    }
    let mut effects = trouble.effects();
    effects.extend(fault.duplicate.map(Effect::Duplicate));
    if effects.is_empty() {
        reader
            .refuse_table("does not say what goes wrong; add down = true, rate, loss, corrupt or duplicate");
    }
    trouble.faults(&PortLine { port, direction: fault.direction }, effects)
}
