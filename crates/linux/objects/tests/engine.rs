//! Engines joined by a network in virtual time that loses, trims and copies frames.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use pullnet_objects::{Engine, EngineOptions, Message, Notice, ObjectId};
use pullnet_rng::{RandomStream, Seed};
use pullnet_transport::Source;
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};
use pullnet_wire::switch::{Lengths, mark, trim};
use pullnet_wire::{Mac, Mark, Marks};

const PORT: u16 = 61_200;
const DELAY: Picos = Picos::from_micros(100);
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 0, 1);
const SESSION: u32 = 7 << 8;
/// All is quiet by then.
const LIMIT: Instant = Instant(120_000_000_000_000);

fn address(host: usize) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, host as u8 + 1), PORT).into()
}

fn mac(host: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, host as u8])
}

fn bytes(long: usize) -> Vec<u8> {
    (0..long).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

/// Impairments of the network.
#[derive(Clone, Copy, Default)]
struct Weather {
    /// Of a hundred frames, how many are lost, and how many frames with symbols are trimmed.
    lose: u32,
    trim: u32,
    /// A host that is dead from a time on.
    death: Option<(usize, Instant)>,
    /// Delay beyond [`DELAY`].
    late: Picos,
    /// Longest time for which a host does nothing, about once in a hundred turns: another process has its processor.
    pause: Picos,
    /// Hosts look at their frames and timers only so often.
    look: Picos,
}

struct Cluster {
    engines: Vec<Engine>,
    weather: Weather,
    chance: RandomStream,
    now: Instant,
    flight: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    number: u64,
    /// Until when each host does nothing.
    paused: Vec<Instant>,
    /// Bytes of the object that each host has received, and whether the object is complete.
    objects: Vec<(Vec<u8>, bool)>,
    notices: Vec<(usize, Notice)>,
    /// Frames to the group that left.
    to_group: u64,
    /// When each host had the object.
    received_at: Vec<Instant>,
}

impl Cluster {
    fn new(hosts: usize, weather: Weather, long: usize, seed: u64) -> Self {
        let engine = |host: usize| {
            let options = EngineOptions::new(address(host), BitsPerSec::gbps(1), 1500, seed + host as u64);
            let mut engine = Engine::new(EngineOptions { mac: mac(host), ..options }).unwrap();
            (0..hosts).for_each(|other| engine.meet(Instant::ZERO, address(other), mac(other)));
            engine
        };
        Self {
            engines: (0..hosts).map(engine).collect(),
            weather,
            chance: Seed(seed).stream("test.network", 0),
            now: Instant::ZERO,
            flight: BTreeMap::new(),
            number: 0,
            paused: vec![Instant::ZERO; hosts],
            objects: vec![(vec![0; long], false); hosts],
            notices: Vec::new(),
            to_group: 0,
            received_at: vec![Instant::ZERO; hosts],
        }
    }

    fn dead(&self, host: usize) -> bool {
        self.weather.death.is_some_and(|(dead, at)| dead == host && self.now >= at)
    }

    fn depart(&mut self, from: usize, frame: &[u8]) {
        let to = frame[5] as usize;
        let group = frame[0] & 1 == 1;
        self.to_group += u64::from(group);
        let hosts: Vec<usize> =
            (0..self.engines.len()).filter(|host| if group { *host != from } else { *host == to }).collect();
        for host in hosts {
            if self.chance.below(100) < self.weather.lose {
                continue;
            }
            let (mut copy, marks) = (frame.to_vec(), Marks::default());
            if mark(&copy, &marks) == Some(Mark::Data)
                && self.chance.below(100) < self.weather.trim
                && let Some(long) = trim(&mut copy, 0, Lengths::Corrected, &marks)
            {
                copy.truncate(long);
            }
            self.number += 1;
            let at = self.now.after(DELAY).after(self.weather.late);
            self.flight.insert((at, self.number), (host, copy));
        }
    }

    fn turn(&mut self) {
        for host in 0..self.engines.len() {
            if self.dead(host) || self.paused[host] > self.now {
                continue;
            }
            if self.weather.pause > Picos::ZERO && self.chance.below(100) == 0 {
                let pause = (self.chance.unit() * self.weather.pause.0 as f64) as u64;
                self.paused[host] = self.now.after(Picos(pause));
                continue;
            }
            self.paused[host] = self.now.after(self.weather.look);
            self.engines[host].timers(self.now);
            let mut room = [0; 1600];
            loop {
                let long = self.engines[host].poll_frame(self.now, &mut room);
                if long == 0 {
                    break;
                }
                self.depart(host, &room[..long]);
            }
            while let Some(notice) = self.engines[host].poll_notice() {
                let (object, complete) = &mut self.objects[host];
                match &notice {
                    Notice::Block { offset, bytes, .. } => {
                        object[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
                    }
                    Notice::Received { .. } => {
                        *complete = true;
                        self.received_at[host] = self.now;
                    }
                    _ => {}
                }
                if !matches!(notice, Notice::Block { .. }) {
                    self.notices.push((host, notice));
                }
            }
        }
    }

    /// Runs until nothing is left to do.
    fn run(&mut self) {
        loop {
            self.turn();
            let next = self.flight.keys().next().map_or(Instant::NEVER, |(at, _)| *at);
            let alive = (0..self.engines.len()).filter(|host| !self.dead(*host));
            let due = alive.map(|host| self.engines[host].due().max(self.paused[host]));
            let due = due.min().unwrap_or(Instant::NEVER);
            let at = next.min(due.max(self.now));
            if at == Instant::NEVER {
                return;
            }
            assert!(at < LIMIT, "it never comes to rest: {:?}", self.notices);
            self.now = at;
            while let Some(((at, _), _)) = self.flight.first_key_value()
                && *at <= self.now
            {
                let Some((_, (host, frame))) = self.flight.pop_first() else { break };
                if self.paused[host] > self.now {
                    self.number += 1;
                    self.flight.insert((self.paused[host], self.number), (host, frame));
                } else if !self.dead(host) {
                    self.engines[host].arrive(self.now, &frame);
                }
            }
        }
    }

    /// Host 0 sends `object` to the group of the three others; returns their addresses.
    fn run_group(&mut self, object: &[u8]) -> [SocketAddr; 3] {
        let (long, to) = (object.len(), [address(1), address(2), address(3)]);
        (1..4).for_each(|host| self.expect(host, Some(0), long));
        let (what, content) = ((SESSION, long as u64), Box::new(object.to_vec()));
        self.engines[0].send_to_group(Instant::ZERO, (GROUP, PORT), &to, what, content);
        self.run();
        to
    }

    fn expect(&mut self, host: usize, from: Option<usize>, long: usize) {
        self.engines[host].expect(Instant::ZERO, from.map(address), SESSION, ObjectId(3), long as u64);
    }

    /// Hosts that host 0 has taken out of their group.
    fn apart(&self) -> Vec<SocketAddr> {
        let apart = |(_, notice): &(usize, Notice)| match notice {
            Notice::Apart { to, session: SESSION } => Some(*to),
            _ => None,
        };
        self.notices.iter().filter_map(apart).collect()
    }

    /// Hosts to which host 0 has sent everything, and hosts that it has given up.
    fn ends(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let of_sender = self.notices.iter().filter(|(host, _)| *host == 0);
        let mut sent: Vec<_> = of_sender
            .clone()
            .filter_map(|(_, notice)| if let Notice::Sent { to, .. } = notice { Some(*to) } else { None })
            .collect();
        sent.sort_unstable();
        let failed = of_sender
            .filter_map(|(_, notice)| if let Notice::Failed { to, .. } = notice { Some(*to) } else { None });
        (sent, failed.collect())
    }
}

const BAD: Weather =
    Weather { lose: 2, trim: 5, death: None, late: Picos::ZERO, pause: Picos::ZERO, look: Picos::ZERO };

#[test]
fn an_object_arrives_whole_whatever_is_lost_or_trimmed() {
    for (seed, long) in [(1, 1), (2, 1411), (3, 1413), (4, 100_000), (5, 3_000_000)] {
        for weather in [Weather::default(), BAD] {
            let (object, mut network) = (bytes(long), Cluster::new(2, weather, long, seed));
            network.expect(1, Some(0), long);
            network.engines[0].send(
                Instant::ZERO,
                address(1),
                SESSION,
                long as u64,
                Box::new(object.clone()),
            );
            network.run();
            assert!(network.objects[1] == (object, true), "{long} B");
            assert_eq!(network.ends(), (vec![address(1)], vec![]));
        }
    }
}

/// Processes of a busy machine answer after a time slice, or several. Probes of their senders, which come more often than a
/// round trip takes, must not keep a receiver from noticing that symbols are lost.
#[test]
fn an_object_arrives_over_round_trips_that_are_longer_than_timeouts() {
    let long = 300_000;
    for (seed, late) in
        [(1, 20), (2, 100), (3, 300), (4, 350), (5, 120), (6, 30), (7, 250), (8, 20), (9, 310)]
    {
        let pause = Picos::from_millis(late);
        let weather = Weather { late: Picos::from_millis(late % 100), pause, trim: 0, ..BAD };
        let (object, mut network) = (bytes(long), Cluster::new(4, weather, long, seed));
        let to = network.run_group(&object);
        assert_eq!(network.ends(), (to.to_vec(), vec![]), "{late} ms");
        assert!((1..4).all(|host| network.objects[host] == (object.clone(), true)));
    }
}

/// The kernel wakes processes late. Pulls and symbols that are late for this reason still leave at the rate of the link.
#[test]
fn hosts_that_look_late_keep_the_rate_of_their_links() {
    let long = 4_000_000;
    for look in [0, 20, 50, 100] {
        let weather = Weather { look: Picos::from_micros(look), ..Weather::default() };
        let (object, mut network) = (bytes(long), Cluster::new(2, weather, long, 1));
        network.expect(1, Some(0), long);
        network.engines[0].send(Instant::ZERO, address(1), SESSION, long as u64, Box::new(object));
        network.run();
        let (symbols, all) = (long.div_ceil(1412) as u64, network.received_at[1]);
        let needed = BitsPerSec::gbps(1).serialization(Bytes(symbols * 1538)).0 + DELAY.0;
        let of_needed = all.0 as f64 / needed as f64;
        assert!(of_needed < 1.02, "a look every {look} us: {of_needed:.2} of the time of the wire");
    }
}

#[test]
fn a_group_gets_each_symbol_once_and_everyone_has_the_object() {
    let long = 2_000_000;
    for (seed, weather) in [(1, Weather::default()), (2, BAD), (3, BAD)] {
        let (object, mut network) = (bytes(long), Cluster::new(4, weather, long, seed));
        let to = network.run_group(&object);
        assert!((1..4).all(|host| network.objects[host] == (object.clone(), true)));
        assert_eq!(network.ends(), (to.to_vec(), vec![]));
        let symbols = long.div_ceil(1412) as u64;
        assert!(network.to_group >= symbols, "{}", network.to_group);
        if weather.lose == 0 {
            let sent = network.engines[0].counts().symbols_sent;
            assert_eq!((network.to_group, sent), (symbols, symbols), "none twice");
        }
    }
}

#[test]
fn a_receiver_that_dies_does_not_keep_its_group_from_the_object() {
    let long = 2_000_000;
    let weather = Weather { death: Some((2, Instant(8_000_000_000))), ..BAD };
    let (object, mut network) = (bytes(long), Cluster::new(4, weather, long, 5));
    (1..4).for_each(|host| network.expect(host, Some(0), long));
    let to = [address(1), address(2), address(3)];
    let content = Box::new(object.clone());
    network.engines[0].send_to_group(Instant::ZERO, (GROUP, PORT), &to, (SESSION, long as u64), content);
    network.run();
    assert!([1, 3].iter().all(|host| network.objects[*host] == (object.clone(), true)));
    assert!(!network.objects[2].1, "it died half-way");
    assert_eq!(network.ends(), (vec![address(1), address(3)], vec![address(2)]));
    assert_eq!(network.apart(), [address(2)]);
}

#[test]
fn a_receiver_that_keeps_its_group_waiting_is_told_apart_and_gets_the_object_all_the_same() {
    let long = 2_000_000;
    let mut network = Cluster::new(4, Weather::default(), long, 6);
    // It does nothing for longer than its group has patience, and less than its sender.
    network.paused[2] = Instant(1_000_000_000_000);
    let object = bytes(long);
    let to = network.run_group(&object);
    assert!((1..4).all(|host| network.objects[host] == (object.clone(), true)));
    assert_eq!(network.ends(), (to.to_vec(), vec![]));
    assert_eq!(network.apart(), [address(2)], "those that end early or last are of the group");
}

#[test]
fn several_senders_give_one_object_even_if_one_dies() {
    let long = 2_000_000;
    for (seed, death) in [(1, None), (2, Some((2, Instant(6_000_000_000)))), (3, Some((1, Instant::ZERO)))] {
        let (object, mut network) = (bytes(long), Cluster::new(4, Weather { death, ..BAD }, long, seed));
        network.expect(0, None, long);
        for index in 0..3 {
            let content = Box::new(object.clone());
            let source = Source { index, of: 3 };
            let engine = &mut network.engines[index as usize + 1];
            engine.send_share(Instant::ZERO, address(0), (SESSION, long as u64), content, source);
        }
        network.run();
        assert!(network.objects[0] == (object, true), "death: {death:?}");
    }
}

#[test]
fn messages_arrive_and_what_was_not_announced_does_not() {
    let mut network = Cluster::new(2, BAD, 0, 9);
    let find = Message::Find { ticket: 3, name: "object".into() };
    network.engines[0].send_message(Instant::ZERO, address(1), &find);
    // The sender of an unexpected object gives up.
    network.engines[0].send(Instant::ZERO, address(1), SESSION, 50_000, Box::new(bytes(50_000)));
    network.run();
    assert!(network.notices.contains(&(1, Notice::Message { from: address(0), message: find })));
    assert_eq!(network.ends(), (vec![address(1)], vec![address(1)]));
    assert!(network.engines[1].counts().stray > 0);
}

#[test]
fn content_that_cannot_be_read_ends_its_session() {
    let mut network = Cluster::new(2, Weather::default(), 500_000, 1);
    network.expect(1, Some(0), 500_000);
    network.engines[0].send(Instant::ZERO, address(1), SESSION, 500_000, Box::new(bytes(200_000)));
    network.run();
    let why = network.notices.iter().find_map(|(_, notice)| match notice {
        Notice::Failed { why, .. } => Some(why.as_str()),
        _ => None,
    });
    assert_eq!(why, Some("the content cannot be read: unexpected end of file"));
    assert!(!network.objects[1].1);
}

#[test]
fn frames_of_strangers_and_noise_change_nothing() {
    let mut network = Cluster::new(2, Weather::default(), 10, 1);
    network.engines[0].send(Instant::ZERO, address(1), SESSION, 10, Box::new(bytes(10)));
    let mut room = [0; 1600];
    let long = network.engines[0].poll_frame(Instant::ZERO, &mut room);
    let whole = room[..long].to_vec();
    for bit in 0..whole.len() * 8 {
        let mut frame = whole.clone();
        frame[bit / 8] ^= 1 << (bit % 8);
        network.engines[1].arrive(Instant::ZERO, &frame);
        network.engines[1].arrive(Instant::ZERO, &frame[..bit / 8]);
    }
    assert!(network.engines[1].poll_notice().is_none());
}
