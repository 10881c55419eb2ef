//! Go-back-N: the smallest reliable transport. A fixed window, cumulative ACKs, one timer for each flow.
//!
//! Written to be read: `README.md` beside this crate walks through it.
#![no_std]

extern crate alloc;

mod config;
mod endpoint;
mod header;
mod sender;
mod wire;

pub use config::GoBackNConfig;
pub use endpoint::{GoBackNEndpoint, GoBackNRules};
pub use header::GoBackNHeader;

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};

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

    fn endpoint(config: &GoBackNConfig, _host: HostInfo, chance: RandomStream) -> GoBackNEndpoint {
        GoBackNRules::endpoint(config, chance)
    }
}
