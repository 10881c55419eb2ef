//! A host survives arbitrary input and arbitrary operations of its application: packets of any kind with correct checksums,
//! trimmed, returned and damaged ones, and arbitrary bytes. It sends well-formed frames, keeps its limits, gives the
//! application no more than has arrived, and frees all state in the end.
#![no_main]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use libfuzzer_sys::fuzz_target;
use pullnet_host::{Engine, EngineOptions, Limits, StreamId, StreamOptions};
use pullnet_units::{Instant, Picos};
use pullnet_wire::{
    DataFields, Fate, Mac, Marks, PORT, Packet, REPLY, Reason, Route, STAMP_MASK, Shape, emit, parse, switch,
    tag,
};

/// One event: kind of packet or action, and three numbers.
type Step = (u8, u16, u32, u16);

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const LIMITS: Limits = Limits {
    connections: 24,
    connections_per_peer: 8,
    tokens_per_second: 100,
    remembered: 1000,
    send_memory: 100_000,
    resets_per_second: 100,
    send_buffer: 5000,
    receive_buffer: 4000,
    memory: 20_000,
    backlog: 6,
};
/// Room for a packet that the reader waits for, which is accepted regardless of the limit.
const PACKET: u64 = 1436 + 64;

fn peer(number: u16) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, number as u8 % 8))
}

struct World {
    engine: Engine,
    now: Instant,
    /// Connections in frames that the host sent recently.
    spoken_of: Vec<u32>,
    streams: Vec<StreamId>,
    arrived: u64,
    read: u64,
    /// Tags used by the host, by connection; tokens issued by the host; the latest stamp, and the latest nonce.
    tags: BTreeMap<(IpAddr, u16, u32), u64>,
    tokens: BTreeMap<(IpAddr, u16), u64>,
    stamp: u32,
    nonce: u64,
}

impl World {
    fn new() -> Self {
        let neighbours = (0..8).map(|number| (peer(number), Mac([2, 0, 0, 0, 1, number as u8]))).collect();
        let options = EngineOptions { limits: LIMITS, neighbours, ..EngineOptions::new(HOST) };
        let engine = Engine::new(options).expect("these options work");
        let (spoken_of, streams) = (vec![0], Vec::new());
        Self {
            engine,
            now: Instant::ZERO,
            spoken_of,
            streams,
            arrived: 0,
            read: 0,
            tags: BTreeMap::new(),
            tokens: BTreeMap::new(),
            stamp: 0,
            nonce: 9,
        }
    }

    /// The tag of a connection: one in use by the host, one under a token issued by it, or a wrong one.
    fn tag(&self, (peer, home): (IpAddr, u16), conn: u32, right: bool) -> u64 {
        let known = self.tags.get(&(peer, home, conn & !REPLY)).copied();
        let made = || self.tokens.get(&(peer, home)).map(|token| tag(*token, conn & !REPLY, self.stamp));
        known.or_else(made).filter(|_| right).unwrap_or(1)
    }

    fn conn(&self, choice: u16) -> u32 {
        let base = match choice & 4 {
            0 => u32::from(choice & 3),
            _ => self.spoken_of[usize::from(choice) % self.spoken_of.len()],
        };
        if choice & 8 == 0 { base } else { base ^ REPLY }
    }

    /// A packet from one of eight hosts: whole, trimmed, returned or with a flipped bit.
    fn packet(&mut self, (kind, a, b, c): Step) {
        let seq = if c & 1 == 0 { b % 64 } else { b };
        let pull = (c & 2 != 0).then_some(b);
        let length = (c >> 4) % 1437;
        let shape = match kind & 7 {
            0..=2 => Shape::Data(DataFields {
                seq,
                syn: c & 4 == 0,
                last: c & 8 != 0,
                pulled: pull.is_some(),
                again: c & 4096 != 0,
                length,
                service: a >> 12,
                priority: c as u8,
                stamp: if c & 4 == 0 { self.stamp } else { 0 },
            }),
            3 => Shape::Ack { seq, also: c.into(), pull },
            4 => Shape::Nack { seq, pull },
            5 => Shape::Pull { number: b },
            6 if c & 8 == 0 => Shape::Probe { seq },
            6 if c & 16 == 0 => Shape::Hello,
            6 => Shape::Cookie { token: b.into(), clock: b & STAMP_MASK },
            _ => Shape::Reset { by_sender: c & 1 == 0, reason: Reason((b % 9) as u8) },
        };
        let payload = vec![kind; if shape.is_data() { length.into() } else { 0 }];
        let home = PORT + (a >> 8 & 1);
        let (conn, tag) = match shape {
            Shape::Hello | Shape::Cookie { .. } => (0, self.nonce),
            _ => {
                let conn = self.conn(a >> 4);
                (conn, self.tag((peer(a), home), conn, c & 8192 == 0))
            }
        };
        let packet = Packet { home, conn, tag, shape };
        let route = Route {
            from_mac: Mac([2, 0, 0, 0, 1, a as u8]),
            to_mac: Mac::default(),
            from: peer(a),
            to: HOST,
            from_port: Route::port_of(a),
            to_port: PORT,
        };
        let mut frame = vec![0; 1600];
        let long = emit(&mut frame, &route, &Marks::default(), &packet, &payload).expect("it fits");
        frame.truncate(long);
        self.spoil(&mut frame, kind >> 5, b);
        self.receive(&frame);
    }

