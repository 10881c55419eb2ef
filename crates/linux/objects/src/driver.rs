//! An engine with an interface and the clock.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant as Clock};

use pullnet_host::{Neighbours, Search};
use pullnet_netio::{
    Error as IoError, Interface, PacketIo, PacketOptions, PacketSocket, PortGuard, Protocol, UdpOptions,
    UdpSockets, Waker,
};
use pullnet_units::{BitsPerSec, Instant, Picos};

use crate::engine::{Engine, EngineOptions, Notice};

/// Port of a store.
pub const STORE_PORT: u16 = 61_200;
/// Most frames taken or sent before the other direction has its turn.
const BURST: usize = 64;
/// Shorter waits are not left to the kernel, which wakes a thread later than that.
const SHORTEST: Picos = Picos::from_micros(15);
/// Longest sleep.
const NAP: Picos = Picos::from_millis(100);
/// Time between two looks at whether to stop.
const LOOK: Picos = Picos::from_millis(100);
/// Frames that wait in the kernel for this process to run.
const RING: usize = 2048;
/// Longest IP packet of UDP sockets, unless stated otherwise.
const UDP_MTU: usize = 1500;

/// How a host is attached to its network.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkOptions {
    /// Its address; of one of its interfaces.
    pub address: IpAddr,
    /// UDP port at which it listens; 0: any that is free.
    pub port: u16,
    /// The interface for AF_PACKET; without one, the kernel's UDP sockets.
    pub interface: Option<String>,
    /// Rate of its link.
    pub rate: BitsPerSec,
    /// Longest IP packet; `None`: that of the interface, or 1500 B.
    pub mtu: Option<usize>,
}

/// Work that a driver runs: a put, a get or a store.
pub trait Task {
    /// Starts.
    fn begin(&mut self, now: Instant, engine: &mut Engine);
    /// Handles a notice of the engine.
    fn notice(&mut self, now: Instant, engine: &mut Engine, notice: Notice);
    /// Handles finished jobs and deadlines that have come.
    fn tick(&mut self, now: Instant, engine: &mut Engine);
    /// The next deadline; [`Instant::NEVER`] if there is none.
    fn due(&self) -> Instant;
    /// Whether the task has ended.
    fn is_over(&self) -> bool;
    /// Bytes done, and bytes in all.
    fn progress(&self, engine: &Engine) -> (u64, u64);
}

/// Work that takes long, on threads of its own: hashes and writes to the disk. A running session is not delayed by it.
pub struct Jobs<T> {
    sender: Sender<T>,
    done: Receiver<T>,
    waker: Waker,
}

impl<T: Send + 'static> Jobs<T> {
    /// No work yet. `waker` is that of the driver.
    pub fn new(waker: Waker) -> Self {
        let (sender, done) = channel();
        Self { sender, done, waker }
    }

    /// Starts `work` on a thread of its own.
    ///
    /// # Errors
    /// If the process can have no further thread; the work is dropped.
    pub fn start(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<(), String> {
        let (sender, waker) = (self.sender.clone(), self.waker.clone());
        // If the task is over, the result is dropped.
        let run = move || {
            let _ = sender.send(work());
            waker.wake();
        };
        let started = std::thread::Builder::new().name("pullnet-objects".to_owned()).spawn(run);
        started.map(|_| ()).map_err(|error| format!("no thread can be had: {error}"))
    }

    /// The result of work that is done.
    pub fn finished(&self) -> Option<T> {
        self.done.try_recv().ok()
    }

    /// Waits for the result of work that was started, for `time` at most.
    pub fn wait(&self, time: Duration) -> Option<T> {
        self.done.recv_timeout(time).ok()
    }
}

/// An engine with its interface.
pub struct Driver {
    io: Box<dyn PacketIo + Send>,
    engine: Engine,
    search: Search,
    /// The interface with the address of this host.
    interface: Option<String>,
    waker: Waker,
    start: Clock,
    _guard: Option<PortGuard>,
}

#[expect(clippy::disallowed_methods, reason = "the one clock of a host")]
fn clock() -> Clock {
    Clock::now()
}

