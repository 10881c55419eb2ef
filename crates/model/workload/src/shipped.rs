use crate::distribution::{Reading, SizeDistribution};
use crate::error::Problem;

/// A size distribution that comes with pullnet. Where each is from, and its licence: `data/ORIGIN.md`.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// The name in `sizes = { distribution = "..." }`.
    pub name: &'static str,
    /// Short description.
    pub summary: &'static str,
    /// How its source reads the rows.
    pub reading: Reading,
    csv: &'static str,
}

macro_rules! shipped {
    ($($name:literal, $reading:ident, $summary:literal;)+) => {
        /// Every distribution that comes with pullnet.
        pub const SHIPPED: &[Shipped] = &[$(Shipped {
            name: $name,
            summary: $summary,
            reading: Reading::$reading,
            csv: include_str!(concat!("../data/", $name, ".csv")),
        }),+];
    };
}

shipped! {
    "web-search", Linear, "Web search cluster, flows of 6 packets to 20,000 packets (DCTCP, Alizadeh 2010)";
    "data-mining", Linear, "Data mining cluster, flows of 1 packet to 1 GB (VL2, Greenberg 2009)";
    "imc10", Linear, "Data centre flows of 1 to 2107 packets (Benson 2010, as pHost uses it)";
    "web", Steps, "Facebook web server as ten equally likely sizes (NDP artifact)";
    "hadoop", Steps, "Facebook Hadoop (Roy 2015), the same as homa-w4";
    "cache", Linear, "Facebook cache follower within its cluster, 22 points (Roy 2015)";
    "homa-w1", Steps, "Facebook memcached (Homa W1)";
    "homa-w2", Steps, "Google search RPC (Homa W2)";
    "homa-w3", Steps, "Google, all RPC (Homa W3)";
    "homa-w4", Steps, "Facebook Hadoop (Homa W4)";
    "homa-w5", Steps, "Web search (Homa W5, DCTCP in bytes)";
}

impl Shipped {
    /// The distribution, read as `reading`, or as its source reads it.
    pub fn distribution(&self, reading: Option<Reading>) -> SizeDistribution {
        SizeDistribution::parse(self.name, self.csv.as_bytes(), reading.unwrap_or(self.reading))
            .expect("a shipped distribution is whole")
    }
}

/// The shipped distribution `name`.
pub(crate) fn find(name: &str, reading: Option<Reading>) -> Result<SizeDistribution, Problem> {
    let names = || SHIPPED.iter().map(|shipped| shipped.name).collect::<Vec<_>>().join("\", \"");
    let unknown =
        || Problem::new("sizes.distribution", name, format!("is not known; use one of \"{}\"", names()));
    SHIPPED.iter().find(|shipped| shipped.name == name).map(|s| s.distribution(reading)).ok_or_else(unknown)
}
