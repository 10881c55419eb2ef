//! The top of a scenario: its name, its seed, when it ends and what is measured.

use pullnet_config::{Located, Origin, Reader, Shape, SubTable};
use pullnet_settings::{Setting, Settings, choice, settings};
use pullnet_units::{Instant, Picos};

use crate::scenario::Stop;

choice! {
    /// End of a run that has no fixed duration.
    pub enum Until {
        /// Every flow has been completed or has failed, and none can start.
        AllFlowsDone = "all flows done",
    }
}

settings! {
    /// The top of a scenario.
    pub struct RunSettings {
        /// Name of the scenario in results; by default the name of its file.
        name: Option<String> = "",
        /// Purpose, in a line or two.
        description: Option<String> = "",
        /// Seed of every random stream. Equal seeds give equal runs.
        seed: u64 = 1,
        /// How long to simulate. Either this or `until`.
        duration: Option<Picos> = "" in "1 ns" => "1000 s",
        /// Ends the run by what has happened. Either this or `duration`.
        until: Option<Until> = "",
        /// With `until`: when to give up; 10 s if it is left out.
        limit: Option<Picos> = "" in "1 ns" => "1000 s",
    }
}

settings! {
    /// The measurement window: what utilisation and goodput are taken over.
    pub struct MeasureSettings {
        /// Its begin.
        from: Picos = "0 ps",
        /// Its end; by default that of the run.
        to: Option<Picos> = "",
    }
}

/// When a run ends at the latest if only `until` is stated.
const LIMIT: Picos = Picos::from_secs(10);

/// Settings at the top of a scenario.
pub(crate) struct Run {
    pub name: String,
    pub seed: u64,
    pub stop: Stop,
    pub measure: (Instant, Instant),
}

pub(crate) fn groups() -> Shape {
    Shape::of(&[RunSettings::FIELDS])
}

pub(crate) fn measure_table() -> SubTable {
    let shape = Shape::of(&[MeasureSettings::FIELDS]);
    SubTable::optional(
        "measure",
        "The measurement window: what utilisation and goodput are taken over.",
        shape,
    )
}

/// Reads the settings at the top and `measure`.
pub(crate) fn read(root: &Reader<'_>) -> Option<Run> {
    let own = root.read::<RunSettings>();
    let name = own.value.name.clone().unwrap_or_else(|| stem(root.file_name()));
    if own.value.name.is_none() {
        root.put("name", name.write(), Origin::Default);
    }
    let stop = stop(root, &own);
    let measure = measure(root, stop);
    let (seed, good) = (own.value.seed, own.good());
    let (stop, measure) = (stop?, measure?);
    good.then_some(Run { name, seed, stop, measure })
}

/// The name of a file without folder and ending.
fn stem(file: &str) -> String {
    let stem = std::path::Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "scenario".to_owned())
}

fn stop(root: &Reader<'_>, own: &Located<RunSettings>) -> Option<Stop> {
    let RunSettings { duration, limit, .. } = own.value;
    match (duration, own.is_written("until")) {
        (_, true) if own.is_written("duration") => {
            root.refuse("until", "contradicts duration; keep one of the two (limit bounds a run with until)");
            None
        }
        (Some(duration), false) => {
            root.no_effect(
                "limit",
                "duration ends the run; leave it out, or write until = \"all flows done\"",
            );
            Some(Stop::At(Instant::ZERO.after(duration)))
        }
        (_, true) => {
            if limit.is_none() {
                root.put("limit", LIMIT.write(), Origin::Default);
            }
            Some(Stop::FlowsDone { limit: Instant::ZERO.after(limit.unwrap_or(LIMIT)) })
        }
        (None, false) => {
            if !own.is_written("duration") {
                root.missing(
                    "duration",
                    "write for instance duration = \"20 ms\" or until = \"all flows done\"".into(),
                );
            }
            None
        }
    }
}

fn measure(root: &Reader<'_>, stop: Option<Stop>) -> Option<(Instant, Instant)> {
    let reader = root.table("measure", "from = \"5 ms\", to = \"20 ms\"");
    let reader = reader.unwrap_or_else(|| root.unwritten("measure"));
    reader.no_other_keys_than(&measure_table().shape);
    let own = reader.read::<MeasureSettings>();
    let (end, latest) = match stop {
        Some(Stop::At(end)) => (end, end),
        Some(Stop::FlowsDone { limit }) => (Instant::NEVER, limit),
        None => (Instant::NEVER, Instant::NEVER), // said already
    };
    let from = Instant::ZERO.after(own.value.from);
    let to = own.value.to.map_or(end, |to| Instant::ZERO.after(to));
    let ends = Picos(latest.0);
    let before = reader.errors();
    if from >= latest {
        reader.refuse("from", format!("is not before the end of the run; use less than \"{ends}\""));
    } else if from >= to {
        reader.refuse("to", format!("is not after from = \"{}\"; write a later time", own.value.from));
    } else if own.value.to.is_some() && to > latest {
        reader.refuse("to", format!("is after the end of the run; use at most \"{ends}\""));
    }
    stop?;
    (own.good() && reader.errors() == before).then_some((from, to))
}
