//! The engine. One program, because each program of tests is compiled and linked by itself.

mod collectives;
#[path = "../common/mod.rs"]
mod common;
mod cut_through;
mod detail;
mod hops;
mod invariants;
mod learned_timers;
mod never_ending;
mod notes;
mod ns3;
mod ns3_dctcp;
mod on_arrival;
mod pairs;
mod pause;
mod reference;
mod scdp;
mod sessions;
mod ties;
mod timeouts;
mod transports;
