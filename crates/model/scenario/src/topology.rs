//! `[topology]`: kinds, their keys and builders. A new kind is one line in [`KINDS`]; `fabrics` has those of publications.

use pullnet_config::{Kind, Reader, Shape, SubTable};
use pullnet_settings::{Settings, choice, settings};
use pullnet_topology::{
    BackToBack, Dumbbell, FatTree, LeafSpine, Link, LoadOptions, Star, Topology, TopologyError, load,
};
use pullnet_units::{BitsPerSec, Picos};
use pullnet_workload::FileName;

use crate::fabrics::FABRICS;
use crate::links::{
    DUMBBELL_LINKS, FAT_TREE_LINKS, LEAF_SPINE_LINKS, PLACEHOLDER, Unreadable, class_links, link_tables,
    one_link,
};
use crate::topology_kind::{BuiltTopology, FabricSettings, TopologyKind, built, one, refuse_all};

settings! {
    /// A k-ary fat tree.
    pub struct FatTreeSettings {
        /// Ports of a switch: even, 2 to 128. With three tiers k^3/4 hosts.
        k: u32 = 8 in 2 => 128; required,
        /// Tiers of switches.
        tiers: u32 = 3 in 2 => 3,
    }
}

settings! {
    /// Oversubscription of a fat tree, by tier. 1 is full bandwidth.
    pub struct OversubscriptionSettings {
        /// n:1 at the ToRs: k/2 * n hosts each. k = 8 with 4 is the 512-host network of the NDP paper.
        tor: u32 = 1 in 1 => 1024,
        /// n:1 at the aggregation switches: k/2 / n links to cores each; n divides k/2.
        agg: u32 = 1 in 1 => 64,
    }
}

settings! {
    /// Two tiers, every leaf joined to every spine.
    pub struct LeafSpineSettings {
        /// Number of leaves.
        leaves: u32 = 4 in 1 => 65535; required,
        /// Number of spines.
        spines: u32 = 8 in 1 => 65535; required,
        /// Hosts of each leaf.
        hosts_per_leaf: u32 = 8 in 1 => 65534; required,
        /// Parallel links between each leaf and each spine.
        lanes: u32 = 1 in 1 => 1024,
    }
}

settings! {
    /// Hosts around one switch.
    pub struct StarSettings {
        /// Number of hosts.
        hosts: u32 = 8 in 2 => 65535; required,
    }
}

settings! {
    /// Two switches, hosts at each, and one link between.
    pub struct DumbbellSettings {
        /// Hosts at the first switch.
        left: u32 = 4 in 1 => 65534; required,
        /// Hosts at the second switch.
        right: u32 = 4 in 1 => 65534; required,
    }
}

settings! {
    /// A network from a file: our own (.toml), htsim's (.topo), HPCC's (.txt) or SNDlib's (.xml).
    pub struct FileSettings {
        /// The file, relative to the folder of the scenario. Its ending names its format.
        file: FileName = "network.toml"; required,
        /// Most shortest paths that are used between two hosts; 64 if left out. Not for .topo files.
        max_paths: Option<u16> = "" in 1 => 65535,
        /// Delay of every link; 1 ms if left out. Only for SNDlib, whose files do not state it.
        delay: Option<Picos> = "" in "1 ps" => "1 s",
        /// Rate of the hosts' links; if left out, what all other links of the node carry together. Only for SNDlib.
        host_rate: Option<BitsPerSec> = "",
        /// Rate of a capacity of 1, where the file does not state it. Only for SNDlib.
        capacity_unit: Option<BitsPerSec> = "",
        /// What becomes of the links of a host to which the file gives several: "first" uses the first in the file, "all" all of
        /// them, as NICs that the host fills together. If left out, such a file is refused. For .toml and .txt files.
        host_links: Option<HostLinks> = "",
    }
}

choice! {
    /// What becomes of the links of a host to which a file gives several.
    pub enum HostLinks {
        /// The first in the file is used.
        First = "first",
        /// All are used, as NICs that the host fills together.
        All = "all",
    }
}

/// Every topology that a scenario can name.
fn kinds() -> impl Iterator<Item = &'static TopologyKind> + Clone {
    KINDS.iter().chain(FABRICS)
}

