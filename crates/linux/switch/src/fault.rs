use pullnet_settings::choice;
use pullnet_topology::LinkState;
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

/// The line of a port, in one direction or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortLine {
    /// The port.
    pub port: PortId,
    /// Which way.
    pub direction: Direction,
}

/// Something that goes wrong with the line of a port for a time.
pub type Fault = pullnet_topology::Fault<PortLine>;

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
        self.known.retain(|fault| fault.place.port != port);
    }

    /// Forgets what is over at `now`.
    pub fn forget(&mut self, now: Instant) {
        self.known.retain(|fault| fault.until.is_none_or(|until| until > now));
    }

    /// The next time after `now` at which something begins or ends.
    pub fn next_change(&self, now: Instant) -> Instant {
        let times = self.known.iter().flat_map(|fault| [Some(fault.from), fault.until]).flatten();
        times.filter(|at| *at > now).min().unwrap_or(Instant::NEVER)
    }

    /// How the line of `port`, which is of this rate, works at `now`: outwards and inwards.
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
