//! `[[fault]]`: what goes wrong where and when.

use pullnet_settings::{Settings, settings};
use pullnet_topology::{Effect, Fault, FaultError, Place, Schedules, Topology, schedules};
use pullnet_units::{BitsPerSec, Instant, Picos};

use crate::Stop;
use crate::shape::{Shape, SubTable};
use crate::table::Reader;

settings! {
    /// Something that goes wrong: a place, a time, and one or more of `down`, `rate`, `loss` and `corrupt`.
    pub struct FaultSettings {
        /// Where: "all links", "level agg->core", "link core 0 - agg 3" (both directions), "link core 0 -> agg 3"
        /// (one), "link core 0 - agg 3 lane 1", "switch agg 3" or "host 5" (all links of a node).
        place: String = "link core 0 - agg 0"; required,
        /// Since when.
        from: Picos = "0 ps",
        /// When it is over; without it, never.
        until: Option<Picos> = "",
        /// Nothing passes.
        down: bool = false,
        /// The links work at this rate, lower than their own.
        rate: Option<BitsPerSec> = "",
        /// Packets vanish with this probability.
        loss: Option<f64> = "" in 0.0 => 1.0,
        /// Packets arrive damaged, and are discarded, with this probability.
        corrupt: Option<f64> = "" in 0.0 => 1.0,
    }
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
pub(crate) fn read(root: &Reader<'_>, topology: Option<&Topology>, stop: Option<Stop>) -> Schedules {
    let mut faults = Vec::new();
    for reader in root.list("fault") {
        reader.no_other_keys_than(&table().shape);
        faults.extend(read_one(&reader, topology, stop));
    }
    topology.and_then(|topology| schedules(topology, &faults).ok()).unwrap_or_default()
}

/// The faults of one block; none if there is an error.
fn read_one(reader: &Reader<'_>, topology: Option<&Topology>, stop: Option<Stop>) -> Vec<Fault> {
    let own = reader.read::<FaultSettings>();
    if !own.good {
        return Vec::new();
    }
    let place = match own.value.place.parse() {
        Ok(place) => place,
        Err(error) => {
            report(reader, &error);
            return Vec::new();
        }
    };
    let faults = faults(&own.value, &place);
    if faults.is_empty() {
        reader.refuse_table(
            "says not what goes wrong; add down = true, rate = \"1 Gbps\", loss = 0.01 or corrupt = 0.01",
        );
    }
    if let Some(Stop::At(end) | Stop::FlowsDone { limit: end }) = stop
        && Instant::ZERO.after(own.value.from) >= end
    {
        let ends = Picos(end.0);
        reader.refuse("from", format!("is not before the end of the run; use less than \"{ends}\""));
    }
    let error = topology.and_then(|topology| faults.iter().find_map(|fault| fails(topology, fault)));
    if let Some(error) = error {
        report(reader, &error);
    }
    faults
}

fn fails(topology: &Topology, fault: &Fault) -> Option<FaultError> {
    schedules(topology, std::slice::from_ref(fault)).err()
}

fn faults(settings: &FaultSettings, place: &Place) -> Vec<Fault> {
    let effects = [
        settings.down.then_some(Effect::Down),
        settings.rate.map(Effect::Rate),
        settings.loss.map(Effect::Loss),
        settings.corrupt.map(Effect::Corrupt),
    ];
    let from = Instant::ZERO.after(settings.from);
    let until = settings.until.map(|until| Instant::ZERO.after(until));
    let fault = |effect| Fault { place: place.clone(), from, until, effect };
    effects.into_iter().flatten().map(fault).collect()
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
        FaultError::Rate { fastest, .. } => {
            ("rate", format!("slows no link there; use less than \"{fastest}\""))
        }
    };
    reader.refuse(key, reason);
}
