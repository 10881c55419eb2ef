//! stencil-name: one packet at a time. `README.md` beside this crate lists the rules with their sources.
#![no_std]

extern crate alloc;

mod config;
mod endpoint;
mod header;

pub use config::StencilNameConfig;
pub use endpoint::{StencilNameEndpoint, StencilNameRules};
pub use header::StencilNameHeader;

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};

/// The protocol as the registry lists it.
pub struct StencilName;

impl Protocol for StencilName {
    const NAME: &'static str = "stencil-name";
    const SUMMARY: &'static str = "stencil-name: one packet at a time";
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    const IGNORES_MARKS: bool = true;
    type Config = StencilNameConfig;
    type Endpoint = StencilNameEndpoint;

    fn framing(config: &StencilNameConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &StencilNameConfig, _host: HostInfo, chance: RandomStream) -> StencilNameEndpoint {
        StencilNameRules::endpoint(config, chance)
    }
}
