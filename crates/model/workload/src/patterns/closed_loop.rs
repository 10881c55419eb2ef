use pullnet_rng::RandomStream;
use pullnet_settings::settings;
use pullnet_units::{HostId, Instant, Picos};

use super::plan::{Others, WaitFor};
use crate::agenda::{After, Cue, Ended, Flow, Planner, Watch};
use crate::distribution::SizeDistribution;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::spread::Spread;

settings! {
    /// Every sender keeps a number of connections busy: when a flow has ended, or failed, the next one starts after a
    /// pause. With one connection from one host to another it is the probe of NDP's Figure 15.
    pub struct ClosedLoop {
        /// Pause between the end of a flow and the start of the next, which its sender starts by itself. With wait_for = "received",
        /// values below the least time of a packet on any link, rounded down to a power of two of picoseconds, act like that:
        /// 1.048576 us where links have 10 Gb/s and 1 us.
        think: Picos = "0 ps",
        /// Whether the pause varies.
        think_spread: Spread = "fixed",
        /// Flows that every sender has open or in its pause.
        connections_per_host: u32 = 1 in 1 => 100000,
        /// Which of the block's hosts send.
        from: Hosts = "all",
        /// Which of the block's hosts receive; every flow goes to a random one other than its sender.
        to: Hosts = "all",
        /// Which end of a flow counts (NDP's transfer program waits for the last ACK).
        wait_for: WaitFor = "acknowledged",
        /// The first flows start at random within this time; at 0 they all start at once.
        ramp: Picos = "0 ps",
        /// No flow starts later than this after the block's start.
        until: Option<Picos> = "",
        /// No connection carries more flows than this.
        flows_per_connection: Option<u32> = "" in 1 => 2000000000,
    }
}

impl Pattern for ClosedLoop {
    fn name(&self) -> &'static str {
        "closed-loop"
    }

    fn summary(&self) -> &'static str {
        "every host keeps a number of connections busy"
    }

    fn takes_sizes(&self) -> bool {
        true
    }

    fn ends(&self) -> Ends {
        let stated = self.until.is_some() || self.flows_per_connection.is_some();
        Ends::once(stated, &["until", "flows_per_connection"])
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let sizes = scene.sizes();
        let (from, others) = Others::select(scene, self.connections_per_host, &self.from, &self.to)?;
        let sizes = sizes?;
        let hosts = from.iter().flat_map(|host| (0..self.connections_per_host).map(|_| *host));
        let left = self.flows_per_connection.unwrap_or(u32::MAX);
        let connection = |(lane, src)| Connection { src, left, chance: scene.stream(lane) };
        let start = scene.start();
        Ok(Box::new(Loops {
            connections: (0..).zip(hosts).map(connection).collect(),
            sizes,
            others,
            start,
            until: self.until.map_or(Instant::NEVER, |until| start.after(until)),
            settings: self.clone(),
        }))
    }
}

/// One connection; the lane is its index.
#[derive(Clone)]
struct Connection {
    src: HostId,
    /// Flows that it may still carry; u32::MAX for any number.
    left: u32,
    /// Its own, so that its n-th flow does not depend on when the others end.
    chance: RandomStream,
}

/// A closed loop at work.
#[derive(Clone)]
struct Loops {
    settings: ClosedLoop,
    connections: Vec<Connection>,
    sizes: SizeDistribution,
    others: Others,
    start: Instant,
    until: Instant,
}

impl Loops {
    /// The next flow on `lane`, and the pause before it that `paused` draws; `None` if there is none.
    fn next(&mut self, lane: u64, paused: bool) -> Option<(Picos, Flow)> {
        let connection = &mut self.connections[lane as usize];
        if connection.left == 0 {
            return None;
        }
        if connection.left != u32::MAX {
            connection.left -= 1;
        }
        let Self { settings, sizes, others, .. } = self;
        let chance = &mut connection.chance;
        let pause = if paused { settings.think_spread.draw(settings.think, chance) } else { Picos(0) };
        let size = sizes.sample(chance);
        let flow = Flow::new(connection.src, others.pick(connection.src, chance), Some(size));
        let followed = connection.left > 0 && settings.wait_for == WaitFor::Acknowledged;
        Some((pause, Flow { followed, ..flow }))
    }

    /// Plans the next flow on `lane`, a pause after `at`.
    fn plan_next(&mut self, at: Instant, lane: u64, paused: bool, planner: &mut Planner<'_>) {
        let Some((pause, flow)) = self.next(lane, paused) else { return };
        let at = at.after(pause);
        if at.max(planner.earliest()) <= self.until {
            planner.plan(at, lane, flow.watched(self.watch()));
        }
    }

    /// The end of a flow at its receiver is known to the sender only by a message that no host sends.
    fn watch(&self) -> Watch {
        match self.settings.wait_for {
            WaitFor::Received => Watch::Received,
            WaitFor::Acknowledged => Watch::Nothing,
        }
    }
}

impl Traffic for Loops {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        let ramp = self.settings.ramp.0 as f64;
        for lane in 0..self.connections.len() {
            let late = if ramp > 0.0 { (self.connections[lane].chance.unit() * ramp) as u64 } else { 0 };
            self.plan_next(self.start.after(Picos(late)), lane as u64, false, planner);
        }
    }

    fn started(&mut self, lane: u64, _at: Instant, planner: &mut Planner<'_>) {
        if self.settings.wait_for == WaitFor::Received {
            return;
        }
        if let Some((pause, flow)) = self.next(lane, true) {
            let (flow_before, latest) = (planner.current(), self.until);
            planner.follow(After { flow: flow_before, cue: Cue::SenderDone, pause, latest }, lane, flow);
        }
    }

    fn ended(&mut self, ended: &Ended, planner: &mut Planner<'_>) {
        self.plan_next(ended.at, ended.lane, true, planner);
    }
}
