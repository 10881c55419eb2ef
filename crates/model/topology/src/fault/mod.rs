//! Faults, and the resulting state of each link.

mod error;
mod place;
mod schedule;

use std::collections::BTreeMap;

use pullnet_settings::settings;
use pullnet_units::{BitsPerSec, Instant, Picos};

use crate::naming::LinkRef;
use crate::topology::Topology;

pub use error::FaultError;
pub use place::Place;
pub use schedule::{LinkSchedule, LinkState, Schedules};

/// Effect of a fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// The link is down.
    Down,
    /// The link has a lower rate than built.
    Rate(BitsPerSec),
    /// Packets are lost with this probability, above 0 and at most 1.
    Loss(f64),
    /// Packets are corrupted with this probability, above 0 and at most 1.
    Corrupt(f64),
    /// Packets are duplicated with this probability, above 0 and at most 1. Only on switches of real frames.
    Duplicate(f64),
}

settings! {
    /// When a fault takes place, and what it does: settings that scenarios and switches of real frames have in common.
    pub struct Trouble {
        /// Start of the fault, counted from the start of the run or of the switch.
        from: Picos = "0 ps",
        /// End of the fault; without it the fault is permanent.
        until: Option<Picos> = "",
        /// Whether every packet is lost.
        down: bool = false,
        /// A rate lower than the link's own; at a switch, of the outgoing direction.
        rate: Option<BitsPerSec> = "",
        /// Probability that a packet is lost.
        loss: Option<f64> = "" in 0.0 => 1.0,
        /// Probability that a packet is damaged; simulated hosts discard it, and in a real frame one bit is flipped.
        corrupt: Option<f64> = "" in 0.0 => 1.0,
    }
}

impl Trouble {
    /// Its effects.
    pub fn effects(&self) -> Vec<Effect> {
        let effects = [
            self.down.then_some(Effect::Down),
            self.rate.map(Effect::Rate),
            self.loss.map(Effect::Loss),
            self.corrupt.map(Effect::Corrupt),
        ];
        effects.into_iter().flatten().collect()
    }

    /// A fault at `place` for each of `effects`.
    pub fn faults<P: Clone>(&self, place: &P, effects: Vec<Effect>) -> Vec<Fault<P>> {
        let from = Instant::ZERO.after(self.from);
        let until = self.until.map(|until| Instant::ZERO.after(until));
        effects.into_iter().map(|effect| Fault { place: place.clone(), from, until, effect }).collect()
    }
}

/// A fault at a place; the type of the place differs between a scenario and a switch of real frames.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault<P = Place> {
    /// The affected links.
    pub place: P,
    /// Start of the fault.
    pub from: Instant,
    /// End of the fault; `None`: permanent.
    pub until: Option<Instant>,
    /// Effect of the fault.
    pub effect: Effect,
}

impl<P> Fault<P> {
    /// Whether the fault is active at an instant.
    pub fn is_active(&self, at: Instant) -> bool {
        self.from <= at && self.until.is_none_or(|until| at < until)
    }
}

/// The schedules of all links with faults. Overlapping faults combine; see [`LinkState`].
pub fn schedules(topology: &Topology, faults: &[Fault]) -> Result<Schedules, FaultError> {
    let mut hit: BTreeMap<LinkRef, Vec<&Fault>> = BTreeMap::new();
    for fault in faults {
        let links = place::places(topology, &fault.place)?;
        check(topology, fault, &links)?;
        for link in links {
            hit.entry(link).or_default().push(fault);
        }
    }
    let schedule =
        |(link, faults): (LinkRef, Vec<_>)| (link, LinkSchedule::new(topology.link(link).rate, &faults));
    Ok(Schedules(hit.into_iter().map(schedule).collect()))
}

fn check(topology: &Topology, fault: &Fault, links: &[LinkRef]) -> Result<(), FaultError> {
    let place = fault.place.to_string();
    if let Some(until) = fault.until.filter(|until| *until <= fault.from) {
        return Err(FaultError::Times {
            place,
            from: fault.from.since(Instant::ZERO),
            until: until.since(Instant::ZERO),
        });
    }
    match fault.effect {
        Effect::Duplicate(_) => Err(FaultError::Duplicate { place }),
        Effect::Loss(value) | Effect::Corrupt(value) if !(value > 0.0 && value <= 1.0) => {
            Err(FaultError::Probability { place, value })
        }
        Effect::Rate(rate) => match links.iter().map(|link| topology.link(*link).rate).max() {
            Some(fastest) if rate >= fastest => Err(FaultError::Rate { place, rate, fastest }),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
