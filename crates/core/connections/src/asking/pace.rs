use pullnet_transport::{HostInfo, MOST_RATE, RATE_UNIT, RateUnits};
use pullnet_units::Picos;

/// Picoseconds that a byte takes at one unit of rate.
const PER_BYTE: u64 = 8 * 1_000_000_000_000 / RATE_UNIT;
/// The latest sample has a weight of 1 / `SMOOTHING` in the smoothed round-trip time (RFC 6298, section 2).
const SMOOTHING: u64 = 8;

/// Rate of the host's link, as packets carry it.
pub fn link_rate(host: &HostInfo) -> RateUnits {
    (host.rate.get() / RATE_UNIT).clamp(1, MOST_RATE.into()) as RateUnits
}

/// Transmission time of `bytes` at `rate`.
pub fn transmission_time(bytes: u64, rate: RateUnits) -> Picos {
    let time = transmission_work(bytes) / u128::from(rate.max(1));
    Picos(time.min(u64::MAX.into()) as u64)
}

/// Transmission time of `bytes` at one unit of rate. Picoseconds.
pub fn transmission_work(bytes: u64) -> u128 {
    u128::from(bytes) * u128::from(PER_BYTE)
}

/// The next value of a smoothed round-trip time.
pub fn smoothed(rtt: Option<Picos>, measured: Picos) -> Picos {
    rtt.map_or(measured, |rtt| Picos((rtt.0 * (SMOOTHING - 1) + measured.0) / SMOOTHING))
}
