//! Fastpass: an arbiter gives every packet a timeslot and a path (Perry et al., SIGCOMM 2014).
//!
//! `README.md` beside this crate lists the rules with their sources, and where this implementation deviates from them. The
//! arbiter's rules are in `arbiter`, which uses `matching` and `colouring`; the source's are in `sender`, the destination's in
//! `endpoint/receiving`, and those for a host whose arbiter is silent in `liaison`.
#![no_std]

extern crate alloc;

mod arbiter;
mod colouring;
mod config;
mod endpoint;
mod header;
mod liaison;
mod matching;
mod sender;

pub use config::{FastpassConfig, Matching, SlotStart};
pub use endpoint::{FastpassEndpoint, FastpassRules};
pub use header::{Allocation, Demand, FastpassHeader, MOST_SLOTS};

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};

/// The protocol as the registry knows it.
pub struct Fastpass;

impl Protocol for Fastpass {
    const NAME: &'static str = "fastpass";
    const SUMMARY: &'static str =
        "Fastpass (SIGCOMM 2014): an arbiter gives every packet a timeslot and a path";
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("resend");
    const HOST_SETTINGS: &'static [&'static str] = &["arbiter", "backup"];
    const RACK_SETTING: Option<&'static str> = Some("rack");
    type Config = FastpassConfig;
    type Endpoint = FastpassEndpoint;

    fn framing(config: &FastpassConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &FastpassConfig, host: HostInfo, chance: RandomStream) -> FastpassEndpoint {
        FastpassRules::endpoint(config, host, chance)
    }
}
