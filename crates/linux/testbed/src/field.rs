//! All hosts of a testbed, independent of a clock.

use std::sync::Arc;

use pullnet_protocols::with_framed;
use pullnet_record::RunRecord;
use pullnet_scenario::Scenario;
use pullnet_session::{Director, News, Report};
use pullnet_units::{Id, Instant, Picos};
use pullnet_wire::Framed;

use crate::error::PlayError;
use crate::finish;
use crate::ports::PortCounts;
use crate::site::{self, Site};
use crate::station::{Socket, Station};

/// Time since the start of the run.
pub trait Clock {
    /// The current time.
    fn now(&self) -> Instant;

    /// Expected duration of a host's turn on this clock.
    fn turn(&self) -> Picos {
        Picos::ZERO
    }
}

/// Least time between the end of a flow and a flow that it triggers: one clock tick.
const SIGNAL: Picos = Picos::from_nanos(1);

/// The hosts of a scenario with their sockets.
pub struct Field(Box<dyn Round + Send>);

impl Field {
    /// Creates idle hosts, each on its socket, in the scenario's order. The round number selects the port, which separates
    /// successive rounds on the same sockets.
    ///
    /// # Errors
    /// If the scenario cannot be played on these sockets.
    pub fn new(scenario: &Arc<Scenario>, sockets: Vec<Socket>, number: u32) -> Result<Self, PlayError> {
        with_framed!(site::transport(scenario)?, |config: P| {
            Ok(Self(Box::new(Hosts::<P>::new(scenario, config, sockets, number)?)))
        }, else Err(PlayError::Transport(site::transport(scenario)?.name())))
    }

    /// Gives every host a turn. Returns true when the run has ended.
    ///
    /// # Errors
    /// If an interface fails, or a received payload differs from the one sent.
    pub fn turn(&mut self, clock: &dyn Clock) -> Result<bool, PlayError> {
        self.0.turn(clock)
    }

    /// Time of the next action that no frame triggers; [`Instant::NEVER`] if none is pending.
    pub fn next_due(&self) -> Instant {
        self.0.next_due()
    }

    /// The time before which there is nothing to do; `None` while flows are open.
    pub fn rests_until(&self) -> Option<Instant> {
        self.0.rests_until()
    }

    /// The socket of the first host, for waiting.
    pub(crate) fn first_socket(&mut self) -> Option<&mut Socket> {
        self.0.first_socket()
    }

    /// The record of the run so far, and the sockets. `ports`: counters of the switches during the run.
    pub fn finish(self, ports: &[PortCounts]) -> (RunRecord, Vec<Socket>) {
        self.0.finish(ports)
    }
}

/// The hosts of a scenario, with the transport type erased.
trait Round {
    fn turn(&mut self, clock: &dyn Clock) -> Result<bool, PlayError>;
    fn next_due(&self) -> Instant;
    fn rests_until(&self) -> Option<Instant>;
    fn first_socket(&mut self) -> Option<&mut Socket>;
    fn finish(self: Box<Self>, ports: &[PortCounts]) -> (RunRecord, Vec<Socket>);
}

/// The hosts of a scenario with transport `P`.
struct Hosts<P: Framed> {
    site: Site<P>,
    stations: Vec<Station<P>>,
    director: Director,
    reports: Vec<Report>,
    now: Instant,
}

impl<P: Framed> Hosts<P> {
    fn new(
        scenario: &Arc<Scenario>,
        config: &P::Config,
        sockets: Vec<Socket>,
        number: u32,
    ) -> Result<Self, PlayError> {
        let site = Site::new(scenario, config, number)?;
        let hosts = &scenario.topology.hosts;
        if sockets.len() != hosts.len() {
            return Err(PlayError::Sockets { sockets: sockets.len(), hosts: hosts.len() });
        }
        let stations = hosts.ids().zip(sockets).map(|(host, io)| Station::new(&site, host, io));
        let stations = stations.collect::<Result<_, _>>()?;
        let director = Director::new(Arc::clone(scenario), vec![site.framing], SIGNAL);
        Ok(Self { site, stations, director, reports: Vec::new(), now: Instant::ZERO })
    }
}

impl<P: Framed> Round for Hosts<P> {
    fn turn(&mut self, clock: &dyn Clock) -> Result<bool, PlayError> {
        let now = clock.now();
        self.now = now;
        let Self { site, stations, director, reports, .. } = self;
        director.decide(now, now + Picos(1), reports, |instruction| {
            stations[instruction.host().index()].tell(now, site, instruction);
        });
        for position in 0..stations.len() {
            punctual(stations, clock, site)?;
            if stations[position].turn(clock.now(), site)? {
                catch_up(stations, clock.now(), site)?;
            }
            reports.append(&mut stations[position].stack.reports);
        }
        check(director, reports)?;
        Ok(director.ended.is_some())
    }

    fn next_due(&self) -> Instant {
        let start = self.director.next_start().unwrap_or(Instant::NEVER);
        let end = self.director.end();
        self.stations.iter().map(Station::next_due).fold(start.min(end), Instant::min)
    }

    fn rests_until(&self) -> Option<Instant> {
        let next = self.director.next_start().unwrap_or(self.director.end());
        self.director.is_quiet().then_some(next)
    }

    fn first_socket(&mut self) -> Option<&mut Socket> {
        self.stations.first_mut().map(|station| &mut station.io)
    }

    fn finish(mut self: Box<Self>, ports: &[PortCounts]) -> (RunRecord, Vec<Socket>) {
        let now = self.now;
        self.stations.iter_mut().for_each(|station| station.stack.finish(now));
        let reports = self.stations.iter_mut().flat_map(|station| station.stack.reports.drain(..));
        self.reports.extend(reports);
        let (sockets, stacks) = self.stations.into_iter().map(|station| (station.io, station.stack)).unzip();
        (finish::record(&self.site, self.director, stacks, &self.reports, now, ports), sockets)
    }
}

/// Waits for a pull that falls due during the next host's turn and sends it first; otherwise it would leave late.
fn punctual<P: Framed>(
    stations: &mut [Station<P>],
    clock: &dyn Clock,
    site: &Site<P>,
) -> Result<(), PlayError> {
    let now = clock.now();
    let soon = now..now + clock.turn();
    let Some(station) = stations.iter_mut().find(|station| soon.contains(&station.timer())) else {
        return Ok(());
    };
    while clock.now() < station.timer() {
        std::hint::spin_loop();
    }
    station.depart(clock.now(), site).map(drop)
}

/// Serves pulls of other hosts that fell due while one host was sending, instead of letting them wait for a full round.
fn catch_up<P: Framed>(stations: &mut [Station<P>], now: Instant, site: &Site<P>) -> Result<(), PlayError> {
    let mut due = stations.iter_mut().filter(|station| station.timer() <= now);
    due.try_for_each(|station| station.turn(now, site).map(drop))
}

/// Drops reports of unknown flows; rejects those with a wrong length.
fn check(director: &Director, reports: &mut Vec<Report>) -> Result<(), PlayError> {
    reports.retain(|report| report.flow.index() < director.flows.len());
    for Report { flow, news, .. } in reports.iter() {
        let row = &director.flows[flow.index()];
        let (News::Received { delivered, .. }, Some(size)) = (news, row.size) else { continue };
        if *delivered != size {
            return Err(PlayError::Length { flow: *flow, host: row.dst.get(), got: *delivered, size });
        }
    }
    Ok(())
}
