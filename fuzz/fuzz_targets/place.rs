//! Arbitrary text is a place of a fault or is rejected. A place either matches links of a topology or is rejected there. A
//! matching place survives formatting and parsing unchanged.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use pullnet_topology::{Effect, FatTree, Fault, LeafSpine, Place, Topology, schedules};
use pullnet_units::{Instant, Picos};

fn topologies() -> &'static [Topology] {
    static TOPOLOGIES: OnceLock<Vec<Topology>> = OnceLock::new();
    TOPOLOGIES.get_or_init(|| {
        let tree = FatTree { k: 4, ..FatTree::default() }.build();
        let leaves = LeafSpine { lanes: 2, ..LeafSpine::default() }.build();
        vec![tree.expect("the tree is right"), leaves.expect("the leaves are right")]
    })
}

fuzz_target!(|text: &str| {
    let Ok(place) = text.parse::<Place>() else { return };
    for topology in topologies() {
        let until = Some(Instant::ZERO.after(Picos::from_micros(5)));
        let fault = Fault { place: place.clone(), from: Instant::ZERO, until, effect: Effect::Down };
        match schedules(topology, &[fault]) {
            Ok(schedules) => {
                assert!(!schedules.is_empty());
                assert_eq!(place.to_string().parse::<Place>().ok().as_ref(), Some(&place), "{place}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
