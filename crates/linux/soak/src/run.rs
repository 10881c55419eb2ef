//! A soak in virtual time, from the first call to the last.

use std::collections::VecDeque;

use pullnet_units::{Instant, Picos};

use crate::condition::Condition;
use crate::ledger::Ledger;
use crate::memory::{self, Looks};
use crate::network::{FaultyFabric, HOSTS};
use crate::options::Options;
use crate::report::{Report, Traffic};
use crate::station::Station;

/// If nothing ends for this long, the soak counts as hung. Much longer than the timeout of a silent host.
const HANGS: Picos = Picos::from_secs(60);
/// After this long all hosts have dropped the state of ended connections.
const FORGOTTEN: Picos = Picos::from_secs(40);
/// Until then memory grows with what hosts remember of ended connections, about 5 s of them, and says nothing about leaks.
const SETTLED: Instant = Instant::ZERO.after(Picos::from_secs(8));
/// Downtime of a crashed host, and of a crashed application.
const HOST_AWAY: Picos = Picos::from_millis(20);
const APPLICATION_AWAY: Picos = Picos::from_millis(2);
/// Number of crashes in a soak, and of switch restarts.
const DEATHS: u32 = 20;
const RESTARTS: u32 = 10;

/// A fault that is due at a given progress.
#[derive(Clone, Copy, Debug)]
enum Act {
    Restart,
    PathDown,
    PathUp,
    Death,
}

fn acts(condition: Condition) -> VecDeque<(f64, Act)> {
    let evenly = |times: u32, act| (0..times).map(move |at| ((f64::from(at) + 0.5) / f64::from(times), act));
    match condition {
        Condition::Restart => evenly(RESTARTS, Act::Restart).collect(),
        Condition::Path => VecDeque::from([(0.25, Act::PathDown), (0.75, Act::PathUp)]),
        Condition::Peer | Condition::Application => evenly(DEATHS, Act::Death).collect(),
        _ => VecDeque::new(),
    }
}

struct World {
    condition: Condition,
    now: Instant,
    network: FaultyFabric,
    /// `None` while the host is down.
    stations: Vec<Option<Station>>,
    ledger: Ledger,
    acts: VecDeque<(f64, Act)>,
    /// Hosts that are down, with the time of their return.
    away: VecDeque<(Instant, u32)>,
    /// Hosts started so far; each has a seed of its own.
    started: u64,
    seed: u64,
    encrypted: bool,
    /// Counters of crashed hosts.
    gone: Traffic,
    looks: Looks,
}

/// Runs a soak. Reports its progress, 0 to 1, to `told`.
#[must_use]
pub fn run(options: &Options, mut told: impl FnMut(f64)) -> Report {
    let mut world = World::new(options);
    let mut before = -1.0;
    while !world.ledger.is_over() {
        let done = world.ledger.progress();
        if done >= before + 0.01 {
            before = done;
            told(done);
        }
        world.act(done);
        if !world.step(Instant::NEVER) {
            world.ledger.complain("nothing happens any more");
            break;
        }
        if world.now.since(world.ledger.latest) > HANGS {
            world.ledger.complain("nothing has ended for 60 s");
            break;
        }
    }
    world.forget();
    world.report(options)
}

impl World {
    fn new(options: &Options) -> Self {
        let Options { condition, seed, encrypted, .. } = *options;
        let mut world = Self {
            condition,
            now: Instant::ZERO,
            network: FaultyFabric::new(condition, seed),
            stations: Vec::new(),
            ledger: Ledger::new(options),
            acts: acts(condition),
            away: VecDeque::new(),
            started: 0,
            seed,
            encrypted,
            gone: Traffic::default(),
            looks: Looks::default(),
        };
        for host in 0..HOSTS {
            let station = world.start(host);
            world.stations.push(Some(station));
        }
        for station in world.stations.iter_mut().flatten() {
            station.ask(Instant::ZERO, &mut world.ledger);
        }
        world
    }

    fn start(&mut self, host: u32) -> Station {
        self.started += 1;
        let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(self.started);
        Station::new(self.now, host, seed, self.encrypted)
    }

    /// Injects the faults that are due at the progress `done`.
    fn act(&mut self, done: f64) {
        if self.now >= SETTLED {
            self.looks.look(done, memory::resident);
        }
        while let Some((_, act)) = self.acts.pop_front_if(|(at, _)| *at <= done) {
            match act {
                Act::Restart => self.network.restart(self.now),
                Act::PathDown => self.network.path(self.now, false),
                Act::PathUp => self.network.path(self.now, true),
                Act::Death => self.kill(),
            }
        }
    }

