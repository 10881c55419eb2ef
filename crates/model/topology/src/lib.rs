//! Topologies, the paths through them, and the faults of their links.
//!
//! Regular trees (fat tree, leaf-spine, star) store no paths: an address is a few bit fields, a label one digit per tier,
//! and forwarding a few integer operations ([`TreeHop`]). Graphs from files keep their shortest paths in tables that are
//! computed on first use.

mod build;
mod error;
mod fabrics;
mod fault;
mod files;
mod graph;
mod ideal;
mod model;
mod multicast;
mod names;
mod naming;
mod nics;
mod paths;
mod regular;
mod topology;
mod tree;
mod yen;

pub use error::TopologyError;
pub use fabrics::{AbFatTree, Jellyfish, Jupiter, Planes, Vl2};
pub use fault::{Effect, Fault, FaultError, LinkSchedule, LinkState, Place, Schedules, Trouble, schedules};
pub use files::{LoadErrors, LoadOptions, load, save};
pub use graph::{Graph, VertexId};
pub use model::{
    CutThrough, Hop, Host, HostLinks, HostPeer, Level, Link, Node, NodeKind, Peer, Port, TreeHop,
};
pub use multicast::{Distances, MulticastTree};
pub use naming::LinkRef;
pub use regular::{BackToBack, Dumbbell, FatTree, LeafSpine, Star};
pub use topology::{Choices, Topology};
