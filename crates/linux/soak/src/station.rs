//! A host with its application: an engine, its link, and its sessions.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use pullnet_host::{Engine, EngineOptions, Notice, Secret, StreamOptions};
use pullnet_units::Instant;
use pullnet_wire::PORT;

use crate::keys;
use crate::ledger::Ledger;
use crate::message::Head;
use crate::network::{FaultyFabric, HOSTS, RATE, mac, on_the_line};
use crate::session::Session;

const SERVICE: u16 = 7;
/// Open calls per application.
const CALLS: u64 = 8;
/// Open streams per application.
const STREAMS: u64 = 2;
/// Bytes per read.
const READ: usize = 64 * 1024;

pub(crate) fn address(host: u32) -> IpAddr {
    IpAddr::from([10, 0, 0, host as u8 + 1])
}

fn host_at(address: IpAddr) -> Option<u32> {
    (0..HOSTS).find(|host| self::address(*host) == address)
}

pub(crate) struct Station {
    number: u32,
    pub engine: Engine,
    /// Time at which the link is free, and whether a frame may be waiting.
    free_at: Instant,
    ready: bool,
    sessions: BTreeMap<u64, Session>,
    calls: u64,
    streams: u64,
    frame: Vec<u8>,
    room: Vec<u8>,
}

impl Station {
    /// Creates a host whose application listens and has sent no request yet. Hosts that share keys encrypt everything.
    pub fn new(now: Instant, number: u32, seed: u64, encrypted: bool) -> Self {
        let peers = (0..HOSTS).map(|host| SocketAddr::new(address(host), PORT));
        let keys = encrypted.then(|| keys::towards(address(number), peers));
        // The seed is another one at each start, and is mixed into the secret.
        let secret = Secret::new([0x5e; 16]);
        let mut options = EngineOptions {
            mac: mac(number),
            rate: RATE,
            seed,
            secret,
            keys,
            ..EngineOptions::new(address(number))
        };
        options.transport.burst = options.usual_burst();
        let frame = vec![0; options.mtu + pullnet_wire::ETHERNET];
        let mut engine = Engine::new(options).expect("the options are those of every host");
        engine.listen(SERVICE).expect("a new engine has no listener");
        Self {
            number,
            engine,
            free_at: now,
            ready: true,
            sessions: BTreeMap::new(),
            calls: 0,
            streams: 0,
            frame,
            room: vec![0; READ],
        }
    }

    /// Time of the next event without input.
    pub fn next(&self, now: Instant) -> Instant {
        let send = if self.ready { self.free_at } else { Instant::NEVER };
        send.min(self.engine.deadline().unwrap_or(Instant::NEVER)).max(now)
    }

    /// Begins calls and streams up to the application's limits.
    pub fn ask(&mut self, now: Instant, ledger: &mut Ledger) {
        while self.calls < CALLS
            && let Some(head) = ledger.next_call()
        {
            self.calls += 1;
            self.begin(now, head, ledger);
        }
        while self.streams < STREAMS
            && let Some(head) = ledger.next_stream()
        {
            self.streams += 1;
            self.begin(now, head, ledger);
        }
    }

    fn begin(&mut self, now: Instant, head: Head, ledger: &mut Ledger) {
        let to = ledger.another(self.number);
        let whole = SocketAddr::new(address(to), PORT);
        match self.engine.connect(now, whole, SERVICE, StreamOptions::default()) {
            Ok(id) => {
                let session = Session::asking(id, ledger.partner(to), head, ledger.seed);
                self.sessions.insert(id.bits(), session);
                self.go_on(now, id.bits(), ledger);
            }
            Err(error) => {
                ledger.failed(now, Some(&head), &ledger.partner(to), &error);
                self.ended(&head);
            }
        }
    }

    fn ended(&mut self, head: &Head) {
        *if head.both_ways { &mut self.streams } else { &mut self.calls } -= 1;
    }

    fn go_on(&mut self, now: Instant, id: u64, ledger: &mut Ledger) {
        self.ready = true;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if !session.go_on(now, &mut self.engine, ledger, &mut self.room) {
            return;
        }
        let over = self.sessions.remove(&id);
        over.and_then(|session| session.asked).into_iter().for_each(|head| self.ended(&head));
    }

    /// Processes a received frame.
    pub fn receive(&mut self, now: Instant, frame: &[u8], ledger: &mut Ledger) {
        self.ready = true;
        self.engine.receive(now, frame);
        self.deliver_notices(now, ledger);
    }

    /// Processes due events, and sends a frame if the link is free.
    pub fn visit(&mut self, now: Instant, network: &mut FaultyFabric, ledger: &mut Ledger) {
        if self.engine.deadline().is_some_and(|at| at <= now) {
            self.engine.timeout(now);
            self.ready = true;
            self.deliver_notices(now, ledger);
        }
        while let Some(address) = self.engine.poll_unresolved() {
            self.engine.resolved(now, address, host_at(address).map(mac));
        }
        while let Some(address) = self.engine.poll_stranger() {
            self.engine.recognised(now, address, host_at(address).map(mac));
            self.ready = true;
        }
        if self.ready && self.free_at <= now {
            let long = self.engine.transmit(now, &mut self.frame);
            self.ready = long > 0;
            if long > 0 {
                self.free_at = now.after(on_the_line(long));
                network.take(now, self.number, &mut self.frame[..long]);
            }
            self.deliver_notices(now, ledger);
        }
    }

    /// Delivers the engine's notices to the application.
    fn deliver_notices(&mut self, now: Instant, ledger: &mut Ledger) {
        while let Some(notice) = self.engine.poll_notice() {
            match notice {
                Notice::Incoming { service } => self.accept(now, service, ledger),
                Notice::Readable { id } | Notice::Writable { id } => self.go_on(now, id.bits(), ledger),
                Notice::Settled { .. } => {}
            }
        }
    }

    fn accept(&mut self, now: Instant, service: u16, ledger: &mut Ledger) {
        let Some(id) = self.engine.accept(service) else { return };
        let peer = self.engine.info(id).and_then(|info| host_at(info.peer.ip()));
        let Some(peer) = peer else { return ledger.complain("a stream comes from nowhere") };
        self.sessions.insert(id.bits(), Session::answering(id, ledger.partner(peer)));
        self.go_on(now, id.bits(), ledger);
    }

    /// Crashes the application. A new application, with or without a new host, starts with no sessions.
    pub fn drop_sessions(&mut self, now: Instant, ledger: &mut Ledger) {
        for (_, session) in std::mem::take(&mut self.sessions) {
            self.engine.abort(now, session.id);
            session.asked.iter().for_each(|head| ledger.died(head));
        }
        (self.calls, self.streams, self.ready) = (0, 0, true);
        self.engine.unlisten(now, SERVICE);
    }

    /// Starts listening for a new application.
    pub fn listen(&mut self) {
        self.engine.listen(SERVICE).expect("the one before is dead");
    }
}
