//! Finds the candidate for `xmin` with the smallest distance, without computing every distance.
//!
//! The distance of a candidate is the largest *deviation* of its model from the data over all steps above it. Any single
//! deviation is therefore a lower bound of the distance. This has two consequences.
//!
//! - A candidate is rejected as soon as one step deviates by more than the best distance so far. Neighbouring candidates
//!   deviate most at similar steps: the steps that rejected candidates recently (*witnesses*) are tried first, and the
//!   first witness rejects nearly all candidates.
//! - Between two steps `p < q` both survival functions fall, so no step between them deviates by more than
//!   `max(model(p) - data(q), data(p+1) - model(q))`. If that is less than a known deviation, the steps between can be
//!   skipped. By bisecting the remaining ranges, [`Evaluation`] finds the distance from few steps.
//!
//! Candidates are visited in passes of halving stride, so that a good candidate is known early and few improve on it.
//!
//! All compared deviations are computed by the same expressions as in the full search. The bound between steps is widened by
//! [`SLACK`], far more than the rounding of an exponential function. The result therefore equals that of the full search bit
//! for bit; `tests/fitting/exact.rs` compares them.

use crate::steps::Steps;

/// Definition of the distance between data and model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distance {
    /// The largest deviation on either side of each step: the Kolmogorov-Smirnov distance, eq. 3.9 of the paper.
    Supremum,
    /// The largest deviation just before each step, as the published programs compute it; up to 1/n less.
    BeforeSteps,
}

/// Upper bound of the error of survival functions.
const SLACK: f64 = 1e-13;
/// Number of witnesses kept.
const WITNESSES: usize = 12;

/// A model above one candidate for `xmin`.
pub trait Tail: Copy {
    /// Model probability of values at or above step `i`, and above it. Both decrease with `i`.
    fn survival(&self, i: usize) -> (f64, f64);
}

/// The models of all candidates.
pub trait Family {
    /// Representation of one model.
    type Tail: Tail;
    /// The model that starts at step `i`, if there is one.
    fn tail(&self, i: usize) -> Option<Self::Tail>;
    /// The steps.
    fn steps(&self) -> &Steps;
}

/// The best candidate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Best {
    /// First step of the tail.
    pub start: usize,
    /// Its distance.
    pub distance: f64,
}

impl Best {
    /// Whether this candidate beats one with `distance` at `start`; of equal distances the longer tail wins.
    fn beats(&self, start: usize, distance: f64) -> bool {
        distance > self.distance || (distance == self.distance && start > self.start)
    }
}

/// The candidate with the smallest distance, or `None` if there is no candidate.
pub fn best<F: Family>(family: &F, distance: Distance) -> Option<Best> {
    let none = Best { start: usize::MAX, distance: f64::INFINITY };
    let found = Search::new(family, distance, none).run(|_| false);
    (found.start != usize::MAX).then_some(found)
}

/// Whether some candidate has a distance below `limit`.
pub fn any_below<F: Family>(family: &F, distance: Distance, limit: f64) -> bool {
    // Start 0 precedes every candidate, so a distance equal to the limit does not count.
    let limit = Best { start: 0, distance: limit };
    Search::new(family, distance, limit).run(|best| best.distance < limit.distance).distance < limit.distance
}

/// The distance of the candidate at `start`.
pub fn distance_of<F: Family>(family: &F, start: usize, distance: Distance) -> Option<f64> {
    let deviation = Deviation::new(family.steps(), start, family.tail(start)?, distance);
    Some(deviation.largest(&mut Vec::new(), |_| false).0)
}

/// The distance of every candidate, with nothing left out.
pub fn all<F: Family>(family: &F, distance: Distance) -> Vec<Best> {
    let steps = family.steps();
    let full = |start| {
        let deviation = Deviation::new(steps, start, family.tail(start)?, distance);
        let distance = (start..steps.len()).map(|i| deviation.at(i).0).fold(0.0, f64::max);
        Some(Best { start, distance })
    };
    (0..steps.len()).filter_map(full).collect()
}

struct Search<'a, F> {
    family: &'a F,
    distance: Distance,
    best: Best,
    /// Steps that rejected candidates, the latest first.
    witnesses: Vec<usize>,
    stack: Vec<Block>,
}

impl<'a, F: Family> Search<'a, F> {
    fn new(family: &'a F, distance: Distance, best: Best) -> Self {
        Self { family, distance, best, witnesses: Vec::with_capacity(WITNESSES + 1), stack: Vec::new() }
    }

