//! Traffic of the pattern stencil-name.

mod common;

use common::{pairs, refusal, starts};
use pullnet_units::Instant;
use pullnet_workload::{StencilName, TrafficSpec};

#[test]
fn every_host_sends_to_the_next_one() {
    let starts = starts(TrafficSpec::new(StencilName::default()), 3, 1, Instant(1));
    assert_eq!(pairs(&starts), [(0, 1), (1, 2), (2, 0)]);
}

#[test]
fn one_host_alone_is_refused() {
    let alone = StencilName { members: "first 1".parse().unwrap(), ..StencilName::default() };
    let error = refusal(TrafficSpec::new(alone), 3);
    assert!(error.contains("members") && error.contains("name at least two"), "{error}");
}
