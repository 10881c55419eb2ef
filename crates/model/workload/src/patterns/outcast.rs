use pullnet_settings::settings;

use super::plan::{Choose, at_once, degree, some_of};
use crate::agenda::Flow;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FlowSize;

settings! {
    /// One host sends to many at the same time.
    pub struct Outcast {
        /// How many receivers; by default every other host.
        degree: Option<u32> = "" in 1 => 16777216,
        /// Bytes of every flow, or "endless".
        size: FlowSize = "endless",
        /// The sender.
        from: Hosts = "first 1",
        /// Which of the block's hosts may receive; the sender never does.
        to: Hosts = "all",
        /// Which of them do.
        receivers: Choose = "last",
    }
}

impl Pattern for Outcast {
    fn name(&self) -> &'static str {
        "outcast"
    }

    fn summary(&self) -> &'static str {
        "one host sends to many at the same time"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let (from, pool) = (scene.select_one("from", &self.from), scene.select("to", &self.to));
        let (from, mut pool) = (from?, pool?);
        pool.retain(|host| *host != from);
        let degree = scene.noted(degree(self.degree, &pool))?;
        let receivers = some_of(&pool, degree, self.receivers, &mut scene.stream(0));
        Ok(at_once(scene.start(), receivers.into_iter().map(|dst| Flow::new(from, dst, self.size.0))))
    }
}
