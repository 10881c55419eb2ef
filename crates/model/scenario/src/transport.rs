//! `[transport]`: the protocol of every host.

use pullnet_config::{Chosen, Kind, Reader, Shape, Unread};
use pullnet_protocols::{PROTOCOLS, ProtocolConfig, ProtocolEntry};

/// The table and what it may hold.
pub(crate) fn shape() -> Shape {
    let kind = |row: &'static ProtocolEntry| Kind {
        name: row.name,
        summary: row.summary,
        shape: Shape::of(&[row.fields]),
    };
    Shape { kinds: PROTOCOLS.iter().map(kind).collect(), ..Shape::default() }
}

/// Reads `[transport]`.
pub(crate) fn read(root: &Reader<'_>) -> Option<(ProtocolConfig, Unread)> {
    let reader = root.required_table("transport", "kind = \"ndp\"")?;
    let row = &PROTOCOLS[reader.kind(&shape(), "ndp")?];
    let config = (row.default)();
    let mut chosen =
        Chosen { config, fields: row.fields, set: ProtocolConfig::set, get: ProtocolConfig::get };
    let (_, unread) = reader.read_into(&mut chosen, &[]);
    Some((chosen.config, unread))
}
