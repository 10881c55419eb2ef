//! All streams of one host.
//!
//! `application.rs` has the calls of applications, `network.rs` receives and builds frames, `events.rs` handles the
//! transport's events, `answers.rs` joins ACKs and pulls, `lifecycle.rs` opens and ends streams, `sealing.rs` encrypts, `tokens.rs` proves addresses,
//! `addresses.rs` finds Ethernet addresses.

mod addresses;
mod answers;
mod application;
mod events;
mod lifecycle;
mod network;
mod sealing;
mod tokens;
mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use pullnet_ndp::Ndp;
use pullnet_rng::Seed;
use pullnet_transport::{HostAddr, HostInfo, Transport};
use pullnet_units::{Instant, Picos};
use pullnet_wire::{Packet, Route};

use crate::carrier::{Carrier, Form, Times};
use crate::error::StreamError;
use crate::guard::{Budget, Denylist};
use crate::handle::{Notice, StreamId};
use crate::options::EngineOptions;
use crate::peers::Peers;
use crate::proof::Issuer;
use crate::seal::Vault;
use crate::status::{Counts, Totals};
use crate::stream::{Pool, Stream};
use crate::streams::{PastTags, Streams, Tag};
use crate::wallet::Wallet;

use answers::Answers;
use watch::Watch;

/// Openings without a valid tag that are answered per second. A restarted host must tell each of its clients once that it
/// was restarted; most packets of a flood deserve no answer.
const STALES: u32 = 1000;
/// Maximum number of own control packets that wait for the link; more are not sent.
const MOST_CONTROL: usize = 1024;

/// Maximum lateness: work that was due earlier is handled as if it had been due this long ago, which bounds the burst of
/// pulls.
const LATENESS: Picos = Picos::from_micros(50);
/// Maximum number of deadlines handled at a time.
const MOST_DUE: usize = 64;

/// Streams that wait to be accepted.
#[derive(Debug)]
struct Backlog {
    waiting: VecDeque<(StreamId, HostAddr)>,
    /// Number of waiting streams by peer.
    by_peer: BTreeMap<HostAddr, usize>,
    /// Maximum number of waiting streams.
    most: usize,
}

impl Backlog {
    fn new(most: usize) -> Self {
        Self { waiting: VecDeque::new(), by_peer: BTreeMap::new(), most }
    }

    /// Whether there is room for a stream of `peer`, which may use half of it.
    fn has_room(&self, peer: Option<HostAddr>) -> bool {
        let of_peer = peer.and_then(|peer| self.by_peer.get(&peer)).copied().unwrap_or(0);
        self.waiting.len() < self.most && of_peer < self.most.div_ceil(2)
    }

    fn push(&mut self, id: StreamId, peer: HostAddr) {
        self.waiting.push_back((id, peer));
        *self.by_peer.entry(peer).or_insert(0) += 1;
    }

    fn pop(&mut self) -> Option<StreamId> {
        let (id, peer) = self.waiting.pop_front()?;
        self.one_less(peer);
        Some(id)
    }

    fn remove(&mut self, id: StreamId, peer: HostAddr) {
        let before = self.waiting.len();
        self.waiting.retain(|(waiting, _)| *waiting != id);
        if self.waiting.len() < before {
            self.one_less(peer);
        }
    }

    fn one_less(&mut self, peer: HostAddr) {
        if let Some(count) = self.by_peer.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.by_peer.remove(&peer);
            }
        }
    }
}

/// All streams of one host: bytes, buffers, transport. No I/O and no clock: frames and time come in as arguments.
///
/// After every call the driver fetches frames ([`Engine::transmit`]) until there is none, then notices
/// ([`Engine::poll_notice`]), addresses to resolve ([`Engine::poll_unresolved`]), and the next deadline.
///
/// Long: the parts of a host, each a type of its own where it has rules; the rest are its queues and sums.
pub struct Engine<C: Carrier = Ndp> {
    options: EngineOptions<C::Config>,
    form: Form,
    /// Its hashes are unpredictable: an outsider cannot choose connection numbers that collide in its maps.
    transport: C::Streams,
    peers: Peers,
    streams: Streams,
    pool: Pool,
    listeners: BTreeMap<u16, Backlog>,
    /// Streams with bytes that may be offered to the transport.
    unoffered: VecDeque<StreamId>,
    /// Control packets of the engine itself: RESETs, and answers about connections that the transport has ended. The flag
    /// says whether the packet is encrypted.
    control: VecDeque<(Route, Packet, bool)>,
    answers: Answers,
    notices: VecDeque<Notice>,
    watch: Watch,
    unresolved: VecDeque<IpAddr>,
    /// Addresses that are being resolved.
    asked: BTreeSet<IpAddr>,
    /// Hosts that requested a token, with the nonce they chose, while their Ethernet address is looked up.
    strangers: VecDeque<(SocketAddr, Tag)>,
    /// The addresses among `strangers` that the driver has not fetched yet.
    untold: VecDeque<IpAddr>,
    issuer: Issuer,
    wallet: Wallet,
    past: PastTags,
    /// The tag of the packet that is being handled; answers to it carry the same tag.
    answering: Tag,
    /// Keys, if this host encrypts.
    vault: Option<Vault>,
    /// Newest key announced by the sender of the encrypted packet that is being handled.
    announced: u16,
    /// Buffer for decrypted payloads.
    scratch: Vec<u8>,
    denylist: Denylist,
    tokens: Budget,
    resets: Budget,
    stales: Budget,
    /// Streams that have received headers only, oldest first; some may have ended or progressed.
    nascent: VecDeque<StreamId>,
    /// Number of these streams.
    nascents: usize,
    /// Memory of packets that wait for readers. Bytes.
    waiting: usize,
    /// Unacknowledged bytes.
    sending: usize,
    /// Sums over the streams that are gone.
    gone: Counts,
    totals: Totals,
    stopped: bool,
    /// Whether streams that others open are refused.
    closing: bool,
    next_path: u16,
}

