use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;

use pullnet_rng::{Seed, Stream};
use pullnet_settings::AnySettings;
use pullnet_units::{BitsPerSec, HostId, Id, Instant};

use crate::agenda::{Ended, Joins, Planner};
use crate::faults::FileErrors;
use crate::hosts::Hosts;
use crate::sizes::{FileName, FlowSize};
use crate::spec::{Network, TrafficSpec, WorkloadSpec};
use crate::{Problem, Reading, SizeDistribution};

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

/// Proof that a problem was reported by [`Scene::note`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noted(());

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

/// The traffic of a block during a run. It plans flows at the beginning, when one of its flows starts and when one ends.
pub trait Traffic: Copied + Send + Sync {
    /// Plans the first flows. Flows that depend on earlier ones are planned from [`Traffic::started`].
    fn begin(&mut self, planner: &mut Planner<'_>);

    /// Approximate number of flows that start before `end`, if that does not depend on how long flows take.
    fn expected(&self, _end: Instant) -> f64 {
        0.0
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

/// Information that a pattern has while it makes its traffic.
pub struct Scene<'a> {
    pub(crate) spec: &'a WorkloadSpec,
    pub(crate) block: &'a TrafficSpec,
    pub(crate) number: u32,
    pub(crate) network: &'a Network,
    pub(crate) seed: Seed,
    pub(crate) names: &'a mut Names,
    pub(crate) hosts: Vec<HostId>,
    pub(crate) problems: RefCell<Vec<Problem>>,
}

impl Scene<'_> {
    /// The hosts that the block selects, in the order stated.
    pub fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// Time at which the block begins.
    pub fn start(&self) -> Instant {
        Instant::ZERO.after(self.block.common.start)
    }

    /// The link rate of `host`.
    pub fn rate(&self, host: HostId) -> BitsPerSec {
        self.network.rates[host]
    }

    /// The rack of `host`: a number shared by the hosts of one switch.
    pub fn rack(&self, host: HostId) -> u32 {
        self.network.racks[host]
    }

    /// Notes what is wrong. Nothing is said of a setting that could not even be read: that was said already.
    pub fn note(&self, problem: Problem) -> Noted {
        if self.reads(&[problem.key()]) {
            self.problems.borrow_mut().push(problem);
        }
        Noted(())
    }

    /// The value, or what is wrong noted.
    pub fn noted<T>(&self, result: Result<T, Problem>) -> Result<T, Noted> {
        result.map_err(|problem| self.note(problem))
    }

    /// Returns the content of a file that the setting `key` names, or notes all of its errors.
    pub fn read<T>(&self, key: &'static str, result: Result<T, FileErrors>) -> Result<T, Noted> {
        result.map_err(|errors| {
            errors.0.into_iter().for_each(|error| {
                self.note(Problem::File { key, error });
            });
            Noted(())
        })
    }

    /// Whether all these settings could be read. A setting that could not be read has its default; nothing may be concluded
    /// from it about other settings.
    pub fn reads(&self, keys: &[&str]) -> bool {
        !keys.iter().any(|key| self.block.unreadable.contains(*key))
    }

    /// An error if one of these settings could not be read.
    pub fn need(&self, keys: &[&str]) -> Result<(), Noted> {
        if self.reads(keys) { Ok(()) } else { Err(Noted(())) }
    }

    /// Whether the run waits for the end of all flows.
    pub fn must_end(&self) -> bool {
        self.spec.must_end
    }

    /// The hosts of `selection` (the setting `key`) among those of the block.
    pub fn select(&self, key: &'static str, selection: &Hosts) -> Result<Vec<HostId>, Noted> {
        self.need(&[key])?;
        let count = self.network.rates.len();
        let problem = |e| Problem::here(key, selection.to_string(), e);
        self.noted(selection.among(&self.hosts, count).map_err(problem))
    }

    /// The one host of `selection` (the setting `key`) among those of the block.
    pub fn select_one(&self, key: &'static str, selection: &Hosts) -> Result<HostId, Noted> {
        match self.select(key, selection)?[..] {
            [host] => Ok(host),
            ref hosts => {
                let reason = format!("selects {} hosts; name exactly one", hosts.len());
                Err(self.note(Problem::here(key, selection.to_string(), reason)))
            }
        }
    }

    /// A random stream of connection `index` of this block.
    pub fn stream(&self, index: u64) -> Stream {
        self.seed.stream(&format!("traffic {} {}", self.number, self.block.pattern.name()), index)
    }

    /// The random stream of this block's deadlines.
    pub(crate) fn deadline_stream(&self) -> Stream {
        self.seed.stream("deadlines", self.number.into())
    }

    /// The flow sizes of the block's table `sizes`.
    pub fn sizes(&self) -> Result<SizeDistribution, Noted> {
        self.need(&["sizes", "sizes.fixed", "sizes.distribution", "sizes.file"])?;
        let mut sizes = self.block.sizes.clone();
        if !self.reads(&["sizes.read"]) {
            sizes.read = Some(Reading::Linear); // either would do to find what else is wrong
        }
        self.noted(sizes.distribution(|name| self.contents("sizes.file", name)))
    }

    /// Whether the block has a table `sizes`.
    pub fn states_sizes(&self) -> bool {
        !self.block.sizes.is_unstated()
    }

    /// The contents of `name`, a file that the setting `key` names.
    pub fn file(&self, key: &'static str, name: &FileName) -> Result<&[u8], Noted> {
        self.noted(self.contents(key, name))
    }

    fn contents(&self, key: &'static str, name: &FileName) -> Result<&[u8], Problem> {
        let missing = || Problem::new(key, name.0.clone(), "was not read; name a file that exists");
        self.spec.files.get(&name.0).map(|bytes| &**bytes).ok_or_else(missing)
    }

    /// The number of the tag `name`.
    pub fn tag(&mut self, name: &str) -> Result<u16, Noted> {
        let number = self.names.tags.number("tag", name);
        self.noted(number)
    }

    /// The number of the tenant `name`.
    pub fn tenant(&mut self, name: &str) -> Result<u16, Noted> {
        let number = self.names.tenants.number("tenant", name);
        self.noted(number)
    }

    /// How many hosts the network has.
    pub fn network_hosts(&self) -> usize {
        self.network.rates.len()
    }

    /// Position of each host of the network in `hosts`, `None` where it is not among them.
    pub fn positions(&self, hosts: &[HostId]) -> Vec<Option<u32>> {
        let mut positions = vec![None; self.network_hosts()];
        for (position, host) in (0..).zip(hosts) {
            positions[host.index()] = Some(position);
        }
        positions
    }
}

/// The names that blocks give to their flows.
pub(crate) struct Names {
    pub tags: Dictionary,
    /// The first one, without a name, stands for no tenant.
    pub tenants: Dictionary,
}

impl Default for Names {
    fn default() -> Self {
        Self { tags: Dictionary::default(), tenants: Dictionary::starting_with("") }
    }
}

/// Names with their numbers.
#[derive(Default)]
pub(crate) struct Dictionary {
    pub names: Vec<String>,
    numbers: BTreeMap<String, u16>,
}

impl Dictionary {
    /// Number 0 is `name`.
    fn starting_with(name: &str) -> Self {
        Self { names: vec![name.to_owned()], numbers: BTreeMap::from([(name.to_owned(), 0)]) }
    }

    /// The number of `name`, which the setting `key` states; it is added if need be.
    pub fn number(&mut self, key: &'static str, name: &str) -> Result<u16, Problem> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let full =
            |_| Problem::new(key, name.to_string(), format!("is one {key} too many; use at most 65535"));
        let number = u16::try_from(self.names.len()).map_err(full)?;
        self.names.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        Ok(number)
    }
}