    /// Crashes the hosts in turn.
    fn kill(&mut self) {
        let host = (self.acts.len() as u32) % HOSTS;
        let Some(station) = self.stations[host as usize].as_mut() else { return };
        self.ledger.died_at(host);
        station.drop_sessions(self.now, &mut self.ledger);
        let away = if self.condition == Condition::Peer { HOST_AWAY } else { APPLICATION_AWAY };
        self.away.push_back((self.now.after(away), host));
        if self.condition == Condition::Peer {
            // Its pending sessions and unsent frames are lost with it.
            let dead = self.stations[host as usize].take();
            dead.iter().for_each(|dead| add(&mut self.gone, dead));
        }
    }

    fn come_back(&mut self, host: u32) {
        if self.condition == Condition::Peer {
            let station = self.start(host);
            self.stations[host as usize] = Some(station);
        } else {
            self.stations[host as usize].iter_mut().for_each(Station::listen);
        }
        self.ledger.back_at(host);
        self.ask(host);
    }

    fn ask(&mut self, host: u32) {
        let here = !self.away.iter().any(|(_, away)| *away == host);
        if here && let Some(station) = &mut self.stations[host as usize] {
            station.ask(self.now, &mut self.ledger);
        }
    }

    /// Processes the next event, unless it is later than `until`.
    fn step(&mut self, until: Instant) -> bool {
        let stations =
            (0..).zip(&self.stations).filter_map(|(host, station)| Some((host, station.as_ref()?)));
        let (at, host) = stations
            .map(|(host, station)| (station.next(self.now), host))
            .min()
            .unwrap_or((Instant::NEVER, 0));
        let back = self.away.front().map_or(Instant::NEVER, |(at, _)| *at);
        let arrival = self.network.next();
        let next = at.min(arrival).min(back);
        if next > until || next == Instant::NEVER {
            return false;
        }
        self.now = self.now.max(next);
        if let Some((_, host)) = self.away.pop_front_if(|(at, _)| *at <= next) {
            self.come_back(host);
        } else if arrival <= at {
            self.arrive();
        } else if let Some(station) = &mut self.stations[host as usize] {
            station.visit(self.now, &mut self.network, &mut self.ledger);
            self.ask(host);
        }
        true
    }

    fn arrive(&mut self) {
        let Self { now, network, stations, ledger, .. } = self;
        let mut met = [false; HOSTS as usize];
        network.advance(*now, |host, frame| {
            if let Some(Some(station)) = stations.get_mut(host as usize) {
                station.receive(*now, frame, ledger);
                met[host as usize] = true;
            }
        });
        (0..).zip(met).filter(|(_, met)| *met).for_each(|(host, _)| self.ask(host));
    }

    /// Lets time pass until all hosts have dropped the state of ended connections.
    fn forget(&mut self) {
        let until = self.now.after(FORGOTTEN);
        while self.step(until) {}
        for station in self.stations.iter().flatten() {
            let totals = station.engine.status().totals;
            if (totals.streams, totals.peers, totals.waiting_bytes) != (0, 0, 0) {
                let (streams, peers, bytes) = (totals.streams, totals.peers, totals.waiting_bytes);
                let text = format!("a host still has {streams} streams, {peers} peers, {bytes} B in the end");
                self.ledger.complain(&text);
            }
        }
    }

    fn report(mut self, options: &Options) -> Report {
        let mut gone = self.gone;
        self.stations.iter().flatten().for_each(|station| add(&mut gone, station));
        if self.condition.is_timely() && gone.timeouts > 0 {
            self.ledger.complain(&format!("although nothing was lost or late, {} timeouts", gone.timeouts));
        }
        if self.encrypted && self.network.plain > 0 {
            self.ledger.complain(&format!("{} frames left a host unencrypted", self.network.plain));
        }
        let network = self.network.done();
        let resident = self.looks.end(memory::resident());
        Report {
            traffic: Traffic {
                trimmed: network.trimmed,
                lost: network.lost,
                doubled: network.doubled,
                damaged: network.damaged,
                ..gone
            },
            virtual_seconds: self.now.since(Instant::ZERO).as_secs_f64(),
            ..self.ledger.report(options.condition.described().0, options, resident)
        }
    }
}

fn add(traffic: &mut Traffic, station: &Station) {
    let counts = station.engine.status().totals.counts;
    traffic.sent += counts.sent;
    traffic.repeated += counts.repeated;
    traffic.timeouts += counts.timeouts;
}
