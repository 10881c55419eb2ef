//! `[[traffic]]`: who sends what to whom, and when.

use std::str::FromStr;

use pullnet_config::{Kind, Reader, Shape, SubTable, shortened};
use pullnet_protocols::{PROTOCOLS, ProtocolEntry};
use pullnet_rng::Seed;
use pullnet_settings::Settings;
use pullnet_topology::{HostPeer, Topology};
use pullnet_units::{BitsPerSec, Bytes, HostId, Instant, Picos};
use pullnet_workload::{
    CheckedWorkload, Common, HostLayout, PATTERNS, Pattern, Problem as Fault, Sizes, TrafficSpec,
    WorkloadError, WorkloadSpec,
};

use crate::cross_checks::{self, Lengths};
use crate::scenario::Stop;
use crate::topology_kind::BuiltTopology;
use crate::transport::{Transport, carrier, check_use};

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

/// Content of the list `[[traffic]]`.
pub(crate) struct Traffic {
    /// Blocks that could be read.
    pub blocks: usize,
    /// The workload; `None` if anything is wrong with it or with the network.
    pub workload: Option<CheckedWorkload>,
    /// About how many flows start before the end, of those patterns that can tell.
    pub expected: f64,
}

/// Reads every `[[traffic]]` block, with the files that it names, and checks it against the network.
pub(crate) fn read(
    root: &Reader<'_>,
    network: Option<&BuiltTopology>,
    transports: Option<&[Transport<'_>]>,
    stop: Option<Stop>,
    seed: Seed,
) -> Traffic {
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
    let must_end = matches!(stop, Some(Stop::FlowsDone { .. }));
    let mut spec = WorkloadSpec { must_end, end: stop.map(Stop::latest), ..WorkloadSpec::default() };
    let count = list.len();
    let mut blocks: Vec<_> = list.into_iter().filter_map(|reader| read_block(reader, &mut spec)).collect();
    for block in &blocks {
        starts_in_time(block, stop);
    }
    if let Some(transports) = transports {
        carry(&mut blocks, transports, count);
        for Block { reader, spec: block } in &blocks {
            let carrier = transports.get(usize::from(block.carrier)).map(Lengths::new);
            carrier
                .into_iter()
                .for_each(|lengths| cross_checks::numbers(reader, block, &spec.files, &lengths));
        }
    }
    spec.traffic = blocks.iter().map(|block| block.spec.clone()).collect();
    let Some(built) = network else {
        report_without_hosts(&blocks, &spec);
        return Traffic { blocks: blocks.len(), workload: None, expected: 0.0 };
    };
    let workload = CheckedWorkload::new(&spec, &network_of(&built.topology), seed);
    let workload = workload.map_err(|found| found.iter().for_each(|error| report(&blocks, error)));
    if let (Ok(workload), Some(transports)) = (&workload, transports) {
        check_sessions(&blocks, workload, transports, &built.topology);
    }
    let end = spec.end.unwrap_or(Instant::NEVER);
    let expected = workload.as_ref().map_or(0.0, |workload| workload.expected(end));
    Traffic { blocks: blocks.len(), workload: workload.ok(), expected }
}

fn read_block<'a>(reader: Reader<'a>, spec: &mut WorkloadSpec) -> Option<Block<'a>> {
    let Some(kind) = reader.kind(&shape(), "permutation") else {
        // The kind is unknown, but these settings are wrong in every kind if they cannot be read.
        reader.read::<Common>();
        read_sizes(&reader);
        return None;
    };
    let mut pattern = PATTERNS[kind]();
    let (_, mut unread) = reader.read_into(&mut *pattern, &[]);
    let tagged = Common { tag: Some(pattern.name().to_owned()), ..Common::default() };
    let common = reader.read_after(tagged, &[]);
    unread.extend(common.unread);
    let (sizes, unread_sizes) =
        if pattern.takes_sizes() { read_sizes(&reader) } else { (Sizes::default(), Vec::new()) };
    let unreadable = unread.into_iter().map(str::to_owned).chain(unread_sizes).collect();
    let mut block = TrafficSpec { common: common.value, sizes, pattern, unreadable, carrier: 0 };
    read_files(&reader, &mut block, spec);
    Some(Block { reader, spec: block })
}

/// The table `sizes`, and what of it could not be read.
fn read_sizes(reader: &Reader<'_>) -> (Sizes, Vec<String>) {
    let Some(table) = reader.table("sizes", SIZES_EXAMPLE) else {
        let unread = if reader.has("sizes") { vec!["sizes".to_owned()] } else { Vec::new() };
        return (Sizes::default(), unread);
    };
    table.no_other_keys_than(&Shape::of(&[Sizes::FIELDS]));
    let own = table.read();
    (own.value, own.unread.iter().map(|key| format!("sizes.{key}")).collect())
}

/// Reads the files that a block names.
fn read_files(reader: &Reader<'_>, block: &mut TrafficSpec, spec: &mut WorkloadSpec) {
    let own = block.pattern.fields().iter().filter(|field| field.kind == "file").map(|field| field.name);
    for name in block.file_names() {
        let from_sizes = block.sizes.file.as_ref() == Some(&name);
        let key = if from_sizes { "sizes.file" } else { own.clone().next().unwrap_or("file") };
        if block.unreadable.contains(key) {
            continue;
        }
        match reader.file(key, &name.0) {
            Some(bytes) => drop(spec.files.insert(name.0, bytes)),
            None => drop(block.unreadable.insert(key.to_owned())),
        }
    }
}

