//! SCDP and its predecessor Polyraptor: data as symbols of a rateless code, pulled by the receiver.
//!
//! Any new symbol replaces a lost one, so nothing is ever retransmitted. `README.md` beside this crate lists every rule
//! with its source.
#![no_std]

extern crate alloc;

mod blocks;
mod config;
mod endpoint;
mod group;
mod header;
mod receiver;
mod sender;
mod shape;
mod wire;

pub use config::{PolyraptorConfig, Pulling, ScdpConfig};
pub use endpoint::ScdpEndpoint;
pub use header::{ScdpHeader, Symbol};
pub use shape::{Cut, Shape};

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};

use crate::config::Rules;

/// Registry entry of SCDP.
pub struct Scdp;

impl Protocol for Scdp {
    const NAME: &'static str = "scdp";
    const SUMMARY: &'static str =
        "SCDP: receiver-driven, RaptorQ symbols instead of retransmissions, priority by bytes sent";
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const MULTICASTS: bool = true;
    const JOINS_SENDERS: bool = true;
    type Config = ScdpConfig;
    type Endpoint = ScdpEndpoint;

    fn framing(config: &ScdpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn hears_headers(_: &ScdpConfig) -> bool {
        true
    }

    fn endpoint(config: &ScdpConfig, host: HostInfo, chance: RandomStream) -> ScdpEndpoint {
        ScdpEndpoint::new(Rules::new(config, host.rate), chance)
    }
}

/// Registry entry of Polyraptor: SCDP without blocks, priorities and detached receivers.
pub struct Polyraptor;

impl Protocol for Polyraptor {
    const NAME: &'static str = "polyraptor";
    const SUMMARY: &'static str = "Polyraptor (SIGCOMM 2018 poster), SCDP's predecessor: one block, random repair symbols, one priority";
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const MULTICASTS: bool = true;
    const JOINS_SENDERS: bool = true;
    type Config = PolyraptorConfig;
    type Endpoint = ScdpEndpoint;

    fn framing(config: &PolyraptorConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn hears_headers(_: &PolyraptorConfig) -> bool {
        true
    }

    fn endpoint(config: &PolyraptorConfig, host: HostInfo, chance: RandomStream) -> ScdpEndpoint {
        ScdpEndpoint::new(Rules::polyraptor(config, host.rate), chance)
    }
}
