use pullnet_rng::RandomStream;
use pullnet_settings::settings;
use pullnet_units::{HostId, Instant, Picos};

use super::plan::{Choose, degree, some_of};
use crate::agenda::{Ended, Flow, Planner, Watch};
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FlowSize;

settings! {
    /// Many hosts send to one at the same time, once or in rounds.
    pub struct Incast {
        /// How many senders; by default every other host.
        degree: Option<u32> = "" in 1 => 16777216,
        /// Bytes of every flow, or "endless".
        size: FlowSize = "90 kB"; required,
        /// The receiver.
        to: Hosts = "first 1",
        /// Which of the block's hosts may send; the receiver never does.
        from: Hosts = "all",
        /// Which of them do (NDP's programs take the last).
        senders: Choose = "last",
        /// Number of rounds.
        repeat: u32 = 1 in 1 => 2000000000,
        /// Time from the start of one round to that of the next; by default a round begins when the one before is
        /// received whole.
        every: Option<Picos> = "" in "1 ps" => "10000000 s",
        /// Pause between the end of a round and the start of the next. None, and values below the least time of a packet on any
        /// link, rounded down to a power of two of picoseconds, act like that: 1.048576 us where links have 10 Gb/s and 1 us.
        pause: Option<Picos> = "",
    }
}

impl Pattern for Incast {
    fn name(&self) -> &'static str {
        "incast"
    }

    fn summary(&self) -> &'static str {
        "many hosts send to one at the same time"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let checked = self.check(scene);
        let (to, pool) = (scene.select_one("to", &self.to), scene.select("from", &self.from));
        let (to, mut pool) = (to?, pool?);
        pool.retain(|host| *host != to);
        let degree = scene.noted(degree(self.degree, &pool))?;
        checked?;
        let (start, chance) = (scene.start(), scene.stream(0));
        Ok(Box::new(Rounds { settings: self.clone(), to, pool, degree, start, chance, round: 0, open: 0 }))
    }
}

impl Incast {
    fn check(&self, scene: &Scene<'_>) -> Result<(), Noted> {
        if scene.reads(&["repeat", "every", "pause"]) { scene.noted(self.rounds()) } else { Ok(()) }
    }

    fn rounds(&self) -> Result<(), Problem> {
        let single = "has no effect with repeat = 1; remove it, or repeat";
        let stated = [("every", self.every), ("pause", self.pause)];
        let stated = stated.into_iter().find_map(|(key, value)| value.map(|value| (key, value)));
        match stated {
            Some((key, value)) if self.repeat == 1 => Err(Problem::new(key, value.to_string(), single)),
            Some(("every", value)) if self.pause.is_some() => {
                Err(Problem::new("every", value.to_string(), "contradicts pause; keep one of them"))
            }
            _ if self.repeat > 1 && self.every.is_none() && self.size == FlowSize::ENDLESS => {
                Err(Problem::new(
                    "repeat",
                    self.repeat.to_string(),
                    "never comes to a second round of endless flows; state a size or every",
                ))
            }
            _ => Ok(()),
        }
    }
}

/// An incast at work. Lane: number of the flow, over all rounds.
#[derive(Clone)]
struct Rounds {
    settings: Incast,
    to: HostId,
    pool: Vec<HostId>,
    degree: usize,
    start: Instant,
    chance: RandomStream,
    round: u64,
    /// Flows of this round that have not ended.
    open: usize,
}

impl Rounds {
    fn plan_round(&mut self, at: Instant, planner: &mut Planner<'_>) {
        let senders = some_of(&self.pool, self.degree, self.settings.senders, &mut self.chance);
        let waits = self.settings.every.is_none() && self.settings.repeat > 1;
        let watch = if waits { Watch::Received } else { Watch::Nothing };
        self.open = senders.len();
        for (lane, src) in (self.first_lane()..).zip(senders) {
            planner.plan(at, lane, Flow::new(src, self.to, self.settings.size.0).watched(watch));
        }
        self.round += 1;
    }

    fn first_lane(&self) -> u64 {
        self.round * self.degree as u64
    }

    fn more(&self) -> bool {
        self.round < self.settings.repeat.into()
    }
}

impl Traffic for Rounds {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        self.plan_round(self.start, planner);
    }

    fn expected(&self, end: Instant) -> f64 {
        let Some(every) = self.settings.every else { return 0.0 };
        let rounds = end.since(self.start).0.div_ceil(every.0).min(self.settings.repeat.into());
        rounds as f64 * self.degree as f64
    }

    fn started(&mut self, lane: u64, _at: Instant, planner: &mut Planner<'_>) {
        let Some(every) = self.settings.every else { return };
        if lane + 1 == self.first_lane() && self.more() {
            self.plan_round(self.start.after(every.saturating_mul(self.round)), planner);
        }
    }

    fn ended(&mut self, ended: &Ended, planner: &mut Planner<'_>) {
        self.open -= 1;
        if self.open == 0 && self.more() {
            self.plan_round(ended.at.after(self.settings.pause.unwrap_or_default()), planner);
        }
    }
}
