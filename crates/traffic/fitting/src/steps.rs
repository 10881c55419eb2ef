//! A sample as the steps of its survival function.

/// Distinct values in order, and the number of values at or above each.
///
/// Values are represented by the logarithm of their ratio to the least value of the whole sample. Values with equal
/// logarithms count as one.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// `ln(value / least)`, strictly rising.
    pub logs: Vec<f64>,
    /// Number of values at or above each; one entry more than `logs`, the last 0.
    pub above: Vec<u32>,
}

impl Steps {
    /// Distinct values.
    pub fn len(&self) -> usize {
        self.logs.len()
    }

    /// Values at or above step `from`.
    pub fn count(&self, from: usize) -> u32 {
        self.above[from]
    }

    /// Adds `count` values at `log`, which is at least the last one. `above` holds counts until [`Steps::close`].
    pub fn push(&mut self, log: f64, count: u32) {
        if self.logs.last() == Some(&log) {
            *self.above.last_mut().expect("a count for each step") += count;
        } else {
            self.logs.push(log);
            self.above.push(count);
        }
    }

    /// Converts counts to numbers of values at or above.
    pub fn close(&mut self) {
        let mut sum = 0;
        for count in self.above.iter_mut().rev() {
            sum += *count;
            *count = sum;
        }
        self.above.push(0);
    }

    /// For each step, the sum of `log - log of the step` over the values above it.
    ///
    /// All terms are positive, so there is no cancellation even for close values.
    pub fn excess(&self) -> Vec<f64> {
        let mut excess = vec![0.0; self.len()];
        for i in (1..self.len()).rev() {
            excess[i - 1] = excess[i] + f64::from(self.above[i]) * (self.logs[i] - self.logs[i - 1]);
        }
        excess
    }
}
