//! Fabrics of publications as kinds of `[topology]`: their keys and builders. docs/topologies.md has pictures of them.

use pullnet_config::Reader;
use pullnet_settings::{Settings, settings};
use pullnet_topology::{AbFatTree, Jellyfish, Jupiter, Link, Planes, Topology, TopologyError, Vl2};

use crate::links::{
    FABRIC_LINKS, JUPITER_LINKS, LEAF_SPINE_LINKS, LinkClass, PLACEHOLDER, class_links, link_tables,
};
use crate::topology_kind::{BuiltTopology, TopologyKind, built, one};

settings! {
    /// VL2: ToRs with two links each, below aggregation and intermediate switches that are joined each to each. Source:
    /// Greenberg et al., SIGCOMM 2009.
    pub struct Vl2Settings {
        /// D_A: ports of an aggregation switch, even. There are da / 2 intermediate switches and da * di / 4 ToRs.
        da: u32 = 4 in 2 => 256; required,
        /// D_I: ports of an intermediate switch, and number of aggregation switches.
        di: u32 = 4 in 2 => 256; required,
        /// Hosts of each ToR; 20 in the paper.
        hosts_per_tor: u32 = 4 in 1 => 65000; required,
    }
}

settings! {
    /// F10's AB fat tree: pods of two types by turns, joined to the cores by rows and by columns. Source: Liu et al., NSDI 2013.
    pub struct AbFatTreeSettings {
        /// Ports of a switch: even, 4 to 64. k^3/4 hosts.
        k: u32 = 8 in 4 => 64; required,
    }
}

settings! {
    /// Switches joined at random, a random regular graph RRG(N, k, r). Packets take the shortest paths, counted in links; the
    /// paper takes the eight shortest, of different lengths: longer_paths = true and max_paths = 8. Source: Singla et al., NSDI 2012.
    pub struct JellyfishSettings {
        /// N: number of switches. switches * degree is even.
        switches: u32 = 20 in 2 => 4096; required,
        /// k: ports of a switch.
        ports: u32 = 8 in 2 => 1024; required,
        /// r: ports of a switch that lead to other switches; the other ones have a host each.
        degree: u32 = 5 in 1 => 1023; required,
        /// Seed of the graph. The seed of the run does not change it.
        seed: u64 = 1,
        /// Most paths that are used between two hosts; up to 256 with longer_paths.
        max_paths: u16 = 64 in 1 => 65535,
        /// Whether senders use paths that are longer than the shortest ones too, up to max_paths in all. Switches that choose paths
        /// themselves (switch.forwarding) take the shortest ones.
        longer_paths: bool = false,
    }
}

settings! {
    /// A fabric like Jupiter: ToRs and middle blocks in aggregation blocks, which spine blocks join. Middle blocks and spine
    /// blocks count as one switch each. Source: Singh et al., SIGCOMM 2015.
    pub struct JupiterSettings {
        /// Aggregation blocks; up to 64 in the paper.
        blocks: u32 = 4 in 1 => 64; required,
        /// ToRs of each aggregation block.
        tors_per_block: u32 = 4 in 1 => 256; required,
        /// Hosts of each ToR.
        hosts_per_tor: u32 = 4 in 1 => 65000; required,
        /// Middle blocks of each aggregation block; 8 in the paper.
        middle_blocks: u32 = 2 in 1 => 64,
        /// Links from each ToR to each middle block of its aggregation block; 2 in the paper.
        tor_lanes: u32 = 2 in 1 => 64,
        /// Spine blocks; up to 256 in the paper.
        spine_blocks: u32 = 8 in 1 => 256; required,
        /// Links from each aggregation block to each spine block, by turns from its middle blocks; 2 in the paper.
        block_lanes: u32 = 2 in 1 => 64,
    }
}

settings! {
    /// Several leaf-spine networks side by side, and hosts with a NIC in each of them. A host sends and receives at the rate of
    /// all its NICs together; each path of a packet goes through one of them.
    pub struct PlanesSettings {
        /// Networks, and NICs of each host.
        planes: u32 = 2 in 1 => 16; required,
        /// Leaves of each plane.
        leaves: u32 = 2 in 1 => 4096; required,
        /// Spines of each plane.
        spines: u32 = 2 in 1 => 4096; required,
        /// Hosts of each leaf.
        hosts_per_leaf: u32 = 4 in 1 => 65000; required,
    }
}

