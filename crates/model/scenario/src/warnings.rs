//! Warnings: a scenario that can be run, and whose result probably is not what its author expects.
//!
//! Each kind of warning has a stable name, which is a key of the table `[warnings]`; `false` silences it. Errors are
//! elsewhere: a warning never keeps a scenario from running.

use std::fmt;

use pullnet_config::{Origin, PathSettings, Reader, Shape, SubTable};
use pullnet_protocols::ProtocolConfig;
use pullnet_qdisc::{Capacity, SWITCHES, SwitchConfig, SwitchEntry};
use pullnet_settings::{Field, Settings};
use pullnet_topology::{LinkRef, LinkState, Port, Topology};
use pullnet_transport::{Framing, Reliance};
use pullnet_units::{BitsPerSec, Bytes, HostId, Id, Packets, Picos, QueueSize};
use pullnet_workload::Late;

use crate::memory;
use crate::scenario::{Scenario, Stop};
use crate::topology_kind::FabricSettings;
use crate::transport::CarriedBy;
use crate::warning_settings::WarningSettings;

/// A warning. Its text is `place: setting: what is wrong; what would work [name]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// Its name in `[warnings]`.
    pub name: &'static str,
    /// `file:line:column`, `--set`, or the file alone where the value is a default.
    pub place: String,
    /// The setting, for instance `traffic.0.load`; empty for the whole scenario.
    pub setting: String,
    /// The problem, and a value that would work.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.setting.is_empty() {
            write!(f, "{}: ", self.setting)?;
        }
        write!(f, "{} [{}]", self.message, self.name)
    }
}

pub(crate) fn table() -> SubTable {
    let help = "Which warnings are given; false silences one.";
    SubTable::optional("warnings", help, Shape::of(&[WarningSettings::FIELDS]))
}

/// Reads `[warnings]`. It is on record only if it was written.
pub(crate) fn read(root: &Reader<'_>) -> WarningSettings {
    let Some(reader) = root.table("warnings", "load_above_one = false") else {
        return WarningSettings::default();
    };
    reader.no_other_keys_than(&table().shape);
    reader.read().value
}

impl Scenario {
    /// Every warning about the scenario that is not silenced, in the order of [`WarningSettings`]. `available`: memory
    /// that is free; `None` if that is not known.
    pub fn warnings(&self, available: Option<Bytes>) -> Vec<Warning> {
        let mut found = Found { scenario: self, list: Vec::new() };
        found.loads();
        found.late();
        for (path, carried) in found.transports() {
            found.timeout(&path, &carried.config);
            found.ack_delay(&path, &carried.config);
            found.min_rate(&path, &carried.config);
            found.header(&path, &carried.config);
            found.queues(&path, &carried.config);
            found.support(&carried.config);
        }
        found.headroom();
        found.endless_pause();
        found.short_pause();
        found.unused();
        found.memory(available);
        found.list.retain(|warning| self.silence.gives(warning.name));
        found.list
    }
}

/// Collects warnings.
struct Found<'a> {
    scenario: &'a Scenario,
    list: Vec<Warning>,
}

impl<'a> Found<'a> {
    fn add(&mut self, name: &'static str, setting: &str, message: String) {
        let resolved = &self.scenario.resolved;
        let place = match resolved.get(setting).map(|value| &value.origin) {
            Some(Origin::Text { line, column }) => format!("{}:{line}:{column}", resolved.file),
            Some(Origin::Override) => "--set".to_owned(),
            Some(Origin::Default) | None => resolved.file.clone(),
        };
        self.list.push(Warning { name, place, setting: setting.to_owned(), message });
    }

    /// Whether the setting stands in the file.
    fn is_written(&self, setting: &str) -> bool {
        self.scenario.resolved.get(setting).is_some_and(|value| value.origin != Origin::Default)
    }

    /// Whether the setting of `[transport]` or `[switch]` has its default value.
    fn is_default(&self, setting: &str) -> bool {
        let Scenario { switch, resolved, .. } = self.scenario;
        let default = match setting.split_once('.') {
            Some(("transport", _)) => self.default_of_transport(setting),
            Some(("switch", "forwarding")) => PathSettings::default().get("forwarding"),
            Some(("topology", "switching")) => FabricSettings::default().get("switching"),
            Some(("switch", key)) => row_of(switch).and_then(|row| (row.default)().get(key)),
            _ => None,
        };
        default.is_some() && default.as_ref() == resolved.get(setting).map(|value| &value.value)
    }

