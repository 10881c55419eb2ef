use pullnet_rng::RandomStream;
use pullnet_settings::choice;
use pullnet_units::HostId;

use super::permutation::derangement;
use super::plan::Others;
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::scene::{Noted, Scene};

choice! {
    /// Pairs of sender and receiver.
    pub enum Pairs {
        /// Every flow goes to a uniformly random host.
        Random = "random",
        /// All flows of a host go to one other, in a permutation.
        Permutation = "permutation",
    }
}

/// Where flows of a pattern with `pairs` go.
#[derive(Clone)]
pub(crate) enum Partners {
    Any(Others),
    /// One for each sender.
    Fixed(Vec<HostId>),
}

impl Partners {
    /// Of the senders `from`, among the receivers `to` (the setting of that name). A permutation takes stream 3.
    pub fn of(
        scene: &Scene<'_>,
        pairs: Pairs,
        from: &Result<Vec<HostId>, Noted>,
        to: &Hosts,
    ) -> Result<Self, Noted> {
        let from = from.as_deref().map_err(|noted| *noted)?;
        let hosts = scene.select("to", to)?;
        match pairs {
            Pairs::Random => scene.noted(Others::new(scene, from, hosts).map(Self::Any)),
            Pairs::Permutation if hosts == from => {
                scene.noted(derangement(from, &mut scene.stream(3)).map(Self::Fixed))
            }
            Pairs::Permutation => {
                let reason = "differs from from, which a permutation cannot; use hosts";
                Err(scene.note(Problem::here("to", to.to_string(), reason)))
            }
        }
    }

    /// A destination for `src`, which is number `sender` of the senders.
    pub fn of_sender(&self, sender: usize, src: HostId, chance: &mut RandomStream) -> HostId {
        match self {
            Self::Any(others) => others.pick(src, chance),
            Self::Fixed(to) => to[sender],
        }
    }
}