/// A fabric as a kind of `[topology]`.
const fn kind(
    name: &'static str,
    summary: &'static str,
    fields: &'static [pullnet_settings::Field],
    tables: fn() -> Vec<pullnet_config::SubTable>,
    build: fn(&Reader<'_>) -> Option<BuiltTopology>,
) -> TopologyKind {
    TopologyKind { name, summary, fields, tables, build }
}

/// The fabrics that a scenario can name.
pub(crate) static FABRICS: &[TopologyKind] = &[
    kind(
        "vl2",
        "VL2: aggregation and intermediate switches joined each to each, two links from every ToR",
        Vl2Settings::FIELDS,
        || link_tables(&FABRIC_LINKS),
        vl2,
    ),
    kind(
        "jellyfish",
        "switches joined at random (a random regular graph)",
        JellyfishSettings::FIELDS,
        || link_tables(&FABRIC_LINKS),
        jellyfish,
    ),
    kind(
        "ab-fat-tree",
        "F10: a fat tree whose pods are joined to the cores in two ways, by turns",
        AbFatTreeSettings::FIELDS,
        || link_tables(&FABRIC_LINKS),
        ab_fat_tree,
    ),
    kind(
        "jupiter",
        "like Jupiter: aggregation blocks of ToRs and middle blocks, joined by spine blocks",
        JupiterSettings::FIELDS,
        || link_tables(&JUPITER_LINKS),
        jupiter,
    ),
    kind(
        "planes",
        "several leaf-spine networks side by side; hosts have a NIC in each",
        PlanesSettings::FIELDS,
        || link_tables(&LEAF_SPINE_LINKS),
        planes,
    ),
];

/// Reads the keys and the links of a fabric, and builds it.
fn fabric<S: Settings, const N: usize>(
    reader: &Reader<'_>,
    classes: &[LinkClass; N],
    build: impl FnOnce(&S, [Link; N]) -> Result<Topology, TopologyError>,
) -> Option<BuiltTopology> {
    let own = reader.read::<S>();
    let links = class_links(reader, classes);
    own.good()
        .then(|| built(reader, links, [PLACEHOLDER; N], |links| build(&own.value, links).map_err(one)))?
}

fn vl2(reader: &Reader<'_>) -> Option<BuiltTopology> {
    fabric(reader, &FABRIC_LINKS, |own: &Vl2Settings, [host_link, fabric_link]| {
        let Vl2Settings { da, di, hosts_per_tor } = *own;
        Vl2 { da, di, hosts_per_tor, host_link, fabric_link }.build()
    })
}

fn ab_fat_tree(reader: &Reader<'_>) -> Option<BuiltTopology> {
    fabric(reader, &FABRIC_LINKS, |own: &AbFatTreeSettings, [host_link, fabric_link]| {
        AbFatTree { k: own.k, host_link, fabric_link }.build()
    })
}

fn jellyfish(reader: &Reader<'_>) -> Option<BuiltTopology> {
    fabric(reader, &FABRIC_LINKS, |own: &JellyfishSettings, [host_link, fabric_link]| {
        let JellyfishSettings { switches, ports, degree, seed, max_paths, longer_paths } = *own;
        Jellyfish { switches, ports, degree, seed, max_paths, longer_paths, host_link, fabric_link }.build()
    })
}

fn jupiter(reader: &Reader<'_>) -> Option<BuiltTopology> {
    fabric(reader, &JUPITER_LINKS, |own: &JupiterSettings, [host_link, tor_link, spine_link]| {
        Jupiter {
            blocks: own.blocks,
            tors_per_block: own.tors_per_block,
            middle_blocks: own.middle_blocks,
            tor_lanes: own.tor_lanes,
            spine_blocks: own.spine_blocks,
            block_lanes: own.block_lanes,
            hosts_per_tor: own.hosts_per_tor,
            host_link,
            tor_link,
            spine_link,
        }
        .build()
    })
}

fn planes(reader: &Reader<'_>) -> Option<BuiltTopology> {
    fabric(reader, &LEAF_SPINE_LINKS, |own: &PlanesSettings, [host_link, spine_link]| {
        let PlanesSettings { planes, leaves, spines, hosts_per_leaf } = *own;
        Planes { planes, leaves, spines, hosts_per_leaf, host_link, spine_link }.build()
    })
}
