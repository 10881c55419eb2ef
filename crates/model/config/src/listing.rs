//! The settings of a file as Markdown tables, for documentation.

use pullnet_settings::Field;

use crate::shape::{Shape, SubTable};

/// Tables of all settings in a file of this shape. Tables named `elsewhere` are described in `docs/scenario.md`.
pub fn listing(shape: &Shape, elsewhere: &str) -> String {
    let mut out = table("At the top", "of the file.", shape);
    for inner in &shape.tables {
        let SubTable { name, doc, .. } = inner;
        let title = if inner.list { format!("`[[{name}]]`") } else { format!("`[{name}]`") };
        if *name == elsewhere {
            out += &format!("\n**{title}** {doc} See [scenario.md](scenario.md).\n");
        } else {
            out += &table(&title, doc, &inner.shape);
        }
    }
    out.push('\n');
    out
}

fn table(title: &str, help: &str, shape: &Shape) -> String {
    let head =
        format!("\n**{title}** {help}\n\n| setting | default | range | what it is |\n|---|---|---|---|\n");
    shape.fields().map(row).fold(head, |out, row| out + &row)
}

fn row(field: &Field) -> String {
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
    format!("| `{}` | {default} | {range} | {} |\n", field.name, field.help())
}
