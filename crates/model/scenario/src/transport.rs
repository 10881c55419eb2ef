//! `[transport]`: the protocol of every host; or `[[transport]]`: several, each with a name.

use pullnet_config::{Chosen, Kind, Reader, Shape, Unread, listed, remedy};
use pullnet_protocols::{MOST_KINDS, PROTOCOLS, ProtocolConfig, ProtocolEntry};
use pullnet_settings::{Settings, settings};

settings! {
    /// Settings of every transport, of any protocol.
    pub struct TransportSettings {
        /// Name of the transport in traffic blocks and results; by default its kind. No two transports of a scenario have
        /// the same name.
        name: Option<String> = "",
        /// The class of the switches' queues that all its packets use, where the switch has several: their priority on the
        /// network. By default the transport decides.
        class: Option<u8> = "" in 0 => 7,
    }
}

/// A transport that hosts have.
#[derive(Clone, PartialEq, Debug)]
pub struct CarriedBy {
    /// Name of the transport in traffic blocks and results.
    pub name: String,
    /// Its protocol and its settings.
    pub config: ProtocolConfig,
    /// Priority of its packets at switches; `None`: as the protocol sets it.
    pub class: Option<u8>,
}

/// A transport and the table that it was read from.
pub(crate) struct Transport<'a> {
    pub reader: Reader<'a>,
    pub carried: CarriedBy,
    pub unread: Unread,
}

/// The table and what it may hold.
pub(crate) fn shape() -> Shape {
    let kind = |row: &'static ProtocolEntry| Kind {
        name: row.name,
        summary: row.summary,
        shape: Shape::of(&[row.fields]),
    };
    Shape { kinds: PROTOCOLS.iter().map(kind).collect(), ..Shape::of(&[TransportSettings::FIELDS]) }
}

/// Reads `[transport]` or `[[transport]]`. `None`: one of them, or all, cannot be told.
pub(crate) fn read<'a>(root: &Reader<'a>) -> Option<Vec<Transport<'a>>> {
    let readers = if root.is_list("transport") {
        if root.is_empty_list("transport") {
            root.refuse(
                "transport",
                "has no entry; add at least one [[transport]], for instance kind = \"ndp\"",
            );
        }
        root.list("transport")
    } else {
        root.required_table("transport", "kind = \"ndp\"").into_iter().collect()
    };
    let count = readers.len();
    let read: Vec<_> = readers.into_iter().filter_map(read_one).collect();
    if read.is_empty() || read.len() < count {
        return None;
    }
    check_names(&read);
    check_number(root, &read);
    Some(read)
}

fn read_one(reader: Reader<'_>) -> Option<Transport<'_>> {
    let own = reader.read::<TransportSettings>();
    let row = &PROTOCOLS[reader.kind(&shape(), "ndp")?];
    let config = (row.default)();
    let mut chosen =
        Chosen { config, fields: row.fields, set: ProtocolConfig::set, get: ProtocolConfig::get };
    let (_, unread) = reader.read_into(&mut chosen, &[]);
    let name = own.value.name.unwrap_or_else(|| row.name.to_owned());
    let carried = CarriedBy { name, config: chosen.config, class: own.value.class };
    Some(Transport { reader, carried, unread })
}

/// No two transports may have the same name.
fn check_names(transports: &[Transport<'_>]) {
    for (number, Transport { reader, carried, .. }) in transports.iter().enumerate() {
        let other = transports[..number].iter().position(|other| other.carried.name == carried.name);
        if let Some(other) = other {
            let reason = format!("is the name of transport.{other} as well; give each a name of its own");
            reader.refuse_as("name", format!("{:?}", carried.name), reason);
        }
    }
}

/// The packet types of all transports have to fit into a packet's header.
fn check_number(root: &Reader<'_>, transports: &[Transport<'_>]) {
    let kinds: usize = transports.iter().map(|transport| transport.carried.config.kinds().len()).sum();
    if kinds > MOST_KINDS {
        let count = |Transport { carried, .. }: &Transport<'_>| {
            format!("{} {}", carried.name, carried.config.kinds().len())
        };
        let counts: Vec<_> = transports.iter().map(count).collect();
        root.refuse(
            "transport",
            format!(
                "has {kinds} packet types ({}), and a run has room for {MOST_KINDS}; use fewer transports",
                counts.join(", ")
            ),
        );
    }
}

/// The number of the transport that carries a block with the setting `transport`. Errors are reported.
pub(crate) fn carrier(block: &Reader<'_>, wanted: Option<&str>, transports: &[Transport<'_>]) -> Option<u8> {
    let names: Vec<_> = transports.iter().map(|transport| transport.carried.name.as_str()).collect();
    let Some(wanted) = wanted else {
        if names.len() > 1 {
            block.missing("transport", format!("the scenario has {}; name one of them", listed(&names)));
        }
        return (names.len() == 1).then_some(0);
    };
    let found = names.iter().position(|name| *name == wanted);
    if found.is_none() {
        block.refuse("transport", format!("is no transport of the scenario; {}", remedy(wanted, &names)));
    }
    found.and_then(|number| u8::try_from(number).ok())
}

/// A transport that carries nothing was meant for some block that says otherwise.
pub(crate) fn check_use(transports: &[Transport<'_>], carriers: &[u8]) {
    for Transport { reader, carried, .. } in transports {
        let name = &carried.name;
        if !carriers.iter().any(|carrier| transports[usize::from(*carrier)].carried.name == *name) {
            reader.refuse_table(format!(
                "carries no traffic; write transport = {name:?} in a [[traffic]] block, or remove it"
            ));
        }
    }
}
