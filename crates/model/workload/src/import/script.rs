use pullnet_settings::choice;
use pullnet_units::{Bytes, Instant, Picos};

choice! {
    /// The unit of `start` in an htsim matrix, which its readers take differently.
    pub enum StartUnit {
        /// Picoseconds: htsim's NDP and EQDS programs.
        Ps = "ps",
        /// Microseconds: htsim's Swift and UEC programs.
        Us = "us",
    }
}

choice! {
    /// Use of the counts in the head of a file.
    pub enum Counts {
        /// They have to be met, so that a file that is cut off or put together wrongly is noticed.
        Met = "met",
        /// They are not looked at: what the file has is what there is.
        Ignored = "ignored",
    }
}

choice! {
    /// Meaning of a trigger that flows name and no line describes.
    pub enum OtherTriggers {
        /// It fires once, for all flows that wait for it.
        OneShot = "oneshot",
        /// Every activation starts the next flow that waits for it.
        MultiShot = "multishot",
    }
}

/// Facts that an htsim matrix leaves open, or states wrongly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixOptions {
    /// Unit of `start`; without it, only starts at 0 are taken.
    pub start_unit: Option<StartUnit>,
    /// Use of the counts in its head.
    pub counts: Counts,
    /// Kind of the triggers without a line; if absent, they are refused.
    pub other_triggers: Option<OtherTriggers>,
}

impl Default for MatrixOptions {
    fn default() -> Self {
        Self { start_unit: None, counts: Counts::Met, other_triggers: None }
    }
}

choice! {
    /// Format of a matrix file.
    pub enum MatrixFormat {
        /// As the first line says.
        Auto = "auto",
        /// htsim's .cm and .tm.
        Htsim = "htsim",
        /// HPCC's flow.txt.
        Hpcc = "hpcc",
    }
}

impl OtherTriggers {
    pub(super) const fn kind(self) -> TriggerKind {
        match self {
            Self::OneShot => TriggerKind::OneShot,
            Self::MultiShot => TriggerKind::MultiShot,
        }
    }
}

/// Flows that are all known beforehand, as a file states them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// The number of hosts that the file says it is made for.
    pub nodes: Option<u32>,
    /// The flows, in the order of the file.
    pub flows: Vec<ScriptFlow>,
    /// The triggers, by id.
    pub triggers: Vec<Trigger>,
    /// Links that the file wants to fail. They are part of a topology, not of traffic.
    pub failures: Vec<Failure>,
    /// Lines that the format says are not read.
    pub ignored_lines: u64,
}

/// When a flow of a script starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// At a time from the beginning of the block.
    At(Instant),
    /// When this trigger (index into [`Script::triggers`]) fires for it.
    Trigger(usize),
}

/// Which ends of a session there are several of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Many {
    /// One sender, several receivers.
    Receivers,
    /// Several senders, one receiver.
    Senders,
}

/// A flow of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptFlow {
    /// The line that states it, from 1.
    pub line: u64,
    /// The sender's number within the file.
    pub src: u32,
    /// The receiver's number within the file.
    pub dst: u32,
    /// Payload bytes; `None` never ends.
    pub size: Option<Bytes>,
    /// When it starts.
    pub begin: Begin,
    /// A priority of its own.
    pub priority: Option<u8>,
    /// A tag of its own.
    pub tag: Option<String>,
    /// A deadline of its own, counted from its start.
    pub deadline: Option<Picos>,
    /// A tenant of its own.
    pub tenant: Option<String>,
    /// Flows with the same number are one coflow.
    pub coflow: Option<u32>,
    /// Its place among the flows stated by one line, and the end that they have in common.
    pub part: Option<(Many, u16, u16)>,
    /// The trigger that it activates when all was acknowledged.
    pub when_sent: Option<usize>,
    /// The trigger that it activates when all was received.
    pub when_received: Option<usize>,
}

impl ScriptFlow {
    /// A flow of `size` from host `src` to host `dst`, stated in `line`, with nothing of its own.
    pub(super) fn new(line: u64, (src, dst): (u32, u32), size: Option<Bytes>, begin: Begin) -> Self {
        let (priority, tag, deadline, tenant, coflow) = (None, None, None, None, None);
        let (part, when_sent, when_received) = (None, None, None);
        Self {
            line,
            src,
            dst,
            size,
            begin,
            priority,
            tag,
            deadline,
            tenant,
            coflow,
            part,
            when_sent,
            when_received,
        }
    }
}

/// Effect of a trigger that flows activate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerKind {
    /// The first activation starts all its flows; later ones do nothing (htsim stops there).
    OneShot,
    /// Each activation starts the next of its flows, in the order of the file.
    MultiShot,
    /// That many activations start all its flows; later ones do nothing (htsim stops there).
    Barrier(u32),
}

/// A trigger of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// Its number in the file.
    pub id: u32,
    /// The line that describes it.
    pub line: u64,
    /// Its effect.
    pub kind: TriggerKind,
}

/// The switch that a failure line names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailedSwitch {
    /// Next to hosts.
    Tor,
    /// In the middle.
    Agg,
    /// At the top.
    Core,
}

/// A failure line of an htsim matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The line.
    pub line: u64,
    /// The kind of switch.
    pub switch: FailedSwitch,
    /// Its number among its kind.
    pub number: u32,
    /// Which of its links.
    pub link: u32,
}
