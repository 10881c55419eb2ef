//! `[[traffic]]`: who sends what to whom, and when.

use pullnet_settings::{Setting, Settings};
use pullnet_topology::Topology;
use pullnet_units::{BitsPerSec, Instant, Picos};
use pullnet_workload::{
    Common, Fault as FileFault, FlowSize, ListFault, MatrixFault, Network, PATTERNS, Pattern,
    Problem as Fault, Sizes, TrafficSpec, WorkloadError, WorkloadSpec,
};

use crate::Stop;
use crate::shape::{Kind, Shape, SubTable};
use crate::table::Reader;

const SIZES_EXAMPLE: &str = "distribution = \"web-search\"";
const SIZES_HELP: &str = "Flow sizes: exactly one of `fixed`, `distribution` and `file`.";

/// A block and the table that it was read from.
struct Block<'a> {
    reader: Reader<'a>,
    spec: TrafficSpec,
}

/// One block of the list and what it may hold.
pub(crate) fn shape() -> Shape {
    let kind = |make: &fn() -> Box<dyn Pattern>| kind_of(&*make());
    Shape { kinds: PATTERNS.iter().map(kind).collect(), ..Shape::of(&[Common::FIELDS]) }
}

fn kind_of(pattern: &dyn Pattern) -> Kind {
    let mut shape = Shape::of(&[pattern.fields()]);
    if pattern.takes_sizes() {
        shape = shape.with(SubTable::optional("sizes", SIZES_HELP, Shape::of(&[Sizes::FIELDS])));
    }
    Kind { name: pattern.name(), summary: pattern.summary(), shape }
}

/// Reads every `[[traffic]]` block, with the files that it names, and checks it against the network.
pub(crate) fn read(
    root: &Reader<'_>,
    topology: Option<&Topology>,
    transport: Option<&str>,
    stop: Option<Stop>,
) -> WorkloadSpec {
    let list = root.list("traffic");
    if list.is_empty() && !root.has("traffic") {
        root.missing(
            "traffic",
            "add at least one block, for instance [[traffic]] kind = \"permutation\"".into(),
        );
    } else if root.is_empty_list("traffic") {
        root.refuse(
            "traffic",
            "has no block; add at least one [[traffic]], for instance kind = \"permutation\"",
        );
    }
    let mut spec = WorkloadSpec::default();
    let mut blocks = Vec::new();
    for reader in list {
        let before = reader.context.errors.count();
        if let Some(block) = read_block(reader, &mut spec)
            && block.reader.context.errors.count() == before
        {
            fits_the_run(&block, stop);
            is_carried(&block, transport);
            blocks.push(block);
        }
    }
    spec.traffic = blocks.iter().map(|block| block.spec.clone()).collect();
    let found = topology.map(|topology| spec.check(&network(topology, Picos(1))));
    found.iter().flatten().for_each(|error| report(&blocks, error));
    if found.is_none_or(|found| !found.is_empty()) {
        report_rest(&blocks, &spec);
    }
    spec
}

fn read_block<'a>(reader: Reader<'a>, spec: &mut WorkloadSpec) -> Option<Block<'a>> {
    let mut pattern = PATTERNS[reader.kind(&shape(), "permutation")?]();
    reader.read_into(&mut *pattern, &[]);
    let tagged = Common { tag: Some(pattern.name().to_owned()), ..Common::default() };
    let common = reader.read_after(tagged, &[]).value;
    let sizes = if pattern.takes_sizes() { read_sizes(&reader) } else { Sizes::default() };
    let block = TrafficSpec { common, sizes, pattern };
    read_files(&reader, &block, spec);
    Some(Block { reader, spec: block })
}

fn read_sizes(reader: &Reader<'_>) -> Sizes {
    let Some(table) = reader.table("sizes", SIZES_EXAMPLE) else { return Sizes::default() };
    table.no_other_keys_than(&Shape::of(&[Sizes::FIELDS]));
    table.read().value
}

/// Reads the files that a block names.
fn read_files(reader: &Reader<'_>, block: &TrafficSpec, spec: &mut WorkloadSpec) {
    let own = block.pattern.fields().iter().filter(|field| field.kind == "file").map(|field| field.name);
    for name in block.file_names() {
        let from_sizes = block.sizes.file.as_ref() == Some(&name);
        let key = if from_sizes { "sizes.file" } else { own.clone().next().unwrap_or("file") };
        if let Some(bytes) = reader.file(key, &name.0) {
            spec.files.insert(name.0, bytes);
        }
    }
}

