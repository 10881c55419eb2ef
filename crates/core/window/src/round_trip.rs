use pullnet_units::{Instant, Picos};

/// Bounds of the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerRules {
    /// Least timeout.
    pub floor: Picos,
    /// Timeout before the first sample.
    pub initial: Picos,
    /// Largest timeout, doublings included.
    pub ceiling: Picos,
    /// Granularity of the clock: least value of the variance term.
    pub granularity: Picos,
    /// Interval between two looks at all timers; 0 = a timer runs out at its exact time.
    pub scan: Picos,
}

impl TimerRules {
    /// When a timer that ends at `end` is noticed: at the first scan after it.
    fn noticed(&self, end: Instant) -> Instant {
        match end.0.checked_div(self.scan.0) {
            Some(scans) => Instant((scans + 1).saturating_mul(self.scan.0)),
            None => end,
        }
    }
}

/// Largest number of doublings counted; the largest timeout is reached long before.
const MAX_DOUBLINGS: u8 = 40;
/// Growth of the initial timeout after a lost SYN: from 1 s to 3 s (RFC 6298, rule 5.7).
const AFTER_LOST_SYN: u64 = 3;

/// Round-trip estimator and retransmission timeout (RFC 6298).
#[derive(Clone, Copy, Default, Debug)]
pub struct RoundTrip {
    /// SRTT and RTTVAR, picoseconds; `None` before the first sample.
    estimate: Option<(u64, u64)>,
    doublings: u8,
    syn_was_lost: bool,
}

impl RoundTrip {
    /// Rules 2.2 and 2.3. The caller keeps to Karn's rule: no sample from a retransmitted packet. A sample ends the
    /// backoff (section 5, note after 5.7).
    pub fn sample(&mut self, measured: Picos) {
        let measured = measured.0;
        self.estimate = Some(match self.estimate {
            None => (measured, measured / 2),
            Some((mean, variation)) => {
                let error = mean.abs_diff(measured);
                (mean - mean / 8 + measured / 8, variation - variation / 4 + error / 4)
            }
        });
        self.doublings = 0;
    }

    /// Rule 5.5: doubles the timeout.
    pub fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(MAX_DOUBLINGS);
    }

    /// Rule 5.7: the SYN had to be retransmitted. The backoff of the handshake does not apply to data, but the initial
    /// timeout is longer.
    pub fn after_lost_syn(&mut self) {
        (self.doublings, self.syn_was_lost) = (0, true);
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Picos> {
        self.estimate.map(|(mean, _)| Picos(mean))
    }

    /// The retransmission timeout: rules 2.1 to 2.5 and the backoff.
    pub fn timeout(&self, rules: &TimerRules) -> Picos {
        let base = match self.estimate {
            Some((mean, variation)) => {
                Picos(mean.saturating_add(variation.saturating_mul(4).max(rules.granularity.0)))
            }
            None if self.syn_was_lost => rules.initial.saturating_mul(AFTER_LOST_SYN),
            None => rules.initial,
        };
        base.max(rules.floor).saturating_mul(1 << self.doublings).min(rules.ceiling.max(rules.floor))
    }

    /// When a timer that starts at `now` runs out.
    pub fn due(&self, now: Instant, rules: &TimerRules) -> Instant {
        rules.noticed(now.after(self.timeout(rules)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Picos {
        Picos::from_millis(n)
    }

    const RULES: TimerRules = TimerRules {
        floor: ms(1),
        initial: ms(1000),
        ceiling: ms(60_000),
        granularity: ms(1),
        scan: Picos(0),
    };

    #[test]
    fn the_first_sample_sets_the_timeout_to_three_round_trips() {
        let mut trip = RoundTrip::default();
        assert_eq!(trip.timeout(&RULES), ms(1000));
        trip.sample(ms(8));
        assert_eq!((trip.smoothed(), trip.timeout(&RULES)), (Some(ms(8)), ms(8 + 4 * 4)));
    }

    #[test]
    fn later_samples_count_an_eighth_and_their_error_a_quarter() {
        let mut trip = RoundTrip::default();
        trip.sample(ms(8));
        trip.sample(ms(16));
        // SRTT 7/8 8 + 1/8 16 = 9; RTTVAR 3/4 4 + 1/4 8 = 5.
        assert_eq!(trip.timeout(&RULES), ms(9 + 4 * 5));
    }

    #[test]
    fn floor_granularity_and_ceiling_bound_the_timeout() {
        let rules = TimerRules { floor: ms(200), granularity: ms(10), ..RULES };
        let mut trip = RoundTrip::default();
        (0..100).for_each(|_| trip.sample(ms(100)));
        assert_eq!(trip.timeout(&TimerRules { floor: ms(1), ..rules }), ms(110));
        assert_eq!(trip.timeout(&rules), ms(200));
        (0..100).for_each(|_| trip.back_off());
        assert_eq!(trip.timeout(&rules), ms(60_000));
    }

    #[test]
    fn a_sample_ends_the_backoff() {
        let mut trip = RoundTrip::default();
        trip.back_off();
        trip.back_off();
        assert_eq!(trip.timeout(&RULES), ms(4000));
        trip.sample(ms(8));
        assert_eq!(trip.timeout(&RULES), ms(24));
    }

    #[test]
    fn a_scanned_timer_runs_out_at_the_first_scan_after_its_end() {
        let trip = RoundTrip::default();
        let rules = TimerRules { initial: ms(7), scan: ms(10), ..RULES };
        let due = |start| trip.due(Instant::ZERO.after(ms(start)), &rules);
        assert_eq!([0, 3, 4].map(due), [10, 20, 20].map(|at| Instant::ZERO.after(ms(at))));
        assert_eq!(trip.due(Instant::ZERO.after(ms(3)), &RULES), Instant::ZERO.after(ms(1003)));
    }

    #[test]
    fn a_lost_syn_makes_the_first_data_timeout_three_times_as_long() {
        let mut trip = RoundTrip::default();
        trip.back_off();
        trip.after_lost_syn();
        assert_eq!(trip.timeout(&RULES), ms(3000));
    }
}