    fn default_of_transport(&self, setting: &str) -> Option<String> {
        let (table, key) = setting.rsplit_once('.')?;
        let (_, carried) = self.transports().into_iter().find(|(path, _)| path == table)?;
        (carried.config.entry().default)().get(key)
    }

    /// Every transport and the table that it was read from.
    fn transports(&self) -> Vec<(String, &'a CarriedBy)> {
        let Scenario { transports, resolved, .. } = self.scenario;
        let listed = |number: usize| format!("transport.{number}");
        let is_list = resolved.get(&format!("{}.mtu", listed(0))).is_some();
        let path = |number| if is_list { listed(number) } else { "transport".to_owned() };
        transports.iter().enumerate().map(|(number, carried)| (path(number), carried)).collect()
    }

    fn loads(&mut self) {
        for number in 0..self.scenario.workload.blocks() {
            let setting = format!("traffic.{number}.load");
            let load = self.scenario.resolved.get(&setting).and_then(|value| value.value.parse::<f64>().ok());
            if let Some(load) = load.filter(|load| *load > 1.0) {
                let reason = "offers more than the senders' links carry: queues grow until the run ends and completion \
                              times depend on its length; use less than 1";
                self.add("load_above_one", &setting, format!("{load} {reason}"));
            }
        }
    }

    /// Flows whose stated start is not before the end of the run.
    fn late(&mut self) {
        let Scenario { stop, workload, .. } = self.scenario;
        let (end, key) = match *stop {
            Stop::At(end) => (end, "duration"),
            Stop::FlowsDone { limit } => (limit, "limit"),
        };
        for number in 0..workload.blocks() {
            let Some(Late { flows, first, last }) = workload.late(number, end) else { continue };
            let [end, first, last] = [end, first, last].map(|at| Picos(at.0));
            let who = if flows == 1 { "flow is" } else { "flows are" };
            let message = format!(
                "{flows} {who} left out, the first at \"{first}\", since the run ends at \"{end}\"; use a {key} above \
                 \"{last}\""
            );
            self.add("late_flows", &format!("traffic.{number}.file"), message);
        }
    }

    fn timeout(&mut self, path: &str, transport: &ProtocolConfig) {
        let Some(key) = transport.entry().timeout_setting else { return };
        let text = transport.get(key).unwrap_or_default();
        let Ok(timeout) = text.trim_matches('"').parse::<Picos>() else { return };
        let round_trip = round_trip(&self.scenario.topology, transport.framing());
        if timeout < round_trip {
            let micros = round_trip.as_secs_f64() * 1e6;
            let message = format!(
                "\"{timeout}\" is below {micros:.1} us, the round trip of a full packet in the empty network: packets \
                 are sent again although none was lost; use more"
            );
            self.add("timeout_below_round_trip", &format!("{path}.{key}"), message);
        }
    }

    /// A sender times out while the receiver holds back the ACK of a single packet.
    fn ack_delay(&mut self, path: &str, transport: &ProtocolConfig) {
        let time = |key: &str| transport.get(key)?.trim_matches('"').parse::<Picos>().ok();
        let (Some(delay), Some(least)) = (time("ack_delay"), time("min_rto")) else { return };
        let delays = transport.get("delayed_ack").is_some_and(|value| value == "true");
        if delays && delay >= least {
            let message = format!(
                "\"{delay}\" is not below {path}.min_rto = \"{least}\": a sender may time out while the receiver delays its \
                 ACK; use less, such as \"{}\", or delayed_ack = false",
                Picos(least.0 / 2)
            );
            self.add("ack_delay_above_timeout", &format!("{path}.ack_delay"), message);
        }
    }

    /// Flows cannot slow down if their `min_rate` is the rate of the link or more.
    fn min_rate(&mut self, path: &str, transport: &ProtocolConfig) {
        let topology = &self.scenario.topology;
        let text = transport.get("min_rate").unwrap_or_default();
        let Ok(least) = text.trim_matches('"').parse::<BitsPerSec>() else { return };
        let rate_of = |host: HostId| topology.link(LinkRef::Nic(host)).rate;
        let Some(slowest) = topology.hosts.ids().min_by_key(|host| rate_of(*host)) else { return };
        let rate = rate_of(slowest);
        if least >= rate {
            let message = format!(
                "\"{least}\" is not below \"{rate}\", the rate of the link {}: its flows never slow down; use less, such as \
                 \"{}\"",
                topology.nic_name(slowest),
                BitsPerSec::new(rate.get() / 100).unwrap_or(rate)
            );
            self.add("min_rate_at_link_rate", &format!("{path}.min_rate"), message);
        }
    }

