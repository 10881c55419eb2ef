//! What ports record only if asked for. Nothing of it changes what happens.

/// How long a port held how many data packets, and what that does to the total over time.
#[derive(Clone, Debug, Default)]
pub struct Held {
    now: u32,
    since: u64,
    times: Option<Vec<u64>>,
    interval: Option<u64>,
    /// Intervals of the series, and how the number held changed in them; what a [`HeldSum`] has not taken in yet.
    pub changes: Vec<(u64, i64)>,
}

impl Held {
    /// Records the occupancy distribution if `distribution`, and the total over time in steps of `interval`.
    pub fn new(distribution: bool, interval: Option<u64>) -> Option<Box<Self>> {
        let times = distribution.then(Vec::new);
        (distribution || interval.is_some()).then(|| Box::new(Self { times, interval, ..Self::default() }))
    }

    /// From `at` on, `held` packets are held.
    pub fn set(&mut self, at: u64, held: u32) {
        if held == self.now {
            return;
        }
        self.spend(at);
        if let Some(interval) = self.interval {
            self.change(at / interval, i64::from(held) - i64::from(self.now));
        }
        self.now = held;
    }

    fn change(&mut self, index: u64, by: i64) {
        match self.changes.last_mut() {
            Some(last) if last.0 == index => last.1 += by,
            _ => self.changes.push((index, by)),
        }
    }

    fn spend(&mut self, until: u64) {
        if let Some(times) = &mut self.times {
            let held = self.now as usize;
            times.resize(times.len().max(held + 1), 0);
            times[held] += until.saturating_sub(self.since);
            self.since = until;
        }
    }

    /// Picoseconds spent with n packets, n = 0, 1, ..., up to `end`.
    pub fn finish(&self, end: u64) -> Vec<u64> {
        let mut all = self.clone();
        all.spend(end);
        all.times.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_adds_up_to_the_time_observed() {
        let mut held = Held::new(true, Some(100)).unwrap();
        for (at, count) in [(10, 1), (30, 2), (35, 3), (35, 2), (110, 1), (250, 0)] {
            held.set(at, count);
        }
        assert_eq!(held.changes, [(0, 2), (1, -1), (2, -1)]);
        let times = held.finish(1000);
        assert_eq!(times, [10 + 750, 20 + 140, 5 + 75, 0]);
        assert_eq!(times.iter().sum::<u64>(), 1000);
    }
}
