use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pullnet_settings::{Field, Setting, Value};
use pullnet_units::{Bytes, Instant};

use crate::common::Common;
use crate::error::Problem;
use crate::import::parse_flow_list;
use crate::pattern::Pattern;
use crate::sizes::{FileName, FlowSize, Sizes};

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
        crate::patterns::PATTERNS
            .iter()
            .map(|make| make())
            .find(|pattern| pattern.name() == kind)
            .map(Self::boxed)
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
}
