//! The list of settings in `docs/switch.md` is made from the code. `BLESS=1` writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pullnet_scenario::reading::{Shape, SubTable};
use pullnet_settings::Field;
use pullnet_switch::config::shape;

const BEGIN: &str =
    "<!-- settings: made from the code by BLESS=1 cargo test -p pullnet-switch --test reference -->\n";
const END: &str = "<!-- end of settings -->";

fn row(out: &mut String, field: &Field) {
    let default = match (field.required, field.default) {
        (true, _) => "required".to_owned(),
        (false, "") => String::new(),
        (false, default) => format!("`{default}`"),
    };
    let range = match field.range {
        ("", _) if field.choices.is_empty() => String::new(),
        ("", _) => field.choices.join(", "),
        (low, high) => format!("{low} to {high}"),
    };
    let help = field.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(out, "| `{}` | {default} | {range} | {help} |", field.name).unwrap();
}

fn table(out: &mut String, title: &str, help: &str, shape: &Shape) {
    write!(out, "\n**{title}** {help}\n\n| setting | default | range | what it is |\n|---|---|---|---|\n")
        .unwrap();
    shape.fields().for_each(|field| row(out, field));
}

fn sub(out: &mut String, table_of: &SubTable) {
    let title =
        if table_of.list { format!("`[[{}]]`", table_of.name) } else { format!("`[{}]`", table_of.name) };
    if table_of.name == "switch" {
        write!(out, "\n**{title}** {} See [scenario.md](scenario.md).\n", table_of.doc).unwrap();
    } else {
        table(out, &title, table_of.doc, &table_of.shape);
    }
}

fn reference() -> String {
    let (mut out, shape) = (String::new(), shape());
    table(&mut out, "At the top", "of the file.", &shape);
    shape.tables.iter().for_each(|table| sub(&mut out, table));
    out.push('\n');
    out
}

#[test]
fn the_document_has_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/switch.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the place where settings begin");
    let (found, after) = rest.split_once(END).expect("the place where they end");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", reference())).unwrap();
    } else {
        assert_eq!(
            found,
            reference(),
            "BLESS=1 cargo test -p pullnet-switch --test reference writes it anew"
        );
    }
}
