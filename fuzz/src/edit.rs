//! Mutates scenarios such that they stay well-formed: random bytes seldom pass the first line of a parser.

use std::sync::OnceLock;

use pullnet_rng::{RandomStream, Seed};
use pullnet_scenario::{ReferenceRow, reference};

/// Values of every type, valid and invalid.
const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "-1",
    "0.0",
    "0.5",
    "0.999",
    "1.0",
    "1.5",
    "true",
    "false",
    "\"\"",
    "\"0 ps\"",
    "\"1 ps\"",
    "\"1 ns\"",
    "\"1 us\"",
    "\"10 us\"",
    "\"1 ms\"",
    "\"50 ms\"",
    "\"213 days\"",
    "\"5000000 s\"",
    "\"1 B\"",
    "\"7 B\"",
    "\"63 B\"",
    "\"64 B\"",
    "\"65 B\"",
    "\"128 B\"",
    "\"256 B\"",
    "\"1500 B\"",
    "\"9000 B\"",
    "\"60000 B\"",
    "\"72 kB\"",
    "\"9223372036854775807 B\"",
    "\"1 kbps\"",
    "\"1 Gbps\"",
    "\"10 Gbps\"",
    "\"1000 Tbps\"",
    "\"1 packets\"",
    "\"2 packets\"",
    "\"60 packets\"",
    "\"65535 packets\"",
    "\"all\"",
    "\"0\"",
    "\"0..3\"",
    "\"last 2\"",
    "\"endless\"",
    "\"random\"",
    "\"last\"",
    "\"all links\"",
    "\"level agg->core\"",
    "\"host 0\"",
    "\"tor 0\"",
    "\"flows.csv\"",
    "\"sizes.csv\"",
    "\"m.cm\"",
    "\"hpcc.txt\"",
    "\"net.toml\"",
    "\"net.topo\"",
    "\"all flows done\"",
    "\"1 us:0.1, 2 us:1\"",
    "[]",
    "{}",
    "{ fixed = \"9 kB\" }",
    "{ distribution = \"web-search\" }",
    "{ file = \"sizes.csv\", read = \"steps\" }",
];

fn rows() -> &'static [ReferenceRow] {
    static ROWS: OnceLock<Vec<ReferenceRow>> = OnceLock::new();
    ROWS.get_or_init(reference)
}

fn pick<'a, T: ?Sized>(items: &[&'a T], chance: &mut RandomStream) -> Option<&'a T> {
    items.get(chance.below(items.len() as u32) as usize).copied()
}

/// A value for the setting of `row`: its default, a bound, one of its choices, or any value.
fn value(row: Option<&ReferenceRow>, chance: &mut RandomStream) -> String {
    let field = row.map(|row| row.field);
    let known: Vec<&str> = field
        .iter()
        .flat_map(|f| [f.default, f.range.0, f.range.1])
        .chain(field.iter().flat_map(|f| f.choices.iter().copied()))
        .filter(|text| !text.is_empty())
        .collect();
    let text =
        if known.is_empty() || chance.below(3) == 0 { pick(VALUES, chance) } else { pick(&known, chance) };
    let text = text.unwrap_or("0");
    let bare =
        text.starts_with(['"', '[', '{']) || text.parse::<f64>().is_ok() || text == "true" || text == "false";
    if bare { text.to_owned() } else { format!("\"{text}\"") }
}

/// The reference row of a key in any table.
fn row_of(key: &str, chance: &mut RandomStream) -> Option<&'static ReferenceRow> {
    let rows: Vec<_> = rows().iter().filter(|row| row.field.name == key).collect();
    pick(&rows, chance)
}

/// One change to the lines of a scenario.
fn change(lines: &mut Vec<String>, chance: &mut RandomStream) -> Option<()> {
    let at = chance.below(lines.len() as u32) as usize;
    let line = lines.get(at)?.clone();
    match (chance.below(8), line.split_once(" = ")) {
        (0, _) => drop(lines.remove(at)),
        (1, _) => lines.insert(at, line),
        (2..=4, _) => {
            let rows: Vec<_> = rows().iter().collect();
            let row = pick(&rows, chance)?;
            let heads = [format!("[{}]", row.table), format!("[[{}]]", row.table)];
            let at = lines.iter().position(|line| heads.contains(line)).map_or(0, |head| head + 1);
            let new = format!("{} = {}", row.field.name, value(Some(row), chance));
            match lines.iter().skip(at).position(|line| line.starts_with(&format!("{} = ", row.field.name))) {
                Some(old) => lines[at + old] = new,
                None => lines.insert(at, new),
            }
        }
        (_, Some((key, _))) => {
            let row = row_of(key, chance);
            lines[at] = format!("{key} = {}", value(row, chance));
        }
        _ => return None,
    }
    Some(())
}

/// Mutates the scenario in `data[..size]` and returns its new size. `None`: use libFuzzer's own mutation this time.
pub fn edit(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> Option<usize> {
    let mut chance = Seed(seed.into()).stream("fuzz.edit", 0);
    if chance.below(4) == 0 {
        return None;
    }
    let text = std::str::from_utf8(&data[..size]).ok()?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=chance.below(3) {
        change(&mut lines, &mut chance)?;
    }
    let text = lines.join("\n") + "\n";
    let room = data.len().min(max_size);
    (text.len() <= room).then(|| {
        data[..text.len()].copy_from_slice(text.as_bytes());
        text.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{files, modest, scenario_and_overrides};

    #[test]
    fn a_good_part_of_the_changed_scenarios_can_run_and_a_good_part_cannot() {
        let seed = include_bytes!("../seeds/run/tree.toml");
        let mut data = vec![0; 4096];
        let compiles = |number: &u32| {
            data[..seed.len()].copy_from_slice(seed);
            let size = edit(&mut data, seed.len(), 4096, *number).unwrap_or(seed.len());
            let text = std::str::from_utf8(&data[..size]).expect("the seed is text");
            let (text, overrides) = scenario_and_overrides(text);
            modest(text, &overrides)
                && pullnet_scenario::compile("x.toml", text, &overrides, &files()).is_ok()
        };
        let good = (0..400).filter(compiles).count();
        assert!((40..=360).contains(&good), "{good} of 400");
    }
}