/// What would start after the end, or never let the run end, is an error.
fn fits_the_run(block: &Block<'_>, stop: Option<Stop>) {
    let start = Instant::ZERO.after(block.spec.common.start);
    let reader = &block.reader;
    match stop {
        Some(Stop::At(end) | Stop::FlowsDone { limit: end }) if start >= end => {
            let ends = Picos(end.0);
            reader.refuse("start", format!("is not before the end of the run; use less than \"{ends}\""));
        }
        Some(Stop::FlowsDone { .. }) => ends_some_time(reader, &*block.spec.pattern),
        _ => {}
    }
}

/// All traffic of a scenario has one transport for now.
fn is_carried(block: &Block<'_>, transport: Option<&str>) {
    if let (Some(own), Some(transport)) = (&block.spec.common.transport, transport)
        && own != transport
    {
        let reason = format!("is not the scenario's transport; leave it out, or write \"{transport}\"");
        block.reader.refuse("transport", reason);
    }
}

/// What bounds traffic that goes on by itself.
const BOUNDS: [&str; 4] = ["until", "flows", "flows_per_connection", "requests_per_connection"];

/// With `until = "all flows done"` traffic has to come to an end by itself.
fn ends_some_time(reader: &Reader<'_>, pattern: &dyn Pattern) {
    let never = "so until = \"all flows done\" never comes";
    if pattern.get_field("size").is_some_and(|size| size == FlowSize::ENDLESS.write()) {
        reader.refuse("size", format!("never ends, {never}; give it a size, or state a duration"));
    }
    let bounds: Vec<_> = BOUNDS.iter().filter_map(|key| Some((key, pattern.get_field(key)?))).collect();
    if !bounds.is_empty() && bounds.iter().all(|(_, value)| value.is_empty()) {
        let keys: Vec<_> = bounds.iter().map(|(key, _)| **key).collect();
        let remedy = format!("state {} here, or a duration instead", keys.join(" or "));
        reader.refuse_table(format!("goes on for ever, {never}; {remedy}"));
    }
}

/// A workload says of each block what is wrong first. What does not depend on the hosts, such as an error in a file, is
/// found as well if the topology or the choice of hosts is wrong.
fn report_rest(blocks: &[Block<'_>], spec: &WorkloadSpec) {
    let mut spec = spec.clone();
    spec.traffic.iter_mut().for_each(|block| block.common.hosts = Common::default().hosts);
    let network = Network::uniform(1024, BitsPerSec::gbps(10), Picos(1));
    let found = spec.check(&network);
    found.iter().filter(|error| !depends_on_hosts(error)).for_each(|error| report(blocks, error));
}

/// Whether an error may be gone on another topology.
fn depends_on_hosts(error: &WorkloadError) -> bool {
    let WorkloadError::InBlock { problem, .. } = error else { return true };
    match problem {
        Fault::Setting { .. } => true,
        Fault::Missing { .. } => false,
        Fault::File { error, .. } => {
            matches!(
                error.fault,
                FileFault::List(ListFault::Host { .. }) | FileFault::Matrix(MatrixFault::Host { .. })
            )
        }
    }
}

/// Shows an error at its block; that there is no block at all has been said already.
fn report(blocks: &[Block<'_>], error: &WorkloadError) {
    if let WorkloadError::InBlock { block, problem, .. } = error
        && let Some(block) = blocks.get(*block as usize)
    {
        report_in(&block.reader, problem);
    }
}

fn report_in(reader: &Reader<'_>, problem: &Fault) {
    match problem {
        Fault::Setting { key, value, reason } => match reader.shown(key) {
            Some(shown) if shown.trim_matches('"') == value => reader.refuse(key, reason),
            Some(shown) => reader.refuse_as(key, format!("{shown}: {value}"), reason),
            None => reader.refuse_as(key, value, reason),
        },
        Fault::Missing { key, remedy } => reader.missing(key, (*remedy).to_owned()),
        Fault::File { key, error } => {
            reader.refuse_file(key, &error.file, &format!("line {}: {}", error.line, error.fault))
        }
    }
}

/// What a workload has to know of `topology`; `signal` is the time until the end of a flow can cause the start of
/// another.
pub(crate) fn network(topology: &Topology, signal: Picos) -> Network {
    Network { rates: topology.hosts.iter().map(|host| host.link.rate).collect(), signal }
}
