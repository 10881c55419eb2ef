//! The list of settings in `docs/host.md` is made from the code. `BLESS=1` rewrites it.

use std::fs;
use std::path::Path;

use pullnet_config::listing;
use pullnet_daemon::config::shape;

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
