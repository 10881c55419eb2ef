//! PDQ (Hong, Caesar and Godfrey, SIGCOMM 2012): switches let the most critical flows send at full rate and pause the others.
//!
//! `README.md` beside this crate lists the rules with their sources, and the deviations of this implementation.
#![no_std]

extern crate alloc;

mod config;
mod header;
mod sender;
mod wire;

pub use config::PdqConfig;
pub use header::{Ask, PdqHeader, Reply};

use pullnet_connections::{AskingRules, Endpoint};
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};

use crate::sender::Sender;

/// PDQ on one host.
pub type PdqEndpoint = Endpoint<AskingRules<Sender>>;

/// Registry entry of PDQ.
pub struct Pdq;

impl Protocol for Pdq {
    const NAME: &'static str = "pdq";
    const SUMMARY: &'static str = "PDQ (SIGCOMM 2012): switches let the most critical flows send, by deadline, then size, and pause the others";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Turns);
    const RENEWAL_SETTING: Option<&'static str> = Some("most_probing");
    type Config = PdqConfig;
    type Endpoint = PdqEndpoint;

    fn framing(config: &PdqConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &PdqConfig, host: HostInfo, chance: RandomStream) -> PdqEndpoint {
        AskingRules::endpoint(config.clone(), host, chance)
    }
}
