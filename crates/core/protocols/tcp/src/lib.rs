//! TCP NewReno with optional SACK, on the shared machinery of window-based transports.
//!
//! `README.md` beside this crate lists sources, rules and deviations.
#![no_std]

mod wire;

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};
pub use pullnet_window::Segment;
use pullnet_window::{Endpoint, NewReno, window_settings};

window_settings! {
    /// Settings of TCP hosts.
    pub struct TcpConfig {}
}

/// TCP on one host.
pub type TcpEndpoint = Endpoint<NewReno>;

/// The protocol as the registry knows it.
pub struct Tcp;

impl Protocol for Tcp {
    const NAME: &'static str = "tcp";
    const SUMMARY: &'static str = "TCP NewReno (RFC 5681, 6582, 6298) with optional SACK (RFC 2018, 6675)";
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("initial_rto");
    const IGNORES_MARKS: bool = true;
    type Config = TcpConfig;
    type Endpoint = TcpEndpoint;

    fn framing(config: &TcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn hears_headers(config: &TcpConfig) -> bool {
        config.nack
    }

    fn endpoint(config: &TcpConfig, host: HostInfo, chance: RandomStream) -> TcpEndpoint {
        Endpoint::new(config.rules(), config.growth(), host, chance)
    }
}
