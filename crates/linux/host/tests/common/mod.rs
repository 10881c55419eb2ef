//! Engines joined by a network in virtual time that loses, doubles, delays, trims and damages what it carries.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use pullnet_host::{Engine, EngineOptions, Notice, Read, StreamError, StreamId, StreamOptions};
use pullnet_rng::{RandomStream, Seed};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};
use pullnet_wire::{Mac, Mark, Marks, switch};

/// Faults of the network: shares of frames affected, and their maximum delay.
#[derive(Clone, Copy, Default, Debug)]
pub struct Weather {
    pub lost: f64,
    pub doubled: f64,
    pub trimmed: f64,
    pub returned: f64,
    pub damaged: f64,
    pub delay: Picos,
}

impl Weather {
    pub const FINE: Self = Self {
        lost: 0.0,
        doubled: 0.0,
        trimmed: 0.0,
        returned: 0.0,
        damaged: 0.0,
        delay: Picos::from_micros(5),
    };
}

pub const RATE: BitsPerSec = BitsPerSec::gbps(10);

pub fn address(host: usize, ipv6: bool) -> IpAddr {
    if ipv6 {
        IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, host as u16 + 1])
    } else {
        IpAddr::from([10, 0, (host >> 8) as u8, host as u8 + 1])
    }
}

/// The host with this address.
fn host_at(address: IpAddr) -> Option<usize> {
    (0..200).find(|host| [false, true].map(|ipv6| self::address(*host, ipv6)).contains(&address))
}

pub fn mac(host: usize) -> Mac {
    Mac([2, 0, 0, 0, (host >> 8) as u8, host as u8])
}

/// Options of host number `host`.
pub fn options(host: usize) -> EngineOptions {
    options_of(host, false)
}

pub fn options_of(host: usize, ipv6: bool) -> EngineOptions {
    EngineOptions { mac: mac(host), seed: 1000 + host as u64, ..EngineOptions::new(address(host, ipv6)) }
}

struct Host {
    engine: Engine,
    /// A host that is down neither receives nor sends.
    up: bool,
    free_at: Instant,
    ready: bool,
}

type Flight = BTreeMap<(Instant, u64), (usize, Vec<u8>)>;

pub struct Net {
    hosts: Vec<Host>,
    pub now: Instant,
    pub weather: Weather,
    flight: Flight,
    departures: u64,
    /// Frames that were damaged.
    pub damaged: u64,
    chance: RandomStream,
    pub notices: Vec<Vec<Notice>>,
    /// Every frame that has left a host, if it is wanted.
    pub seen: Option<Vec<Vec<u8>>>,
    buffer: Vec<u8>,
}

impl Net {
    pub fn new(seed: u64, options: impl IntoIterator<Item = EngineOptions>) -> Self {
        let host = |options| Host {
            engine: Engine::new(options).unwrap(),
            up: true,
            free_at: Instant::ZERO,
            ready: true,
        };
        let hosts: Vec<_> = options.into_iter().map(host).collect();
        Self {
            notices: vec![Vec::new(); hosts.len()],
            hosts,
            now: Instant::ZERO,
            weather: Weather::FINE,
            flight: Flight::new(),
            departures: 0,
            damaged: 0,
            chance: Seed(seed).stream("network", 0),
            seen: None,
            buffer: vec![0; 9100],
        }
    }

    /// Two hosts in fine weather.
    pub fn pair() -> Self {
        Self::new(1, [options(0), options(1)])
    }

    /// The engine of a host. It may have something to send afterwards.
    pub fn at(&mut self, host: usize) -> &mut Engine {
        self.hosts[host].ready = true;
        &mut self.hosts[host].engine
    }

    /// A host dies without a word, or a new one takes its place.
    pub fn kill(&mut self, host: usize) {
        self.hosts[host].up = false;
    }

    pub fn replace(&mut self, host: usize, options: EngineOptions) {
        self.hosts[host] =
            Host { engine: Engine::new(options).unwrap(), up: true, free_at: self.now, ready: true };
    }

