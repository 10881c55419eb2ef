use pullnet_settings::choice;
use pullnet_topology::LinkState;
use pullnet_units::{BitsPerSec, Instant, PortId};

choice! {
    /// Direction of a fault.
    pub enum Direction {
        /// Both directions.
        Both = "both",
        /// Out of the switch.
        Out = "out",
        /// Into the switch.
        In = "in",
    }
}

/// The line of a port, in one direction or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortLine {
    /// The port.
    pub port: PortId,
    /// The affected direction.
    pub direction: Direction,
}

/// A temporary fault on the line of a port.
pub type Fault = pullnet_topology::Fault<PortLine>;

/// All current and future faults of a fabric.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    known: Vec<Fault>,
}

impl Faults {
    pub fn add(&mut self, fault: Fault) {
        self.known.push(fault);
    }

    /// Removes every fault of a port.
    pub fn clear(&mut self, port: PortId) {
        self.known.retain(|fault| fault.place.port != port);
    }

    /// Removes the faults that have ended by `now`.
    pub fn forget(&mut self, now: Instant) {
        self.known.retain(|fault| fault.until.is_none_or(|until| until > now));
    }

    /// Time of the next start or end of a fault after `now`.
    pub fn next_change(&self, now: Instant) -> Instant {
        let times = self.known.iter().flat_map(|fault| [Some(fault.from), fault.until]).flatten();
        times.filter(|at| *at > now).min().unwrap_or(Instant::NEVER)
    }

    /// State of the line of `port` at `now`, outwards and inwards; `rate` is its rate without faults.
    pub fn state(&self, port: PortId, rate: BitsPerSec, now: Instant) -> [LinkState; 2] {
        [Direction::Out, Direction::In].map(|way| {
            let ways = [way, Direction::Both];
            let here = |fault: &&Fault| {
                fault.place.port == port && ways.contains(&fault.place.direction) && fault.is_active(now)
            };
            let sound = LinkState::sound(rate);
            self.known.iter().filter(here).fold(sound, |state, fault| state.with(fault.effect))
        })
    }
}