/// Trees, the smallest networks, and files.
static KINDS: &[TopologyKind] = &[
    TopologyKind {
        name: "fat-tree",
        summary: "k-ary fat tree of two or three tiers, oversubscribed or not",
        fields: FatTreeSettings::FIELDS,
        tables: || {
            let oversubscription = Shape::of(&[OversubscriptionSettings::FIELDS]);
            let mut tables = link_tables(&FAT_TREE_LINKS);
            tables.push(SubTable::optional(
                "oversubscription",
                "Oversubscription by tier.",
                oversubscription,
            ));
            tables
        },
        build: fat_tree,
    },
    TopologyKind {
        name: "leaf-spine",
        summary: "two tiers, every leaf joined to every spine",
        fields: LeafSpineSettings::FIELDS,
        tables: || link_tables(&LEAF_SPINE_LINKS),
        build: leaf_spine,
    },
    TopologyKind {
        name: "star",
        summary: "hosts around one switch",
        fields: StarSettings::FIELDS,
        tables: || link_tables(&[]),
        build: star,
    },
    TopologyKind {
        name: "back-to-back",
        summary: "two hosts joined by one link",
        fields: &[],
        tables: || link_tables(&[]),
        build: back_to_back,
    },
    TopologyKind {
        name: "dumbbell",
        summary: "two switches with hosts at each and one link between",
        fields: DumbbellSettings::FIELDS,
        tables: || link_tables(&DUMBBELL_LINKS),
        build: dumbbell,
    },
    TopologyKind {
        name: "file",
        summary: "a network from a file: .toml (own), .topo (htsim), .txt (HPCC) or .xml (SNDlib)",
        fields: FileSettings::FIELDS,
        tables: Vec::new,
        build: from_file,
    },
];

/// The table and what it may hold.
pub(crate) fn shape() -> Shape {
    let kind = |row: &TopologyKind| Kind {
        name: row.name,
        summary: row.summary,
        shape: Shape { groups: vec![row.fields], tables: (row.tables)(), kinds: Vec::new() },
    };
    Shape { kinds: kinds().map(kind).collect(), ..Shape::of(&[FabricSettings::FIELDS]) }
}

/// Reads `[topology]`.
pub(crate) fn read(root: &Reader<'_>) -> Option<BuiltTopology> {
    let reader = root.required_table("topology", "kind = \"fat-tree\", k = 8")?;
    let switching = reader.read::<FabricSettings>().value.switching;
    match reader.kind(&shape(), "fat-tree") {
        Some(index) => {
            let network = (kinds().nth(index)?.build)(&reader)?;
            Some(BuiltTopology { switching, ..network })
        }
        None => {
            // The kind is unknown, but its links are wrong in every kind if they cannot be read.
            let _ = one_link(&reader);
            None
        }
    }
}

fn fat_tree(reader: &Reader<'_>) -> Option<BuiltTopology> {
    let own = reader.read::<FatTreeSettings>();
    let over = reader.table("oversubscription", "tor = 4");
    let over = over.unwrap_or_else(|| reader.unwritten("oversubscription"));
    over.no_other_keys_than(&Shape::of(&[OversubscriptionSettings::FIELDS]));
    let ratio = over.read::<OversubscriptionSettings>();
    let links =
        if own.value.tiers == 2 { two_tier_links(reader) } else { class_links(reader, &FAT_TREE_LINKS) };
    let FatTreeSettings { k, tiers } = own.value;
    let oversubscription = [ratio.value.tor, ratio.value.agg];
    let tree = |links| FatTree { k, tiers, oversubscription, links };
    if own.good() && ratio.good() {
        return built(reader, links, [PLACEHOLDER; 3], |links| whole(&tree(links)));
    }
    if own.has_read(&["k"]) && ratio.has_read(&["agg"]) {
        refuse_all(reader, tree([PLACEHOLDER; 3]).problems());
    }
    None
}

/// The tree, or everything that is wrong with it.
fn whole(tree: &FatTree) -> Result<Topology, Vec<TopologyError>> {
    let problems = tree.problems();
    if problems.is_empty() { tree.build().map_err(one) } else { Err(problems) }
}

