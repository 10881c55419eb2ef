use pullnet_units::{BitsPerSec, Picos};
use thiserror::Error;

/// Reasons why a fault is invalid. The text names the place, the value and the remedy.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum FaultError {
    /// The text is not a place.
    #[error(
        "place \"{text}\" cannot be read; write for instance \"all links\", \"level agg->core\", \
         \"link core 0 - agg 3\", \"link core 0 -> agg 3\", \"switch agg 3\" or \"host 5\""
    )]
    Place {
        /// The text as written.
        text: String,
    },
    /// There is no level of this name.
    #[error("place \"level {text}\": there is no level \"{text}\"; use one of {known}")]
    UnknownLevel {
        /// The text as written.
        text: String,
        /// The existing levels.
        known: String,
    },
    /// There is no node of this name.
    #[error("place \"{place}\": there is no node \"{node}\"; nodes are called like {examples}")]
    UnknownNode {
        /// The place.
        place: String,
        /// The name in it.
        node: String,
        /// The last node of each kind.
        examples: String,
    },
    /// The nodes are not neighbours.
    #[error("place \"{place}\": no link leads from \"{from}\" to \"{to}\"; it leads to {neighbours}")]
    NotJoined {
        /// The place.
        place: String,
        /// The first node.
        from: String,
        /// The second node.
        to: String,
        /// Some neighbours of the first node.
        neighbours: String,
    },
    /// The lane exceeds the number of parallel links.
    #[error("place \"{place}\": lane {lane} does not exist; use 0 to {highest}")]
    Lane {
        /// The place.
        place: String,
        /// The lane in it.
        lane: u16,
        /// Number of the last lane.
        highest: usize,
    },
    /// The fault ends before it begins.
    #[error("place \"{place}\": until = \"{until}\" is not after from = \"{from}\"; use a later end or none")]
    Times {
        /// The place.
        place: String,
        /// Start of the fault, since the start of the run.
        from: Picos,
        /// End of the fault, since the start of the run.
        until: Picos,
    },
    /// The probability is out of range or has no effect.
    #[error("place \"{place}\": probability {value} is out of range; use more than 0 and at most 1")]
    Probability {
        /// The place.
        place: String,
        /// The value.
        value: f64,
    },
    /// Duplication is not supported in the simulator.
    #[error("place \"{place}\": packets are doubled by switches of real frames only; use another effect")]
    Duplicate {
        /// The place.
        place: String,
    },
    /// The rate is not below that of any affected link.
    #[error("place \"{place}\": rate {rate} slows no link there; use less than {fastest}")]
    Rate {
        /// The place.
        place: String,
        /// The value.
        rate: BitsPerSec,
        /// Rate of the fastest affected link.
        fastest: BitsPerSec,
    },
}
