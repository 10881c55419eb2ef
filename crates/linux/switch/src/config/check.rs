//! Checks across settings.

use pullnet_config::Reader;
use pullnet_units::PortId;

use super::NamedPort;
use super::tables::LearningSettings;
use crate::forward::Unknown;

/// With flooding, a loop between switches would forward a frame for ever, so the topology must be a tree.
pub(super) fn no_loop(root: &Reader<'_>, ports: &[NamedPort], learning: &LearningSettings) {
    if learning.unknown != Unknown::Flood || !has_loop(ports, |_| true) {
        return;
    }
    if let Some(reader) = root.table("learning", "unknown = \"drop\"") {
        reader.refuse(
            "unknown",
            "lets frames go round for ever, for the switches are joined in a ring; use \"drop\" and [[forward]]",
        );
    }
}

/// Whether the lines between switches of which `used` says that frames go by one of their ports form a loop: without one,
/// each line joins two groups that were separate before.
pub(super) fn has_loop(ports: &[NamedPort], used: impl Fn(PortId) -> bool) -> bool {
    let mut group: Vec<u32> =
        (0..=ports.iter().map(|port| port.settings.node.get()).max().unwrap_or(0)).collect();
    for (number, port) in (0..).zip(ports) {
        let line = |peer: &PortId| PortId::new(number) < *peer && (used(PortId::new(number)) || used(*peer));
        let Some(peer) = port.settings.peer.filter(line) else { continue };
        let Some(other) = ports.get(peer.get() as usize) else { continue };
        let [a, b] = [port, other].map(|port| group[port.settings.node.get() as usize]);
        if a == b {
            return true;
        }
        group.iter_mut().filter(|member| **member == b).for_each(|member| *member = a);
    }
    false
}
