//! A program without the standard library that uses every crate that claims to do without: units, rng, settings,
//! transport, connections, pull, rdma, window, qdisc, wire, every protocol, and their registry.
//!
//! It brings its own panic handler and allocator, of which a program can have only one. If any of the crates, or
//! anything that they depend on, brought in std, this would not compile: "duplicate lang item `panic_impl`".
#![no_std]
#![no_main]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

use pullnet_connections::ReceivedSet;
use pullnet_ndp::wire::{Carriage, Label};
use pullnet_ndp::{Ndp, NdpConfig};
use pullnet_protocols::{PROTOCOLS, with_protocol};
use pullnet_pull::PullQueue;
use pullnet_qdisc::{
    Context, Discipline, DropTail, Item, Limit, Outcome, SWITCHES, Signal, Trim, TrimConfig,
};
use pullnet_rdma::Parameters;
use pullnet_rng::Seed;
use pullnet_roce::RoceConfig;
use pullnet_settings::{Settings, Value};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, HostInfo, Protocol, Transport};
use pullnet_units::{BitsPerSec, Bytes, Instant, QueueSize};
use pullnet_window::RoundTrip;
use pullnet_wire::{Packet as Header, Shape};

const HEAP: usize = 1 << 20;

/// Hands out memory and never takes it back.
struct Bump {
    memory: UnsafeCell<[u8; HEAP]>,
    used: AtomicUsize,
}

// SAFETY: the program has one thread.
unsafe impl Sync for Bump {}

// SAFETY: every piece is handed out once, aligned and within `memory`.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let memory = self.memory.get().cast::<u8>();
        let used = self.used.load(Ordering::Relaxed);
        let start = used + memory.wrapping_add(used).align_offset(layout.align());
        let end = start.saturating_add(layout.size());
        if end > HEAP {
            return core::ptr::null_mut();
        }
        self.used.store(end, Ordering::Relaxed);
        memory.wrapping_add(start)
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Bump = Bump { memory: UnsafeCell::new([0; HEAP]), used: AtomicUsize::new(0) };

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort has no preconditions.
    unsafe { abort() }
}

#[link(name = "c")]
unsafe extern "C" {
    fn abort() -> !;
}

/// The compiled `core` names these; nothing unwinds here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    // SAFETY: abort has no preconditions.
    unsafe { abort() }
}

/// A packet of the least kind.
#[derive(Clone, Copy, Default)]
struct Packet(u32);

impl Item for Packet {
    fn is_control(&self) -> bool {
        self.0 <= 64
    }
    fn wire(&self, _: u32) -> u32 {
        self.0
    }
    fn trim(&mut self, bytes: u32) {
        self.0 = bytes;
    }
}

/// Surroundings of a queue that counts trims.
struct Trims(usize);

impl Context<Packet> for Trims {
    fn now(&self) -> Instant {
        Instant::ZERO
    }
    fn rate(&self) -> BitsPerSec {
        BitsPerSec::gbps(10)
    }
    fn coin(&mut self) -> bool {
        true
    }
    fn unit(&mut self) -> f64 {
        0.0
    }
    fn outcome(&mut self, outcome: Outcome<Packet>) {
        self.0 += usize::from(matches!(outcome, Outcome::Trimmed(_)));
    }
    fn wake(&mut self, _: Instant) {}
    fn signal(&mut self, _: u16, _: Signal) {}
}

/// Packets that a sender pushes for a flow of `bytes` bytes, if they can be carried.
fn first_window(bytes: u64) -> usize {
    let host = HostInfo { addr: HostAddr(0), rate: BitsPerSec::gbps(10) };
    let mut endpoint = Ndp::endpoint(&NdpConfig::default(), host, Seed(1).stream("check", 0));
    let size = Some(Bytes(bytes));
    endpoint.open(
        Instant::ZERO,
        FlowSpec { conn: ConnId::new(0), to: HostAddr(1), size, paths: 4, ..FlowSpec::default() },
    );
    let (carriage, label) = (Carriage { home: 1, header: 64 }, Label::default());
    let packets = core::iter::from_fn(|| endpoint.poll_transmit(Instant::ZERO));
    packets.filter(|packet| carriage.packet(packet, &label).shape.length() > 0).count()
}

/// Whether a host of protocol `P` has something to send once a flow is opened.
fn begins<P: Protocol>() -> bool {
    // Not host 0, which is the arbiter of Fastpass.
    let host = HostInfo { addr: HostAddr(2), rate: BitsPerSec::gbps(10) };
    let mut endpoint = P::endpoint(&P::Config::default(), host, Seed(1).stream("check", 0));
    endpoint.open(Instant::ZERO, FlowSpec { to: HostAddr(1), size: Some(Bytes(1)), ..FlowSpec::default() });
    // Some pace even their first packet by a timer.
    if endpoint.poll_timeout().is_some_and(|deadline| deadline.at == Instant::ZERO) {
        endpoint.handle_timeout(Instant::ZERO);
    }
    endpoint.poll_transmit(Instant::ZERO).is_some()
}

/// Packets that are trimmed if ten arrive at once.
fn trims() -> usize {
    let rules = Trim::<Packet>::rules(&TrimConfig::default());
    let (mut port, mut cx) = (Trim::new(&rules), Trims(0));
    (0..10).for_each(|_| port.enqueue(&rules, &mut (), Packet(9064), &mut cx));
    cx.0
}

/// Nothing but names of every registry and table.
fn names() -> bool {
    let fits = "9000 B".parse::<QueueSize>().is_ok_and(|size| Limit::from(size).admits(0, 0, 9000));
    let refused = NdpConfig::default().set("mtu", Value::Text("soon")).is_some_and(|set| set.is_err());
    let empty = PullQueue::default().is_empty() && !DropTail::<Packet>::SHARES;
    let rules: Parameters = RoceConfig::default().parameters();
    let begun = rules.window.is_none()
        && RoundTrip::default().smoothed().is_none()
        && ReceivedSet::default().count() == 0;
    fits && refused && empty && begun && !PROTOCOLS.is_empty() && !SWITCHES.is_empty()
}

/// A header that is read as it was written.
fn on_the_wire() -> bool {
    let header = Header { home: 1, conn: 2, tag: 4, shape: Shape::Pull { number: 3 } };
    Header::decode(&header.encode((&[127, 0, 0, 1], &[127, 0, 0, 2]))) == Ok(header)
}

/// 0 if everything is as it should be.
#[unsafe(no_mangle)]
extern "C" fn main(_: i32, _: *const *const u8) -> i32 {
    let begins = PROTOCOLS.iter().all(|row| with_protocol!((row.default)(), |_config: P| begins::<P>()));
    let right = begins && first_window(100_000) == 12 && trims() == 2 && names() && on_the_wire();
    i32::from(!right)
}