    fn header(&mut self, path: &str, transport: &ProtocolConfig) {
        let Framing { mtu, header } = transport.framing();
        if header > mtu {
            let message = format!(
                "\"{header} B\" is larger than the payload of a full packet, {path}.mtu = \"{mtu} B\": most of the \
                 links' capacity carries headers; use a larger mtu"
            );
            self.add("header_above_payload", &format!("{path}.header"), message);
        }
    }

    fn queues(&mut self, path: &str, transport: &ProtocolConfig) {
        let Framing { mtu, header } = transport.framing();
        let (full, header) = (u64::from(mtu) + u64::from(header), u64::from(header));
        if let Some(Bytes(trimmed)) = self.scenario.switch.trim_to().filter(|trimmed| trimmed.0 * 2 > full) {
            let message = format!(
                "\"{trimmed} B\" leaves more than half of a full packet of \"{full} B\": trimming hardly relieves a \
                 queue; use less, or a larger {path}.mtu"
            );
            self.add("shallow_trim", "switch.trim_to", message);
        }
        for Capacity { key, room, .. } in
            self.scenario.switch.capacities().into_iter().filter(|room| !room.of_data)
        {
            let headers = match room {
                QueueSize::Packets(packets) => u64::from(packets.0),
                QueueSize::Bytes(bytes) => bytes.0 / header.max(1),
            };
            if headers < FEW_HEADERS {
                let message = format!(
                    "\"{room}\" has room for {headers} headers of \"{header} B\": a small burst drops ACKs and trimmed \
                     headers; use at least \"{FEW_HEADERS} packets\""
                );
                self.add("small_control_queue", &format!("switch.{key}"), message);
            }
        }
    }

    /// Checks the headroom of lossless switches. Until a pause takes effect, a link can bring a round trip of bits, the packet that its
    /// sender has begun, and one for the packet that the pause waits for. Names the link that lacks the most.
    fn headroom(&mut self) {
        let Scenario { topology, switch, transports, .. } = self.scenario;
        let lengths = transports.iter().map(|carried| carried.config.framing());
        let Some(full) = lengths.map(|Framing { mtu, header }| u64::from(mtu) + u64::from(header)).max()
        else {
            return;
        };
        let lacks = |port: &Port| {
            let (key, Bytes(room)) = switch.headroom(port.link.rate)?;
            let round_trip =
                u128::from(port.link.delay.0) * 2 * u128::from(port.link.rate.get()) / 8_000_000_000_000;
            let need = u64::try_from(round_trip).unwrap_or(u64::MAX).saturating_add(2 * full);
            (room < need).then(|| (need - room, key, room, need, port.node))
        };
        let Some((_, key, room, need, node)) = topology.ports.iter().filter_map(lacks).max() else { return };
        let message = format!(
            "\"{}\" is less than the \"{}\" that a link can bring into {} before a pause takes effect: packets are dropped; \
             use at least \"{}\"",
            Bytes(room),
            Bytes(need),
            topology.node_name(node),
            Bytes(need)
        );
        self.add("small_headroom", &format!("switch.{key}"), message);
    }

    /// A pause without quanta lasts until a frame takes it back, which a link with faults may lose.
    fn endless_pause(&mut self) {
        let Scenario { switch, faults, .. } = self.scenario;
        let loses = |(_, state): &(_, LinkState)| !state.up || state.loss > 0.0 || state.corrupt > 0.0;
        let lossy = || faults.iter().any(|(_, schedule)| schedule.changes().iter().any(loses));
        if switch.get("quanta").is_some_and(|quanta| quanta == "0") && lossy() {
            let message = "0 pauses a link until a frame takes the pause back: where a fault loses that frame, the link stops for \
                           ever and flows fail for no other reason; use more, such as 65535";
            self.add("endless_pause", "switch.quanta", message.to_owned());
        }
    }