impl Engine {
    /// Creates an engine without streams, over NDP.
    ///
    /// # Errors
    /// If the options are contradictory or out of range.
    pub fn new(options: EngineOptions) -> Result<Self, StreamError> {
        Self::over(options)
    }
}

impl<C: Carrier> Engine<C> {
    /// Creates an engine without streams, over the transport `C`.
    ///
    /// # Errors
    /// If the options are contradictory or out of range.
    pub fn over(options: EngineOptions<C::Config>) -> Result<Self, StreamError> {
        let (mtu, header) = options.sizes()?;
        let settings = C::sized(&options.transport, mtu, header);
        let Times { timeout, give_up, time_wait } = C::times(&settings);
        let host = HostInfo { addr: HostAddr(u32::MAX), rate: options.rate };
        let seed = Seed(options.seed);
        let forgotten = give_up.saturating_add(time_wait.saturating_mul(3));
        // The transport remembers connections for this time; older packets must not open anything.
        let remembered = give_up.saturating_add(time_wait);
        let issuer = Issuer::new(options.secret.with(options.seed), remembered);
        let given = options.neighbours.iter().copied().collect();
        Ok(Self {
            form: Form { home: options.port, header: header.0 as u16 },
            transport: C::streams(&settings, host, seed.stream("host", 0)),
            peers: Peers::new(forgotten, given),
            streams: Streams::default(),
            pool: Pool::new(options.payload_room()),
            listeners: BTreeMap::new(),
            unoffered: VecDeque::new(),
            control: VecDeque::new(),
            answers: Answers::default(),
            notices: VecDeque::new(),
            watch: Watch::new(give_up),
            unresolved: VecDeque::new(),
            asked: BTreeSet::new(),
            denylist: Denylist::new(forgotten),
            strangers: VecDeque::new(),
            untold: VecDeque::new(),
            vault: sealing::vault(&options, &issuer),
            issuer,
            wallet: Wallet::new(timeout, give_up),
            past: PastTags::default(),
            answering: Tag::default(),
            announced: 0,
            scratch: Vec::new(),
            tokens: Budget::new(options.limits.tokens_per_second),
            resets: Budget::new(options.limits.resets_per_second),
            stales: Budget::new(STALES),
            nascent: VecDeque::new(),
            nascents: 0,
            waiting: 0,
            sending: 0,
            gone: Counts::default(),
            totals: Totals::default(),
            stopped: false,
            closing: false,
            next_path: 0,
            options,
        })
    }

    /// The options that the engine was made with.
    #[must_use]
    pub fn options(&self) -> &EngineOptions<C::Config> {
        &self.options
    }

    /// Time at which to call [`Engine::timeout`]; `None`: not before the next input.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let transport = self.transport.poll_timeout().map_or(Instant::NEVER, |deadline| deadline.at);
        let first = transport.min(self.watch.due()).min(self.peers.due()).min(self.wallet.due());
        (first != Instant::NEVER).then_some(first)
    }

    /// Does the work that is due at `now`.
    pub fn timeout(&mut self, now: Instant) {
        if self.transport.poll_timeout().is_some_and(|deadline| deadline.at <= now) {
            self.transport.handle_timeout(now);
            self.handle_events(now, None);
        }
        self.look_after_answers(now);
        self.look_after_tokens(now);
        self.peers.expire(now);
    }

    /// Does everything that was due by `now`, each item at its own time or little later, so that pulls keep their rate
    /// although a driver on a real clock always comes late. True: there was something.
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

    /// Applies `change` to a stream, and notifies the application if the stream has become readable or writable.
    fn with<R>(&mut self, index: u32, change: impl FnOnce(&mut Stream, &mut Pool) -> R) -> Option<R> {
        let stream = self.streams.get_mut(index)?;
        let before = (stream.incoming.memory(), stream.out.bytes());
        let result = change(stream, &mut self.pool);
        self.waiting = self.waiting + stream.incoming.memory() - before.0;
        self.sending = self.sending + stream.out.bytes() - before.1;
        if stream.owner == crate::stream::Owner::Application {
            notify(stream, self.options.limits.send_buffer, &mut self.notices);
        }
        Some(result)
    }

    /// Chooses a path for a control packet of the engine itself.
    fn path(&mut self) -> u16 {
        self.next_path = (self.next_path + 1) % self.options.paths;
        self.next_path
    }

    /// Time of silence after which another host is given up.
    fn give_up(&self) -> Picos {
        C::times(&self.options.transport).give_up
    }
}

fn notify(stream: &mut Stream, send_buffer: usize, notices: &mut VecDeque<Notice>) {
    let id = stream.id;
    if stream.is_readable() && !std::mem::replace(&mut stream.told.readable, true) {
        notices.push_back(Notice::Readable { id });
    }
    let failed = stream.error().is_some();
    // Half of the buffer, so that an application that writes much is not woken for every packet.
    if stream.told.wants_room && (failed || stream.out.bytes() <= send_buffer / 2) {
        stream.told.wants_room = false;
        notices.push_back(Notice::Writable { id });
    }
    let news = stream.counts.written_bytes > 0 || stream.out.is_finished() || failed;
    if news && stream.is_settled() && !std::mem::replace(&mut stream.told.settled, true) {
        notices.push_back(Notice::Settled { id });
    }
}
