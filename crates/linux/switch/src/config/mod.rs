//! Reads and checks the TOML file of a switch; reports all errors at once.

mod check;
mod dpdk;
mod kernel;
mod ports;
mod tables;

use std::collections::BTreeMap;
use std::fmt;

use pullnet_config::{
    Disk, Files, Forwarding, Reader, Shape, SpecError, SubTable, read, read_switch, switch_shape,
};
use pullnet_netio::{DpdkDevice, EalOptions};
use pullnet_qdisc::SwitchConfig;
use pullnet_settings::Settings;
use pullnet_units::{Bytes, NodeId, Picos, PortId};
use pullnet_wire::Marks;

pub use dpdk::{device, environment, refuse_environment, refuse_unless_built_in};
pub use ports::GroupEntry;
pub use tables::{
    CaptureSettings, DpdkSettings, FaultSettings, ForwardSettings, GroupSettings, Io, LearningSettings,
    MarkSettings, PortFileSettings, RunSettings, Wait,
};

use crate::fault::Fault;
use crate::forward::Entry;
use crate::mac::Mac;
use crate::settings::{FabricSettings, PortSettings};

/// Where the frames of an outer port come from and go to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outside {
    /// A network interface.
    Interface(String),
    /// A device of DPDK.
    Device {
        /// The device.
        device: DpdkDevice,
        /// Longest IP packet. Bytes; `None`: what the device says.
        mtu: Option<usize>,
    },
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Device { device, .. } => device.fmt(f),
        }
    }
}

/// A port with its name and what it is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedPort {
    /// Name of the port, unique in the file.
    pub name: String,
    /// Name of its switch.
    pub switch: String,
    /// Its end outside of the switch; `None` for a line to another port of the file.
    pub outside: Option<Outside>,
    /// Settings of its line.
    pub settings: PortSettings,
}

/// The capture file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recording {
    /// Path of the file.
    pub file: String,
    /// Bytes kept of each frame.
    pub snap: Bytes,
}

/// A checked switch file.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchFile {
    /// Name of the switches, for status and counters.
    pub name: String,
    /// The discipline of every port.
    pub discipline: SwitchConfig,
    /// Settings shared by all switches of the file.
    pub fabric: FabricSettings,
    /// The DSCP values of NDP.
    pub marks: Marks,
    /// How frames come in and go out.
    pub io: Io,
    /// Environment of DPDK, if ports are on its devices.
    pub dpdk: Option<EalOptions>,
    /// How the loop waits.
    pub wait: Wait,
    /// Time that an adaptive loop spins before it sleeps.
    pub idle: Picos,
    /// All ports; a port's number is its position.
    pub ports: Vec<NamedPort>,
    /// Fixed forwarding entries.
    pub entries: Vec<(NodeId, Mac, Entry)>,
    /// Multicast groups: switch, Ethernet address, ports to members.
    pub groups: Vec<GroupEntry>,
    /// Scheduled faults.
    pub faults: Vec<Fault>,
    /// The capture, if any.
    pub recording: Option<Recording>,
}

impl SwitchFile {
    /// Reads the file `text`, called `name`. Reports all errors at once, in the order of their position.
    pub fn read(name: &str, text: &str, files: &dyn Files) -> Result<Self, Vec<SpecError>> {
        read(name, text, files, &shape(), file)
    }

    /// Reads `[[fault]]` tables for the ports of this file.
    pub fn read_faults(&self, name: &str, text: &str) -> Result<Vec<Fault>, Vec<SpecError>> {
        let fault = SubTable::list("fault", "What goes wrong.", Shape::of(&[FaultSettings::FIELDS]));
        let names =
            (0..).zip(&self.ports).map(|(number, port)| (port.name.as_str(), PortId::new(number))).collect();
        read(name, text, &Disk, &Shape::of(&[]).with(fault), |root| {
            Some(ports::faults(root, &self.ports, &names))
        })
    }

    /// The number of the port `name`.
    pub fn port(&self, name: &str) -> Option<PortId> {
        (0..).zip(&self.ports).find(|(_, port)| port.name == name).map(|(number, _)| PortId::new(number))
    }
}

