//! Checks of every optional table, from their list.

use std::collections::BTreeSet;

use pullnet_config::{Disk, Shape, read};
use pullnet_probes::{Facts, Probes, Recorded, Table};
use pullnet_units::Instant;

fn probes(lines: &str) -> Result<Probes, String> {
    let shape = Shape::of(&[]).with(Probes::shape());
    let text = format!("[probes]\n{lines}");
    let read = read("probes.toml", &text, &Disk, &shape, |root| Some(Probes::read(root)));
    read.map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn tables(lines: &str) -> Vec<Table> {
    let facts = Facts { simulated: Instant(0), port_name: &|_| "" };
    Recorded::new(&probes(lines).expect("lines that enable tables")).tables(facts)
}

#[test]
fn the_line_of_each_table_enables_it_and_no_other() {
    assert_eq!(tables(""), []);
    for probe in Probes::all() {
        let names: Vec<_> = tables(&probe.line).iter().map(|table| table.name).collect();
        assert_eq!(names, [probe.table], "{}", probe.line);
        let off = probe.line.replace("true", "false");
        assert!(off == probe.line || tables(&off).is_empty(), "{off}");
    }
}

#[test]
fn tables_and_keys_have_names_of_their_own() {
    let (all, own) = (Probes::all(), ["flows", "hosts", "ports"]);
    let tables: BTreeSet<_> = all.iter().map(|probe| probe.table).chain(own).collect();
    let keys: BTreeSet<_> = all.iter().map(|probe| probe.line.split(' ').next()).collect();
    assert_eq!((tables.len(), keys.len()), (all.len() + own.len(), all.len()));
}

#[test]
fn every_column_has_a_meaning_and_the_unit_that_its_name_ends_in() {
    let lines: Vec<_> = Probes::all().into_iter().map(|probe| probe.line).collect();
    let suffixes = [("_ps", "ps"), ("_us", "us"), ("_gbps", "Gb/s"), ("_bytes", "B")];
    for table in tables(&lines.join("\n")) {
        assert!(table.doc.ends_with('.'), "{}: {:?}", table.name, table.doc);
        let names: BTreeSet<_> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), table.columns.len(), "{}: a name stands twice", table.name);
        for column in table.columns {
            let place = format!("{}.{}: {:?}", table.name, column.name, column.doc);
            assert!(column.doc.ends_with('.') && column.doc.trim() == column.doc, "{place}");
            for (_, unit) in suffixes.iter().filter(|(suffix, _)| column.name.ends_with(suffix)) {
                assert_eq!(column.unit, *unit, "{place}");
            }
        }
    }
}

#[test]
fn an_unknown_table_is_refused_with_those_that_there_are() {
    let error = probes("latencies = true").unwrap_err();
    assert!(error.contains("latencies") && error.contains("latency"), "{error}");
}
