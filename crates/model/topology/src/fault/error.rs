use pullnet_units::{BitsPerSec, Picos};
use thiserror::Error;

/// Why a fault cannot happen. The text names place, value and remedy.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum FaultError {
    /// No place reads like this.
    #[error(
        "place \"{text}\" cannot be read; write for instance \"all links\", \"level agg->core\", \
         \"link core 0 - agg 3\", \"link core 0 -> agg 3\", \"switch agg 3\" or \"host 5\""
    )]
    Place {
        /// As it was written.
        text: String,
    },
    /// No level is called that.
    #[error("place \"level {text}\": there is no level \"{text}\"; use one of {known}")]
    UnknownLevel {
        /// As it was written.
        text: String,
        /// What there is.
        known: String,
    },
    /// No node is called that.
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
        /// The one node.
        from: String,
        /// The other.
        to: String,
        /// Some nodes that would do.
        neighbours: String,
    },
    /// There are fewer parallel links.
    #[error("place \"{place}\": lane {lane} does not exist; use 0 to {highest}")]
    Lane {
        /// The place.
        place: String,
        /// The lane in it.
        lane: u16,
        /// The last lane that there is.
        highest: usize,
    },
    /// It ends before it begins.
    #[error("place \"{place}\": until = \"{until}\" is not after from = \"{from}\"; use a later end or none")]
    Times {
        /// The place.
        place: String,
        /// Begin, since the start of the run.
        from: Picos,
        /// End, since the start of the run.
        until: Picos,
    },
    /// Not a probability that has an effect.
    #[error("place \"{place}\": probability {value} is out of range; use more than 0 and at most 1")]
    Probability {
        /// The place.
        place: String,
        /// The value.
        value: f64,
    },
    /// Nothing doubles packets in a simulation.
    #[error("place \"{place}\": packets are doubled by switches of real frames only; use another effect")]
    Duplicate {
        /// The place.
        place: String,
    },
    /// No link gets slower.
    #[error("place \"{place}\": rate {rate} slows no link there; use less than {fastest}")]
    Rate {
        /// The place.
        place: String,
        /// The value.
        rate: BitsPerSec,
        /// The rate of the fastest link there.
        fastest: BitsPerSec,
    },
}