    fn spoil(&self, frame: &mut Vec<u8>, how: u8, b: u32) {
        let marks = Marks::default();
        match how {
            0 => {
                let long = switch::trim(frame, 74, switch::Lengths::Kept, &marks);
                frame.truncate(long.unwrap_or(frame.len()));
            }
            1 => {
                // A returned header, as a switch would return this host's own frame: with the checksum of the original
                // direction.
                if let Ok(arrived) = parse(frame, &marks, PORT) {
                    let (route, packet) = (arrived.route, arrived.packet);
                    let there = Route { from: route.to, to: route.from, ..route };
                    let payload = arrived.payload.to_vec();
                    if emit(frame, &there, &marks, &packet, &payload).is_ok() {
                        switch::send_back(frame, &marks);
                    }
                }
            }
            2 => {
                let bit = b as usize % (8 * frame.len());
                frame[bit / 8] ^= 1 << (bit % 8);
            }
            _ => {}
        }
    }

    fn receive(&mut self, frame: &[u8]) {
        if let Ok(arrived) = parse(frame, &Marks::default(), PORT)
            && arrived.fate == Fate::Whole
        {
            self.arrived += arrived.payload.len() as u64;
        }
        self.engine.receive(self.now, frame);
    }

    fn act(&mut self, (kind, a, b, _): Step) {
        let (now, service) = (self.now, a >> 12);
        let id = self.streams.get(usize::from(a) % self.streams.len().max(1)).copied();
        match (kind >> 3 & 15, id) {
            (0, _) => drop(self.engine.listen(service)),
            (1, _) => self.engine.unlisten(now, service),
            (2, _) => self.streams.extend(self.engine.accept(service)),
            (3, _) => {
                let (to, options) = (SocketAddr::new(peer(a), PORT), StreamOptions { priority: b as u8 });
                self.streams.extend(self.engine.connect(now, to, service, options).ok());
            }
            (4 | 5, Some(id)) => drop(self.engine.write(now, id, &vec![7; b as usize % 4000])),
            (6, Some(id)) => drop(self.engine.finish(now, id)),
            (7..=9, Some(id)) => self.read(id, b as usize % 4000),
            (10, Some(id)) => self.engine.close(now, id),
            (11, Some(id)) => self.engine.abort(now, id),
            (12, Some(id)) => self.engine.prefer(id, b as u8),
            _ => self.pass(Picos(u64::from(b) * 1000)),
        }
    }

    fn read(&mut self, id: StreamId, most: usize) {
        let mut out = vec![0; most];
        if let Ok(pullnet_host::Read::Bytes(long)) = self.engine.read(self.now, id, &mut out) {
            self.read += long as u64;
        }
    }

    /// Advances time and runs the due timers.
    fn pass(&mut self, time: Picos) {
        let until = self.now + time;
        for _ in 0..1000 {
            let Some(at) = self.engine.deadline().filter(|at| *at <= until) else { break };
            self.now = self.now.max(at);
            self.engine.timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    /// Checks that all frames sent by the host are well-formed, and that it keeps its limits.
    fn drain(&mut self) {
        let mut frame = vec![0; 1514];
        for _ in 0..200 {
            let long = self.engine.transmit(self.now, &mut frame);
            if long == 0 {
                break;
            }
            let port = u16::from_be_bytes([frame[36], frame[37]]);
            let sent = parse(&frame[..long], &Marks::default(), port).expect("a host sends what can be read");
            assert_eq!((sent.fate, sent.route.from), (Fate::Whole, HOST));
            self.spoken_of.push(sent.packet.conn & !REPLY);
            let to = (sent.route.to, sent.route.to_port);
            match sent.packet.shape {
                Shape::Cookie { token, clock } => {
                    self.tokens.insert(to, token);
                    self.stamp = clock;
                }
                Shape::Hello => self.nonce = sent.packet.tag,
                _ => drop(self.tags.insert((to.0, to.1, sent.packet.conn & !REPLY), sent.packet.tag)),
            }
        }
        let kept = self.spoken_of.len().saturating_sub(8);
        self.spoken_of.drain(..kept);
        while self.engine.poll_notice().is_some() {}
        while let Some(address) = self.engine.poll_unresolved() {
            self.engine.resolved(self.now, address, None);
        }
        assert!(self.engine.poll_stranger().is_none(), "all are given");
    }

    fn check(&self) {
        let totals = self.engine.status().totals;
        let most = LIMITS.memory as u64 + totals.streams * PACKET;
        assert!(totals.waiting_bytes <= most, "{} B wait for readers", totals.waiting_bytes);
        assert!(totals.streams <= (LIMITS.connections + LIMITS.connections / 4 + 1) as u64);
        assert!(totals.peers <= 16, "{} peers, of 8 hosts with two ports each", totals.peers);
        assert!(self.read <= totals.counts.received_bytes && totals.counts.received_bytes <= self.arrived);
    }

    /// Closes all streams and waits; no state may remain.
    fn end(&mut self) {
        (0..16).for_each(|service| self.engine.unlisten(self.now, service));
        for id in std::mem::take(&mut self.streams) {
            self.engine.close(self.now, id);
        }
        self.drain();
        (0..60).for_each(|_| self.pass(Picos::from_secs(1)));
        let totals = self.engine.status().totals;
        assert_eq!((totals.streams, totals.waiting_bytes, totals.peers), (0, 0, 0));
    }
}

fuzz_target!(|steps: Vec<(Step, Vec<u8>)>| {
    let mut world = World::new();
    for (step, bytes) in steps.into_iter().take(2000) {
        match step.0 & 7 {
            7 if step.0 & 0x80 == 0 => world.act(step),
            7 => world.receive(&bytes),
            _ => world.packet(step),
        }
        world.drain();
        world.check();
    }
    world.end();
});
