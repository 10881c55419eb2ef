//! The blocks of a workload, made from their specification and checked.

use std::cell::RefCell;

use pullnet_rng::Seed;
use pullnet_units::{HostId, Instant};

use crate::common::{Coflow, Common};
use crate::deadlines::{self, Deadlines};
use crate::error::{Problem, WorkloadError};
use crate::host_layout::HostLayout;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Names, Noted, Scene};
use crate::spec::{TrafficSpec, WorkloadSpec};

/// One traffic block at work.
#[derive(Clone)]
pub(crate) struct Block {
    pub traffic: Box<dyn Traffic>,
    pub priority: u8,
    pub tag: u16,
    pub transport: u8,
    pub deadlines: Deadlines,
    pub tenant: u16,
    pub coflow: Coflow,
}

impl WorkloadSpec {
    /// Everything that is wrong with it on `network`.
    pub fn check(&self, network: &HostLayout) -> Vec<WorkloadError> {
        blocks(self, network, Seed(0)).err().unwrap_or_default()
    }
}

/// The blocks of `spec` at work, and the names of tags and tenants.
pub(crate) fn blocks(
    spec: &WorkloadSpec,
    network: &HostLayout,
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
    network: &HostLayout,
    seed: Seed,
    names: &mut Names,
) -> (Result<Block, Noted>, Vec<Problem>) {
    let all: Vec<HostId> = network.rates.ids().collect();
    let mut scene = Scene {
        kind: block.pattern.name(),
        common: &block.common,
        sizes: &block.sizes,
        unreadable: &block.unreadable,
        files: &spec.files,
        must_end: spec.must_end,
        number,
        network,
        seed,
        names,
        hosts: all,
        problems: RefCell::default(),
    };
    check_sizes(&scene, &*block.pattern);
    check_end(&scene, &*block.pattern);
    for problem in deadlines::problems(&block.common) {
        scene.note(problem);
    }
    let made = match scene.select("hosts", &block.common.hosts) {
        Ok(hosts) => make_traffic(&mut scene, block, hosts, spec.end),
        Err(noted) => {
            without_hosts(&mut scene, &*block.pattern);
            Err(noted)
        }
    };
    (made, scene.problems.into_inner())
}

/// The tenant of flows that have none.
const NO_TENANT: u16 = 0;

fn make_traffic(
    scene: &mut Scene<'_>,
    block: &TrafficSpec,
    hosts: Vec<HostId>,
    end: Option<Instant>,
) -> Result<Block, Noted> {
    scene.hosts = hosts;
    let tag = scene.tag(block.common.tag.as_deref().unwrap_or(block.pattern.name()));
    let tenant = block.common.tenant.as_deref().map_or(Ok(NO_TENANT), |name| scene.tenant(name));
    let traffic = block.pattern.traffic(scene)?;
    check_number(scene, &*traffic, end)?;
    let Common { priority, coflow, .. } = block.common;
    let (tag, tenant, transport) = (tag?, tenant?, block.carrier);
    let deadlines = Deadlines::new(&block.common, scene.deadline_stream());
    Ok(Block { traffic, priority, tag, transport, deadlines, tenant, coflow })
}

/// The most flows that a block may be expected to start: results keep some 300 bytes of each.
const MOST_FLOWS: f64 = 1e9;

/// Flows whose mere number no memory is for are refused before a run rather than by its death.
fn check_number(scene: &Scene<'_>, traffic: &dyn Traffic, end: Option<Instant>) -> Result<(), Noted> {
    let Some(end) = end else { return Ok(()) };
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
fn without_hosts(scene: &mut Scene<'_>, pattern: &dyn Pattern) {
    let before = scene.problems.borrow().len();
    // The traffic is discarded; only the problems noted on the way count.
    let _ = pattern.traffic(scene);
    let mut index = 0;
    scene.problems.borrow_mut().retain(|problem| {
        index += 1;
        index <= before || !problem.depends_on_hosts()
    });
}

fn check_sizes(scene: &Scene<'_>, pattern: &dyn Pattern) {
    if scene.states_sizes() && !pattern.takes_sizes() {
        let reason = "has no effect on this kind of traffic; use size";
        scene.note(Problem::new("sizes", "{ ... }", reason));
    }
}

/// Where the run waits for the end of all flows, traffic has to come to one.
fn check_end(scene: &Scene<'_>, pattern: &dyn Pattern) {
    let never = "so until = \"all flows done\" never comes";
    match pattern.ends() {
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
