//! D3 (Wilson et al., SIGCOMM 2011) and RCP: hosts request rates; switches allocate them by deadline (D3) or equally (RCP).
//!
//! `README.md` beside this crate lists the rules with their sources, and the deviations of this implementation.
#![no_std]

extern crate alloc;

mod config;
mod header;
mod sender;
mod wire;

pub use config::{D3Config, Late, RcpConfig};
pub use header::{Ask, D3Header, Grants, MOST_HOPS};

use pullnet_connections::{AskingRules, Endpoint};
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};

use crate::config::Parameters;
use crate::sender::Sender;

/// D3 or RCP on one host.
pub type D3Endpoint = Endpoint<AskingRules<Sender>>;

/// Registry entry of D3.
pub struct D3;

impl Protocol for D3 {
    const NAME: &'static str = "d3";
    const SUMMARY: &'static str =
        "D3 (SIGCOMM 2011): switches allocate rates by deadlines; late flows are quenched";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Rates);
    const RENEWAL_SETTING: Option<&'static str> = Some("lease");
    type Config = D3Config;
    type Endpoint = D3Endpoint;

    fn framing(config: &D3Config) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &D3Config, host: HostInfo, chance: RandomStream) -> D3Endpoint {
        AskingRules::endpoint(Parameters::from(config), host, chance)
    }
}

/// Registry entry of RCP for data centres: D3 with a desired rate of 0 for every flow.
pub struct Rcp;

impl Protocol for Rcp {
    const NAME: &'static str = "rcp";
    const SUMMARY: &'static str =
        "RCP for data centres: switches share their capacity equally, whatever the deadlines";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Rates);
    const RENEWAL_SETTING: Option<&'static str> = Some("lease");
    type Config = RcpConfig;
    type Endpoint = D3Endpoint;

    fn framing(config: &RcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &RcpConfig, host: HostInfo, chance: RandomStream) -> D3Endpoint {
        AskingRules::endpoint(Parameters::from(config), host, chance)
    }
}
