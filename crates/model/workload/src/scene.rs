use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pullnet_rng::{RandomStream, Seed};
use pullnet_units::{BitsPerSec, HostId, Id, Instant};

use crate::common::Common;
use crate::distribution::{Reading, SizeDistribution};
use crate::error::Problem;
use crate::faults::FileErrors;
use crate::host_layout::HostLayout;
use crate::hosts::Hosts;
use crate::sizes::{FileName, Sizes};

/// Proof that a problem was reported by [`Scene::note`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noted(());

/// Information that a pattern has while it makes its traffic.
pub struct Scene<'a> {
    /// The name of its pattern.
    pub(crate) kind: &'static str,
    pub(crate) common: &'a Common,
    pub(crate) sizes: &'a Sizes,
    /// Settings that were stated and could not be read.
    pub(crate) unreadable: &'a BTreeSet<String>,
    /// Contents of files, by the name as stated.
    pub(crate) files: &'a BTreeMap<String, Arc<[u8]>>,
    pub(crate) must_end: bool,
    pub(crate) number: u32,
    pub(crate) network: &'a HostLayout,
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
        Instant::ZERO.after(self.common.start)
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
        !keys.iter().any(|key| self.unreadable.contains(*key))
    }

    /// An error if one of these settings could not be read.
    pub fn need(&self, keys: &[&str]) -> Result<(), Noted> {
        if self.reads(keys) { Ok(()) } else { Err(Noted(())) }
    }

    /// Whether the run waits for the end of all flows.
    pub fn must_end(&self) -> bool {
        self.must_end
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
    pub fn stream(&self, index: u64) -> RandomStream {
        self.seed.stream(&format!("traffic {} {}", self.number, self.kind), index)
    }

    /// The random stream of this block's deadlines.
    pub(crate) fn deadline_stream(&self) -> RandomStream {
        self.seed.stream("deadlines", self.number.into())
    }

    /// The flow sizes of the block's table `sizes`.
    pub fn sizes(&self) -> Result<SizeDistribution, Noted> {
        self.need(&["sizes", "sizes.fixed", "sizes.distribution", "sizes.file"])?;
        let mut sizes = self.sizes.clone();
        if !self.reads(&["sizes.read"]) {
            sizes.read = Some(Reading::Linear); // either would do to find what else is wrong
        }
        self.noted(sizes.distribution(|name| self.contents("sizes.file", name)))
    }

    /// Whether the block has a table `sizes`.
    pub fn states_sizes(&self) -> bool {
        !self.sizes.is_unstated()
    }

    /// The contents of `name`, a file that the setting `key` names.
    pub fn file(&self, key: &'static str, name: &FileName) -> Result<&[u8], Noted> {
        self.noted(self.contents(key, name))
    }

    fn contents(&self, key: &'static str, name: &FileName) -> Result<&[u8], Problem> {
        let missing = || Problem::new(key, name.0.clone(), "was not read; name a file that exists");
        self.files.get(&name.0).map(|bytes| &**bytes).ok_or_else(missing)
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
