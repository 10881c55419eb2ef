//! The interface of a probe, and the types that have a field for each probe.

use std::fmt::Debug;

use pullnet_config::{Reader, Shape, SubTable};
use pullnet_settings::Settings;
use pullnet_topology::Topology;
use pullnet_units::{FlowId, Instant, Picos};

use crate::seen::{Seen, Watches};
use crate::table::{Builder, Table};

/// Form of the key that enables a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// By a key that is true or false, the only row of [`Probe::Settings`].
    Switch,
    /// By a table of settings.
    Table {
        /// Description of the table.
        doc: &'static str,
        /// A setting with which it can begin, for messages: `every = 10`.
        example: &'static str,
    },
}

/// End of a run, as a scenario states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// At this time.
    At(Instant),
    /// With the last flow, at this time at the latest.
    FlowsDone(Instant),
}

/// Facts about a run before it begins.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Hosts, switches and links.
    pub topology: &'a Topology,
    /// The end of the run, unless what the scenario says of it is wrong.
    pub end: Option<End>,
    /// Number of traffic blocks.
    pub blocks: usize,
}

/// The most that a run with a stated end does, if every host sends as fast as it can.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Time that is simulated.
    pub length: Picos,
    /// Data packets; each is sent and received, and so is its ACK.
    pub packets: f64,
    /// Flows.
    pub flows: f64,
    /// Hosts.
    pub hosts: u64,
    /// Traffic blocks.
    pub blocks: u64,
}

/// Facts about a run that has ended.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Time at the end.
    pub simulated: Instant,
    /// Names of ports and NICs, by their row in the table `ports`.
    pub port_name: &'a dyn Fn(u32) -> &'a str,
}

/// An optional table. A value holds the settings of one scenario.
pub trait Probe: Clone + PartialEq + Debug + Sized {
    /// Name of the table and of its file.
    const TABLE: &'static str;
    /// Its key under `[probes]`.
    const KEY: &'static str = Self::TABLE;
    /// Whether the key is true or false, or has settings.
    const FORM: Form = Form::Switch;
    /// Description of a row.
    const DOC: &'static str;
    /// Which events [`Probe::note`] is called for; none if the engine makes the rows.
    const WATCHES: Watches = Watches::NONE;

    /// The settings under its key; for [`Form::Switch`] a single one with the name of the key.
    type Settings: Settings;
    /// A row as it is recorded.
    type Row: Clone + PartialEq + Debug;

    /// The probe with these settings; `None` if they do not enable it.
    fn new(settings: Self::Settings, reader: &Reader<'_>) -> Option<Self>;

    /// Reports settings that do not fit the run. `reader` is at the table that has the key; of [`Form::Table`] at the table of
    /// its settings.
    fn check(&self, reader: &Reader<'_>, plan: Plan<'_>) {
        let _ = (reader, plan);
    }

    /// Memory that the rows need at most, while columns are made of them; 0 if they are few. Unit: bytes.
    fn memory(&self, load: &Load) -> f64 {
        let _ = load;
        0.0
    }

    /// Adds the rows that an event makes, if any.
    fn note(&self, seen: &Seen, rows: &mut Vec<Self::Row>) {
        let _ = (seen, rows);
    }

    /// Puts the rows of all hosts and ports into their order, which must not depend on the number of threads. Rows of one host
    /// and rows of one port are in the order of their events, hosts and ports in the order of their numbers.
    fn sort(rows: &mut [Self::Row]) {
        let _ = rows;
    }

    /// Replaces the numbers of flows in the rows by the final ones, which leave out prepared flows that never started.
    fn renumber(rows: &mut [Self::Row], number: &dyn Fn(FlowId) -> FlowId) {
        let _ = (rows, number);
    }

    /// Adds the columns to an empty table.
    fn table(&self, rows: &[Self::Row], facts: Facts<'_>) -> Table;

    /// A table for `rows`, with the name of this table and no columns yet.
    fn builder<R>(rows: &[R]) -> Builder<'_, R> {
        Builder::new(Self::TABLE, Self::DOC, rows)
    }
}

/// An optional table, for lists and messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionalTable {
    /// Name of the table.
    pub table: &'static str,
    /// The line under `[probes]` that enables it.
    pub line: String,
    /// Description of a row.
    pub doc: &'static str,
}

/// A probe and its rows so far.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording<P: Probe> {
    /// The probe.
    pub probe: P,
    /// The rows.
    pub rows: Vec<P::Row>,
}

impl<P: Probe> Recording<P> {
    /// The recording of an enabled probe, without rows.
    pub(crate) fn begin(probe: Option<&P>) -> Option<Self> {
        probe.map(|probe| Self { probe: probe.clone(), rows: Vec::new() })
    }

    /// The same if hosts show all that it needs.
    pub(crate) fn begin_at_hosts(probe: Option<&P>) -> Option<Self> {
        Self::begin(probe.filter(|_| P::WATCHES.at_hosts()))
    }

    /// Takes over the rows of other hosts or ports.
    pub(crate) fn append(all: &mut Option<Self>, other: Option<Self>) {
        match (all, other) {
            (Some(all), Some(mut other)) => all.rows.append(&mut other.rows),
            (all @ None, other) => *all = other,
            (Some(_), None) => {}
        }
    }
}

pub(crate) fn shape_of<P: Probe>(shape: Shape) -> Shape {
    match P::FORM {
        Form::Switch => {
            let Shape { mut groups, tables, kinds } = shape;
            groups.push(P::Settings::FIELDS);
            Shape { groups, tables, kinds }
        }
        Form::Table { doc, .. } => {
            shape.with(SubTable::optional(P::KEY, doc, Shape::of(&[P::Settings::FIELDS])))
        }
    }
}

