//! The lists of settings in `docs/host.md` and in the page for `man` are made from the code. `BLESS=1` rewrites them.

use std::fs;
use std::path::Path;

use pullnet_config::{Shape, listing};
use pullnet_daemon::config::shape;
use pullnet_settings::Field;

const BEGIN: &str =
    "<!-- settings: made from the code by BLESS=1 cargo test -p pullnet-daemon --test reference -->\n";
const END: &str = "<!-- end of settings -->";

#[test]
fn the_document_has_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/host.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the place where settings begin");
    let (found, after) = rest.split_once(END).expect("the place where they end");
    let settings = listing(&shape(), "ndp");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{settings}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, settings, "BLESS=1 cargo test -p pullnet-daemon --test reference writes it anew");
    }
}

/// Escapes what roff would take for its own.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-").replace('`', "");
    if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}") } else { escaped }
}

fn setting(field: &Field) -> String {
    let mut facts = Vec::new();
    match (field.required, field.default) {
        (true, _) => facts.push("Required".to_owned()),
        (false, "") => {}
        (false, default) => facts.push(format!("Default: {default}")),
    }
    match field.range {
        ("", _) if field.choices.is_empty() => {}
        ("", _) => facts.push(format!("one of {}", field.choices.join(", "))),
        (low, high) => facts.push(format!("{low} to {high}")),
    }
    let facts = if facts.is_empty() { String::new() } else { format!("\n{}.", roff(&facts.join("; "))) };
    format!(".TP\n.B {}\n{}{facts}\n", roff(field.name), roff(&field.help()))
}

fn settings(shape: &Shape) -> String {
    shape.fields().map(setting).collect()
}

/// `pullnet-host.toml(5)`.
fn page() -> String {
    let mut out = "\
.\\\" Made from the code by BLESS=1 cargo test -p pullnet-daemon --test reference.
.TH PULLNET-HOST.TOML 5 \"\" \"pullnet\" \"File Formats\"
.SH NAME
pullnet\\-host.toml \\- settings of pullnetd
.SH DESCRIPTION
The file is TOML.
Sizes, times and rates are texts with their units, such as \"1500 B\", \"10 us\" and \"10 Gbps\".
.SH EXAMPLE
.nf
interface = \"eth0\"
address = \"192.0.2.1\"
rate = \"10 Gbps\"

[socket]
group = \"pullnet\"
.fi
.SH TOP OF THE FILE
"
    .to_owned();
    let shape = shape();
    out += &settings(&shape);
    for inner in &shape.tables {
        let title = if inner.list { format!("[[{}]]", inner.name) } else { format!("[{}]", inner.name) };
        out += &format!(".SH {title}\n{}\n", roff(inner.doc));
        out += &settings(&inner.shape);
    }
    out + ".SH SEE ALSO\n.BR pullnetd (8)\n"
}

#[test]
fn the_manual_page_has_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/man/pullnet-host.toml.5");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, page()).unwrap();
    } else {
        let found = fs::read_to_string(&path).unwrap();
        assert_eq!(found, page(), "BLESS=1 cargo test -p pullnet-daemon --test reference writes it anew");
    }
}
