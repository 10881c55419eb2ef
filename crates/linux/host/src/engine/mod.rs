//! All streams of one host.
//!
//! `application.rs` is what applications call, `network.rs` takes and makes frames, `events.rs` hears what the transport
//! reports, `lifecycle.rs` opens and ends streams.

mod application;
mod events;
mod lifecycle;
mod network;
mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::RandomState;
use std::net::IpAddr;

use pullnet_ndp::wire::Carriage;
use pullnet_ndp::{NdpEndpoint, NdpHeader};
use pullnet_rng::Seed;
use pullnet_transport::{HostAddr, HostInfo, Transmit, Transport};
use pullnet_units::{Instant, Picos};
use pullnet_wire::{Packet, REPLY, Route};

use crate::guard::{Barred, Budget};
use crate::peers::Peers;
use crate::stream::{Pool, Stream};
use crate::streams::Streams;
use crate::{Counts, EngineOptions, Notice, StreamError, StreamId, Totals};

use watch::Watch;

/// Own control packets that wait for the link at most; more are not sent.
const MOST_CONTROL: usize = 1024;

/// What was due longer ago is done as if it were due since then: no more pulls than that leave at once.
const LATENESS: Picos = Picos::from_micros(50);
/// Deadlines that are worked off at a time.
const MOST_DUE: usize = 64;

/// Streams that wait to be accepted.
type Backlog = VecDeque<StreamId>;

/// All streams of one host: bytes, buffers, NDP. No I/O and no clock: frames and time come in as arguments.
///
/// After every call the driver asks for frames ([`Engine::transmit`]) until there is none, for notices
/// ([`Engine::poll_notice`]), for addresses to resolve ([`Engine::poll_unresolved`]), and for the next deadline.
pub struct Engine {
    options: EngineOptions,
    carriage: Carriage,
    /// Its hashes are such that nobody can foresee which connection numbers crowd its maps.
    transport: NdpEndpoint<RandomState>,
    peers: Peers,
    streams: Streams,
    pool: Pool,
    listeners: BTreeMap<u16, Backlog>,
    /// Streams with bytes that may be offered to the transport.
    unoffered: VecDeque<StreamId>,
    /// Control packets of the engine itself: RESETs, and what it says of connections that the transport has ended.
    control: VecDeque<(Route, Packet)>,
    /// ACKs without pulls: nobody waits for one, so that they may wait for a frame to leave with.
    acks: VecDeque<Transmit<NdpHeader>>,
    notices: VecDeque<Notice>,
    watch: Watch,
    unresolved: VecDeque<IpAddr>,
    /// Addresses that were asked for and not answered yet.
    asked: BTreeSet<IpAddr>,
    barred: Barred,
    openings: Budget,
    resets: Budget,
    next_number: u32,
    /// Streams with peers that have proven nothing.
    unproven: usize,
    /// Memory of packets that wait for readers. Bytes.
    waiting: usize,
    /// What happened on streams that are gone.
    gone: Counts,
    totals: Totals,
    stopped: bool,
    next_path: u16,
}

impl Engine {
    /// An engine without streams.
    ///
    /// # Errors
    /// If the options contradict what can be done.
    pub fn new(options: EngineOptions) -> Result<Self, StreamError> {
        let settings = options.protocol()?;
        let host = HostInfo { addr: HostAddr(u32::MAX), rate: options.rate };
        let seed = Seed(options.seed);
        let forgotten = settings.give_up.saturating_add(settings.time_wait.saturating_mul(3));
        let given = options.neighbours.iter().copied().collect();
        Ok(Self {
            carriage: Carriage { home: options.port, header: settings.header.0 as u16 },
            transport: NdpEndpoint::with_hashes(&settings, host, seed.stream("host", 0)),
            peers: Peers::new(forgotten, given),
            streams: Streams::default(),
            pool: Pool::new(options.payload_room()),
            listeners: BTreeMap::new(),
            unoffered: VecDeque::new(),
            control: VecDeque::new(),
            acks: VecDeque::new(),
            notices: VecDeque::new(),
            watch: Watch::new(settings.give_up),
            unresolved: VecDeque::new(),
            asked: BTreeSet::new(),
            barred: Barred::new(forgotten),
            openings: Budget::new(options.limits.openings_per_second),
            resets: Budget::new(options.limits.resets_per_second),
            next_number: seed.stream("connection numbers", 0).bits() as u32 & !REPLY,
            unproven: 0,
            waiting: 0,
            gone: Counts::default(),
            totals: Totals::default(),
            stopped: false,
            next_path: 0,
            options,
        })
    }

    /// What the engine was made with.
    #[must_use]
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// When [`Engine::timeout`] is to be called; `None`: not before the next input.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let transport = self.transport.poll_timeout().map_or(Instant::NEVER, |deadline| deadline.at);
        let first = transport.min(self.watch.due()).min(self.peers.due());
        (first != Instant::NEVER).then_some(first)
    }

    /// The deadline has come.
    pub fn timeout(&mut self, now: Instant) {
        if self.transport.poll_timeout().is_some_and(|deadline| deadline.at <= now) {
            self.transport.handle_timeout(now);
            self.handle_events(now, None);
        }
        self.look_after_answers(now);
        self.peers.expire(now);
    }

    /// Does everything that was due by `now`, each at its own time or little later, so that pulls keep their rate though a
    /// driver on a real clock always comes late. True: there was something.
    pub fn catch_up(&mut self, now: Instant) -> bool {
        let earliest = Instant(now.0.saturating_sub(LATENESS.0));
        let mut did = false;
        for _ in 0..MOST_DUE {
            let Some(at) = self.deadline().filter(|at| *at <= now) else { break };
            self.timeout(at.max(earliest));
            did = true;
        }
        did
    }

    /// Lets `change` work on a stream, and tells the application if it made something readable or writable.
    fn with<R>(&mut self, index: u32, change: impl FnOnce(&mut Stream, &mut Pool) -> R) -> Option<R> {
        let stream = self.streams.get_mut(index)?;
        let before = stream.incoming.memory();
        let result = change(stream, &mut self.pool);
        self.waiting = self.waiting + stream.incoming.memory() - before;
        if stream.owner == crate::stream::Owner::Application {
            notify(stream, self.options.limits.send_buffer, &mut self.notices);
        }
        Some(result)
    }

    /// A path for a control packet of the engine itself.
    fn path(&mut self) -> u16 {
        self.next_path = (self.next_path + 1) % self.options.paths;
        self.next_path
    }

    /// How long nothing may be heard of another host.
    fn give_up(&self) -> Picos {
        self.options.ndp.give_up
    }
}

fn notify(stream: &mut Stream, send_buffer: usize, notices: &mut VecDeque<Notice>) {
    let id = stream.id;
    if stream.is_readable() && !std::mem::replace(&mut stream.told.readable, true) {
        notices.push_back(Notice::Readable { id });
    }
    let failed = stream.error().is_some();
    // Half of the buffer: whoever writes much shall be woken for much.
    if stream.told.wants_room && (failed || stream.out.bytes() <= send_buffer / 2) {
        stream.told.wants_room = false;
        notices.push_back(Notice::Writable { id });
    }
    let news = stream.counts.written_bytes > 0 || stream.out.is_finished() || failed;
    if news && stream.is_settled() && !std::mem::replace(&mut stream.told.settled, true) {
        notices.push_back(Notice::Settled { id });
    }
}
