use std::fmt;

/// An error in a workload.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum WorkloadError {
    /// There is no traffic at all.
    #[error("there is no traffic: add at least one [[traffic]] block")]
    Empty,
    /// A block cannot be made.
    #[error("traffic[{block}] ({kind}): {problem}")]
    InBlock {
        /// Which block, from 0.
        block: u32,
        /// Its kind.
        kind: &'static str,
        /// The problem.
        problem: Problem,
    },
}

impl WorkloadError {
    pub(crate) fn in_block(block: u32, kind: &'static str, problem: Problem) -> Self {
        Self::InBlock { block, kind, problem }
    }
}

/// A problem of a traffic block.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Problem {
    /// A setting that cannot be met, by itself or together with others.
    #[error("{key} = {value:?} {reason}")]
    Setting {
        /// The key; those of the table `sizes` as "sizes.file".
        key: &'static str,
        /// The value as stated.
        value: String,
        /// The reason, and a value that would work; continues a sentence that begins with the value.
        reason: String,
        /// Whether the setting may be right on another network, or with other hosts.
        here: bool,
    },
    /// A problem of the block as a whole.
    #[error("{reason}")]
    Whole {
        /// The problem, and a value that would work.
        reason: String,
    },
    /// A required setting that is missing.
    #[error("{key} is missing: {remedy}")]
    Missing {
        /// The key.
        key: &'static str,
        /// The value to write.
        remedy: &'static str,
    },
    /// A file that cannot be used.
    #[error("{error}")]
    File {
        /// The key that names the file.
        key: &'static str,
        /// The error in it.
        error: FileError,
    },
}

impl Problem {
    /// A [`Problem::Setting`] on any network.
    pub fn new(key: &'static str, value: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self::Setting { key, value: value.into(), reason: reason.to_string(), here: false }
    }

    /// A [`Problem::Setting`] on this network, with these hosts.
    pub fn here(key: &'static str, value: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self::Setting { key, value: value.into(), reason: reason.to_string(), here: true }
    }

    /// The key of the setting; empty for the whole block.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Setting { key, .. } | Self::Missing { key, .. } | Self::File { key, .. } => key,
            Self::Whole { .. } => "",
        }
    }

    /// Whether the problem may disappear on another network, or with other hosts.
    pub fn depends_on_hosts(&self) -> bool {
        match self {
            Self::Setting { here, .. } => *here,
            Self::Missing { .. } | Self::Whole { .. } => false,
            Self::File { error, .. } => error.fault.depends_on_hosts(),
        }
    }

    pub(crate) fn in_file(key: &'static str) -> impl FnOnce(FileError) -> Self {
        move |error| Self::File { key, error }
    }
}

/// An error in a file, and its place.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{file}:{line}: {fault}")]
pub struct FileError {
    /// Its name.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The fault in this line.
    pub fault: FileFault,
}

