//! Code shared by several fuzz targets.

pub mod edit;

use std::collections::BTreeMap;

use toml::Value;

/// `bytes` as text, if they are text.
pub fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Splits an input at its first line break; the first line selects how the rest is read.
pub fn first_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// Splits an input of the targets that read scenarios: overrides as lines `path=value`, a line `---`, and the scenario.
pub fn scenario_and_overrides(input: &str) -> (&str, Vec<(String, String)>) {
    let Some((head, text)) = input.split_once("---\n") else { return (input, Vec::new()) };
    let pair = |line: &str| line.split_once('=').map(|(path, value)| (path.to_owned(), value.to_owned()));
    (text, head.lines().filter_map(pair).collect())
}

/// Files that a scenario may refer to.
pub fn files() -> BTreeMap<String, Vec<u8>> {
    let files: [(&str, &str); 6] = [
        ("flows.csv", "src,dst,bytes,start\n0,1,9000,0 us\n1,0,1,5 us\n"),
        ("sizes.csv", "bytes,cdf\n100,0.5\n20000,1\n"),
        ("m.cm", "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 5000\n"),
        ("hpcc.txt", "2\n0 1 3 100 9000 0.000001\n1 0 3 100 1 0.000002\n"),
        ("net.toml", include_str!("../seeds/topology/two-racks.toml")),
        ("net.topo", include_str!("../seeds/topology/tree.topo")),
    ];
    // The seeds of the topology target begin with a line for the format.
    let content = |text: &str| {
        text.strip_prefix("toml\n").or_else(|| text.strip_prefix("topo\n")).unwrap_or(text).into()
    };
    files.into_iter().map(|(name, text)| (name.to_owned(), content(text))).collect()
}

/// Whether a scenario's numbers are small enough for it to be built or rejected in little time and memory. A thousand hosts
/// find as many parser bugs as a million.
pub fn modest(text: &str, overrides: &[(String, String)]) -> bool {
    let small = |(_, value): &(String, String)| value.bytes().filter(u8::is_ascii_digit).count() <= 1;
    let Ok(table) = text.parse::<toml::Table>() else { return true };
    let topology = table.get("topology").is_none_or(|topology| largest(topology) <= 8);
    let traffic = table.get("traffic").is_none_or(|traffic| largest(traffic) <= 100);
    topology && traffic && overrides.iter().all(small)
}

/// The largest whole number anywhere in `value`.
fn largest(value: &Value) -> i64 {
    match value {
        Value::Integer(number) => number.saturating_abs(),
        Value::Array(items) => items.iter().map(largest).max().unwrap_or(0),
        Value::Table(table) => table.values().map(largest).max().unwrap_or(0),
        _ => 0,
    }
}

/// Whether no number of `text` has more than `digits` digits.
pub fn short_numbers(text: &str, digits: usize) -> bool {
    text.split(|c: char| !c.is_ascii_digit()).all(|run| run.len() <= digits)
}
