use pullnet_rng::RandomStream;
use pullnet_units::Picos;

use crate::common::Common;
use crate::error::Problem;
use crate::spread::Spread;

/// The deadlines of a block's flows, drawn in the order in which the flows start.
#[derive(Clone)]
pub(crate) struct Deadlines {
    mean: Option<Picos>,
    spread: Spread,
    floor: Picos,
    chance: RandomStream,
    /// That of the flow before.
    latest: Option<Picos>,
}

impl Deadlines {
    /// The deadlines that `common` states.
    pub fn new(common: &Common, chance: RandomStream) -> Self {
        let Common { deadline, deadline_spread, deadline_floor, .. } = common;
        let floor = deadline_floor.unwrap_or(Picos(1));
        Self { mean: *deadline, spread: *deadline_spread, floor, chance, latest: None }
    }

    /// The deadline of the next flow, counted from its start. The parts of a session have the same.
    pub fn next(&mut self, continues_session: bool) -> Option<Picos> {
        if !continues_session {
            let Self { mean, spread, floor, chance, .. } = self;
            self.latest = mean.map(|mean| match spread {
                Spread::Fixed => mean,
                Spread::Exponential => spread.draw(mean, chance).max(*floor),
            });
        }
        self.latest
    }
}

/// Settings that are stated and have no effect.
pub(crate) fn problems(common: &Common) -> Vec<Problem> {
    let varies = common.deadline_spread == Spread::Exponential;
    let mut problems = Vec::new();
    if varies && common.deadline.is_none() {
        let reason = "needs a mean; state deadline";
        problems.push(Problem::new("deadline_spread", "exponential", reason));
    }
    if let Some(floor) = common.deadline_floor.filter(|_| !varies) {
        let reason = "has no effect on deadlines that do not vary; use deadline_spread = \"exponential\"";
        problems.push(Problem::new("deadline_floor", floor.to_string(), reason));
    }
    problems
}
