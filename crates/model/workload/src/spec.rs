use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pullnet_rng::Seed;
use pullnet_settings::{Field, Setting, Value, choice, settings};
use pullnet_units::{BitsPerSec, Bytes, HostId, IdVec, Instant, Picos};

use crate::deadlines::{self, Deadlines};
use crate::error::{Problem, WorkloadError};
use crate::hosts::Hosts;
use crate::import::parse_flow_list;
use crate::pattern::{Ends, Names, Noted, Pattern, Scene, Traffic};
use crate::patterns::Spread;
use crate::sizes::{FileName, FlowSize, Sizes};
use crate::workload::Block;

choice! {
    /// Which flows of a traffic block are one coflow: a job that is done when all of them are.
    pub enum Coflow {
        /// None.
        None = "none",
        /// Flows that start at the same time, for instance the flows of one round of an incast.
        Start = "start",
        /// All of them.
        Block = "block",
    }
}

settings! {
    /// Settings of every traffic block.
    pub struct Common {
        /// When the block begins; times within it count from here.
        start: Picos = "0 ps",
        /// Which flows go first where the transport has a choice: a higher number before a lower one.
        priority: u8 = 0,
        /// A name for the block's flows in results; by default the kind of traffic.
        tag: Option<String> = "",
        /// The hosts that take part: "all", "0..63", "0,5,9", "first 4", "last 64", "all but 0,431", joined by commas.
        hosts: Hosts = "all",
        /// Time after the start of each flow by which all of it should have arrived. Transports that know deadlines are told,
        /// and results say which flows met theirs.
        deadline: Option<Picos> = "" in "1 ps" => "1000 s",
        /// Whether deadlines vary from flow to flow: always `deadline`, or exponential with `deadline` as their mean.
        deadline_spread: Spread = "fixed",
        /// No exponential deadline is shorter than this. The mean of the deadlines is then a little above `deadline`.
        deadline_floor: Option<Picos> = "" in "1 ps" => "1000 s",
        /// Whose flows these are: transports that divide capacity among tenants are told, and results sum up by tenant.
        tenant: Option<String> = "",
        /// Which flows of the block are one coflow, a job that is done when all of them are: none, those that start at the
        /// same time (start), or all (block).
        coflow: Coflow = "none",
        /// Name of the transport that carries the block. Required if the scenario has several.
        transport: Option<String> = "",
    }
}

/// One `[[traffic]]` block.
#[derive(Clone, Debug)]
pub struct TrafficSpec {
    /// Settings of every block.
    pub common: Common,
    /// The table `sizes`; of use where [`Pattern::takes_sizes`].
    pub sizes: Sizes,
    /// The pattern with its settings.
    pub pattern: Box<dyn Pattern>,
    /// Settings that were stated and could not be read, those of `sizes` as "sizes.file", the whole table as "sizes".
    /// They have their defaults, and nothing is concluded from these.
    pub unreadable: BTreeSet<String>,
    /// Number of the transport that [`Common::transport`] names.
    pub carrier: u8,
}

impl TrafficSpec {
    /// A block of `pattern` with the defaults of everything else.
    pub fn new(pattern: impl Pattern + 'static) -> Self {
        Self::boxed(Box::new(pattern))
    }

    /// A block of the pattern called `kind` with all defaults; `None` if there is no such pattern.
    pub fn named(kind: &str) -> Option<Self> {
        crate::PATTERNS.iter().map(|make| make()).find(|pattern| pattern.name() == kind).map(Self::boxed)
    }

    fn boxed(pattern: Box<dyn Pattern>) -> Self {
        let (common, sizes, unreadable) = <_>::default();
        Self { common, sizes, pattern, unreadable, carrier: 0 }
    }

    /// The same with sizes.
    pub fn with_sizes(self, sizes: Sizes) -> Self {
        Self { sizes, ..self }
    }

    /// The same with other common settings.
    pub fn with(self, change: impl FnOnce(&mut Common)) -> Self {
        let mut block = self;
        change(&mut block.common);
        block
    }

