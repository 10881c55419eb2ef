use thiserror::Error;

/// Why a topology cannot be built. The text names place, value and remedy.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TopologyError {
    /// A parameter of a regular topology.
    #[error("{kind}: {key} = {value} is not possible; {remedy}")]
    Parameter {
        /// The topology, for instance `"fat-tree"`.
        kind: &'static str,
        /// The parameter.
        key: &'static str,
        /// Its value.
        value: String,
        /// What would work.
        remedy: String,
    },
    /// A network of named nodes.
    #[error("{graph}: {what}; {remedy}")]
    Graph {
        /// Its name.
        graph: String,
        /// Place and value.
        what: String,
        /// What would work.
        remedy: String,
    },
    /// A file.
    #[error("{file}:{line}: {what}; {remedy}")]
    File {
        /// Its name.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// Key and value.
        what: String,
        /// What would work.
        remedy: String,
    },
}
