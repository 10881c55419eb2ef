//! A conversation of flows: a scenario, and the fates of its packets.

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_scenario::{Scenario, compile};

use crate::conversation::{Conversation, Outline};

/// The host that sends the first flow.
pub const A: u32 = 0;
/// The other host.
pub const B: u32 = 1;
/// Payload of a full packet, bytes.
pub const FULL: u64 = 1000;

/// Base scenario of all conversations. Links and pulls are fast, so that a host has sent everything before an answer
/// arrives; timers are slow compared to both.
const SCENARIO: &str = r#"
name = "conversation"
until = "all flows done"
[topology]
kind = "star"
hosts = 2
link = { rate = "100 Gbps", delay = "10 us" }
[transport]
kind = "ndp"
mtu = "1000 B"
header = "78 B"
initial_window = "4 packets"
piggyback = false
pull_spacing = "1 ns:0, 1 ns:1"
timeout = "20 ms"
queued_headers = "0 packets"
[switch]
kind = "trim"
trim_to = "80 B"
[probes]
packets = true
[[traffic]]
kind = "flows"
file = "flows.csv"
"#;

/// Four paths instead of one.
const FOUR_PATHS: [(&str, &str); 4] = [
    ("topology.kind", "leaf-spine"),
    ("topology.leaves", "2"),
    ("topology.spines", "4"),
    ("topology.hosts_per_leaf", "1"),
];

/// One conversation.
pub struct Talk {
    pub outline: Outline,
    scenario: String,
    settings: Vec<(String, String)>,
    /// Lines of a list of flows.
    flows: Vec<String>,
}

/// A conversation; `name` is the behaviour under test.
pub fn talk(name: &'static str) -> Talk {
    Talk {
        outline: Outline::new(name),
        scenario: SCENARIO.to_owned(),
        settings: Vec::new(),
        flows: Vec::new(),
    }
}

impl Talk {
    /// A setting of the scenario.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The first window, packets.
    pub fn window(self, packets: u32) -> Self {
        self.set("transport.initial_window", &format!("{packets} packets"))
    }

    /// Sets up four paths between the hosts.
    pub fn four_paths(mut self) -> Self {
        self.scenario = self.scenario.replace("hosts = 2\n", "");
        FOUR_PATHS.into_iter().fold(self, |talk, (key, value)| talk.set(key, value))
    }

    /// A host sends a flow to the other.
    pub fn sends(self, host: u32, bytes: u64) -> Self {
        self.sends_at("0 us", host, bytes)
    }

    /// The same from a given time on. Flows are numbered in order of their start.
    pub fn sends_at(mut self, start: &str, host: u32, bytes: u64) -> Self {
        self.flows.push(format!("{host},{},{bytes},{start},0", 1 - host));
        self
    }

    /// The latest flow has priority 1.
    pub fn urgently(mut self) -> Self {
        if let Some(flow) = self.flows.last_mut() {
            flow.replace_range(flow.len() - 1.., "1");
        }
        self
    }

    /// The hosts of this conversation.
    pub fn scenario(&self) -> Arc<Scenario> {
        let flows = format!("src,dst,bytes,start,priority\n{}\n", self.flows.join("\n"));
        let files = BTreeMap::from([("flows.csv".to_owned(), flows.into_bytes())]);
        let scenario = compile("conversation.toml", &self.scenario, &self.settings, &files);
        Arc::new(scenario.unwrap_or_else(|errors| panic!("{}: {errors:?}", self.outline.name)))
    }
}

impl Conversation for Talk {
    fn outline(&mut self) -> &mut Outline {
        &mut self.outline
    }
}
