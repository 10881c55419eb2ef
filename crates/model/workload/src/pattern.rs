use std::fmt::Debug;

use pullnet_settings::AnySettings;
use pullnet_units::Instant;

use crate::agenda::{Ended, Joins, Planner};
use crate::scene::{Noted, Scene};
use crate::sizes::{FileName, FlowSize};

/// A traffic pattern of a scenario: a table of settings, and the traffic made from them.
///
/// ```
/// use pullnet_settings::settings;
/// use pullnet_workload::{Ends, Flow, FlowSize, Noted, Pattern, Scene, Traffic, at_once};
///
/// settings! {
///     /// Every host sends to the next.
///     pub struct Ring {
///         /// Bytes of every flow, or "endless".
///         size: FlowSize = "endless",
///     }
/// }
///
/// impl Pattern for Ring {
///     fn name(&self) -> &'static str {
///         "ring"
///     }
///     fn summary(&self) -> &'static str {
///         "every host sends to the next"
///     }
///     fn ends(&self) -> Ends {
///         Ends::with_flows_of(self.size)
///     }
///     fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
///         let hosts = scene.hosts();
///         let pairs = hosts.windows(2).map(|pair| Flow::new(pair[0], pair[1], self.size.0));
///         Ok(at_once(scene.start(), pairs))
///     }
/// }
/// ```
pub trait Pattern: AnySettings + Duplicate + Debug + Send + Sync {
    /// The name in `kind = "..."`.
    fn name(&self) -> &'static str;

    /// One line for `pullnet list traffic`.
    fn summary(&self) -> &'static str;

    /// Whether the block has a table `sizes`.
    fn takes_sizes(&self) -> bool {
        false
    }

    /// The file that it names; its contents come from [`Scene::file`].
    fn file(&self) -> Option<&FileName> {
        None
    }

    /// Whether its traffic ends by itself. A flow list with endless flows reports each of them ([`Scene::must_end`]).
    fn ends(&self) -> Ends;

    /// Checks the settings against the network and makes the traffic. All problems are noted in the scene, not only the
    /// first.
    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted>;
}

/// Whether the traffic of a block ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// It ends by itself.
    ByItself,
    /// Its flows (the setting `size`) never end.
    Never,
    /// It would end if one of these settings were stated.
    UnlessStated(&'static [&'static str]),
}

impl Ends {
    /// For traffic that is a number of flows of `size`.
    pub const fn with_flows_of(size: FlowSize) -> Self {
        if size.0.is_some() { Self::ByItself } else { Self::Never }
    }

    /// For traffic that continues until one of the settings `keys` ends it; `stated`: one of them is stated.
    pub const fn once(stated: bool, keys: &'static [&'static str]) -> Self {
        if stated { Self::ByItself } else { Self::UnlessStated(keys) }
    }
}

/// Copies a boxed [`Pattern`]; implemented for every cloneable pattern.
pub trait Duplicate {
    /// A copy.
    fn duplicate(&self) -> Box<dyn Pattern>;
}

impl<P: Pattern + Clone + 'static> Duplicate for P {
    fn duplicate(&self) -> Box<dyn Pattern> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Pattern> {
    fn clone(&self) -> Self {
        (**self).duplicate()
    }
}

/// Flows that a run ends too early for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Late {
    /// How many.
    pub flows: u64,
    /// When the first of them would start.
    pub first: Instant,
    /// When the last of them would start.
    pub last: Instant,
}

/// The traffic of a block during a run. It plans flows at the beginning, when one of its flows starts and when one ends.
pub trait Traffic: Copied + Send + Sync {
    /// Plans the first flows. Flows that depend on earlier ones are planned from [`Traffic::started`].
    fn begin(&mut self, planner: &mut Planner<'_>);

    /// Approximate number of flows that start before `end`, if that does not depend on how long flows take.
    fn expected(&self, _end: Instant) -> f64 {
        0.0
    }

    /// Flows with a stated time of start that is not before `end`; `None` if there are none.
    fn late(&self, _end: Instant) -> Option<Late> {
        None
    }

    /// Kinds of its sessions that not every transport can carry.
    fn joins(&self) -> Joins {
        Joins::default()
    }

    /// The flow on `lane` starts at `at`.
    fn started(&mut self, _lane: u64, _at: Instant, _planner: &mut Planner<'_>) {}

    /// A watched flow ended.
    fn ended(&mut self, _ended: &Ended, _planner: &mut Planner<'_>) {}
}

/// Copies boxed [`Traffic`], so that a checked workload starts any number of runs; implemented for all cloneable traffic.
pub trait Copied {
    /// A copy.
    fn copied(&self) -> Box<dyn Traffic>;
}

impl<T: Traffic + Clone + 'static> Copied for T {
    fn copied(&self) -> Box<dyn Traffic> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Traffic> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}
