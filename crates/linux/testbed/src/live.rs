//! A scenario on real interfaces and the clock.

use std::sync::Arc;
use std::time::{Duration, Instant as WallClock};

use pullnet_netio::{Error, PacketIo, PacketOptions, PacketSocket, in_namespace};
use pullnet_record::RunRecord;
use pullnet_scenario::Scenario;
use pullnet_units::{Instant, Picos};

use crate::field::{Clock, Field};
use crate::plan::Plan;
use crate::station::Socket;
use crate::{PlayError, PortCounts};

/// The hosts' interface in their namespaces.
pub(crate) const INTERFACE: &str = "eth0";
/// Frames that wait in a socket at most. More than flows have under way would only be memory that no cache holds.
const RING: usize = 128;
/// How long the loop sleeps at a time while nothing is to be done.
const NAP: Duration = Duration::from_millis(1);

/// How long a host's turn takes mostly: a frame in, or a frame out.
const TURN: Picos = Picos::from_nanos(2500);

/// The clock of the machine, from the moment at which it was made.
struct Wall(WallClock);

#[expect(clippy::disallowed_methods, reason = "the one clock of a testbed's hosts")]
fn clock() -> WallClock {
    WallClock::now()
}

impl Clock for Wall {
    fn now(&self) -> Instant {
        Instant((clock().duration_since(self.0).as_nanos() as u64).saturating_mul(1000))
    }

    fn turn(&self) -> Picos {
        TURN
    }
}

/// The hosts of a testbed, all in the thread that calls.
pub struct Play {
    scenario: Arc<Scenario>,
    /// Sockets between two rounds.
    sockets: Vec<Socket>,
    round: Option<(Field, Wall)>,
    rounds: u32,
}

impl Play {
    /// Opens a socket in each of `namespaces`: those of the scenario's hosts, in its order.
    ///
    /// # Errors
    /// If there is no such namespace, or the process may not use it.
    pub fn open(scenario: &Arc<Scenario>, namespaces: &[String]) -> Result<Self, PlayError> {
        let plan = Plan::of(scenario)?;
        if namespaces.len() != plan.hosts.len() {
            return Err(PlayError::Sockets { sockets: namespaces.len(), hosts: plan.hosts.len() });
        }
        let opened = (0..).zip(namespaces).map(|(number, name)| {
            in_namespace(name, open).map_err(|error| PlayError::Io { host: number, error })
        });
        let sockets = opened.collect::<Result<_, _>>()?;
        Ok(Self { scenario: Arc::clone(scenario), sockets, round: None, rounds: 0 })
    }

    /// Begins a round at time zero.
    ///
    /// # Errors
    /// If the scenario cannot be played on these sockets; then nothing can be played on them any more.
    pub fn begin(&mut self) -> Result<(), PlayError> {
        for socket in &mut self.sockets {
            drain(socket.as_mut());
        }
        let field = Field::new(&self.scenario, std::mem::take(&mut self.sockets), self.rounds)?;
        self.rounds += 1;
        self.round = Some((field, Wall(clock())));
        Ok(())
    }

    /// Plays for `budget` at most. True if the round has ended.
    ///
    /// # Errors
    /// If an interface fails, or something arrives that was not sent.
    pub fn advance(&mut self, budget: Duration) -> Result<bool, PlayError> {
        let Some((field, wall)) = &mut self.round else { return Ok(true) };
        let until = wall.0.elapsed().saturating_add(budget);
        loop {
            if field.turn(wall)? {
                return Ok(true);
            }
            if let Some(next) = field.rests_until() {
                rest(field, wall, next)?;
            }
            if wall.0.elapsed() >= until {
                return Ok(false);
            }
        }
    }

    /// The record of the round. `ports`: what the switches counted meanwhile.
    pub fn finish(&mut self, ports: &[PortCounts]) -> Option<RunRecord> {
        let (field, _) = self.round.take()?;
        let (record, sockets) = field.finish(ports);
        self.sockets = sockets;
        Some(record)
    }
}

/// The socket of a host in the namespace that this thread is in. Its frames have an address that is not the kernel's, so
/// that the kernel does not answer.
fn open() -> Result<Socket, Error> {
    let options = PacketOptions { frames: RING, ..PacketOptions::default() };
    Ok(Box::new(PacketSocket::open(INTERFACE, &options)?))
}

/// Forgets what has arrived since the round before.
fn drain(io: &mut dyn PacketIo) {
    // An interface that fails says so again when it is used.
    while io.receive(RING, &mut |_| ()).is_ok_and(|got| got > 0) {}
}

/// Sleeps a while if the next flow starts later than that.
fn rest(field: &mut Field, wall: &Wall, next: Instant) -> Result<(), PlayError> {
    let left = Duration::from_nanos(next.since(wall.now()).0 / 1000);
    let Some(socket) = field.first_socket().filter(|_| left > 2 * NAP) else { return Ok(()) };
    socket.wait(None, NAP).map_err(|error| PlayError::Io { host: 0, error })
}