/// Tables and settings that a switch file may contain.
pub fn shape() -> Shape {
    let list = |name, doc, fields| SubTable::list(name, doc, Shape::of(&[fields]));
    let one = |name, doc, fields| SubTable::optional(name, doc, Shape::of(&[fields]));
    Shape::of(&[RunSettings::FIELDS])
        .with(SubTable::required("switch", "The discipline of every port, as in a scenario.", switch_shape()))
        .with(list("port", "The ports of the switches.", PortFileSettings::FIELDS).and_required())
        .with(list("forward", "Fixed entries of the forwarding tables.", ForwardSettings::FIELDS))
        .with(list("group", "Multicast groups, whose frames are copied.", GroupSettings::FIELDS))
        .with(one("learning", "Address learning, and frames to unknown addresses.", LearningSettings::FIELDS))
        .with(one("dpdk", "The environment of DPDK, with io = \"dpdk\".", DpdkSettings::FIELDS))
        .with(one("marks", "The DSCP values of NDP.", MarkSettings::FIELDS))
        .with(list(
            "fault",
            "Faults of lines: failure, reduced rate, loss, corruption, duplication.",
            FaultSettings::FIELDS,
        ))
        .with(one("capture", "Recording of frames to a file.", CaptureSettings::FIELDS))
}

fn file(root: &Reader<'_>) -> Option<SwitchFile> {
    let run = root.read::<RunSettings>();
    let switch = read_switch(root);
    let learning = table::<LearningSettings>(root, "learning");
    let marks = MarkSettings::marks(root);
    let io = run.has_read(&["io"]).then_some(run.value.io);
    let ports = ports::read(root, io);
    let dpdk = dpdk(root, io, &ports);
    let names: BTreeMap<&str, PortId> =
        (0..).zip(&ports).map(|(number, port)| (port.name.as_str(), PortId::new(number))).collect();
    let entries = ports::entries(root, &ports, &names);
    let groups = ports::groups(root, &ports, &names);
    let faults = ports::faults(root, &ports, &names);
    let recording = recording(root);
    let learning = learning?;
    check::no_loop(root, &ports, &learning);
    let (discipline, forwarding, _) = switch?;
    let run = run.good().then_some(run.value)?;
    Some(SwitchFile {
        fabric: fabric(&run, forwarding, &learning),
        name: run.name,
        discipline,
        marks: marks?,
        io: run.io,
        dpdk: dpdk?,
        wait: run.wait,
        idle: run.idle,
        ports,
        entries,
        groups,
        faults,
        recording,
    })
}

/// The environment of DPDK, if the file uses it; `None`: it is wrong.
fn dpdk(root: &Reader<'_>, io: Option<Io>, ports: &[NamedPort]) -> Option<Option<EalOptions>> {
    if io? != Io::Dpdk {
        refuse_environment(root, "io = \"dpdk\"");
        return Some(None);
    }
    refuse_unless_built_in(root, "io", ".venv/bin/maturin develop --release --features dpdk");
    let devices = ports.iter().filter_map(|port| match &port.outside {
        Some(Outside::Device { device, .. }) => Some(device),
        _ => None,
    });
    environment(root, devices).map(Some)
}

fn fabric(run: &RunSettings, forwarding: Forwarding, learning: &LearningSettings) -> FabricSettings {
    FabricSettings {
        seed: run.seed,
        counting: run.counting,
        forwarding,
        ageing: learning.ageing,
        unknown: learning.unknown,
        most_frames: run.most_frames,
        recirculation: Picos::ZERO,
    }
}

/// Reads the settings of an optional table.
pub fn table<S: Settings>(root: &Reader<'_>, name: &str) -> Option<S> {
    let reader = if root.has(name) { root.table(name, "...")? } else { root.unwritten(name) };
    reader.no_other_keys_than(&Shape::of(&[S::FIELDS]));
    let read = reader.read::<S>();
    read.good().then_some(read.value)
}

impl MarkSettings {
    /// Reads the table `marks` of a file.
    pub fn marks(root: &Reader<'_>) -> Option<Marks> {
        let Self { data, control, trimmed, returned } = table(root, "marks")?;
        let marks = Marks::new(data, control, trimmed, returned);
        if marks.is_err() {
            let reader = root.table("marks", "data = 3")?;
            reader.refuse_table("two of the four DSCP values are alike; use four different ones");
        }
        marks.ok()
    }
}

fn recording(root: &Reader<'_>) -> Option<Recording> {
    if !root.has("capture") {
        return None;
    }
    let CaptureSettings { file, snap } = table(root, "capture")?;
    Some(Recording { file, snap })
}