/// A fault at a place in a file.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FileFault {
    /// Bytes that are not text.
    #[error("the line is not UTF-8 text; save the file as text")]
    NotText,
    /// In a size distribution.
    #[error(transparent)]
    Sizes(#[from] SizesFault),
    /// In a flow list.
    #[error(transparent)]
    List(#[from] ListFault),
    /// In a connection matrix or an HPCC flow file.
    #[error(transparent)]
    Matrix(#[from] MatrixFault),
    /// In a list of volumes.
    #[error(transparent)]
    Volumes(#[from] VolumesFault),
    /// Further faults, beyond the number of lines that are named.
    #[error("and {count} more faults from here on; mend those above first")]
    More {
        /// Their number.
        count: u64,
        /// Whether all of them may disappear on another network, or with other hosts.
        here: bool,
    },
}

impl FileFault {
    /// Whether the fault may disappear on another network, or with other hosts.
    pub(crate) fn depends_on_hosts(&self) -> bool {
        match self {
            Self::List(ListFault::Host { .. }) | Self::Matrix(MatrixFault::Host { .. }) => true,
            Self::More { here, .. } => *here,
            _ => false,
        }
    }
}

/// A fault in a list of volumes.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum VolumesFault {
    /// An unknown column.
    #[error(
        "the column \"{0}\" is unknown; use bytes, and perhaps trace, timescale_s, bin, start_s, packets, state"
    )]
    UnknownColumn(String),
    /// A duplicate column.
    #[error("the column \"{0}\" is there twice; keep one")]
    ColumnTwice(String),
    /// No volumes.
    #[error("the column \"bytes\" is missing; it holds the volume of each interval")]
    NoBytes,
    /// A row that cannot be read.
    #[error("the row cannot be read: {0}; write one value per column, separated by commas")]
    Row(String),
    /// An invalid volume.
    #[error("bytes = \"{0}\" is no volume; write a number from 0 to 9.2e18")]
    Bytes(String),
    /// An invalid interval length.
    #[error("timescale_s = \"{0}\" is no length of an interval; write seconds from 1e-12 to 1e7")]
    Timescale(String),
    /// An interval without data.
    #[error("nothing is known of this interval (state \"gap\"); fill it, or cut the list before it")]
    Gap,
    /// More than one series.
    #[error("another {0} begins here; keep one in the file")]
    Another(&'static str),
    /// No rows, or only zeros.
    #[error("there is no byte in any interval; add at least one row with a volume above 0")]
    Empty,
}

/// A fault in a size distribution.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SizesFault {
    /// The first line is not the expected header.
    #[error("the header is \"{0}\"; the first line must be \"bytes,cdf\"")]
    Header(String),
    /// A row without exactly two values.
    #[error("the row has {0} values; write a size and a cumulative share, as \"1500,0.25\"")]
    Columns(usize),
    /// Not a size.
    #[error("\"{0}\" is no size; write a whole number of bytes below 2^63")]
    NotASize(String),
    /// Not a share.
    #[error("\"{0}\" is no cumulative share; write a number from 0 to 1")]
    NotAShare(String),
    /// A size below that of the previous row.
    #[error("the size falls from {before} to {value}; sort the rows by size")]
    SizeFalls {
        /// Size in the previous row.
        before: u64,
        /// Size in this row.
        value: u64,
    },
    /// A share below that of the previous row.
    #[error("the cdf falls from {before} to {value}; a cumulative share never falls")]
    ShareFalls {
        /// Share in the previous row.
        before: f64,
        /// Share in this row.
        value: f64,
    },
    /// The last share is not 1.
    #[error("the cdf ends at {0}; the last row must be 1")]
    End(f64),
    /// Flows of 0 bytes.
    #[error(
        "a share of {0} of the flows would have 0 bytes; give the first size at least 1 byte, or its row the cdf 0"
    )]
    ZeroSize(f64),
    /// No rows.
    #[error("there are no rows; add at least one, as \"1500,1\"")]
    Empty,
}

/// A fault in a flow list.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ListFault {
    /// An unknown column.
    #[error(
        "the column \"{0}\" is unknown; use src, dst, bytes, start (or start_ps, start_ns, start_us, start_ms, start_s), priority, tag, deadline, tenant, coflow"
    )]
    UnknownColumn(String),
    /// A duplicate column.
    #[error("the column \"{0}\" is there twice; keep one")]
    ColumnTwice(String),
    /// A required column that is missing.
    #[error("the column \"{0}\" is missing; the header must name at least src,dst,bytes,start")]
    MissingColumn(&'static str),
    /// A row that cannot be read.
    #[error("the row cannot be read: {0}; write one value per column, separated by commas")]
    Row(String),
    /// A value that cannot be read.
    #[error("{column} = \"{value}\" is not {wanted}")]
    Value {
        /// The column.
        column: &'static str,
        /// The value found.
        value: String,
        /// Values that would work.
        wanted: &'static str,
    },
    /// A flow from a host to itself.
    #[error("src and dst are both {0}; a flow needs two hosts")]
    Self_(u32),
    /// A host that is listed twice in a session.
    #[error("{column} names host {host} twice; name every host of a session once")]
    HostTwice {
        /// The column.
        column: &'static str,
        /// The host.
        host: u32,
    },
    /// Too many hosts in a session.
    #[error("{column} names {count} hosts; a session has 65535 at most")]
    TooMany {
        /// The column.
        column: &'static str,
        /// Their number.
        count: usize,
    },
    /// Several senders and several receivers.
    #[error(
        "src names {sources} hosts and dst {sinks}; a session has one sender or one receiver, so write a line for each sender"
    )]
    ManyToMany {
        /// Senders.
        sources: usize,
        /// Receivers.
        sinks: usize,
    },
    /// An unknown host.
    #[error("host {host} is beyond the block's {count} hosts; use 0 to {}", count.saturating_sub(1))]
    Host {
        /// The host named.
        host: u32,
        /// Number of hosts of the block.
        count: usize,
    },
    /// An endless flow, although the run waits for the end of all flows.
    #[error(
        "the flow never ends, so until = \"all flows done\" never comes; give it a size, or state a duration"
    )]
    Endless,
    /// No rows.
    #[error("there are no flows; add at least one row")]
    Empty,
}