    /// Visits the candidates until all are done or the best one is `enough`.
    fn run(mut self, enough: impl Fn(&Best) -> bool) -> Best {
        let steps = self.family.steps().len();
        let mut stride = steps.max(1).next_power_of_two();
        let mut start = 0;
        while stride > 0 {
            while start < steps {
                self.visit(start);
                if enough(&self.best) {
                    return self.best;
                }
                start += 2 * stride;
            }
            stride /= 2;
            start = stride;
        }
        self.best
    }

    fn visit(&mut self, start: usize) {
        let Some(tail) = self.family.tail(start) else { return };
        let deviation = Deviation::new(self.family.steps(), start, tail, self.distance);
        if self.ruled_out(start, &deviation) {
            return;
        }
        let (distance, witness) = deviation.largest(&mut self.stack, |d| self.best.beats(start, d));
        if !self.best.beats(start, distance) {
            self.best = Best { start, distance };
        }
        self.witnesses.insert(0, witness);
        self.witnesses.truncate(WITNESSES);
    }

    fn ruled_out(&mut self, start: usize, deviation: &Deviation<'_, F::Tail>) -> bool {
        let rules_out = |&i: &usize| i >= start && self.best.beats(start, deviation.at(i).0);
        let Some(found) = self.witnesses.iter().position(rules_out) else { return false };
        self.witnesses[..=found].rotate_right(1);
        true
    }
}

/// Two steps, the model's probabilities at both, and a bound on deviations between them.
struct Block {
    first: usize,
    last: usize,
    /// Model probability above the first step, and at or above the last.
    model: (f64, f64),
    bound: f64,
}

/// Deviations of one model.
struct Deviation<'a, T> {
    above: &'a [u32],
    start: usize,
    tail: T,
    count: f64,
    distance: Distance,
}

impl<'a, T: Tail> Deviation<'a, T> {
    fn new(steps: &'a Steps, start: usize, tail: T, distance: Distance) -> Self {
        Self { above: &steps.above, start, tail, count: f64::from(steps.count(start)), distance }
    }

    fn data(&self, i: usize) -> f64 {
        f64::from(self.above[i]) / self.count
    }

    /// Deviation at step `i`, and the model probabilities at or above and above it.
    fn at(&self, i: usize) -> (f64, (f64, f64)) {
        let model = self.tail.survival(i);
        let before = (model.0 - self.data(i)).abs();
        let deviation = match self.distance {
            Distance::Supremum => before.max((model.1 - self.data(i + 1)).abs()),
            Distance::BeforeSteps => before,
        };
        (deviation, model)
    }

    /// The largest deviation and its step, or the first deviation that is `too_large`.
    fn largest(&self, stack: &mut Vec<Block>, too_large: impl Fn(f64) -> bool) -> (f64, usize) {
        let last = self.above.len() - 2;
        let (first, (_, model_first)) = self.at(self.start);
        let (end, (model_last, _)) = self.at(last);
        let mut largest = if end > first { (end, last) } else { (first, self.start) };
        stack.clear();
        stack.extend(self.block(self.start, last, (model_first, model_last)));
        while let Some(block) = stack.pop() {
            if too_large(largest.0) {
                break;
            }
            if block.bound < largest.0 {
                continue;
            }
            let middle = usize::midpoint(block.first, block.last);
            let (deviation, model) = self.at(middle);
            if deviation > largest.0 {
                largest = (deviation, middle);
            }
            let low = self.block(block.first, middle, (block.model.0, model.0));
            let high = self.block(middle, block.last, (model.1, block.model.1));
            push_larger_last(stack, low, high);
        }
        largest
    }

    /// The steps between `first` and `last`, if there are any.
    fn block(&self, first: usize, last: usize, model: (f64, f64)) -> Option<Block> {
        let bound = (model.0 - self.data(last)).max(self.data(first + 1) - model.1) + SLACK;
        (last - first > 1).then_some(Block { first, last, model, bound })
    }
}

fn push_larger_last(stack: &mut Vec<Block>, one: Option<Block>, other: Option<Block>) {
    let bound = |block: &Option<Block>| block.as_ref().map_or(0.0, |block| block.bound);
    let (less, more) = if bound(&one) < bound(&other) { (one, other) } else { (other, one) };
    stack.extend(less);
    stack.extend(more);
}
