use thiserror::Error;

/// Reasons why a topology cannot be built. The text names the place, the value and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TopologyError {
    /// A parameter of a regular topology is invalid.
    #[error("{kind}: {key} = {value} is not possible; {remedy}")]
    Parameter {
        /// The topology, for instance `"fat-tree"`.
        kind: &'static str,
        /// The parameter.
        key: &'static str,
        /// Its value.
        value: String,
        /// The remedy.
        remedy: String,
    },
    /// A network of named nodes is invalid.
    #[error("{graph}: {what}; {remedy}")]
    Graph {
        /// Its name.
        graph: String,
        /// The place and the value.
        what: String,
        /// The remedy.
        remedy: String,
    },
    /// A file is invalid.
    #[error("{file}:{line}: {what}; {remedy}")]
    File {
        /// Its name.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The key and the value.
        what: String,
        /// The remedy.
        remedy: String,
    },
}
