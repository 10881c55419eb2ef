use pullnet_transport::{HostInfo, MOST_RATE, RATE_UNIT, RateUnits};
use pullnet_units::{Instant, Picos};

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

/// When the data packets of a flow leave that sends at a granted rate.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Departure time of the latest data packet, as far as the next one is concerned, and its bytes on the wire.
    left: Instant,
    bytes: u32,
    /// Since when the flow may send.
    since: Instant,
}

impl Pace {
    /// A flow that opens at `now`.
    pub fn new(now: Instant) -> Self {
        Self { left: now, bytes: 0, since: now }
    }

    /// The flow may send again, from `now` on.
    pub fn resume(&mut self, now: Instant) {
        self.since = now;
    }

    /// Earliest departure of the next packet at `rate`, which is not 0.
    pub fn next(&self, rate: RateUnits) -> Instant {
        self.left.after(transmission_time(self.bytes.into(), rate))
    }

    /// A packet of `bytes` bytes leaves at `now`, at `rate`. If it is late by at most `catch_up`, because the timer of the
    /// host is, the next ones leave as if it were not; of a longer delay the rest is lost.
    pub fn depart(&mut self, now: Instant, rate: RateUnits, bytes: u32, catch_up: Picos) {
        let earliest = Instant(now.0.saturating_sub(catch_up.0)).max(self.since);
        self.left = self.next(rate).max(earliest).min(now);
        self.bytes = bytes;
    }
}

/// The next value of a smoothed round-trip time.
pub fn smoothed(rtt: Option<Picos>, measured: Picos) -> Picos {
    rtt.map_or(measured, |rtt| Picos((rtt.0 * (SMOOTHING - 1) + measured.0) / SMOOTHING))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Departures of packets of 1250 B at 1 Gb/s, each of them when it is due and `late`, in microseconds.
    fn departures(late: &[u64], catch_up: u64) -> alloc::vec::Vec<u64> {
        const US: u64 = 1_000_000;
        let rate = (1_000_000_000 / RATE_UNIT) as RateUnits;
        let mut pace = Pace::new(Instant(0));
        pace.resume(Instant(100 * US));
        let mut now = Instant(100 * US);
        let mut depart = |late: &u64| {
            now = Instant(now.0.max(pace.next(rate).0) + late * US);
            pace.depart(now, rate, 1250, Picos(catch_up * US));
            now.0 / US
        };
        late.iter().map(&mut depart).collect()
    }

    #[test]
    fn late_departures_are_made_up_for_within_the_bound() {
        assert_eq!(departures(&[0, 0, 25, 0, 0, 0], 0), [100, 110, 145, 155, 165, 175]);
        assert_eq!(departures(&[0, 0, 25, 0, 0, 0], 100), [100, 110, 145, 145, 145, 150]);
        assert_eq!(departures(&[0, 0, 25, 0, 0, 0], 12), [100, 110, 145, 145, 153, 163]);
    }

    #[test]
    fn the_time_before_the_flow_may_send_is_not_made_up_for() {
        assert_eq!(departures(&[0, 0, 0], 1000), [100, 110, 120]);
    }
}
