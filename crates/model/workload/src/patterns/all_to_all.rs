use pullnet_settings::settings;
use pullnet_units::{HostId, Instant};

use crate::agenda::{Flow, Planner};
use crate::error::Problem;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FlowSize;

settings! {
    /// Every host sends to every other, all at the same time.
    pub struct AllToAll {
        /// Bytes of every flow, or "endless".
        size: FlowSize = "endless",
    }
}

impl Pattern for AllToAll {
    fn name(&self) -> &'static str {
        "all-to-all"
    }

    fn summary(&self) -> &'static str {
        "every host sends to every other"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let hosts = scene.hosts().to_vec();
        if hosts.len() < 2 {
            return Err(scene.note(Problem::here("hosts", "1", "host is too few; select at least 2")));
        }
        Ok(Box::new(Shifts { hosts, start: scene.start(), size: self.size }))
    }
}

/// An all-to-all at work: host i sends to i + 1, then i + 2, and so on. Lane: shift, then sender.
#[derive(Clone)]
struct Shifts {
    hosts: Vec<HostId>,
    start: Instant,
    size: FlowSize,
}

impl Shifts {
    fn plan(&self, lane: u64, planner: &mut Planner<'_>) {
        let count = self.hosts.len() as u64;
        let (shift, sender) = (1 + lane / count, lane % count);
        if shift < count {
            let host = |index: u64| self.hosts[(index % count) as usize];
            planner.plan(self.start, lane, Flow::new(host(sender), host(sender + shift), self.size.0));
        }
    }
}

impl Traffic for Shifts {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        (0..self.hosts.len() as u64).for_each(|lane| self.plan(lane, planner));
    }

    fn expected(&self, end: Instant) -> f64 {
        let hosts = self.hosts.len() as f64;
        if self.start < end { hosts * (hosts - 1.0) } else { 0.0 }
    }

    fn started(&mut self, lane: u64, _at: Instant, planner: &mut Planner<'_>) {
        self.plan(lane + self.hosts.len() as u64, planner);
    }
}
