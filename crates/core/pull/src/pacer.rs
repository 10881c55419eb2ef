use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use pullnet_rng::RandomStream;
use pullnet_settings::{Refused, Setting, Value};
use pullnet_units::{Instant, ParseError, Picos};

/// Spacing of pulls: exactly paced, or by a measured distribution.
///
/// As text: `"paced"`, or pairs of spacing and cumulative probability, `"1.1 us:0.1, 1.2 us:0.9, 2 us:1"`, which are
/// joined linearly.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Spacing {
    points: Vec<(Picos, f64)>,
}

impl Spacing {
    /// A spacing drawn from the distribution; `paced` if there is none.
    fn draw(&self, paced: Picos, chance: &mut RandomStream) -> Picos {
        let Some(first) = self.points.first() else { return paced };
        let wanted = chance.unit();
        let above = self.points.iter().position(|(_, cdf)| *cdf >= wanted).unwrap_or(self.points.len() - 1);
        let (low, high) =
            if above == 0 { (first, first) } else { (&self.points[above - 1], &self.points[above]) };
        let share = if high.1 > low.1 { (wanted - low.1) / (high.1 - low.1) } else { 1.0 };
        Picos(low.0.0 + ((high.0.0 - low.0.0) as f64 * share.clamp(0.0, 1.0)) as u64)
    }
}

fn point(text: &str) -> Result<(Picos, f64), Refused> {
    let (spacing, cdf) = text.split_once(':').ok_or_else(|| {
        Refused(format!(
            "has the part \"{}\" without a colon; write spacing:probability, for instance \"1.2 us:0.5\"",
            text.trim()
        ))
    })?;
    let spacing = spacing
        .parse()
        .map_err(|e: ParseError| Refused(format!("has the spacing \"{}\", which {e}", spacing.trim())))?;
    match cdf.trim().parse::<f64>() {
        Ok(cdf) if (0.0..=1.0).contains(&cdf) => Ok((spacing, cdf)),
        _ => Err(Refused(format!("has the probability \"{}\"; use a number from 0 to 1", cdf.trim()))),
    }
}

impl Setting for Spacing {
    const KIND: &'static str = "pull spacing";

    fn read(value: Value<'_>) -> Result<Self, Refused> {
        let Value::Text(text) = value else {
            return Err(Refused(
                "is not a pull spacing; write \"paced\" or \"1.1 us:0.1, 1.2 us:0.9, 2 us:1\"".to_string(),
            ));
        };
        if text.trim() == "paced" {
            return Ok(Self::default());
        }
        let points = text.split(',').map(point).collect::<Result<Vec<_>, _>>()?;
        let rises = points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
        if !rises || points.last().is_none_or(|last| last.1 != 1.0) {
            return Err(Refused(
                "falls or does not end at probability 1; sort it and end with 1".to_string(),
            ));
        }
        Ok(Self { points })
    }

    fn write(&self) -> String {
        if self.points.is_empty() {
            return "\"paced\"".to_string();
        }
        let points: Vec<_> = self.points.iter().map(|(spacing, cdf)| format!("{spacing}:{cdf}")).collect();
        format!("\"{}\"", points.join(", "))
    }
}

/// Spaces pulls by the transmission time of the data that the last pull requested.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    free_at: Instant,
}

impl Pacer {
    /// Earliest time of the next pull.
    #[inline]
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// A pull is queued at `now`: it does not leave earlier, no matter how long the pacer was free.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        self.free_at = self.free_at.max(now);
    }

    /// A pull leaves at `now`; the next one has to wait for `interval`, or as `spacing` says.
    #[inline]
    pub fn spend(&mut self, now: Instant, interval: Picos, spacing: &Spacing, chance: &mut RandomStream) {
        let interval = if spacing.points.is_empty() { interval } else { spacing.draw(interval, chance) };
        self.free_at = now + interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_rng::Seed;

    #[test]
    fn a_distribution_is_reproduced() {
        let spacing = Spacing::read(Value::Text("1 us:0, 2 us:1")).unwrap();
        assert_eq!(spacing.write(), "\"1 us:0, 2 us:1\"");
        let mut chance = Seed(3).stream("test", 0);
        let drawn: Vec<_> =
            (0..10_000).map(|_| spacing.draw(Picos(0), &mut chance).as_micros_f64()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        assert!((mean - 1.5).abs() < 0.02 && drawn.iter().all(|s| (1.0..=2.0).contains(s)), "{mean}");
    }

    #[test]
    fn wrong_distributions_say_why() {
        let refused = |text| Spacing::read(Value::Text(text)).unwrap_err().0;
        assert!(refused("1.2:0.5").contains("has no unit"));
        assert!(refused("1 us:0.5").contains("does not end at probability 1"));
        assert!(refused("2 us:0.5, 1 us:1").contains("falls"));
        assert!(refused("1 us").contains("without a colon"));
    }
}
