use std::fmt;

use pullnet_settings::{AnySettings, Refused, Setting, Value, settings};
use pullnet_units::Bytes;

use crate::distribution::{Reading, SizeDistribution};
use crate::error::Problem;
use crate::shipped;

/// The size of a flow: some bytes, or endless.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSize(pub Option<Bytes>);

impl FlowSize {
    /// Never ends.
    pub const ENDLESS: Self = Self(None);

    /// `bytes` bytes.
    pub const fn bytes(bytes: u64) -> Self {
        Self(Some(Bytes(bytes)))
    }
}

impl Setting for FlowSize {
    const KIND: &'static str = "flow size";
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        if value == Value::Text("endless") {
            return Ok(Self::ENDLESS);
        }
        match Bytes::read(value) {
            Ok(Bytes(0)) => {
                Err(Refused("is a flow without a byte; use at least \"1 B\", or \"endless\"".to_string()))
            }
            Ok(bytes) => Ok(Self(Some(bytes))),
            Err(refused) => Err(Refused(format!("{refused}, or \"endless\""))),
        }
    }
    fn write(&self) -> String {
        self.0.map_or("\"endless\"".to_string(), |bytes| bytes.write())
    }
}

/// The name of a file, relative to the scenario's folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FileName(pub String);

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Setting for FileName {
    const KIND: &'static str = "file";
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        match value {
            Value::Text(text) => Ok(Self(text.to_string())),
            _ => Err(Refused("is no file name; write it in quotes".to_string())),
        }
    }
    fn write(&self) -> String {
        self.0.write()
    }
}

settings! {
    /// The table `sizes`: where flow sizes come from. Exactly one of `fixed`, `distribution` and `file`.
    pub struct Sizes {
        /// Every flow has this size.
        fixed: Option<Bytes> = "" in "1 B" => "1000 TB",
        /// A distribution that comes with pullnet; `pullnet list distributions` names them.
        distribution: Option<String> = "",
        /// A CSV file with the columns bytes,cdf.
        file: Option<FileName> = "",
        /// How the rows of the distribution are read: "steps" puts all flows between two rows at the upper size,
        /// "linear" spreads them evenly. It changes the mean. A file has to state it; a shipped distribution is read
        /// as its source reads it unless stated.
        read: Option<Reading> = "",
    }
}

/// Remedy for missing sizes.
const REMEDY: &str = "add for instance sizes = { fixed = \"90 kB\" }, { distribution = \"web-search\" } or { file = \"x.csv\", read = \"steps\" }";

impl Sizes {
    /// Every flow has `bytes` bytes.
    pub fn fixed(bytes: u64) -> Self {
        Self { fixed: Some(Bytes(bytes)), ..Self::default() }
    }

    /// The shipped distribution `name`, read as its source does.
    pub fn shipped(name: &str) -> Self {
        Self { distribution: Some(name.to_string()), ..Self::default() }
    }

    /// The distribution in `file`.
    pub fn file(file: &str, read: Reading) -> Self {
        Self { file: Some(FileName(file.to_string())), read: Some(read), ..Self::default() }
    }

    /// Whether nothing is stated.
    pub fn is_unstated(&self) -> bool {
        *self == Self::default()
    }

    /// The distribution; `contents` gives those of a file.
    pub(crate) fn distribution<'a>(
        &self,
        contents: impl FnOnce(&FileName) -> Result<&'a [u8], Problem>,
    ) -> Result<SizeDistribution, Problem> {
        match (self.fixed, &self.distribution, &self.file) {
            (Some(bytes), None, None) => self.fixed_size(bytes),
            (None, Some(name), None) => shipped::find(name, self.read),
            (None, None, Some(file)) => self.read_file(file, contents(file)?),
            (None, None, None) => Err(Problem::Missing { key: "sizes", remedy: REMEDY }),
            _ => Err(Problem::new(
                "sizes",
                self.stated(),
                "are too many sources; keep one of fixed, distribution and file",
            )),
        }
    }

    fn fixed_size(&self, bytes: Bytes) -> Result<SizeDistribution, Problem> {
        match self.read {
            Some(read) => {
                Err(Problem::new("sizes.read", read.as_str(), "has no effect on a fixed size; remove it"))
            }
            None => Ok(SizeDistribution::fixed(bytes)),
        }
    }

    fn read_file(&self, file: &FileName, contents: &[u8]) -> Result<SizeDistribution, Problem> {
        let remedy =
            "state read = \"steps\" or read = \"linear\": the two readings of a file differ in the mean";
        let read = self.read.ok_or(Problem::Missing { key: "sizes.read", remedy })?;
        SizeDistribution::parse(&file.0, contents, read).map_err(Problem::in_file("sizes.file"))
    }

    fn stated(&self) -> String {
        let keys = self.fields().iter().map(|field| field.name);
        let stated = keys.filter(|key| self.get_field(key).is_some_and(|text| !text.is_empty()));
        stated.collect::<Vec<_>>().join(", ")
    }
}