    /// Every file that the block names: read them into [`WorkloadSpec::files`].
    pub fn file_names(&self) -> Vec<FileName> {
        let sizes = self.sizes.file.as_ref().filter(|_| self.pattern.takes_sizes());
        self.pattern.file().into_iter().chain(sizes).cloned().collect()
    }
}

impl TrafficSpec {
    /// The largest flows that it can make, each with the setting that determines the size: the transport must be able to
    /// number their packets. Wrong settings and files are skipped here.
    pub fn largest_flows(&self, files: &BTreeMap<String, Arc<[u8]>>) -> Vec<(&'static str, Bytes)> {
        let contents = |name: &FileName| files.get(&name.0).map(|bytes| &**bytes);
        let of_setting = |field: &Field| {
            let text = self.pattern.get_field(field.name).filter(|_| field.kind == FlowSize::KIND)?;
            let FlowSize(size) = FlowSize::read(Value::Text(text.trim_matches('"'))).ok()?;
            Some((field.name, size?))
        };
        let missing = || Problem::Missing { key: "sizes", remedy: "" };
        let sizes = self.sizes.distribution(|name| contents(name).ok_or_else(missing)).ok();
        let listed = self.pattern.file().and_then(|name| parse_flow_list(&name.0, contents(name)?).ok());
        let listed = listed.and_then(|script| script.flows.iter().filter_map(|flow| flow.size).max());
        let settings = self.pattern.fields().iter().filter_map(of_setting);
        settings
            .chain(sizes.map(|sizes| ("sizes", sizes.max())))
            .chain(listed.map(|size| ("file", size)))
            .collect()
    }
}

/// All traffic of a scenario.
#[derive(Clone, Debug, Default)]
pub struct WorkloadSpec {
    /// The blocks, in the order stated; flows that start at the same time start in this order.
    pub traffic: Vec<TrafficSpec>,
    /// Contents of the files that blocks name, by the name as stated.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// Whether the run waits for the end of all flows, so that every block has to come to one.
    pub must_end: bool,
    /// When the run ends at the latest, if that is known.
    pub end: Option<Instant>,
}

impl WorkloadSpec {
    /// The workload of `traffic`, without files.
    pub fn of(traffic: impl IntoIterator<Item = TrafficSpec>) -> Self {
        Self { traffic: traffic.into_iter().collect(), ..Self::default() }
    }

    /// The same with a file.
    pub fn with_file(mut self, name: &str, contents: impl Into<Vec<u8>>) -> Self {
        self.files.insert(name.to_string(), contents.into().into());
        self
    }

    /// Everything that is wrong with it on `network`.
    pub fn check(&self, network: &Network) -> Vec<WorkloadError> {
        blocks(self, network, Seed(0)).err().unwrap_or_default()
    }
}

/// Properties of the network that a workload needs.
#[derive(Clone, Debug)]
pub struct Network {
    /// Link rate of every host.
    pub rates: IdVec<HostId, BitsPerSec>,
    /// Rack of every host: a number that hosts of one switch have in common.
    pub racks: IdVec<HostId, u32>,
}

impl Network {
    /// `hosts` hosts of one link rate, each in a rack of its own.
    pub fn uniform(hosts: u32, rate: BitsPerSec) -> Self {
        Self { rates: (0..hosts).map(|_| rate).collect(), racks: (0..hosts).collect() }
    }
}

/// The blocks of `spec` at work, and the names of tags and tenants.
pub(crate) fn blocks(
    spec: &WorkloadSpec,
    network: &Network,
    seed: Seed,
) -> Result<(Vec<Block>, Names), Vec<WorkloadError>> {
    let (mut blocks, mut names, mut errors) = (Vec::new(), Names::default(), Vec::new());
    if spec.traffic.is_empty() {
        errors.push(WorkloadError::Empty);
    }
    for (number, block) in (0..).zip(&spec.traffic) {
        let (block, problems) = make_block(spec, block, number, network, seed, &mut names);
        let kind = spec.traffic[number as usize].pattern.name();
        errors.extend(problems.into_iter().map(|problem| WorkloadError::in_block(number, kind, problem)));
        blocks.extend(block.ok());
    }
    if errors.is_empty() { Ok((blocks, names)) } else { Err(errors) }
}

