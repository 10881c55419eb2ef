use pullnet_rng::RandomStream;
use pullnet_settings::settings;
use pullnet_units::HostId;

use super::plan::{at_once, shuffle};
use crate::agenda::Flow;
use crate::error::Problem;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FlowSize;

settings! {
    /// Every host sends to one other and receives from one other: a random derangement, each equally likely. It need
    /// not be a single cycle.
    pub struct Permutation {
        /// Bytes of every flow, or "endless".
        size: FlowSize = "endless",
    }
}

impl Pattern for Permutation {
    fn name(&self) -> &'static str {
        "permutation"
    }

    fn summary(&self) -> &'static str {
        "every host sends to one other and receives from one other"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let mut chance = scene.stream(0);
        let to = scene.noted(derangement(scene.hosts(), &mut chance))?;
        let pairs = scene.hosts().iter().zip(to);
        Ok(at_once(scene.start(), pairs.map(|(src, dst)| Flow::new(*src, dst, self.size.0))))
    }
}

/// For each of `hosts` another one, each once. Shuffles until none stays in place: 2.7 times on average.
pub(crate) fn derangement(hosts: &[HostId], chance: &mut RandomStream) -> Result<Vec<HostId>, Problem> {
    if hosts.len() < 2 {
        return Err(Problem::here(
            "hosts",
            hosts.len().to_string(),
            "host is too few for a permutation; select at least 2",
        ));
    }
    let mut to = hosts.to_vec();
    loop {
        shuffle(&mut to, chance);
        if hosts.iter().zip(&to).all(|(a, b)| a != b) {
            return Ok(to);
        }
    }
}
