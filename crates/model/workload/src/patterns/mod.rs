//! One file per pattern, and one line in the list below (beside the `mod` line that every file needs).

mod all_to_all;
mod closed_loop;
mod collective;
mod flows;
mod in_and_out;
mod incast;
mod outcast;
mod partners;
mod permutation;
mod plan;
mod poisson;
mod random;
mod request_response;
mod sessions;
mod volume_model;

pub use collective::{Algorithm, Operation, Order};
pub use partners::Pairs;
pub use plan::{Choose, WaitFor, at_once};
pub use sessions::{Copies, Parts, Placement, SessionPlan};

use crate::pattern::Pattern;

/// A pattern with its defaults.
fn make<P: Pattern + Default + 'static>() -> Box<dyn Pattern> {
    Box::new(P::default())
}

/// The list of patterns, and their names for users of the crate.
macro_rules! patterns {
    ($($file:ident::$pattern:ident),+ $(,)?) => {
        $(pub use $file::$pattern;)+

        /// Every traffic pattern, in the order in which help shows them. Each entry makes one with its defaults.
        pub const PATTERNS: &[fn() -> Box<dyn Pattern>] = &[$(make::<$pattern>),+];
    };
}

patterns! {
    permutation::Permutation,
    random::Random,
    incast::Incast,
    outcast::Outcast,
    in_and_out::InAndOut,
    all_to_all::AllToAll,
    poisson::Poisson,
    volume_model::VolumeModel,
    closed_loop::ClosedLoop,
    request_response::RequestResponse,
    flows::Flows,
    flows::Matrix,
    sessions::Replicate,
    sessions::Fetch,
    collective::Collective,
}
