//! Go-back-N: the smallest reliable transport. A fixed window, cumulative ACKs, one timer for each flow.
//!
//! Written to be read: `README.md` beside this crate walks through it.
#![no_std]

extern crate alloc;

mod endpoint;
mod header;
mod sender;
mod wire;

pub use endpoint::{GoBackNEndpoint, GoBackNRules};
pub use header::GoBackNHeader;

use pullnet_rng::Stream;
use pullnet_settings::settings;
use pullnet_transport::{Framing, HostInfo, Protocol};
use pullnet_units::{Bytes, Packets, Picos};

settings! {
    /// Settings of go-back-N hosts.
    pub struct GoBackNConfig {
        /// Payload of a full packet. Bytes.
        mtu: Bytes = "9000 B" in "1 B" => "60000 B",
        /// Bytes on the wire of an ACK, and of the header of a data packet.
        header: Bytes = "64 B" in "1 B" => "128 B",
        /// Packets that may be outstanding.
        window: Packets = "16 packets" in "1 packets" => "65535 packets",
        /// Time without progress after which everything outstanding leaves again.
        timeout: Picos = "1 ms" in "1 us" => "100 s",
        /// Timeouts in a row after which a flow fails.
        retries: u32 = 100 in 1 => 10000,
    }
}

/// The protocol as the registry knows it.
pub struct GoBackN;

impl Protocol for GoBackN {
    const NAME: &'static str = "go-back-n";
    const SUMMARY: &'static str = "Go-back-N: fixed window, cumulative ACKs, one timer; to learn from";
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    const IGNORES_MARKS: bool = true;
    type Config = GoBackNConfig;
    type Endpoint = GoBackNEndpoint;

    fn framing(config: &GoBackNConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &GoBackNConfig, _host: HostInfo, chance: Stream) -> GoBackNEndpoint {
        GoBackNRules::endpoint(config, chance)
    }
}
