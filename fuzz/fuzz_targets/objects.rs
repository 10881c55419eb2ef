//! Hosts that exchange objects survive arbitrary networks: frames that are lost, copied, trimmed, damaged, or forged with a
//! correct checksum. Blocks lie within their object, an object that is received whole has every byte once, all hosts come to
//! rest, and without forged frames the content is unchanged. Arbitrary bytes are a message or are rejected.
#![no_main]

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use libfuzzer_sys::fuzz_target;
use pullnet_objects::{Engine, EngineOptions, Message, Notice, ObjectId, ReadAt};
use pullnet_protocols::Scdp;
use pullnet_transport::{Header, HostAddr, Source, Transmit, Words};
use pullnet_units::{BitsPerSec, Instant, Picos};
use pullnet_wire::switch::{Lengths, trim};
use pullnet_wire::{Framed, HeaderOf, Mac, Marks};

/// An action on the oldest frame in flight, and two numbers.
type Step = (u8, u16, u32);

const PORT: u16 = 61_200;
const HOSTS: usize = 3;
/// Sizes of the object from host 0 to the others, and of the one from the others to host 0. Bytes.
const SIZES: [usize; 2] = [9_000, 14_000];
const SESSIONS: [u32; 2] = [7 << 8, 9 << 8];
/// All is quiet by then.
const LIMIT: Instant = Instant(120_000_000_000_000);

fn address(host: usize) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, host as u8 + 1), PORT).into()
}

fn mac(host: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, host as u8])
}

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at ^ (at >> 8)) as u8).collect()
}

struct World {
    engines: Vec<Engine>,
    now: Instant,
    /// Frames on their way, and the host that each goes to.
    flight: VecDeque<(usize, Vec<u8>)>,
    /// Bytes received of each object at each host that expects it.
    received: Vec<(usize, ObjectId, u64)>,
    forged: bool,
}

impl World {
    fn new() -> Self {
        let engine = |host: usize| {
            let options = EngineOptions::new(address(host), BitsPerSec::gbps(1), 1500, host as u64);
            let mut engine = Engine::new(EngineOptions { mac: mac(host), ..options }).expect("these work");
            (0..HOSTS).for_each(|other| engine.meet(Instant::ZERO, address(other), mac(other)));
            engine
        };
        let mut engines: Vec<_> = (0..HOSTS).map(engine).collect();
        let (start, [whole, shared], [first, second]) = (Instant::ZERO, SIZES, SESSIONS);
        let bytes = |size: usize| Box::new(content(size)) as Box<dyn ReadAt>;
        for host in 1..HOSTS {
            let session = first + host as u32;
            engines[host].expect(start, Some(address(0)), session, ObjectId(0), whole as u64);
            engines[0].send(start, address(host), session, whole as u64, bytes(whole));
            let source = Source { index: host as u16 - 1, of: HOSTS as u16 - 1 };
            engines[host].send_share(start, address(0), (second, shared as u64), bytes(shared), source);
        }
        engines[0].expect(start, None, second, ObjectId(1), shared as u64);
        Self { engines, now: start, flight: VecDeque::new(), received: Vec::new(), forged: false }
    }

    /// Every host sends what it may send now, and tells what it has.
    fn turn(&mut self) {
        for host in 0..HOSTS {
            self.engines[host].timers(self.now);
            let mut room = [0; 1600];
            loop {
                let long = self.engines[host].poll_frame(self.now, &mut room);
                if long == 0 {
                    break;
                }
                self.flight.push_back((usize::from(room[5]), room[..long].to_vec()));
            }
            while let Some(notice) = self.engines[host].poll_notice() {
                self.take(host, &notice);
            }
        }
    }

    fn take(&mut self, host: usize, notice: &Notice) {
        match notice {
            Notice::Block { id, offset, bytes } => {
                let sent = content(SIZES[id.0 as usize]);
                let (from, until) = (*offset as usize, *offset as usize + bytes.len());
                assert!(until <= sent.len(), "{host}: {from} to {until} of {}", sent.len());
                assert!(self.forged || sent[from..until] == bytes[..]);
                self.received.push((host, *id, bytes.len() as u64));
            }
            Notice::Received { id } => {
                let of_it = self.received.iter().filter(|(at, of, _)| (*at, *of) == (host, *id));
                let all: u64 = of_it.map(|(_, _, bytes)| bytes).sum();
                assert_eq!(all, SIZES[id.0 as usize] as u64, "{host} {id:?}");
            }
            _ => {}
        }
    }

    fn deliver(&mut self, host: usize, frame: &[u8]) {
        if let Some(engine) = self.engines.get_mut(host) {
            engine.arrive(self.now, frame);
        }
    }

    fn step(&mut self, (action, place, value): Step) {
        self.turn();
        let Some((host, mut frame)) = self.flight.pop_front() else { return self.wait() };
        match action % 8 {
            0 => {}
            1 => {
                self.deliver(host, &frame);
                self.deliver(host, &frame);
            }
            2 => {
                if let Some(long) = trim(&mut frame, place.into(), Lengths::Corrected, &Marks::default()) {
                    frame.truncate(long);
                }
                self.deliver(host, &frame);
            }
            3 => {
                let at = usize::from(place) % frame.len();
                frame[at] ^= (value as u8).max(1);
                self.deliver(host, &frame);
            }
            4 => {
                self.forge(host, &frame, place, value);
                self.flight.push_front((host, frame));
            }
            5 => self.flight.push_back((host, frame)),
            _ => self.deliver(host, &frame),
        }
    }

    /// Delivers a copy of a frame with one changed word in its header and a correct checksum.
    fn forge(&mut self, host: usize, frame: &[u8], place: u16, value: u32) {
        let marks = Marks::default();
        let Ok(arrived) = Scdp::parse(frame, &marks, PORT) else { return };
        self.forged = true;
        let mut packed = arrived.header.pack();
        if place & 0x100 == 0 {
            let words = packed.words.get_mut();
            let at = usize::from(place) % words.len();
            words[at] ^= value;
        } else {
            packed.kind ^= value as u8;
        }
        let header = HeaderOf::<Scdp>::unpack(packed);
        let received = arrived.received(HostAddr(0), 1);
        let packet =
            Transmit { wire: received.wire, ..Transmit::data(received.from, 0, received.wire, header) };
        let payload = content(Scdp::payload(&packet));
        let mut out = [0; 2000];
        if Scdp::emit(&mut out, &arrived.route, &marks, arrived.home, &packet, &payload).is_ok() {
            self.deliver(host, &out);
        }
    }

    /// Nothing is on its way: time passes until a host has to do something.
    fn wait(&mut self) {
        let due = self.engines.iter().map(Engine::due).min().unwrap_or(Instant::NEVER);
        if due != Instant::NEVER {
            self.now = due.max(self.now.after(Picos(1)));
            assert!(self.now < LIMIT, "the hosts never come to rest");
        }
    }

    /// From now on every frame arrives.
    fn rest(&mut self) {
        loop {
            self.turn();
            if let Some((host, frame)) = self.flight.pop_front() {
                self.deliver(host, &frame);
            } else if self.engines.iter().all(|engine| engine.due() == Instant::NEVER) {
                return;
            } else {
                self.wait();
            }
        }
    }
}

fuzz_target!(|input: (Vec<u8>, Vec<Step>)| {
    let (bytes, steps) = input;
    if let Some(message) = Message::read(&bytes) {
        assert_eq!(Message::read(&message.write()), Some(message));
    }
    let mut world = World::new();
    steps.into_iter().take(400).for_each(|step| world.step(step));
    world.rest();
});
