//! The topology stencil-name: counts, and routes that arrive.

mod common;

use common::{assert_paths, assert_wired};
use pullnet_topology::{StencilName, TopologyError};
use pullnet_units::HostId;

#[test]
fn every_host_reaches_every_other_over_the_row() {
    let topology = StencilName::default().build().unwrap();
    assert_eq!((topology.hosts.len(), topology.nodes.len()), (12, 15));
    assert_wired(&topology);
    for (src, dst) in (0..12).flat_map(|src| (0..12).map(move |dst| (src, dst))).filter(|(a, b)| a != b) {
        assert_paths(&topology, HostId::new(src), HostId::new(dst));
    }
}

#[test]
fn no_switch_is_refused() {
    let error = StencilName { switches: 0, ..StencilName::default() }.build().unwrap_err();
    assert!(matches!(error, TopologyError::Parameter { key: "switches", .. }), "{error}");
}
