//! Topologies from files.

mod faults;
mod hpcc;
mod htsim;
mod native;
mod sndlib;
mod write;

use std::ffi::OsStr;
use std::path::Path;

pub use faults::LoadErrors;
use pullnet_units::{BitsPerSec, Picos};
pub use write::save;

use crate::error::TopologyError;
use crate::graph::Graph;
use crate::model::{HostLinks, Link};
use crate::topology::Topology;

/// Options for properties that a file does not state. An option without effect on the file's format is rejected.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LoadOptions {
    /// Most paths listed between two switches, 1 to 65535; default 64. Not for `.topo`, where all paths follow from the
    /// structure.
    pub max_paths: Option<u16>,
    /// Delay of every link of an SNDlib network; default 1 ms.
    pub delay: Option<Picos>,
    /// Rate of the hosts' links of an SNDlib network; by default the total rate of the node's other links.
    pub host_rate: Option<BitsPerSec>,
    /// Rate of one unit of capacity in an SNDlib network; required if the file states no unit.
    pub capacity_unit: Option<BitsPerSec>,
    /// What becomes of the links of a host with several; by default such hosts are rejected. Only for the own format and for
    /// HPCC's.
    pub host_links: HostLinks,
}

impl LoadOptions {
    /// Names of the options that are set and apply to SNDlib files only.
    fn for_sndlib_only(&self) -> Option<&'static str> {
        let set = [
            ("delay", self.delay.is_some()),
            ("host_rate", self.host_rate.is_some()),
            ("capacity_unit", self.capacity_unit.is_some()),
        ];
        set.into_iter().find(|(_, set)| *set).map(|(name, _)| name)
    }

    fn graph(&self, file: &str) -> Graph {
        let mut graph = Graph::new(file);
        graph.max_paths = self.max_paths.unwrap_or(graph.max_paths);
        graph.host_links = self.host_links;
        graph
    }
}

/// Reads a topology. The suffix of `name` selects the format:
///
/// | name | format | hosts |
/// |---|---|---|
/// | `*.toml` | the project's own, below | in order of the file |
/// | `*.topo` | tree of htsim: `Nodes`, `Tiers`, `Podsize`, `Tier` blocks | pod by pod |
/// | `*.txt` | HPCC: counts, switch ids, one link per line | nodes that are no switches, by id |
/// | `*.xml` | SNDlib: nodes and links with capacities | one per node |
///
/// Errors refer to the file as `name`; no file is opened. All errors are reported at once, up to twenty. A complete network
/// in the own format:
///
/// ```
/// let text = r#"
/// name = "two racks"              # otherwise the name of the file
///
/// [defaults]                      # for links that do not say
/// rate = "10 Gbps"
/// delay = "1 us"
///
/// [[switch]]
/// name = "left"
/// [[switch]]
/// name = "right"
/// [[host]]
/// name = "a"
/// [[host]]
/// name = "b"
///
/// [[link]]
/// between = ["a", "left"]
/// [[link]]
/// between = ["b", "right"]
/// rate = "25 Gbps"
/// [[link]]
/// between = ["left", "right"]
/// lanes = 2                       # parallel links
/// back = { delay = "3 us" }       # from right to left; what it leaves out is as from left to right
/// "#;
/// let topology = pullnet_topology::load("racks.toml", text, &Default::default())?;
/// let (a, b) = (pullnet_units::HostId::new(0), pullnet_units::HostId::new(1));
/// assert_eq!(topology.path_count(topology.addr(a), topology.addr(b)), 2);
/// # Ok::<(), pullnet_topology::LoadErrors>(())
/// ```
pub fn load(name: &str, text: &str, options: &LoadOptions) -> Result<Topology, LoadErrors> {
    let file = File::new(name, text);
    let ending = ending(name);
    let foreign = options.for_sndlib_only().filter(|_| ending != "xml");
    if let Some(option) = foreign {
        return Err(file.refuse(1, format!("{option} has no effect on this format"), "leave it out").into());
    }
    match ending {
        "toml" => native::load(&file, options),
        "topo" => htsim::load(&file, options),
        "txt" => hpcc::load(&file, options),
        "xml" => sndlib::load(&file, options),
        _ => {
            let remedy = "use .toml (own format), .topo (htsim), .txt (HPCC) or .xml (SNDlib)";
            Err(file.refuse(1, format!("{} names no format", shown(ending)), remedy).into())
        }
    }
}

