use pullnet_rng::RandomStream;
use pullnet_settings::choice;
use pullnet_units::Picos;

choice! {
    /// How a time varies.
    pub enum Spread {
        /// Always the same.
        Fixed = "fixed",
        /// Exponential, with the stated time as its mean.
        Exponential = "exponential",
    }
}

impl Spread {
    /// A time with the mean `mean`.
    pub(crate) fn draw(self, mean: Picos, chance: &mut RandomStream) -> Picos {
        match self {
            Self::Fixed => mean,
            Self::Exponential => exponential(mean.0 as f64, chance),
        }
    }
}

/// An exponential time with the mean `mean` picoseconds. The logarithm is the same on every machine.
pub(crate) fn exponential(mean: f64, chance: &mut RandomStream) -> Picos {
    Picos((-libm::log(1.0 - chance.unit()) * mean).round() as u64)
}
