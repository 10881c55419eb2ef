use pullnet_settings::settings;

use super::plan::at_once;
use crate::agenda::Flow;
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FlowSize;

settings! {
    /// Every host sends to the next one, the last to the first.
    pub struct StencilName {
        /// Bytes of every flow, or "endless".
        size: FlowSize = "endless",
        /// Which of the block's hosts take part; at least two.
        members: Hosts = "all",
    }
}

impl Pattern for StencilName {
    fn name(&self) -> &'static str {
        "stencil-name"
    }

    fn summary(&self) -> &'static str {
        "every host sends to the next one, the last to the first"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let hosts = scene.select("members", &self.members)?;
        if hosts.len() < 2 {
            let reason = format!("selects {} hosts; name at least two", hosts.len());
            return Err(scene.note(Problem::here("members", self.members.to_string(), reason)));
        }
        let next = hosts.iter().cycle().skip(1);
        let flows: Vec<_> = hosts.iter().zip(next).map(|(src, dst)| Flow::new(*src, *dst, self.size.0)).collect();
        Ok(at_once(scene.start(), flows))
    }
}