    /// A pause is repeated when half of it is over. The repetition may have to wait for a full packet, in which the pause ends. All is
    /// counted in the time of bytes on the link, so that its rate does not matter.
    fn short_pause(&mut self) {
        let Scenario { switch, transports, topology, .. } = self.scenario;
        let Some(quanta) = switch.get("quanta").and_then(|quanta| quanta.parse::<u64>().ok()) else { return };
        let lengths = transports.iter().map(|carried| carried.config.framing());
        let full = lengths.map(|Framing { mtu, header }| u64::from(mtu) + u64::from(header)).max();
        let Some(full) = full.filter(|_| !topology.ports.is_empty()) else { return };
        if quanta > 0 && quanta * BYTES_OF_HALF_A_QUANTUM < full {
            let message = format!(
                "{quanta} ends a pause before it is repeated where the repetition waits for a packet of \"{full} B\": packets are \
                 dropped, and repetitions may fill the link; use at least {}",
                full.div_ceil(BYTES_OF_HALF_A_QUANTUM)
            );
            self.add("short_pause", "switch.quanta", message);
        }
    }

    /// Services that the transport relies on and the switches lack.
    fn support(&mut self, transport: &ProtocolConfig) {
        let Scenario { topology, switch, .. } = self.scenario;
        let missing = transport.entry().relies_on.filter(|reliance| !switch.supports(*reliance));
        let Some(missing) = missing.filter(|_| !topology.ports.is_empty()) else { return };
        let (lacks, remedy) = match missing {
            Reliance::Marks => (
                "marks no packet, and hosts slow down for losses only",
                "state switch.mark_above (or mark_low for pfc), or use red",
            ),
            Reliance::Priorities => {
                ("has one queue for packets of all priorities", "use kind = \"priority\"")
            }
            Reliance::Ranks => {
                ("does not order packets by what their flows have left", "use kind = \"pfabric\"")
            }
            Reliance::Telemetry => (
                "writes no state of ports into headers, and flows stay at the rate of their link",
                "use kind = \"drop-tail\" or \"pfc\" with telemetry = true",
            ),
            Reliance::Rates => {
                ("grants no rates, so that every flow sends as fast as its link", "use kind = \"d3\"")
            }
            Reliance::Turns => {
                ("pauses no flow, so that every flow sends as fast as its link", "use kind = \"pdq\"")
            }
        };
        let (kind, name) = (switch.name(), transport.name());
        self.add(
            "missing_support",
            "switch.kind",
            format!("{name} relies on its switches, but \"{kind}\" {lacks}; {remedy}"),
        );
    }

    /// Settings that were written and that no part of the scenario uses.
    fn unused(&mut self) {
        let Scenario { topology, switch, .. } = self.scenario;
        let transports = self.transports();
        let marks = |carried: &CarriedBy| !carried.config.entry().ignores_marks;
        let markable = transports.iter().any(|(_, carried)| marks(carried));
        if topology.ports.is_empty() {
            let why = "the topology has no switch; leave it out";
            fields_of(switch).iter().for_each(|key| self.unused_one(&format!("switch.{key}"), why));
            self.unused_one("switch.forwarding", why);
            self.unused_one("topology.switching", why);
        } else if !markable {
            let names: Vec<_> = transports.iter().map(|(_, carried)| carried.config.name()).collect();
            let why = format!(
                "packets of {} are not ECN-capable, so that none is marked; leave it out",
                names.join(" and ")
            );
            ["ecn", "mark_above", "mark_at", "mark_low", "mark_high", "mark_probability"]
                .iter()
                .for_each(|key| self.unused_one(&format!("switch.{key}"), &why));
        }
        if let Some(row) = row_of(&self.scenario.switch) {
            self.unused_by_others("switch", row.fields);
        }
        for (path, carried) in &transports {
            self.unused_by_others(path, carried.config.entry().fields);
            self.beyond_largest_window(path, &carried.config);
        }
        if has_single_paths(topology) {
            let why = "there is one path between any two hosts; leave it out";
            for (path, carried) in &transports {
                let keys = carried.config.entry().path_settings;
                keys.iter().for_each(|key| self.unused_one(&format!("{path}.{key}"), why));
            }
            if !topology.ports.is_empty() {
                self.unused_one("switch.forwarding", why);
            }
        }
    }