pub(crate) fn read<P: Probe>(probes: &Reader<'_>) -> Option<P> {
    let Form::Table { example, .. } = P::FORM else { return P::new(probes.read().value, probes) };
    let reader = probes.table(P::KEY, example)?;
    reader.no_other_keys_than(&Shape::of(&[P::Settings::FIELDS]));
    P::new(reader.read().value, &reader)
}

pub(crate) fn check<P: Probe>(probe: Option<&P>, probes: &Reader<'_>, plan: Plan<'_>) {
    let Some(probe) = probe else { return };
    match P::FORM {
        Form::Switch => probe.check(probes, plan),
        Form::Table { .. } => {
            if let Some(reader) = probes.table(P::KEY, "") {
                probe.check(&reader, plan);
            }
        }
    }
}

pub(crate) fn optional_table<P: Probe>() -> OptionalTable {
    let value = match P::FORM {
        Form::Switch => "true".to_owned(),
        Form::Table { example, .. } => format!("{{ {example} }}"),
    };
    OptionalTable { table: P::TABLE, line: format!("{} = {value}", P::KEY), doc: P::DOC }
}

/// Makes the types that have a field for each probe, from the list of them.
macro_rules! probes {
    ($($name:ident: $probe:ty),+ $(,)?) => {
        /// The tables that a scenario enables.
        #[derive(Clone, PartialEq, Default, Debug)]
        pub struct Probes {
            $(#[doc = concat!("The table `", stringify!($name), "`.")] pub $name: Option<$probe>),+
        }

        impl Probes {
            /// The allowed contents of `[probes]`.
            pub fn shape() -> pullnet_config::SubTable {
                let shape = pullnet_config::Shape::of(&[]);
                $(let shape = crate::probe::shape_of::<$probe>(shape);)+
                let doc = "Records beyond the flows and the sums. A probe never changes the run.";
                pullnet_config::SubTable::optional("probes", doc, shape)
            }

            /// Reads `[probes]`.
            pub fn read(root: &pullnet_config::Reader<'_>) -> Self {
                let reader = root.table("probes", "ports = true").unwrap_or_else(|| root.unwritten("probes"));
                reader.no_other_keys_than(&Self::shape().shape);
                Self { $($name: crate::probe::read(&reader)),+ }
            }

            /// Reports settings that do not fit the run.
            pub fn check(&self, root: &pullnet_config::Reader<'_>, plan: Plan<'_>) {
                let Some(reader) = root.table("probes", "") else { return };
                $(crate::probe::check(self.$name.as_ref(), &reader, plan);)+
            }

            /// Memory that the rows of all need at most. Unit: bytes.
            pub fn memory(&self, load: &Load) -> f64 {
                let none = 0.0;
                none $(+ self.$name.as_ref().map_or(0.0, |probe| probe.memory(load)))+
            }

            /// The events that any of them watches.
            pub fn watches(&self) -> Watches {
                let watches = Watches::NONE;
                $(let watches = if self.$name.is_some() { watches.and(<$probe>::WATCHES) } else { watches };)+
                watches
            }

            /// All tables that there are.
            pub fn all() -> Vec<OptionalTable> {
                vec![$(crate::probe::optional_table::<$probe>()),+]
            }
        }

        /// The tables that a run has recorded.
        #[derive(Clone, PartialEq, Default, Debug)]
        pub struct Recorded {
            $(#[doc = concat!("The table `", stringify!($name), "`, if it is enabled.")] pub $name: Option<Recording<$probe>>),+
        }

        impl Recorded {
            /// All enabled tables, without rows.
            pub fn new(probes: &Probes) -> Self {
                Self { $($name: Recording::begin(probes.$name.as_ref())),+ }
            }

            /// The enabled tables whose rows follow from the events of hosts, without rows.
            pub fn at_hosts(probes: &Probes) -> Self {
                Self { $($name: Recording::begin_at_hosts(probes.$name.as_ref())),+ }
            }

            /// Shows an event to all probes.
            pub fn note(&mut self, seen: &Seen) {
                $(if let Some(Recording { probe, rows }) = &mut self.$name {
                    probe.note(seen, rows);
                })+
            }

            /// Takes over the rows of other hosts or ports.
            pub fn append(&mut self, other: Self) {
                $(Recording::append(&mut self.$name, other.$name);)+
            }

            /// Gives the flows in all rows their final numbers.
            pub fn renumber(&mut self, number: &dyn Fn(pullnet_units::FlowId) -> pullnet_units::FlowId) {
                $(if let Some(recording) = &mut self.$name {
                    <$probe as Probe>::renumber(&mut recording.rows, number);
                })+
            }

            /// Puts the rows into their order.
            pub fn sort(&mut self) {
                $(if let Some(recording) = &mut self.$name {
                    <$probe as Probe>::sort(&mut recording.rows);
                })+
            }

            /// The tables.
            pub fn tables(&self, facts: Facts<'_>) -> Vec<Table> {
                let mut tables = Vec::new();
                $(tables.extend(self.$name.as_ref().map(|recording| recording.probe.table(&recording.rows, facts)));)+
                tables
            }

            $(
                #[doc = concat!("Rows of the table `", stringify!($name), "`; none if it is not enabled.")]
                pub fn $name(&self) -> &[<$probe as Probe>::Row] {
                    self.$name.as_ref().map_or(&[], |recording| &recording.rows)
                }
            )+
        }
    };
}

pub(crate) use probes;
