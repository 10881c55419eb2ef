//! `docs/scenario.md` is made from the descriptions of the settings. With `BLESS=1` in the environment the test writes
//! it instead of comparing.

use std::fmt::Write as _;
use std::path::Path;

use pullnet_scenario::{
    Listed, ReferenceRow, distributions, protocols, reference, switches, topologies, traffic_kinds,
};

const HEAD: &str = r#"# The scenario file

A scenario is a TOML file. This is a whole one; everything that it does not say has a default.

```toml
name = "NDP, 432-host permutation"
seed = 1                                      # of every random stream
duration = "20 ms"                            # or: until = "all flows done"
measure = { from = "5 ms" }                   # the measurement window

[topology]
kind = "fat-tree"
k = 12
link = { rate = "10 Gbps", delay = "1 us" }

[transport]
kind = "ndp"
initial_window = "23 packets"

[switch]
kind = "trim"
data_queue = "8 packets"

[[traffic]]                                   # as many blocks as there are kinds of traffic
kind = "permutation"
size = "endless"
```

Quantities are text with their unit: `"10 Gbps"`, `"9000 B"`, `"1 us"`, `"8 packets"`. A number without a unit and an
unknown key are errors, and most settings that have no effect give a warning; `pullnet check FILE` shows all of them at once,
or every value in force with where it came from. `--set topology.k=8` sets a value from the command line, `--set traffic.1.load=0.8` one
of the second traffic block. `pullnet schema` prints a JSON schema for editors. File names are relative to the
scenario's folder; [formats.md](formats.md) has the grammar and an example of each kind of file.

The rest of this page is made from the descriptions that the reader of scenarios itself uses. *Required* means that the
file has to state it; an empty default means that the setting is off, or follows from others as its description says.
"#;

fn names(text: &mut String, listed: &[Listed]) {
    text.push_str("\n| name | what it is |\n|---|---|\n");
    listed
        .iter()
        .for_each(|row| writeln!(text, "| `{}` | {} |", row.name, row.summary).expect("a string takes all"));
}

/// `text` in a cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

fn setting(row: &ReferenceRow) -> String {
    let field = &row.field;
    let default = if field.required { "*required*".to_owned() } else { code(field.default) };
    let choices: Vec<_> = field.choices.iter().map(|choice| code(choice)).collect();
    let range = match field.range {
        ("", "") => choices.join(", "),
        (low, high) => format!("{} to {}", code(low), code(high)),
    };
    format!("| `{}` | {} | {default} | {range} | {} |", field.name, field.kind, cell(&field.help()))
}

fn heading(table: &str) -> String {
    match table {
        "" => "The top of the file".to_owned(),
        "traffic" | "fault" => format!("`[[{table}]]`"),
        table => format!("`[{table}]`"),
    }
}

/// Settings that stand together, and the tables in which they all can stand.
struct Section {
    tables: Vec<String>,
    of_kind: &'static str,
    rows: Vec<String>,
}

/// Rows by table; tables of one kind that hold the same, such as the links of a topology, become one section.
fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for row in reference() {
        let same = |last: &Section| last.tables == [row.table.clone()] && last.of_kind == row.of_kind;
        match sections.last_mut().filter(|last| same(last)) {
            Some(last) => last.rows.push(setting(&row)),
            None => {
                let (tables, rows) = (vec![row.table.clone()], vec![setting(&row)]);
                sections.push(Section { tables, of_kind: row.of_kind, rows });
            }
        }
    }
    sections.dedup_by(|next, last| {
        let same = next.of_kind == last.of_kind && next.rows == last.rows;
        if same {
            last.tables.append(&mut next.tables);
        }
        same
    });
    sections
}

fn section(text: &mut String, section: &Section) {
    let tables: Vec<_> = section.tables.iter().map(|table| heading(table)).collect();
    let of_kind =
        if section.of_kind.is_empty() { String::new() } else { format!(" of kind `{}`", section.of_kind) };
    let head = "| key | kind | default | range or choices | meaning |\n|---|---|---|---|---|";
    writeln!(text, "\n## {}{of_kind}\n\n{head}", tables.join(", ")).expect("a string takes all");
    section.rows.iter().for_each(|row| writeln!(text, "{row}").expect("a string takes all"));
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    let kinds = [
        ("Topologies", topologies()),
        ("Transports", protocols()),
        ("Switches", switches()),
        ("Kinds of traffic", traffic_kinds()),
        ("Flow size distributions", distributions()),
    ];
    for (title, listed) in kinds {
        writeln!(text, "\n## {title}").expect("a string takes all");
        names(&mut text, &listed);
    }
    sections().iter().for_each(|rows| section(&mut text, rows));
    text
}

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/scenario.md");
    let document = document();
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(&path, document).expect("docs/scenario.md can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == document,
        "docs/scenario.md is out of date; run `BLESS=1 cargo test -p pullnet-scenario --test reference`"
    );
}
