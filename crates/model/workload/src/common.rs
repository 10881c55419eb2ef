use pullnet_settings::{choice, settings};
use pullnet_units::Picos;

use crate::hosts::Hosts;
use crate::spread::Spread;

choice! {
    /// Which flows of a traffic block are one coflow: a job that is done when all of them are.
    pub enum Coflow {
        /// None.
        None = "none",
        /// Flows that start at the same time, for instance the flows of one round of an incast.
        Start = "start",
        /// All of them.
        Block = "block",
    }
}

settings! {
    /// Settings of every traffic block.
    pub struct Common {
        /// When the block begins; times within it count from here.
        start: Picos = "0 ps",
        /// Which flows go first where the transport has a choice: a higher number before a lower one.
        priority: u8 = 0,
        /// A name for the block's flows in results; by default the kind of traffic.
        tag: Option<String> = "",
        /// The hosts that take part: "all", "0..63", "0,5,9", "first 4", "last 64", "all but 0,431", joined by commas.
        hosts: Hosts = "all",
        /// Time after the start of each flow by which all of it should have arrived. Transports that know deadlines are told,
        /// and results say which flows met theirs.
        deadline: Option<Picos> = "" in "1 ps" => "1000 s",
        /// Whether deadlines vary from flow to flow: always `deadline`, or exponential with `deadline` as their mean.
        deadline_spread: Spread = "fixed",
        /// No exponential deadline is shorter than this. The mean of the deadlines is then a little above `deadline`.
        deadline_floor: Option<Picos> = "" in "1 ps" => "1000 s",
        /// Whose flows these are: transports that divide capacity among tenants are told, and results sum up by tenant.
        tenant: Option<String> = "",
        /// Which flows of the block are one coflow, a job that is done when all of them are: none, those that start at the
        /// same time (start), or all (block).
        coflow: Coflow = "none",
        /// Name of the transport that carries the block. Required if the scenario has several.
        transport: Option<String> = "",
    }
}
