//! Runs a scenario on real interfaces and in real time.

use std::sync::Arc;
use std::time::{Duration, Instant as WallClock};

use pullnet_netio::{Error, PacketIo, PacketOptions, PacketSocket, in_namespace};
use pullnet_record::RunRecord;
use pullnet_scenario::Scenario;
use pullnet_units::{Instant, Picos};

use crate::error::PlayError;
use crate::field::{Clock, Field};
use crate::plan::Plan;
use crate::ports::PortCounts;
use crate::station::Socket;

/// Name of the hosts' interface in their namespaces.
pub(crate) const INTERFACE: &str = "eth0";
/// Receive ring of a socket, in frames. Flows have fewer in flight, and a larger ring would only displace the cache.
const RING: usize = 128;
/// Longest sleep of an idle loop.
const NAP: Duration = Duration::from_millis(1);

/// Typical duration of a host's turn: one frame received or sent.
const TURN: Picos = Picos::from_nanos(2500);

/// Wall clock, counted from its creation.
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

/// The hosts of a testbed, all in the calling thread.
pub struct Play {
    scenario: Arc<Scenario>,
    /// Sockets between two rounds.
    sockets: Vec<Socket>,
    round: Option<(Field, Wall)>,
    rounds: u32,
}

impl Play {
    /// Opens a socket in each of `namespaces`, one per host in the scenario's order.
    ///
    /// # Errors
    /// If a namespace does not exist, or the process may not use it.
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

    /// Starts a round at time zero.
    ///
    /// # Errors
    /// If the scenario cannot be played on these sockets; the sockets are then lost.
    pub fn begin(&mut self) -> Result<(), PlayError> {
        for socket in &mut self.sockets {
            drain(socket.as_mut());
        }
        let field = Field::new(&self.scenario, std::mem::take(&mut self.sockets), self.rounds)?;
        self.rounds += 1;
        self.round = Some((field, Wall(clock())));
        Ok(())
    }

    /// Plays for at most `budget`. Returns true when the round has ended.
    ///
    /// # Errors
    /// If an interface fails, or a received payload differs from the one sent.
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

    /// The record of the round. `ports`: counters of the switches during the round.
    pub fn finish(&mut self, ports: &[PortCounts]) -> Option<RunRecord> {
        let (field, _) = self.round.take()?;
        let (record, sockets) = field.finish(ports);
        self.sockets = sockets;
        Some(record)
    }
}

/// Opens a host's socket in this thread's namespace. Its frames use an address that is not the kernel's, so the kernel does
/// not answer them.
fn open() -> Result<Socket, Error> {
    let options = PacketOptions { frames: RING, ..PacketOptions::default() };
    Ok(Box::new(PacketSocket::open(INTERFACE, &options)?))
}

/// Discards frames left over from the previous round.
fn drain(io: &mut dyn PacketIo) {
    // An interface error is ignored here; it recurs at the next use.
    while io.receive(RING, &mut |_| ()).is_ok_and(|got| got > 0) {}
}

/// Sleeps for a while if the next flow starts later.
fn rest(field: &mut Field, wall: &Wall, next: Instant) -> Result<(), PlayError> {
    let left = Duration::from_nanos(next.since(wall.now()).0 / 1000);
    let Some(socket) = field.first_socket().filter(|_| left > 2 * NAP) else { return Ok(()) };
    socket.wait(None, NAP).map_err(|error| PlayError::Io { host: 0, error })
}
