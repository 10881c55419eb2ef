//! The common interface of all kinds of `[topology]`.

use pullnet_config::{Reader, SubTable};
use pullnet_settings::{choice, settings};
use pullnet_topology::{CutThrough, Topology, TopologyError};

use crate::links::Unreadable;

choice! {
    /// When a switch may begin to send a packet.
    pub enum Switching {
        /// When the whole packet has arrived.
        StoreAndForward = "store-and-forward",
        /// When the packet's header has arrived, unless its next link is faster than the one that it comes by.
        CutThrough = "cut-through",
        /// When the packet's header has arrived, even if the next link would run out of bits.
        CutThroughAlways = "cut-through-always",
    }
}

impl Switching {
    /// The rule for packets whose shortest header has `head` bytes; `None` for store-and-forward.
    pub(crate) fn rule(self, head: u32) -> Option<CutThrough> {
        let to_faster = self == Self::CutThroughAlways;
        (self != Self::StoreAndForward).then_some(CutThrough { head, to_faster })
    }
}

settings! {
    /// What every topology has, whatever its kind.
    pub struct FabricSettings {
        /// When a switch may begin to send a packet: when the whole packet has arrived (store-and-forward), or when as much
        /// has arrived as the shortest header of the transports (cut-through). A packet then arrives at the queue, and
        /// counts there in full, as soon as its header has. Before a link that is faster than the one that a packet comes by,
        /// switches still store and forward, since the faster link would run out of bits; some simulators do not
        /// (cut-through-always). Hosts always receive whole packets.
        switching: Switching = "store-and-forward",
    }
}

/// A form of `[topology]`.
pub(crate) struct TopologyKind {
    pub name: &'static str,
    pub summary: &'static str,
    pub fields: &'static [pullnet_settings::Field],
    pub tables: fn() -> Vec<SubTable>,
    pub build: fn(&Reader<'_>) -> Option<BuiltTopology>,
}

/// A network as far as it could be read.
pub(crate) struct BuiltTopology {
    pub topology: Topology,
    /// Whether rates and delays are what the scenario says; else they could not be read.
    pub links: bool,
    /// When a switch may begin to send a packet.
    pub switching: Switching,
}

impl BuiltTopology {
    /// A network with switches that store and forward.
    pub fn new(topology: Topology, links: bool) -> Self {
        Self { topology, links, switching: FabricSettings::default().switching }
    }
}

/// The topology of `links`, or of `placeholder` where these could not be read; or its errors at the keys that they
/// speak of.
pub(crate) fn built<L>(
    reader: &Reader<'_>,
    links: Result<L, Unreadable>,
    placeholder: L,
    build: impl FnOnce(L) -> Result<Topology, Vec<TopologyError>>,
) -> Option<BuiltTopology> {
    let known = links.is_ok();
    match build(links.unwrap_or(placeholder)) {
        Ok(topology) => Some(BuiltTopology::new(topology, known)),
        Err(errors) => {
            refuse_all(reader, errors);
            None
        }
    }
}

/// The error of a builder that reports the first one only.
pub(crate) fn one(error: TopologyError) -> Vec<TopologyError> {
    vec![error]
}

/// Refuses the keys that errors of a builder speak of.
pub(crate) fn refuse_all(reader: &Reader<'_>, errors: Vec<TopologyError>) {
    for error in errors {
        match error {
            TopologyError::Parameter { key, value, remedy, .. } => {
                let key = scenario_key(key);
                match reader.shown(key) {
                    Some(_) => reader.refuse(key, format!("is not possible; {remedy}")),
                    None => reader.refuse_table(format!("{key} = {value} is not possible; {remedy}")),
                }
            }
            other => reader.refuse("kind", other.to_string()),
        }
    }
}

/// The scenario's key for a builder's.
fn scenario_key(key: &str) -> &str {
    match key {
        "oversubscription of the ToRs" => "oversubscription.tor",
        "oversubscription of the aggregation switches" => "oversubscription.agg",
        other => other,
    }
}