    /// Settings of a table to which another one of it gives no effect.
    fn unused_by_others(&mut self, table: &str, fields: &[Field]) {
        for (field, by) in fields.iter().filter_map(|field| Some((field, field.unused?))) {
            let other = format!("{table}.{}", by.setting);
            let text = self.scenario.resolved.get(&other).map_or(String::new(), |value| value.value.clone());
            let value = text.trim_matches('"');
            if by.holds(value) {
                let why = match value {
                    "" => format!("{other} is not set; state it, or leave this out"),
                    _ => format!("{other} is {text}; leave one of the two out"),
                };
                self.unused_one(&format!("{table}.{}", field.name), &why);
            }
        }
    }

    /// Reports an initial window above the largest window of the transport.
    fn beyond_largest_window(&mut self, path: &str, transport: &ProtocolConfig) {
        let packets = |key: &str| transport.get(key)?.trim_matches('"').parse::<Packets>().ok();
        let Some(first) = packets("initial_window") else { return };
        for key in ["receive_window", "largest_window"] {
            if let Some(largest) = packets(key).filter(|largest| *largest < first) {
                let why = format!(
                    "{path}.{key} = \"{largest}\" is the largest window; use at most that, or raise it"
                );
                self.unused_one(&format!("{path}.initial_window"), &why);
            }
        }
    }

    /// A default that was written, as in the scenario of a result, is no intention to change anything. One reason is enough.
    fn unused_one(&mut self, setting: &str, why: &str) {
        let is_known =
            self.list.iter().any(|known| known.name == "unused_setting" && known.setting == setting);
        if self.is_written(setting) && !self.is_default(setting) && !is_known {
            let value = self.scenario.resolved.get(setting).map_or("", |value| &value.value).to_owned();
            self.add("unused_setting", setting, format!("{value} has no effect: {why}"));
        }
    }

    fn memory(&mut self, available: Option<Bytes>) {
        let Some(available) = available else { return };
        let need = memory::estimate(self.scenario);
        if need > available {
            let message = format!(
                "the run will need about {:.1} GB of memory, and {:.1} GB are free: it may be killed; use fewer hosts, \
                 fewer flows, or fewer probes",
                need.0 as f64 / 1e9,
                available.0 as f64 / 1e9
            );
            self.add("memory", "", message);
        }
    }
}

/// A quantum of a pause is the time of 512 bits.
const BYTES_OF_HALF_A_QUANTUM: u64 = 32;

/// A control queue with room for fewer headers than this loses some in any burst.
const FEW_HEADERS: u64 = 10;

/// The row of the discipline in the list of them.
fn row_of(switch: &SwitchConfig) -> Option<&'static SwitchEntry> {
    SWITCHES.iter().find(|row| row.name == switch.name())
}

/// Names of the settings of the discipline.
fn fields_of(switch: &SwitchConfig) -> Vec<&'static str> {
    row_of(switch).map(|row| row.fields.iter().map(|field| field.name).collect()).unwrap_or_default()
}

/// The longest round trip that was found: a full packet there, a header back, in an idle network. Looks at the paths between
/// the first host and some others, since all pairs of a large network would take too long.
fn round_trip(topology: &Topology, framing: Framing) -> Picos {
    let Framing { mtu, header } = framing;
    let (hosts, first) = (topology.hosts.len(), HostId::new(0));
    let step = (hosts / SOME_HOSTS).max(1);
    let others = (1..hosts).step_by(step).chain([hosts - 1]).map(HostId::from_index);
    let round_trip = |other: HostId| {
        let there = topology.ideal_fct(first, other, mtu.into(), mtu, header);
        there.saturating_add(topology.ideal_fct(other, first, 1, 1, header.saturating_sub(1)))
    };
    others.map(round_trip).max().unwrap_or(Picos::ZERO)
}

/// Hosts whose round trip to the first host is looked at.
const SOME_HOSTS: usize = 64;

/// Whether no two hosts have more than one path between them. Looks at all pairs of a small network; in a large one, whose
/// pairs are too many, at those with the first host.
fn has_single_paths(topology: &Topology) -> bool {
    let addr = |host: HostId| topology.addr(host);
    let from = if topology.hosts.len() <= SOME_HOSTS { topology.hosts.len() } else { 1 };
    let pairs = topology.hosts.ids().take(from).flat_map(|a| topology.hosts.ids().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a != b).all(|(a, b)| topology.path_count(addr(a), addr(b)) == 1)
}
