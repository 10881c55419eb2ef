use pullnet_settings::settings;
use pullnet_units::{HostId, Id};

use super::plan::{Others, affordable, at_once};
use crate::agenda::Flow;
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FlowSize;

settings! {
    /// Every host sends some flows, each to a uniformly random other host; a host may receive any number.
    pub struct Random {
        /// Bytes of every flow, or "endless".
        size: FlowSize = "endless",
        /// Flows that every sender opens.
        flows_per_host: u32 = 1 in 1 => 100000,
        /// Which of the block's hosts send.
        from: Hosts = "all",
        /// Which of the block's hosts may receive.
        to: Hosts = "all",
        /// Hosts that neither send nor receive.
        avoid: Option<Hosts> = "",
    }
}

impl Pattern for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn summary(&self) -> &'static str {
        "every host sends flows to uniformly random others"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let avoid = self.avoid.as_ref().map_or(Ok(Vec::new()), |hosts| scene.select("avoid", hosts));
        let (from, to) = (scene.select("from", &self.from), scene.select("to", &self.to));
        let avoided = scene.positions(&avoid?);
        let kept =
            |hosts: Vec<HostId>| hosts.into_iter().filter(|host| avoided[host.index()].is_none()).collect();
        let from: Vec<HostId> = kept(from?);
        let affordable = scene.noted(affordable("flows_per_host", self.flows_per_host, from.len()));
        let others = scene.noted(Others::new(scene, &from, kept(to?)))?;
        if from.is_empty() {
            return Err(scene.note(Problem::here("avoid", "all", "leaves no host to send; avoid fewer")));
        }
        affordable?;
        let mut chance = scene.stream(0);
        let senders = from.iter().flat_map(|src| (0..self.flows_per_host).map(|_| *src));
        let flows = senders.map(|src| Flow::new(src, others.pick(src, &mut chance), self.size.0));
        Ok(at_once(scene.start(), flows))
    }
}
