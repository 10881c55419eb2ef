//! stencil-name: one packet at a time. `README.md` beside this crate lists the rules with their sources.
#![no_std]

extern crate alloc;

mod endpoint;
mod header;

pub use endpoint::{StencilNameEndpoint, StencilNameRules};
pub use header::StencilNameHeader;

use pullnet_rng::Stream;
use pullnet_settings::settings;
use pullnet_transport::{Framing, HostInfo, Protocol};
use pullnet_units::{Bytes, Picos};

settings! {
    /// Settings of stencil-name hosts.
    pub struct StencilNameConfig {
        /// Payload of a full packet. Bytes.
        mtu: Bytes = "9000 B" in "1 B" => "60000 B",
        /// Bytes on the wire of an ACK, and of the header of a data packet.
        header: Bytes = "64 B" in "1 B" => "128 B",
        /// Time after which a packet without ACK is retransmitted.
        timeout: Picos = "1 ms" in "1 us" => "100 s",
        /// Timeouts in a row after which a flow fails.
        retries: u32 = 100 in 1 => 10000,
    }
}

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

    fn endpoint(config: &StencilNameConfig, _host: HostInfo, chance: Stream) -> StencilNameEndpoint {
        StencilNameRules::endpoint(config, chance)
    }
}
