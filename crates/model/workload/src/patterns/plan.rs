//! Code shared by several patterns.

use std::sync::Arc;

use pullnet_rng::RandomStream;
use pullnet_settings::choice;
use pullnet_units::{HostId, Id, Instant};

use crate::agenda::{Flow, Planner};
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::pattern::Traffic;
use crate::scene::{Noted, Scene};

choice! {
    /// Which hosts of several.
    pub enum Choose {
        /// The last ones in the order of the selection.
        Last = "last",
        /// The first ones.
        First = "first",
        /// Random ones, drawn anew each time.
        Random = "random",
    }
}

choice! {
    /// Which end of a flow counts as its end.
    pub enum WaitFor {
        /// The sender knows that all has arrived.
        Acknowledged = "acknowledged",
        /// All has arrived.
        Received = "received",
    }
}

/// Every order equally likely (Fisher and Yates).
pub(crate) fn shuffle<T>(items: &mut [T], chance: &mut RandomStream) {
    for left in (2..=items.len()).rev() {
        items.swap(left - 1, below(left, chance));
    }
}

/// Uniform below `bound`.
pub(crate) fn below(bound: usize, chance: &mut RandomStream) -> usize {
    chance.below(u32::try_from(bound).unwrap_or(u32::MAX)) as usize
}

/// `count` (at most all) of `pool`, each once.
pub(crate) fn some_of(pool: &[HostId], count: usize, how: Choose, chance: &mut RandomStream) -> Vec<HostId> {
    match how {
        Choose::First => pool[..count].to_vec(),
        Choose::Last => pool[pool.len() - count..].to_vec(),
        Choose::Random => {
            let mut pool = pool.to_vec();
            for taken in 0..count {
                let other = taken + below(pool.len() - taken, chance);
                pool.swap(taken, other);
            }
            pool.truncate(count);
            pool
        }
    }
}

/// The `degree` of an incast or outcast: that many of `pool`, or all where none is stated.
pub(crate) fn degree(stated: Option<u32>, pool: &[HostId]) -> Result<usize, Problem> {
    let wanted = stated.map_or(pool.len(), |degree| degree as usize);
    if pool.is_empty() {
        return Err(Problem::here("hosts", "1", "host is too few; select at least 2"));
    }
    let reason = || format!("is more than the {} other hosts; use 1 to {0}", pool.len());
    if wanted <= pool.len() { Ok(wanted) } else { Err(Problem::here("degree", wanted.to_string(), reason())) }
}

/// Maximum number of flows or connections of one block at the same time.
pub(crate) const MOST: u64 = 4_000_000;

/// `hosts` times `each` (the setting `key`), unless that is too much to keep.
pub(crate) fn affordable(key: &'static str, each: u32, hosts: usize) -> Result<(), Problem> {
    let most = MOST / (hosts as u64).max(1);
    let reason = || format!("is too much for {hosts} hosts at the same time; use at most {most}");
    if u64::from(each) <= most { Ok(()) } else { Err(Problem::here(key, each.to_string(), reason())) }
}

/// Random destinations other than the sender itself.
#[derive(Clone)]
pub(crate) struct Others {
    to: Vec<HostId>,
    /// Where each host stands in `to`.
    position: Vec<Option<u32>>,
}

impl Others {
    /// Destinations among `to`; every one of `from` must have one.
    pub fn new(scene: &Scene<'_>, from: &[HostId], to: Vec<HostId>) -> Result<Self, Problem> {
        let others = Self { position: scene.positions(&to), to };
        match from.iter().find(|host| others.choices(**host) == 0) {
            Some(host) => {
                let reason = format!("leaves host {} nobody to send to; select at least 2 hosts", host.get());
                Err(Problem::here("hosts", host.get().to_string(), reason))
            }
            None => Ok(others),
        }
    }

    /// The hosts `from`, with `connections` (the setting `connections_per_host`) each, and destinations among `to`.
    pub fn select(
        scene: &Scene<'_>,
        connections: u32,
        from: &Hosts,
        to: &Hosts,
    ) -> Result<(Vec<HostId>, Self), Noted> {
        let (from, to) = (scene.select("from", from), scene.select("to", to));
        let from = from?;
        let affordable = scene.noted(affordable("connections_per_host", connections, from.len()));
        let others = scene.noted(Self::new(scene, &from, to?))?;
        affordable.map(|()| (from, others))
    }

    fn choices(&self, src: HostId) -> usize {
        self.to.len() - usize::from(self.position[src.index()].is_some())
    }

    /// A destination for `src`, each equally likely.
    pub fn pick(&self, src: HostId, chance: &mut RandomStream) -> HostId {
        let drawn = below(self.choices(src), chance);
        let skip = self.position[src.index()].is_some_and(|own| drawn >= own as usize);
        self.to[drawn + usize::from(skip)]
    }
}

/// Traffic of `flows` that all start at `at`, in this order; their ends are not watched.
pub fn at_once(at: Instant, flows: impl IntoIterator<Item = Flow>) -> Box<dyn Traffic> {
    Box::new(Fixed { at, flows: flows.into_iter().collect() })
}

#[derive(Clone)]
struct Fixed {
    at: Instant,
    flows: Arc<[Flow]>,
}

impl Traffic for Fixed {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        for (lane, flow) in (0..).zip(self.flows.iter()) {
            planner.plan(self.at, lane, *flow);
        }
    }
}
