//! `[switch]`: the discipline of every switch port, and the path selection.

use pullnet_qdisc::{SWITCHES, SwitchConfig};
use pullnet_settings::{Settings, choice, settings};

use crate::adapt::Chosen;
use crate::shape::{Kind, Shape};
use crate::table::{Reader, Unread};

choice! {
    /// Policy for choosing among equal paths.
    pub enum Forwarding {
        /// The sender: the packet's label decides at every switch (NDP, section 3.1).
        Path = "path",
        /// Each switch, at random for every packet.
        Random = "random",
        /// Each switch, by a hash of the flow: one path per flow.
        Ecmp = "ecmp",
        /// Each switch, on the packet's arrival: the port that holds the fewest packets, at random among several.
        LeastLoaded = "least-loaded",
    }
}

settings! {
    /// Settings of every switch, independent of its discipline.
    pub struct PathSettings {
        /// Who chooses among equal paths: the sender's label (path), the switch at random for every packet (random),
        /// the switch by a hash of the flow (ecmp), or the switch by the packets that its ports hold when the packet
        /// arrives (least-loaded).
        forwarding: Forwarding = "path",
    }
}

/// The table `[switch]` and its allowed contents.
pub fn switch_shape() -> Shape {
    let kind = |row: &'static pullnet_qdisc::SwitchEntry| Kind {
        name: row.name,
        summary: row.summary,
        shape: Shape::of(&[row.fields]),
    };
    Shape { kinds: SWITCHES.iter().map(kind).collect(), ..Shape::of(&[PathSettings::FIELDS]) }
}

/// Reads `[switch]`: the discipline with its settings, the path selection, and the settings that could not be read. `None`
/// if the discipline is unknown.
pub fn read_switch(root: &Reader<'_>) -> Option<(SwitchConfig, Forwarding, Unread)> {
    let reader = root.required_table("switch", "kind = \"trim\"")?;
    let own = reader.read::<PathSettings>();
    let row = &SWITCHES[reader.kind(&switch_shape(), "trim")?];
    let config = (row.default)();
    let mut chosen = Chosen { config, fields: row.fields, set: SwitchConfig::set, get: SwitchConfig::get };
    let (_, unread) = reader.read_into(&mut chosen, &[]);
    Some((chosen.config, own.value.forwarding, unread))
}
