use pullnet_settings::choice;
use pullnet_units::{BitsPerSec, Instant, PortId};

choice! {
    /// Which way a fault works.
    pub enum Direction {
        /// Both ways.
        Both = "both",
        /// Out of the switch.
        Out = "out",
        /// Into the switch.
        In = "in",
    }
}

/// What goes wrong with a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// Nothing passes.
    Down,
    /// It works at this rate if that is lower than its own; outwards only.
    Rate(BitsPerSec),
    /// A frame vanishes with this probability.
    Loss(f64),
    /// A frame has one of its bits turned with this probability, and goes on.
    Corrupt(f64),
    /// A frame arrives twice with this probability.
    Duplicate(f64),
}

/// Something that goes wrong with the line of a port for a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    /// Where.
    pub port: PortId,
    /// Which way.
    pub direction: Direction,
    /// Since when.
    pub from: Instant,
    /// When it is over; [`Instant::NEVER`] for never.
    pub until: Instant,
    /// What.
    pub effect: Effect,
}

/// How one direction of a line works at the moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LineState {
    /// Whether anything passes.
    pub up: bool,
    /// Most bits per second; `None` for its own rate.
    pub rate: Option<BitsPerSec>,
    /// Probability that a frame vanishes.
    pub loss: f64,
    /// Probability that a frame has a bit turned.
    pub corrupt: f64,
    /// Probability that a frame arrives twice.
    pub duplicate: f64,
}

impl LineState {
    /// Nothing is wrong.
    pub const SOUND: Self = Self { up: true, rate: None, loss: 0.0, corrupt: 0.0, duplicate: 0.0 };

    /// With one more effect: down wins, the lowest rate counts, probabilities are independent. As the simulator has it.
    #[must_use]
    fn with(mut self, effect: Effect) -> Self {
        let either = |p: f64, q: f64| 1.0 - (1.0 - p) * (1.0 - q);
        match effect {
            Effect::Down => self.up = false,
            Effect::Rate(rate) => self.rate = Some(self.rate.map_or(rate, |own| own.min(rate))),
            Effect::Loss(p) => self.loss = either(self.loss, p),
            Effect::Corrupt(p) => self.corrupt = either(self.corrupt, p),
            Effect::Duplicate(p) => self.duplicate = either(self.duplicate, p),
        }
        self
    }
}

/// All faults of a fabric, past ones forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    known: Vec<Fault>,
}

impl Faults {
    pub fn add(&mut self, fault: Fault) {
        self.known.push(fault);
    }

    /// Forgets every fault of a port.
    pub fn clear(&mut self, port: PortId) {
        self.known.retain(|fault| fault.port != port);
    }

    /// Forgets what is over at `now`.
    pub fn forget(&mut self, now: Instant) {
        self.known.retain(|fault| fault.until > now);
    }

    /// The next time after `now` at which something begins or ends.
    pub fn next_change(&self, now: Instant) -> Instant {
        let times = self.known.iter().flat_map(|fault| [fault.from, fault.until]);
        times.filter(|at| *at > now).min().unwrap_or(Instant::NEVER)
    }

    /// How the line of `port` works at `now`: outwards and inwards.
    pub fn state(&self, port: PortId, now: Instant) -> [LineState; 2] {
        [Direction::Out, Direction::In].map(|way| {
            let here = |fault: &&Fault| {
                fault.port == port
                    && (fault.direction == way || fault.direction == Direction::Both)
                    && fault.from <= now
                    && now < fault.until
            };
            self.known.iter().filter(here).fold(LineState::SOUND, |state, fault| state.with(fault.effect))
        })
    }
}
