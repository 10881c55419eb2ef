use std::collections::BTreeMap;
use std::fmt::Debug;

use pullnet_rng::{Seed, Stream};
use pullnet_settings::AnySettings;
use pullnet_units::{BitsPerSec, HostId, Id, Instant};

use crate::agenda::{Ended, Planner};
use crate::hosts::Hosts;
use crate::sizes::FileName;
use crate::spec::{Network, TrafficSpec, WorkloadSpec};
use crate::{Problem, SizeDistribution};

/// A traffic pattern as a scenario states it: a table of settings and what to make of it.
///
/// ```
/// use pullnet_settings::settings;
/// use pullnet_workload::{Flow, FlowSize, Pattern, Problem, Scene, Traffic, at_once};
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
///     fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Problem> {
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

    /// Checks the settings against the network and makes the traffic.
    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Problem>;
}

/// What lets a boxed [`Pattern`] be copied; every cloneable pattern has it.
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

/// A traffic block at work. It plans flows at the beginning, when one of its flows starts and when one ends.
pub trait Traffic: Send {
    /// Plans the first flows; those that can be known only one after the other are planned from
    /// [`Traffic::started`].
    fn begin(&mut self, planner: &mut Planner<'_>);

    /// The flow on `lane` starts at `at`.
    fn started(&mut self, _lane: u64, _at: Instant, _planner: &mut Planner<'_>) {}

    /// A watched flow ended.
    fn ended(&mut self, _ended: &Ended, _planner: &mut Planner<'_>) {}
}

/// What a pattern can see while it makes its traffic.
pub struct Scene<'a> {
    pub(crate) spec: &'a WorkloadSpec,
    pub(crate) block: &'a TrafficSpec,
    pub(crate) number: u32,
    pub(crate) network: &'a Network,
    pub(crate) seed: Seed,
    pub(crate) tags: &'a mut Tags,
    pub(crate) hosts: Vec<HostId>,
}

impl Scene<'_> {
    /// The hosts that the block selects, in the order stated.
    pub fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// When the block begins.
    pub fn start(&self) -> Instant {
        Instant::ZERO.after(self.block.common.start)
    }

    /// The link rate of `host`.
    pub fn rate(&self, host: HostId) -> BitsPerSec {
        self.network.rates[host]
    }

    /// The hosts of `selection` (the setting `key`) among those of the block.
    pub fn select(&self, key: &'static str, selection: &Hosts) -> Result<Vec<HostId>, Problem> {
        let count = self.network.rates.len();
        let problem = |e| Problem::new(key, selection.to_string(), e);
        selection.among(&self.hosts, count).map_err(problem)
    }

    /// The one host of `selection` (the setting `key`) among those of the block.
    pub fn select_one(&self, key: &'static str, selection: &Hosts) -> Result<HostId, Problem> {
        match self.select(key, selection)?[..] {
            [host] => Ok(host),
            ref hosts => Err(Problem::new(
                key,
                selection.to_string(),
                format!("selects {} hosts; name exactly one", hosts.len()),
            )),
        }
    }

    /// A random stream of connection `index` of this block.
    pub fn stream(&self, index: u64) -> Stream {
        self.seed.stream(&format!("traffic {} {}", self.number, self.block.pattern.name()), index)
    }

    /// The flow sizes of the block's table `sizes`.
    pub fn sizes(&self) -> Result<SizeDistribution, Problem> {
        self.block.sizes.distribution(|name| self.file("sizes.file", name))
    }

    /// Whether the block has a table `sizes`.
    pub fn states_sizes(&self) -> bool {
        !self.block.sizes.is_unstated()
    }

    /// The contents of `name`, a file that the setting `key` names.
    pub fn file(&self, key: &'static str, name: &FileName) -> Result<&[u8], Problem> {
        let missing = || Problem::new(key, name.0.clone(), "was not read; name a file that exists");
        self.spec.files.get(&name.0).map(|bytes| &**bytes).ok_or_else(missing)
    }

    /// The number of the tag `name`.
    pub fn tag(&mut self, name: &str) -> Result<u16, Problem> {
        self.tags.number(name)
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

/// The names of tags.
#[derive(Default)]
pub(crate) struct Tags {
    pub names: Vec<String>,
    numbers: BTreeMap<String, u16>,
}

impl Tags {
    /// The number of `name`, which is added if need be.
    pub fn number(&mut self, name: &str) -> Result<u16, Problem> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let full = |_| Problem::new("tag", name.to_string(), "is one tag too many; use at most 65536");
        let number = u16::try_from(self.names.len()).map_err(full)?;
        self.names.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        Ok(number)
    }
}
