use alloc::vec::Vec;

use pullnet_rng::RandomStream;
use pullnet_settings::choice;

choice! {
    /// How the windows of a connection's subflows depend on each other.
    pub enum Coupling {
        /// Linked increases (RFC 6356): together they take no more than one TCP would on the best path.
        Lia = "lia",
        /// Not at all: each subflow is a TCP of its own (public NDP code).
        Uncoupled = "uncoupled",
    }
}

choice! {
    /// Which path each subflow gets for its whole life.
    pub enum SubflowPaths {
        /// Random ones, no two subflows on the same as long as there are others.
        Distinct = "distinct",
        /// Independent random ones, as ECMP by flow hash gives them.
        Random = "random",
    }
}

/// Settings of a multipath connection beside those of its subflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multipath {
    /// Subflows of a connection.
    pub subflows: u32,
    /// Coupling of their windows.
    pub coupling: Coupling,
    /// Choice of their paths.
    pub subflow_paths: SubflowPaths,
}

impl Multipath {
    /// Paths of all subflows of a connection, chosen among `paths`.
    pub(crate) fn paths(&self, paths: u16, chance: &mut RandomStream) -> Vec<u16> {
        let mut chosen: Vec<u16> = Vec::new();
        for index in 0..self.subflows as usize {
            // Paths left in the current round: once every path has a subflow, all may be chosen again.
            let taken = index - index % usize::from(paths);
            let mut path = chance.below(paths.into()) as u16;
            while self.subflow_paths == SubflowPaths::Distinct && chosen[taken..].contains(&path) {
                path = chance.below(paths.into()) as u16;
            }
            chosen.push(path);
        }
        chosen
    }
}

/// A settings table of a multipath transport: that of window-based transports, how subflows are made and coupled, and after
/// it the rows of its own.
#[macro_export]
macro_rules! multipath_settings {
    ($(#[$doc:meta])* pub struct $name:ident { $($own:tt)* }) => {
        pullnet_window::window_settings! {
            $(#[$doc])*
            pub struct $name {
                /// Subflows of a connection. The first one opens it; the others join as soon as it is established, or at
                /// once without `handshake`. Source: NDP section 6, 8 subflows.
                subflows: u32 = 8 in 1 => 16,
                /// How their windows depend on each other. Source: RFC 6356, lia; public NDP code: uncoupled.
                coupling: $crate::Coupling = "lia" unused if subflows == 1,
                /// Which path each subflow gets.
                subflow_paths: $crate::SubflowPaths = "distinct" unused if paths == "scatter",
                $($own)*
            }
        }

        impl $name {
            /// How subflows are made and coupled.
            pub fn multipath(&self) -> $crate::Multipath {
                $crate::Multipath {
                    subflows: self.subflows,
                    coupling: self.coupling,
                    subflow_paths: self.subflow_paths,
                }
            }
        }
    };
}
