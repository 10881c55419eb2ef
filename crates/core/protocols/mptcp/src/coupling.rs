//! LIA: linked increases (RFC 6356, section 3).

/// Window and round-trip time of a subflow that has both.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Pace {
    /// cwnd, packets.
    pub window: f64,
    /// SRTT, in any unit that is the same for all subflows.
    pub round_trip: f64,
}

/// Growth of a subflow's window for one acknowledged packet in congestion avoidance, packets: alpha over the sum of all
/// windows (equations 1 and 2). The subflow's own 1 / cwnd is the other limit. Infinite if no subflow has a measured
/// round trip.
pub(crate) fn increase(subflows: impl Iterator<Item = Pace>) -> f64 {
    let (mut best, mut sum) = (0.0f64, 0.0);
    for Pace { window, round_trip } in subflows {
        let rate = window / round_trip;
        best = best.max(rate / round_trip);
        sum += rate;
    }
    if sum > 0.0 { best / (sum * sum) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paces: &[(f64, f64)]) -> f64 {
        increase(paces.iter().map(|(window, round_trip)| Pace { window: *window, round_trip: *round_trip }))
    }

    /// Equation 2 as the RFC writes it, over the sum of all windows.
    fn by_the_book(paces: &[(f64, f64)]) -> f64 {
        let total: f64 = paces.iter().map(|(window, _)| window).sum();
        let best = paces.iter().map(|(window, rtt)| window / (rtt * rtt)).fold(0.0, f64::max);
        let sum: f64 = paces.iter().map(|(window, rtt)| window / rtt).sum();
        let alpha = total * best / (sum * sum);
        alpha / total
    }

    #[test]
    fn one_subflow_grows_as_tcp() {
        assert_eq!(of(&[(8.0, 3.0)]), 1.0 / 8.0);
        assert_eq!(of(&[]), f64::INFINITY);
    }

    #[test]
    fn the_alpha_of_equal_subflows_is_one_by_their_number() {
        // Each of n subflows of window w adds 1 / (n^2 w) for a packet: alpha is 1 / n.
        let four = of(&[(10.0, 1.0); 4]);
        assert!((four - 1.0 / (16.0 * 10.0)).abs() < 1e-12, "{four}");
    }

    #[test]
    fn it_is_equation_two() {
        for paces in [[(10.0, 1.0), (2.0, 1.0)], [(10.0, 5.0), (2.0, 0.5)], [(1.0, 1.0), (1.0, 100.0)]] {
            assert!((of(&paces) - by_the_book(&paces)).abs() < 1e-12);
        }
    }
}
