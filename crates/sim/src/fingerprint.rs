use pullnet_units::Instant;
/// Hash of the events at one place, in order.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Adds an event: `kind` happened to `what` at `at`.
    #[inline]
    pub fn add(&mut self, at: Instant, what: u64, kind: u64) {
        // Multiply and fold (as in wyhash): one multiplication for each event.
        let wide = u128::from(self.0 ^ at.0 ^ 0xa076_1d64_78bd_642f)
            * u128::from(what ^ kind << 56 ^ 0xe703_7ed1_a0b4_28db);
        self.0 = (wide as u64 ^ (wide >> 64) as u64).wrapping_add(at.0);
    }

    /// Joins the hashes of several places in their order.
    pub fn join(places: impl IntoIterator<Item = Self>) -> u64 {
        let mut all = Self::default();
        (0..).zip(places).for_each(|(place, one)| all.add(Instant(place), one.0, 0));
        all.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_order_and_kind_all_count() {
        let hash = |events: &[(u64, u64, u64)]| {
            let mut one = Fingerprint::default();
            events.iter().for_each(|(at, what, kind)| one.add(Instant(*at), *what, *kind));
            one.0
        };
        let base = hash(&[(1, 2, 3), (4, 5, 6)]);
        for other in
            [[(1, 2, 3), (4, 5, 7)], [(1, 2, 3), (5, 5, 6)], [(1, 3, 3), (4, 5, 6)], [(4, 5, 6), (1, 2, 3)]]
        {
            assert_ne!(base, hash(&other));
        }
    }
}
