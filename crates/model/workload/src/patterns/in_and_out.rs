use pullnet_settings::settings;

use super::plan::at_once;
use crate::agenda::Flow;
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FlowSize;

settings! {
    /// Six hosts: A sends to B, C, D and E, and F sends to E as well. A's link carries four flows and E's two, so
    /// that E receives at full rate only where the transport gives F the rest (NDP's sender-limited test).
    pub struct InAndOut {
        /// Bytes of every flow, or "endless".
        size: FlowSize = "endless",
        /// A, B, C, D, E and F, in this order, among the block's hosts.
        members: Hosts = "first 6",
    }
}

impl Pattern for InAndOut {
    fn name(&self) -> &'static str {
        "in-and-out"
    }

    fn summary(&self) -> &'static str {
        "A sends to B, C, D and E, and F sends to E"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let [a, b, c, d, e, f] = scene.select("members", &self.members)?[..] else {
            let reason = "does not select six hosts; name A to F";
            return Err(scene.note(Problem::here("members", self.members.to_string(), reason)));
        };
        let pairs = [(a, b), (a, c), (a, d), (a, e), (f, e)];
        Ok(at_once(scene.start(), pairs.map(|(src, dst)| Flow::new(src, dst, self.size.0))))
    }
}