/// The address of this host that packets to `peer` carry.
///
/// # Errors
/// If there is no route to it.
pub fn local_address(peer: SocketAddr) -> Result<IpAddr, String> {
    let any: SocketAddr = if peer.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let found =
        UdpSocket::bind(any).and_then(|socket| socket.connect(peer).and_then(|()| socket.local_addr()));
    found
        .map(|local| local.ip())
        .map_err(|error| format!("there is no route to {peer}: {error}; give --address"))
}

/// A UDP port of `address` that is free.
fn free_port(address: IpAddr) -> Result<u16, String> {
    let found = UdpSocket::bind((address, 0)).and_then(|socket| socket.local_addr());
    found.map(|local| local.port()).map_err(|error| format!("{address}: no port can be had: {error}"))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Driver {
    /// Opens the sockets.
    ///
    /// # Errors
    /// If an address, port or interface cannot be used.
    pub fn open(options: &LinkOptions) -> Result<Self, String> {
        let seed =
            getrandom::u64().map_err(|error| format!("the system gives no random numbers: {error}"))?;
        match &options.interface {
            None => Self::over_udp(options, seed),
            Some(name) => Self::over_packets(options, name, seed),
        }
    }

    fn over_udp(options: &LinkOptions, seed: u64) -> Result<Self, String> {
        let interface = Interface::with_address(options.address).map_err(text)?.into_iter().next();
        let found = interface.as_deref().and_then(|name| Interface::find(name).ok());
        let mtu = options.mtu.unwrap_or(found.map_or(UDP_MTU, |found| found.mtu.min(UDP_MTU)));
        let udp = UdpOptions { port: options.port, mtu, ..UdpOptions::new(options.address) };
        let io = UdpSockets::open(&udp).map_err(text)?;
        let engine = EngineOptions::new(io.local(), options.rate, mtu, seed);
        Self::with(Box::new(io), engine, Neighbours::NotNeeded, interface, None)
    }

    fn over_packets(options: &LinkOptions, name: &str, seed: u64) -> Result<Self, String> {
        let interface = Interface::find(name).map_err(text)?;
        let port = if options.port == 0 { free_port(options.address)? } else { options.port };
        let protocol = if options.address.is_ipv4() { Protocol::Ipv4 } else { Protocol::Ipv6 };
        let mut io =
            PacketSocket::open(name, &PacketOptions { protocol, frames: RING, ..PacketOptions::default() })
                .map_err(text)?;
        io.receive_groups().map_err(text)?;
        let guard = PortGuard::take(options.address, port).map_err(text)?;
        let mtu = options.mtu.unwrap_or(interface.mtu).min(interface.mtu);
        let local = SocketAddr::new(options.address, port);
        let engine =
            EngineOptions { mac: interface.mac, ..EngineOptions::new(local, options.rate, mtu, seed) };
        let interface = Some(name.to_owned());
        Self::with(Box::new(io), engine, Neighbours::Kernel(name.to_owned()), interface, Some(guard))
    }

    fn with(
        io: Box<dyn PacketIo + Send>,
        options: EngineOptions,
        neighbours: Neighbours,
        interface: Option<String>,
        guard: Option<PortGuard>,
    ) -> Result<Self, String> {
        Ok(Self {
            io,
            engine: Engine::new(options).map_err(text)?,
            search: Search::new(neighbours).map_err(text)?,
            interface,
            waker: Waker::new().map_err(text)?,
            start: clock(),
            _guard: guard,
        })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Wakes the driver.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Address and port of this host.
    pub fn local(&self) -> SocketAddr {
        self.engine.options().local
    }

    fn now(&self) -> Instant {
        Instant((clock().duration_since(self.start).as_nanos() as u64).saturating_mul(1000))
    }

    /// Finds the Ethernet addresses of `hosts`; returns the hosts that do not answer.
    ///
    /// # Errors
    /// If the interface is removed or refuses for good; one that is down may come up again.
    pub fn resolve(&mut self, hosts: &[SocketAddr]) -> Result<Vec<SocketAddr>, String> {
        let mut missing = Vec::new();
        let now = self.now();
        for host in hosts {
            match self.search.begin(now, host.ip()) {
                Some(Some(mac)) => self.engine.meet(now, *host, mac),
                Some(None) => missing.push(*host),
                None => {}
            }
        }
        while self.search.due() != Instant::NEVER {
            let now = self.now();
            for (address, mac) in self.search.look(now) {
                for host in hosts.iter().filter(|host| host.ip() == address) {
                    match mac {
                        Some(mac) => self.engine.meet(now, *host, mac),
                        None => missing.push(*host),
                    }
                }
            }
            let waited = self.io.wait(None, Duration::from_millis(1));
            self.unless_passing(waited)?;
            self.receive(self.now())?;
        }
        Ok(missing)
    }

    /// Runs `task` until it is over, or `watch` returns false. `watch` is called about ten times a second with the bytes done
    /// and the bytes in all.
    ///
    /// # Errors
    /// If the interface is removed or refuses for good; one that is down may come up again.
    pub fn run(
        &mut self,
        task: &mut dyn Task,
        mut watch: impl FnMut(u64, u64) -> bool,
    ) -> Result<(), String> {
        let mut look = Instant::ZERO;
        task.begin(self.now(), &mut self.engine);
        loop {
            let now = self.now();
            let received = self.receive(now)?;
            self.engine.timers(now);
            while let Some(notice) = self.engine.poll_notice() {
                task.notice(now, &mut self.engine, notice);
            }
            task.tick(now, &mut self.engine);
            let sent = self.send(now)?;
            if now >= look {
                // The kernel tells an interface that is removed only as one that goes down, before it is gone.
                if self.io.is_gone() {
                    return Err("the interface was removed; start again once it is back".to_owned());
                }
                self.look_at_mtu();
                let (done, all) = task.progress(&self.engine);
                if !watch(done, all) {
                    return Ok(());
                }
                look = now.after(LOOK);
            }
            if task.is_over() {
                return Ok(());
            }
            if !received && !sent {
                self.rest(task.due())?;
            }
        }
    }

    /// Tells the engine the MTU of the interface; one that is gone has none.
    fn look_at_mtu(&mut self) {
        if let Some(found) = self.interface.as_deref().and_then(|name| Interface::find(name).ok()) {
            self.engine.set_interface(&found.name, found.mtu);
        }
    }

    fn receive(&mut self, now: Instant) -> Result<bool, String> {
        let engine = &mut self.engine;
        let received = self.io.receive(BURST, &mut |frame| engine.arrive(now, frame));
        Ok(self.unless_passing(received)?.is_some_and(|frames| frames > 0))
    }

    /// A result of the interface; `None` for an error that may pass: then frames are lost, as in a network.
    fn unless_passing<T>(&self, result: Result<T, IoError>) -> Result<Option<T>, String> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.may_pass() && !self.io.is_gone() => Ok(None),
            Err(error) => Err(text(error)),
        }
    }

    fn send(&mut self, now: Instant) -> Result<bool, String> {
        let mut any = false;
        for _ in 0..BURST {
            let (engine, mut long) = (&mut self.engine, 0);
            let room = self.io.send(&mut |out| {
                long = engine.poll_frame(now, out);
                long
            });
            let room = self.unless_passing(room)?.unwrap_or(false);
            if !room || long == 0 {
                break;
            }
            any = true;
        }
        let flushed = self.io.flush();
        self.unless_passing(flushed)?;
        Ok(any)
    }

    /// Waits for a frame, a finished job, or the next deadline.
    fn rest(&mut self, due: Instant) -> Result<(), String> {
        let span = self.engine.due().min(due).since(self.now()).min(NAP);
        if span < SHORTEST {
            std::thread::yield_now();
            return Ok(());
        }
        let waited = self.io.wait(Some(self.waker.as_fd()), Duration::from_nanos(span.0 / 1000));
        self.unless_passing(waited)?;
        self.waker.clear();
        Ok(())
    }
}