/// A fault in a connection matrix or an HPCC flow file.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MatrixFault {
    /// The file has another format.
    #[error(
        "\"{0}\" begins no connection matrix; expected \"Nodes N\" (htsim .cm, .tm) or the number of flows (HPCC flow.txt)"
    )]
    NotAMatrix(String),
    /// A line that begins with an unknown word.
    #[error(
        "\"{0}\" is unknown here; a line begins with Nodes, Connections, Triggers, Failures, \"src->dst\", trigger or failure"
    )]
    UnknownLine(String),
    /// An unknown word within a line.
    #[error("\"{word}\" is unknown here; use {known}")]
    UnknownWord {
        /// The word.
        word: String,
        /// The known words.
        known: &'static str,
    },
    /// A word without its value.
    #[error("\"{0}\" has no value; write a number after it")]
    NoValue(String),
    /// A value that cannot be read.
    #[error("{what} \"{value}\" is not {wanted}")]
    Value {
        /// The quantity that has this value.
        what: &'static str,
        /// The value found.
        value: String,
        /// Values that would work.
        wanted: &'static str,
    },
    /// The id 0.
    #[error("{0} id 0 is reserved; number from 1")]
    IdZero(&'static str),
    /// A duplicate id.
    #[error("{what} id {id} was used on line {line} already; give every {what} its own id")]
    IdTwice {
        /// Kind of the item: flow or trigger.
        what: &'static str,
        /// The id.
        id: u32,
        /// Line of its first use.
        line: u64,
    },
    /// Neither or both of a start time and a trigger.
    #[error(
        "the flow has {0} a start time and a trigger; state exactly one of \"start t\" and \"trigger id\""
    )]
    StartOrTrigger(&'static str),
    /// No size.
    #[error("the flow has no size; add \"size bytes\" (0 is endless)")]
    NoSize,
    /// The unit of a start time is not known.
    #[error(
        "start {0} has no unit, and readers differ; set start_unit = \"ps\" (htsim's NDP and EQDS programs) or \"us\" (its Swift and UEC programs)"
    )]
    StartUnit(String),
    /// The count in the header does not match the file.
    #[error(
        "the header says {stated} {what}, the file has {found}; complete the file, correct the header, or set counts = \"ignored\" to take what there is"
    )]
    Count {
        /// Connections, triggers, failures or flows.
        what: &'static str,
        /// The header's number.
        stated: u64,
        /// The count found.
        found: u64,
    },
    /// A header line that is missing.
    #[error("the header has no \"{0}\" line; add it before the first connection")]
    NoHeader(&'static str),
    /// A trigger without an id, or without or with two kinds.
    #[error(
        "the trigger has {0}; write \"trigger id n oneshot\", \"trigger id n multishot\" or \"trigger id n barrier count m\""
    )]
    TriggerForm(&'static str),
    /// A trigger that is used but not described.
    #[error(
        "trigger {0} is used here and described nowhere; add a line \"trigger id {0} oneshot\", or set other_triggers = \"oneshot\" for all such triggers"
    )]
    NoTrigger(u32),
    /// Triggers that wait for each other in a cycle.
    #[error("the triggers wait for each other: {0}; start one of these flows at a time instead")]
    Cycle(String),
    /// A trigger that cannot fire often enough.
    #[error(
        "trigger {trigger} never starts this flow: {gets} flows activate it and it needs {needs}; let more flows activate it, or lower its count"
    )]
    NeverFires {
        /// The trigger.
        trigger: u32,
        /// Maximum number of its activations.
        gets: u64,
        /// Number of activations that the flow needs.
        needs: u64,
    },
    /// A flow from a host to itself.
    #[error("a flow leads from host {0} to itself; a flow needs two hosts")]
    Self_(u32),
    /// A host beyond the header's number.
    #[error("host {host} is beyond the header's {nodes} nodes; use 0 to {}", nodes.saturating_sub(1))]
    BeyondNodes {
        /// The host.
        host: u32,
        /// The header's number.
        nodes: u32,
    },
    /// A host that the block does not have.
    #[error("host {host} is beyond the block's {count} hosts; use a larger topology, or select more hosts")]
    Host {
        /// The host.
        host: u32,
        /// Number of hosts of the block.
        count: usize,
    },
    /// A failed link, which is no traffic.
    #[error(
        "failures are part of the topology; state them as [[fault]] and remove them and the Failures line here"
    )]
    Failures,
    /// An unsupported feature.
    #[error(
        "\"addon\" (htsim's re-arming barriers) is not supported; remove it, and use one barrier per round"
    )]
    Addon,
    /// An endless flow, although the run waits for the end of all flows.
    #[error(
        "the flow never ends (size 0), so until = \"all flows done\" never comes; give it a size, or state a duration"
    )]
    Endless,
    /// No flows.
    #[error("there are no flows; add at least one connection")]
    Empty,
}

impl FileError {
    pub(crate) fn new(file: &str, line: u64, fault: impl Into<FileFault>) -> Self {
        Self { file: file.to_string(), line, fault: fault.into() }
    }
}