/// The block at work, and everything that is wrong with it.
fn make_block(
    spec: &WorkloadSpec,
    block: &TrafficSpec,
    number: u32,
    network: &Network,
    seed: Seed,
    names: &mut Names,
) -> (Result<Block, Noted>, Vec<Problem>) {
    let all: Vec<HostId> = network.rates.ids().collect();
    let mut scene =
        Scene { spec, block, number, network, seed, names, hosts: all, problems: RefCell::default() };
    check_sizes(&scene);
    check_end(&scene);
    for problem in deadlines::problems(&block.common) {
        scene.note(problem);
    }
    let made = match scene.select("hosts", &block.common.hosts) {
        Ok(hosts) => make_traffic(&mut scene, hosts),
        Err(noted) => {
            without_hosts(&mut scene);
            Err(noted)
        }
    };
    (made, scene.problems.into_inner())
}

/// The tenant of flows that have none.
const NO_TENANT: u16 = 0;

fn make_traffic(scene: &mut Scene<'_>, hosts: Vec<HostId>) -> Result<Block, Noted> {
    let block = scene.block;
    scene.hosts = hosts;
    let tag = scene.tag(block.common.tag.as_deref().unwrap_or(block.pattern.name()));
    let tenant = block.common.tenant.as_deref().map_or(Ok(NO_TENANT), |name| scene.tenant(name));
    let traffic = block.pattern.traffic(scene)?;
    check_number(scene, &*traffic)?;
    let Common { priority, coflow, .. } = block.common;
    let (tag, tenant, transport) = (tag?, tenant?, block.carrier);
    let deadlines = Deadlines::new(&block.common, scene.deadline_stream());
    Ok(Block { traffic, priority, tag, transport, deadlines, tenant, coflow })
}

/// The most flows that a block may be expected to start: results keep some 300 bytes of each.
const MOST_FLOWS: f64 = 1e9;

/// Flows whose mere number no memory is for are refused before a run rather than by its death.
fn check_number(scene: &Scene<'_>, traffic: &dyn Traffic) -> Result<(), Noted> {
    let Some(end) = scene.spec.end else { return Ok(()) };
    let expected = traffic.expected(end);
    if expected <= MOST_FLOWS {
        return Ok(());
    }
    let reason = format!(
        "makes about {expected:.1e} flows in the run, of which {MOST_FLOWS:.0e} can be kept; use fewer hosts, fewer or \
         larger flows, or a shorter run"
    );
    Err(scene.note(Problem::Whole { reason }))
}

/// Notes the errors that do not depend on the block's hosts, for a block whose hosts are unknown.
fn without_hosts(scene: &mut Scene<'_>) {
    let before = scene.problems.borrow().len();
    // The traffic is discarded; only the problems noted on the way count.
    let _ = scene.block.pattern.traffic(scene);
    let mut index = 0;
    scene.problems.borrow_mut().retain(|problem| {
        index += 1;
        index <= before || !problem.depends_on_hosts()
    });
}

fn check_sizes(scene: &Scene<'_>) {
    if scene.states_sizes() && !scene.block.pattern.takes_sizes() {
        let reason = "has no effect on this kind of traffic; use size";
        scene.note(Problem::new("sizes", "{ ... }", reason));
    }
}

/// Where the run waits for the end of all flows, traffic has to come to one.
fn check_end(scene: &Scene<'_>) {
    let never = "so until = \"all flows done\" never comes";
    match scene.block.pattern.ends() {
        _ if !scene.must_end() => {}
        Ends::ByItself => {}
        Ends::Never => {
            let reason = format!("never ends, {never}; give it a size, or state a duration");
            scene.note(Problem::new("size", "endless", reason));
        }
        Ends::UnlessStated(keys) if scene.reads(keys) => {
            let reason =
                format!("goes on for ever, {never}; state {} here, or a duration instead", keys.join(" or "));
            scene.note(Problem::Whole { reason });
        }
        Ends::UnlessStated(_) => {}
    }
}