    pub fn endpoint(&self, host: usize) -> SocketAddr {
        let options = self.hosts[host].engine.options();
        SocketAddr::new(options.address, options.port)
    }

    /// Host `from` opens a stream to `service` at host `to`.
    pub fn connect(&mut self, from: usize, to: usize, service: u16) -> StreamId {
        let (now, to) = (self.now, self.endpoint(to));
        self.at(from).connect(now, to, service, StreamOptions::default()).unwrap()
    }

    pub fn write(&mut self, host: usize, id: StreamId, bytes: &[u8]) -> Result<usize, StreamError> {
        let now = self.now;
        self.at(host).write(now, id, bytes)
    }

    pub fn finish(&mut self, host: usize, id: StreamId) {
        let now = self.now;
        self.at(host).finish(now, id).unwrap();
    }

    /// Everything that can be read, and whether the end was there.
    pub fn read(&mut self, host: usize, id: StreamId) -> Result<(Vec<u8>, bool), StreamError> {
        let (mut all, mut out, now) = (Vec::new(), [0; 4000], self.now);
        loop {
            match self.at(host).read(now, id, &mut out)? {
                Read::Bytes(long) => all.extend_from_slice(&out[..long]),
                Read::End => return Ok((all, true)),
                Read::Nothing => return Ok((all, false)),
            }
        }
    }

    /// Puts a frame on the wire; it is delivered to its destination.
    pub fn inject(&mut self, frame: Vec<u8>) {
        self.depart(self.now, frame);
    }

    /// Lets `time` pass.
    pub fn pass(&mut self, time: Picos) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    /// Lets time pass until `done`, asked whenever something has happened. Panics after `limit`.
    #[track_caller]
    pub fn until(&mut self, limit: Picos, mut done: impl FnMut(&mut Self) -> bool) {
        let until = self.now + limit;
        while !done(self) {
            self.settle();
            assert!(self.step(until), "not done at {:?}: {:#?}", self.now, self.statuses());
        }
    }

    /// Lets every host send what it can at this moment.
    fn settle(&mut self) {
        for number in 0..self.hosts.len() {
            while self.hosts[number].up && self.hosts[number].ready && self.hosts[number].free_at <= self.now
            {
                self.visit(number);
            }
        }
    }

    pub fn statuses(&self) -> Vec<pullnet_host::Status> {
        self.hosts.iter().map(|host| host.engine.status()).collect()
    }

    /// The next thing that happens, unless it is later than `until`.
    fn step(&mut self, until: Instant) -> bool {
        let next = |host: &Host| {
            let send = if host.ready { host.free_at.max(self.now) } else { Instant::NEVER };
            send.min(host.engine.deadline().map_or(Instant::NEVER, |at| at.max(self.now)))
        };
        let up = self.hosts.iter().enumerate().filter(|(_, host)| host.up);
        let first = up.map(|(number, host)| (next(host), number)).min();
        let arrival = self.flight.keys().next().map_or(Instant::NEVER, |(at, _)| *at);
        let (at, host) = first.unwrap_or((Instant::NEVER, 0));
        if at.min(arrival) > until || at.min(arrival) == Instant::NEVER {
            return false;
        }
        self.now = self.now.max(at.min(arrival));
        if arrival <= at {
            self.arrive();
        } else {
            self.visit(host);
        }
        true
    }

    fn visit(&mut self, number: usize) {
        let (now, host) = (self.now, &mut self.hosts[number]);
        if host.engine.deadline().is_some_and(|at| at <= now) {
            host.engine.timeout(now);
            host.ready = true;
        }
        while let Some(address) = host.engine.poll_unresolved() {
            host.engine.resolved(now, address, host_at(address).map(mac));
        }
        while let Some(address) = host.engine.poll_stranger() {
            host.engine.recognised(now, address, host_at(address).map(mac));
            host.ready = true;
        }
        if host.ready && host.free_at <= now {
            let long = host.engine.transmit(now, &mut self.buffer);
            host.ready = long > 0;
            if long > 0 {
                host.free_at = now + RATE.serialization(Bytes(long as u64 + 24));
                let (leaves, frame) = (host.free_at, self.buffer[..long].to_vec());
                self.seen.iter_mut().for_each(|seen| seen.push(frame.clone()));
                self.weather(leaves, frame);
            }
        }
        let engine = &mut self.hosts[number].engine;
        self.notices[number].extend(std::iter::from_fn(|| engine.poll_notice()));
    }

    fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.chance.unit() < share
    }

    fn weather(&mut self, leaves: Instant, mut frame: Vec<u8>) {
        let (weather, marks) = (self.weather, Marks::default());
        let data = switch::mark(&frame, &marks) == Some(Mark::Data);
        if self.happens(weather.lost) {
            return;
        }
        if data
            && self.happens(weather.trimmed)
            && let Some(long) = switch::trim(&mut frame, 74, switch::Lengths::Corrected, &marks)
        {
            frame.truncate(long);
            if self.happens(weather.returned) {
                switch::send_back(&mut frame, &marks);
            }
        }
        if self.happens(weather.damaged) {
            let bit = self.chance.below(frame.len() as u32 * 8) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
            self.damaged += 1;
        }
        if self.happens(weather.doubled) {
            self.depart(leaves, frame.clone());
        }
        self.depart(leaves, frame);
    }

    fn depart(&mut self, leaves: Instant, frame: Vec<u8>) {
        let to = frame[..6].to_vec();
        let Some(host) = (0..self.hosts.len()).find(|host| mac(*host).0 == to[..]) else { return };
        let late = self.chance.below((self.weather.delay.0 / 1000) as u32 + 1);
        self.departures += 1;
        let at = leaves + Picos::from_micros(2) + Picos(u64::from(late) * 1000);
        self.flight.insert((at, self.departures), (host, frame));
    }

    fn arrive(&mut self) {
        let Some((_, (host, frame))) = self.flight.pop_first() else { return };
        let now = self.now;
        if self.hosts[host].up {
            self.at(host).receive(now, &frame);
            let engine = &mut self.hosts[host].engine;
            self.notices[host].extend(std::iter::from_fn(|| engine.poll_notice()));
        }
    }
}

pub fn ms(millis: u64) -> Picos {
    Picos::from_millis(millis)
}

/// Bytes that are different everywhere.
pub fn content(seed: u64, long: usize) -> Vec<u8> {
    let mut chance = Seed(seed).stream("content", 0);
    let mut bytes = Vec::with_capacity(long + 8);
    while bytes.len() < long {
        bytes.extend_from_slice(&chance.bits().to_le_bytes());
    }
    bytes.truncate(long);
    bytes
}

/// Writes `bytes` piece by piece as there is room, and finishes.
pub struct Writer {
    pub host: usize,
    pub id: StreamId,
    bytes: Vec<u8>,
    done: usize,
    finished: bool,
}

impl Writer {
    pub fn new(host: usize, id: StreamId, bytes: Vec<u8>) -> Self {
        Self { host, id, bytes, done: 0, finished: false }
    }

    /// Writes what there is room for. True: everything was written, and finished.
    pub fn go_on(&mut self, net: &mut Net) -> bool {
        while self.done < self.bytes.len() {
            let taken = net.write(self.host, self.id, &self.bytes[self.done..]).unwrap();
            if taken == 0 {
                return false;
            }
            self.done += taken;
        }
        if !std::mem::replace(&mut self.finished, true) {
            net.finish(self.host, self.id);
        }
        true
    }
}

/// Reads everything to the end.
pub struct Reader {
    pub host: usize,
    pub id: StreamId,
    pub bytes: Vec<u8>,
    pub ended: bool,
}

impl Reader {
    pub fn new(host: usize, id: StreamId) -> Self {
        Self { host, id, bytes: Vec::new(), ended: false }
    }

    /// Reads what there is. True: up to the end.
    pub fn go_on(&mut self, net: &mut Net) -> bool {
        if !self.ended {
            let (bytes, ended) = net.read(self.host, self.id).unwrap();
            self.bytes.extend(bytes);
            self.ended = ended;
        }
        self.ended
    }
}