/// Two tiers have no cores.
fn two_tier_links(reader: &Reader<'_>) -> Result<[Link; 3], Unreadable> {
    reader.no_effect("core_link", "two tiers have no links to cores; leave it out or use tiers = 3");
    let [host, spine] = class_links(reader, &[FAT_TREE_LINKS[0], FAT_TREE_LINKS[1]])?;
    Ok([host, spine, spine])
}

fn leaf_spine(reader: &Reader<'_>) -> Option<BuiltTopology> {
    let own = reader.read::<LeafSpineSettings>();
    let links = class_links(reader, &LEAF_SPINE_LINKS);
    let LeafSpineSettings { leaves, spines, hosts_per_leaf, lanes } = own.value;
    let build = |[host_link, spine_link]: [Link; 2]| {
        LeafSpine { leaves, spines, hosts_per_leaf, lanes, host_link, spine_link }.build().map_err(one)
    };
    own.good().then(|| built(reader, links, [PLACEHOLDER; 2], build))?
}

fn star(reader: &Reader<'_>) -> Option<BuiltTopology> {
    let own = reader.read::<StarSettings>();
    let link = one_link(reader);
    let hosts = own.value.hosts;
    own.good().then(|| built(reader, link, PLACEHOLDER, |link| Star { hosts, link }.build().map_err(one)))?
}

fn back_to_back(reader: &Reader<'_>) -> Option<BuiltTopology> {
    built(reader, one_link(reader), PLACEHOLDER, |link| BackToBack { link }.build().map_err(one))
}

fn dumbbell(reader: &Reader<'_>) -> Option<BuiltTopology> {
    let own = reader.read::<DumbbellSettings>();
    let links = class_links(reader, &DUMBBELL_LINKS);
    let DumbbellSettings { left, right } = own.value;
    let build = |[host_link, bottleneck]: [Link; 2]| {
        Dumbbell { left, right, host_link, bottleneck }.build().map_err(one)
    };
    own.good().then(|| built(reader, links, [PLACEHOLDER; 2], build))?
}

fn from_file(reader: &Reader<'_>) -> Option<BuiltTopology> {
    let own = reader.read::<FileSettings>();
    let links = own.has_read(&["delay", "host_rate"]);
    if !own.has_read(&["file", "capacity_unit", "host_links"]) {
        return None;
    }
    let FileSettings { file: FileName(file), max_paths, delay, host_rate, capacity_unit, host_links } =
        own.value;
    let errors = reader.errors();
    if !file.ends_with(".xml") {
        for key in ["delay", "host_rate", "capacity_unit"] {
            reader.no_effect(key, "only files of SNDlib (.xml) leave it open; leave it out");
        }
    }
    if file.ends_with(".xml") || file.ends_with(".topo") {
        reader.no_effect("host_links", "every host of this format has one link; leave it out");
    }
    if file.ends_with(".topo") {
        reader.no_effect(
            "max_paths",
            "a .topo file describes a tree, all of whose paths are used; leave it out",
        );
    }
    let text = reader.text_of_file("file", &file).filter(|_| reader.errors() == errors)?;
    let host_links = match host_links {
        Some(HostLinks::First) => pullnet_topology::HostLinks::First,
        Some(HostLinks::All) => pullnet_topology::HostLinks::All,
        None => pullnet_topology::HostLinks::One,
    };
    let options = LoadOptions { max_paths, delay, host_rate, capacity_unit, host_links };
    match load(&file, &text, &options) {
        Ok(topology) => Some(BuiltTopology::new(topology, links)),
        Err(errors) => {
            for error in errors.0 {
                reader.refuse_file("file", &file, &within(&error));
            }
            None
        }
    }
}

/// The error of a file, without the file's name, which the caller adds.
fn within(error: &TopologyError) -> String {
    match error {
        TopologyError::File { line, what, remedy, .. } => format!("line {line}: {what}; {remedy}"),
        TopologyError::Graph { what, remedy, .. } => format!("{what}; {remedy}"),
        error @ TopologyError::Parameter { .. } => error.to_string(),
    }
}
