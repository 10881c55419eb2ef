//! `[[fault]]`: what goes wrong where and when.

use pullnet_config::{Located, Reader, Shape, SubTable};
use pullnet_settings::{Settings, settings};
use pullnet_topology::{Effect, Fault, FaultError, Place, Schedules, Trouble, schedules};
use pullnet_units::{Instant, Picos};

use crate::scenario::Stop;
use crate::topology_kind::BuiltTopology;

settings! {
    /// Something that goes wrong: a place, a time, and one or more of `down`, `rate`, `loss` and `corrupt`.
    pub struct FaultSettings {
        /// Where: "all links", "level agg->core", "link core 0 - agg 3" (both directions), "link core 0 -> agg 3"
        /// (one), "link core 0 - agg 3 lane 1", "switch agg 3" or "host 5" (all links of a node).
        place: String = "link core 0 - agg 0"; required,
    } with
    /// When, and what.
    trouble: Trouble
}

pub(crate) fn table() -> SubTable {
    let shape = Shape::of(&[FaultSettings::FIELDS]);
    SubTable::list(
        "fault",
        "Links and switches that fail, degrade, lose or corrupt packets, and recover.",
        shape,
    )
}

/// Reads every `[[fault]]`.
pub(crate) fn read(root: &Reader<'_>, network: Option<&BuiltTopology>, stop: Option<Stop>) -> Schedules {
    let mut all = Vec::new();
    for reader in root.list("fault") {
        reader.no_other_keys_than(&table().shape);
        all.extend(read_one(&reader, network, stop));
    }
    network.and_then(|network| schedules(&network.topology, &all).ok()).unwrap_or_default()
}

/// The faults of one block; none if its place cannot be told.
fn read_one(reader: &Reader<'_>, network: Option<&BuiltTopology>, stop: Option<Stop>) -> Vec<Fault> {
    let own = reader.read::<FaultSettings>();
    check_times(reader, &own, stop);
    let effects = ["down", "rate", "loss", "corrupt"];
    if own.has_read(&effects) && own.value.trouble.effects().is_empty() {
        reader.refuse_table(
            "does not say what goes wrong; add down = true, rate = \"1 Gbps\", loss = 0.01 or corrupt = 0.01",
        );
    }
    if !own.has_read(&["place"]) {
        return Vec::new();
    }
    match own.value.place.parse() {
        Ok(place) => {
            let trouble = &own.value.trouble;
            let all = trouble.faults(&place, trouble.effects());
            if let Some(network) = network {
                report_all(reader, network, &place, &all);
            }
            all
        }
        Err(error) => {
            report(reader, &error);
            Vec::new()
        }
    }
}

fn check_times(reader: &Reader<'_>, own: &Located<FaultSettings>, stop: Option<Stop>) {
    let from = Instant::ZERO.after(own.value.trouble.from);
    if let Some(end) = stop.map(Stop::latest)
        && from >= end
    {
        let ends = Picos(end.0);
        reader.refuse("from", format!("is not before the end of the run; use less than \"{ends}\""));
    }
    if own.has_read(&["from", "until"])
        && own.value.trouble.until.is_some_and(|until| until <= own.value.trouble.from)
    {
        let from = own.value.trouble.from;
        reader.refuse("until", format!("is not after from = \"{from}\"; use a later end or none"));
    }
}

/// Reports what is wrong with the place, or else with each effect there.
fn report_all(reader: &Reader<'_>, network: &BuiltTopology, place: &Place, all: &[Fault]) {
    let always = |effect| Fault { place: place.clone(), from: Instant::ZERO, until: None, effect };
    let fails = |fault: Fault| schedules(&network.topology, &[fault]).err();
    if let Some(error) = fails(always(Effect::Down)) {
        return report(reader, &error);
    }
    for error in all.iter().filter_map(|fault| fails(always(fault.effect))) {
        if network.links || !matches!(error, FaultError::Rate { .. }) {
            report(reader, &error);
        }
    }
}

/// Shows an error at the key that it speaks of.
fn report(reader: &Reader<'_>, error: &FaultError) {
    let (key, reason) = match error {
        FaultError::Place { .. } => (
            "place",
            "is no place; write for instance \"all links\", \"level agg->core\", \"link core 0 - agg 3\", \
             \"link core 0 -> agg 3\", \"switch agg 3\" or \"host 5\""
                .to_owned(),
        ),
        FaultError::UnknownLevel { known, .. } => ("place", format!("is no level; use one of {known}")),
        FaultError::UnknownNode { node, examples, .. } => (
            "place",
            format!("names the node \"{node}\", which is not there; nodes are called like {examples}"),
        ),
        FaultError::NotJoined { from, to, neighbours, .. } => (
            "place",
            format!("is no link: none leads from \"{from}\" to \"{to}\"; there are links to {neighbours}"),
        ),
        FaultError::Lane { lane, highest, .. } => {
            ("place", format!("names lane {lane}, which is not there; use 0 to {highest}"))
        }
        FaultError::Times { from, .. } => {
            ("until", format!("is not after from = \"{}\"; use a later end or none", from))
        }
        FaultError::Probability { value, .. } => {
            let key = if reader.has("loss") { "loss" } else { "corrupt" };
            (key, format!("is no probability with an effect ({value}); use more than 0 and at most 1"))
        }
        // Cannot result from settings.
        FaultError::Duplicate { .. } => ("place", error.to_string()),
        FaultError::Rate { fastest, .. } => {
            ("rate", format!("slows no link there; use less than \"{fastest}\""))
        }
    };
    reader.refuse(key, reason);
}
