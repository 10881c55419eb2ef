//! The links of a topology: one for all, or one for each class.

use pullnet_config::{Located, Reader, Shape, SubTable};
use pullnet_settings::{Settings, settings};
use pullnet_topology::Link;
use pullnet_units::{BitsPerSec, Picos};

settings! {
    /// One class of links.
    pub struct LinkSettings {
        /// Rate of each direction. Bits per second.
        rate: BitsPerSec = "10 Gbps",
        /// Propagation delay, without the time on the wire. Never zero.
        delay: Picos = "1 us" in "1 ps" => "1 s",
    }
}

/// A class of links that can differ from `link`: key and help.
pub(crate) type LinkClass = (&'static str, &'static str);

pub(crate) const FAT_TREE_LINKS: [LinkClass; 3] = [
    ("host_link", "Links between hosts and ToRs, where they differ from `link`."),
    (
        "agg_link",
        "Links between ToRs and aggregation switches (two tiers: spines), where they differ from `link`.",
    ),
    ("core_link", "Links between aggregation switches and cores, where they differ from `link`."),
];
pub(crate) const LEAF_SPINE_LINKS: [LinkClass; 2] = [
    ("host_link", "Links between hosts and leaves, where they differ from `link`."),
    ("spine_link", "Links between leaves and spines, where they differ from `link`."),
];
pub(crate) const DUMBBELL_LINKS: [LinkClass; 2] = [
    ("host_link", "Links between hosts and switches, where they differ from `link`."),
    ("bottleneck", "The link between the two switches, where it differs from `link`."),
];
pub(crate) const FABRIC_LINKS: [LinkClass; 2] = [
    ("host_link", "Links between hosts and switches, where they differ from `link`."),
    ("fabric_link", "Links between switches, where they differ from `link`."),
];
pub(crate) const JUPITER_LINKS: [LinkClass; 3] = [
    ("host_link", "Links between hosts and ToRs, where they differ from `link`."),
    ("tor_link", "Links between ToRs and middle blocks, where they differ from `link`."),
    ("spine_link", "Links between middle blocks and spine blocks, where they differ from `link`."),
];
const LINK_EXAMPLE: &str = "rate = \"10 Gbps\", delay = \"1 us\"";

pub(crate) fn link_tables(classes: &[LinkClass]) -> Vec<SubTable> {
    let shape = || Shape::of(&[LinkSettings::FIELDS]);
    let all = SubTable::optional("link", "Rate and delay of every link.", shape());
    let rest = classes.iter().map(|(name, doc)| SubTable::optional(name, doc, shape()));
    std::iter::once(all).chain(rest).collect()
}

/// The links of each class; `link` gives what a class leaves open.
pub(crate) fn class_links<const N: usize>(
    reader: &Reader<'_>,
    classes: &[LinkClass; N],
) -> Result<[Link; N], Unreadable> {
    let base = table_or_defaults(reader, "link").unrecorded().read::<LinkSettings>();
    let own = classes.map(|(key, _)| class_link(reader, key, &base));
    for field in ["rate", "delay"] {
        let overridden = own.iter().all(|class| class.origin(field) != base.origin(field));
        if overridden
            && base.is_written(field)
            && let Some(link) = reader.table("link", LINK_EXAMPLE)
        {
            link.no_effect(field, format!("each class of links states its own {field}; leave it out here"));
        }
    }
    let good = base.good() && own.iter().all(Located::good);
    if good { Ok(own.map(|class| as_link(&class.value))) } else { Err(Unreadable) }
}

fn class_link(reader: &Reader<'_>, key: &str, base: &Located<LinkSettings>) -> Located<LinkSettings> {
    let own = table_or_defaults(reader, key);
    own.read_after(base.value.clone(), &base.origins)
}

fn table_or_defaults<'a>(reader: &Reader<'a>, key: &str) -> Reader<'a> {
    let table = reader.table(key, LINK_EXAMPLE).unwrap_or_else(|| reader.unwritten(key));
    table.no_other_keys_than(&Shape::of(&[LinkSettings::FIELDS]));
    table
}

pub(crate) fn one_link(reader: &Reader<'_>) -> Result<Link, Unreadable> {
    let link = table_or_defaults(reader, "link").read::<LinkSettings>();
    if link.good() { Ok(as_link(&link.value)) } else { Err(Unreadable) }
}

/// Rates or delays could not be read.
pub(crate) struct Unreadable;

/// In the place of links that could not be read: so slow that no load is too high for them.
pub(crate) const PLACEHOLDER: Link =
    Link { rate: BitsPerSec::new(1_000).expect("not 0"), delay: Picos::from_micros(1) };

fn as_link(settings: &LinkSettings) -> Link {
    Link { rate: settings.rate, delay: settings.delay }
}
