//! What settings say to each other.

use pullnet_config::Reader;
use pullnet_units::PortId;

use super::NamedPort;
use super::tables::LearningSettings;
use crate::forward::Unknown;

/// Where frames are flooded, switches may be joined in one way only, or a frame would go round for ever.
pub(super) fn no_loop(root: &Reader<'_>, ports: &[NamedPort], learning: &LearningSettings) {
    if learning.unknown != Unknown::Flood || !has_loop(ports) {
        return;
    }
    if let Some(reader) = root.table("learning", "unknown = \"drop\"") {
        reader.refuse(
            "unknown",
            "lets frames go round for ever, for the switches are joined in a ring; use \"drop\" and [[forward]]",
        );
    }
}

/// Whether lines between switches close a ring: each joins two groups that were apart before, or there is one.
fn has_loop(ports: &[NamedPort]) -> bool {
    let mut group: Vec<u32> =
        (0..=ports.iter().map(|port| port.settings.node.0).max().unwrap_or(0)).collect();
    for (number, port) in (0..).zip(ports) {
        let Some(peer) = port.settings.peer.filter(|peer| PortId(number) < *peer) else { continue };
        let Some(other) = ports.get(peer.0 as usize) else { continue };
        let [a, b] = [port, other].map(|port| group[port.settings.node.0 as usize]);
        if a == b {
            return true;
        }
        group.iter_mut().filter(|member| **member == b).for_each(|member| *member = a);
    }
    false
}