/// Reports blocks that would start after the end of the run.
fn starts_in_time(block: &Block<'_>, stop: Option<Stop>) {
    if let Some(end) = stop.map(Stop::latest)
        && Instant::ZERO.after(block.spec.common.start) >= end
    {
        let ends = Picos(end.0);
        let reason = format!("is not before the end of the run; use less than \"{ends}\"");
        block.reader.refuse("start", reason);
    }
}

/// Finds the transport of each of the blocks that could be read; `count` were written.
fn carry(blocks: &mut [Block<'_>], transports: &[Transport<'_>], count: usize) {
    let mut carriers = Vec::new();
    for Block { reader, spec } in blocks.iter_mut() {
        if spec.unreadable.contains("transport") {
            continue;
        }
        if let Some(number) = carrier(reader, spec.common.transport.as_deref(), transports) {
            spec.carrier = number;
            carriers.push(number);
        }
    }
    // Nothing is concluded from blocks that cannot be understood.
    if carriers.len() == count && transports.len() > 1 {
        check_use(transports, &carriers);
    }
}

/// Sessions that not every transport can carry need one that can.
fn check_sessions(
    blocks: &[Block<'_>],
    workload: &CheckedWorkload,
    transports: &[Transport<'_>],
    topology: &Topology,
) {
    let crowded = topology.hosts.ids().any(|host| topology.addr(host).group_number().is_some());
    let names = |able: fn(&ProtocolEntry) -> bool| {
        PROTOCOLS.iter().filter(|row| able(row)).map(|row| row.name).collect::<Vec<_>>().join(" or ")
    };
    for (number, Block { reader, spec }) in blocks.iter().enumerate() {
        let Some(carrier) = transports.get(usize::from(spec.carrier)) else { continue };
        let (joins, protocol) = (workload.joins(number), carrier.carried.config.entry());
        if joins.multicast && crowded {
            let reason = "needs addresses for groups, of which hosts of this topology have some; write copies = \"unicast\", or use \
                          a smaller topology";
            reader.refuse_as("copies", "\"multicast\"".to_owned(), reason);
        }
        if joins.multicast && !protocol.multicasts {
            let able = names(|row| row.multicasts);
            let reason = format!(
                "needs a transport whose packets serve several receivers, which {} is not; write copies = \"unicast\", or \
                 use the transport {able}",
                protocol.name
            );
            reader.refuse_as("copies", "\"multicast\"".to_owned(), reason);
        }
        if joins.sources && !protocol.joins_senders {
            let able = names(|row| row.joins_senders);
            let reason = format!(
                "needs a transport that joins the symbols of several senders, which {} does not; write parts = \"plain\", or \
                 use the transport {able}",
                protocol.name
            );
            reader.refuse_as("parts", "\"coded\"".to_owned(), reason);
        }
    }
}

/// For a wrong topology: reports the errors of the traffic that do not depend on hosts, such as an error in a file.
fn report_without_hosts(blocks: &[Block<'_>], spec: &WorkloadSpec) {
    let mut spec = WorkloadSpec { end: None, ..spec.clone() };
    spec.traffic.iter_mut().for_each(|block| block.common.hosts = Common::default().hosts);
    let found = spec.check(&HostLayout::uniform(1024, BitsPerSec::gbps(10)));
    let depends = |error: &&WorkloadError| matches!(error, WorkloadError::InBlock { problem, .. } if problem.depends_on_hosts());
    found.iter().filter(|error| !depends(error)).for_each(|error| report(blocks, error));
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
        Fault::Setting { key, value, reason, .. } => {
            let value = shortened(value);
            match reader.shown(key) {
                Some(shown) if is_same(&shown, &value) => reader.refuse(key, reason),
                Some(shown) => reader.refuse_as(key, format!("{shown}: {value}"), reason),
                None => reader.refuse_as(key, value, reason),
            }
        }
        Fault::Whole { reason } => reader.refuse_table(reason),
        Fault::Missing { key, remedy } => reader.missing(key, (*remedy).to_owned()),
        Fault::File { key, error } => {
            let is_table = error.file.to_ascii_lowercase().ends_with(".parquet");
            let place = match error.line {
                1 if is_table => "its columns".to_owned(),
                line if is_table => format!("row {}", line - 1),
                line => format!("line {line}"),
            };
            reader.refuse_file(key, &error.file, &format!("{place}: {}", error.fault))
        }
    }
}

/// Whether `shown`, as it was written, says `value`: as text, a number, a size or a time.
fn is_same(shown: &str, value: &str) -> bool {
    let [shown, value] = [shown, value].map(|text| text.trim_matches('"').replace(' ', ""));
    shown == value
        || same::<f64>(&shown, &value)
        || same::<Bytes>(&shown, &value)
        || same::<Picos>(&shown, &value)
}

fn same<T: FromStr + PartialEq>(a: &str, b: &str) -> bool {
    a.parse::<T>().is_ok_and(|a| b.parse().is_ok_and(|b: T| a == b))
}

/// The properties of `topology` that a workload needs.
pub(crate) fn network_of(topology: &Topology) -> HostLayout {
    let rack = |host: HostId| match topology.hosts[host].peer {
        HostPeer::Switch { switch, .. } => switch.get(),
        HostPeer::Host(_) => host.get(),
    };
    HostLayout {
        rates: topology.hosts.iter().map(|host| host.link.rate).collect(),
        racks: topology.hosts.ids().map(rack).collect(),
    }
}
