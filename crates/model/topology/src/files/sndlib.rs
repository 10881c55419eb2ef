//! Networks of SNDlib (Orlowski, Wessaely, Pioro and Tomaszewski, Networks 2010), as XML.
//!
//! Every node becomes a switch with one host. A link has its installed capacity; without one, that of its largest possible
//! module. Demands are ignored.

use std::collections::BTreeMap;

use pullnet_units::{BitsPerSec, Picos};
use roxmltree::{Document, Node};

use super::faults::{Faults, LoadErrors};
use super::{File, LoadOptions};
use crate::error::TopologyError;
use crate::graph::Graph;
use crate::model::Link;
use crate::topology::Topology;

struct Cable<'a> {
    line: usize,
    ends: [&'a str; 2],
    rate: BitsPerSec,
}

pub(super) fn load(file: &File<'_>, options: &LoadOptions) -> Result<Topology, LoadErrors> {
    let document = Document::parse(file.text).map_err(|error| {
        file.refuse(
            error.pos().row as usize,
            format!("not XML: {error}"),
            "use an SNDlib network as it was published",
        )
    })?;
    let root = document.root_element();
    let structure = child(file, root, "networkStructure")?;
    let unit = unit(file, root, options)?;
    let mut graph = options.graph(file.name);
    let mut faults = Faults::default();
    let nodes = children(child(file, structure, "nodes")?, "node");
    let nodes: Vec<(usize, &str)> =
        nodes.filter_map(|node| Some((line(file, node), faults.keep(id(file, node))?))).collect();
    let links = children(child(file, structure, "links")?, "link");
    let cables: Vec<Cable<'_>> = links.filter_map(|link| faults.keep(cable(file, link, unit))).collect();
    faults.end(file)?;
    let mut faults = Faults::default();
    let delay = options.delay.unwrap_or(Picos::from_millis(1));
    let sums = sums(&cables);
    for (line, name) in nodes {
        let sum = sums.get(name).copied().and_then(BitsPerSec::new);
        let alone = || file.refuse(line, format!("node \"{name}\" has no link"), "add a link or remove it");
        let rate = options.host_rate.or(sum).ok_or_else(alone);
        faults.keep(rate.and_then(|rate| file.at(line, add_node(&mut graph, name, Link { rate, delay }))));
    }
    for cable in &cables {
        faults.keep(file.link(cable.line, &mut graph, cable.ends, Link { rate: cable.rate, delay }, 1));
    }
    faults.end(file)?;
    let mut topology = graph.build()?;
    topology.name = file.stem();
    Ok(topology)
}

fn add_node(graph: &mut Graph, name: &str, link: Link) -> Result<(), TopologyError> {
    let (switch, host) = (graph.switch(name)?, graph.host(&format!("host {name}"))?);
    graph.link(host, switch, link)
}

/// Total rate of the links of each node.
fn sums<'a>(cables: &[Cable<'a>]) -> BTreeMap<&'a str, u64> {
    let mut sums = BTreeMap::new();
    for (end, rate) in cables.iter().flat_map(|cable| cable.ends.map(|end| (end, cable.rate.get()))) {
        let sum = sums.entry(end).or_insert(0u64);
        *sum = sum.saturating_add(rate);
    }
    sums
}

fn line(file: &File<'_>, node: Node<'_, '_>) -> usize {
    file.line_of(node.range().start)
}

fn children<'a, 'input>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

fn child<'a, 'input>(
    file: &File<'_>,
    node: Node<'a, 'input>,
    name: &'static str,
) -> Result<Node<'a, 'input>, TopologyError> {
    let what = || format!("<{}> has no <{name}>", node.tag_name().name());
    let remedy = "use an SNDlib network as it was published";
    children(node, name).next().ok_or_else(|| file.refuse(line(file, node), what(), remedy))
}

fn text<'a>(file: &File<'_>, node: Node<'a, '_>, name: &'static str) -> Result<&'a str, TopologyError> {
    child(file, node, name).map(|child| child.text().unwrap_or("").trim())
}

fn id<'a>(file: &File<'_>, node: Node<'a, '_>) -> Result<&'a str, TopologyError> {
    node.attribute("id").ok_or_else(|| file.refuse(line(file, node), "<node> has no id", "give it one"))
}

/// Rate of one unit of capacity.
fn unit(file: &File<'_>, root: Node<'_, '_>, options: &LoadOptions) -> Result<BitsPerSec, TopologyError> {
    let stated = children(root, "meta").next().and_then(|meta| children(meta, "unit").next());
    let bps = match stated.and_then(|unit| unit.text()).map(str::trim) {
        Some("KBITPERSEC") => Some(1_000),
        Some("MBITPERSEC") => Some(1_000_000),
        Some("GBITPERSEC") => Some(1_000_000_000),
        _ => None,
    };
    let line = line(file, stated.unwrap_or(root));
    match (bps.and_then(BitsPerSec::new), options.capacity_unit) {
        (Some(unit), None) | (None, Some(unit)) => Ok(unit),
        (Some(_), Some(_)) => Err(file.refuse(
            line,
            "the file states a unit of capacity, and so does capacity_unit",
            "leave capacity_unit out",
        )),
        (None, None) => {
            let remedy = "state what capacity 1 means, for instance capacity_unit = \"1 Gbps\"";
            Err(file.refuse(line, "the file states no unit of capacity that is a rate", remedy))
        }
    }
}

fn cable<'a>(file: &File<'_>, link: Node<'a, '_>, unit: BitsPerSec) -> Result<Cable<'a>, TopologyError> {
    let ends = [text(file, link, "source")?, text(file, link, "target")?];
    let installed = children(link, "preInstalledModule");
    let possible = children(link, "additionalModules").flat_map(|modules| children(modules, "addModule"));
    let mut rates = Vec::new();
    for module in installed.chain(possible) {
        rates.push((module.tag_name().name() == "preInstalledModule", rate(file, module, unit)?));
    }
    let installed = rates.iter().filter(|(installed, _)| *installed).filter_map(|(_, rate)| *rate).max();
    let rate = installed.or_else(|| rates.iter().filter_map(|(_, rate)| *rate).max());
    let line = line(file, link);
    let what = || format!("link between \"{}\" and \"{}\" has no capacity above 0", ends[0], ends[1]);
    let rate = rate.ok_or_else(|| file.refuse(line, what(), "give it a module with a capacity"))?;
    Ok(Cable { line, ends, rate })
}

/// The capacity of a module; `None` for 0.
fn rate(
    file: &File<'_>,
    module: Node<'_, '_>,
    unit: BitsPerSec,
) -> Result<Option<BitsPerSec>, TopologyError> {
    let text = text(file, module, "capacity")?;
    let capacity: f64 = file.number(line(file, module), "capacity", Some(text))?;
    let bps = (capacity * unit.get() as f64).round();
    if !(0.0..=1e15).contains(&bps) {
        let what = format!("capacity = {text} is out of range");
        return Err(file.refuse(line(file, module), what, "use 0 to 1000 Tbps"));
    }
    Ok(BitsPerSec::new(bps as u64))
}