/// The ending of a file's name, without the dot; empty if it has none.
fn ending(name: &str) -> &str {
    Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default()
}

/// An ending as errors name it.
fn shown(ending: &str) -> String {
    if ending.is_empty() { "a file name without ending".to_owned() } else { format!("ending \".{ending}\"") }
}

/// A file being read.
struct File<'a> {
    name: &'a str,
    text: &'a str,
    /// Ends of lines.
    ends: Vec<usize>,
}

impl<'a> File<'a> {
    fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text, ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    fn refuse(&self, line: usize, what: impl Into<String>, remedy: impl Into<String>) -> TopologyError {
        TopologyError::File { file: self.name.to_string(), line, what: what.into(), remedy: remedy.into() }
    }

    /// The line, counted from 1, of an offset in the text.
    fn line_of(&self, offset: usize) -> usize {
        1 + self.ends.partition_point(|end| *end < offset)
    }

    /// Parses a required number of a line.
    fn number<T: core::str::FromStr>(
        &self,
        line: usize,
        key: &str,
        text: Option<&str>,
    ) -> Result<T, TopologyError> {
        let Some(text) = text else {
            return Err(self.refuse(line, format!("{key} is missing"), "write a number"));
        };
        text.parse()
            .map_err(|_| self.refuse(line, format!("{key} = \"{text}\" is no number"), "write a number"))
    }

    /// Parses a quantity with its unit.
    fn quantity<T: core::str::FromStr<Err: core::fmt::Display>>(
        &self,
        line: usize,
        key: &str,
        text: &str,
    ) -> Result<T, TopologyError> {
        text.parse().map_err(|error: T::Err| {
            let error = error.to_string();
            let (what, remedy) = error.split_once("; ").unwrap_or((&error, "write a number with its unit"));
            self.refuse(line, format!("{key} = \"{text}\" {what}"), remedy)
        })
    }

    /// Adds the line to an error of the graph.
    fn at<T>(&self, line: usize, result: Result<T, TopologyError>) -> Result<T, TopologyError> {
        result.map_err(|error| match error {
            TopologyError::Graph { what, remedy, .. } => self.refuse(line, what, remedy),
            other => other,
        })
    }

    /// Joins two nodes by their names.
    fn link(
        &self,
        line: usize,
        graph: &mut Graph,
        ends: [&str; 2],
        link: Link,
        lanes: u32,
    ) -> Result<(), TopologyError> {
        self.link_each_way(line, graph, ends, [link, link], lanes)
    }

    /// Joins two nodes by their names; the link differs by direction: away from the first, and from the second.
    fn link_each_way(
        &self,
        line: usize,
        graph: &mut Graph,
        ends: [&str; 2],
        [there, back]: [Link; 2],
        lanes: u32,
    ) -> Result<(), TopologyError> {
        let unknown = |end| {
            self.refuse(line, format!("there is no node \"{end}\""), "name a host or switch of this file")
        };
        let [a, b] = ends.map(|end| graph.find(end).ok_or_else(|| unknown(end)));
        let (a, b) = (a?, b?);
        (0..lanes).try_for_each(|_| self.at(line, graph.link_each_way(a, b, there, back)))
    }

    /// Default name of the topology, from the name of its file.
    fn stem(&self) -> String {
        let base = self.name.rsplit(['/', '\\']).next().unwrap_or(self.name);
        base.rsplit_once('.').map_or(base, |(stem, _)| stem).to_string()
    }
}
