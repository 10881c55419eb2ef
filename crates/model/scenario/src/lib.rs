//! From the text of a scenario to something that can be run, or every error in it.
//!
//! The text is TOML, read by [`pullnet_config`]: [`compile`] applies overrides, and reads tables that are each described
//! once, with [`pullnet_settings::settings!`]. From the same descriptions come
//! the JSON schema ([`schema()`]), the reference ([`reference()`]) and the resolved text ([`Resolved`]).
//!
//! A [`Scenario`] cannot be made in another way and has no setting left to complain about.
//!
//! ```
//! use pullnet_scenario::{Disk, compile, template};
//!
//! let text = template("first");
//! let set = [("topology.k".to_string(), "6".to_string())];
//! let scenario = compile("first.toml", &text, &set, &Disk).unwrap();
//! assert_eq!(scenario.topology.hosts.len(), 54);
//!
//! let errors = compile("first.toml", &text.replace("\"1 us\"", "1"), &[], &Disk).unwrap_err();
//! assert_eq!(
//!     errors[0].to_string(),
//!     "first.toml:11:36: topology.link.delay: 1 has no unit; write it as text, for instance \"1 us\""
//! );
//! ```
//!
//! To add a setting is to add a row to a `settings!` table. To add a protocol, a switch or a traffic pattern nothing
//! here changes: their kinds come from the registries of their rooms. To add a topology is to add a line to
//! `topology::KINDS`.

mod compile;
mod cross_checks;
mod fabrics;
mod fault;
mod host_settings;
mod links;
mod memory;
mod reference;
mod run;
mod scenario;
mod schema;
mod template;
mod topology;
mod topology_kind;
mod traffic;
mod transport;
mod warning_settings;
mod warnings;

pub use compile::compile;
pub use pullnet_config::{
    Disk, Files, Forwarding, Input, Origin, Problem, Resolved, ResolvedTable, ResolvedValue, SpecError,
};
pub use reference::{
    Listed, ReferenceRow, distributions, protocols, reference, switches, topologies,
    traffic as traffic_kinds, warnings as warning_kinds,
};
pub use scenario::{Scenario, Stop};
pub use schema::schema;
pub use template::template;
pub use transport::CarriedBy;
pub use warning_settings::WarningSettings;
pub use warnings::Warning;
