//! An arbitrary file of any format is a topology or is rejected; all paths of a topology are correct.
//!
//! The first line of the input is the suffix of the file's name: toml, topo, txt or xml.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_fuzz::{first_line, short_numbers};
use pullnet_topology::{LoadOptions, Topology, load};
use pullnet_units::{BitsPerSec, HostId};

/// Checks that the route between the first and the last host arrives on every path.
fn check(topology: &Topology) {
    let hosts = topology.hosts.len() as u32;
    let (a, b) = (HostId::new(0), HostId::new(hosts - 1));
    if a == b {
        return;
    }
    let ends = (topology.addr(a), topology.addr(b));
    assert_eq!((topology.host(ends.0), topology.host(ends.1)), (Some(a), Some(b)));
    let paths = topology.path_count(ends.0, ends.1);
    assert!(paths >= 1);
    for path in 0..paths.min(64) {
        assert_eq!(topology.path_of_label(ends.0, ends.1, topology.label(ends.0, ends.1, path)), path);
        let route = topology.route(a, b, path);
        assert!(route.windows(2).all(|pair| pair[0] != pair[1]));
    }
    assert!(topology.ideal_fct(a, b, 100_000, 9000, 64).0 > 0);
}

fuzz_target!(|input: &str| {
    let (ending, text) = first_line(input);
    // Limits sizes that a file states as numbers instead of listing links.
    let digits = if ending == "topo" { 3 } else { 16 };
    if !short_numbers(text, digits) || (text.contains("lanes") && !short_numbers(text, 3)) {
        return;
    }
    let options = LoadOptions {
        capacity_unit: (ending == "xml").then(|| BitsPerSec::gbps(1)),
        ..LoadOptions::default()
    };
    match load(&format!("fuzz.{ending}"), text, &options) {
        Ok(topology) => check(&topology),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
