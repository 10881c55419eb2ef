//! All sessions of one host, without I/O and without a clock: frames, time and calls in; frames, notices and a deadline out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};

use pullnet_connections::Finished;
use pullnet_rng::Seed;
use pullnet_scdp::{Pulling, Scdp, ScdpConfig, ScdpEndpoint, ScdpHeader, Shape, Symbol};
use pullnet_transport::{
    ConnId, Event, FailureReason, Fate, FlowSpec, FlowStatus, GroupMember, HostAddr, HostInfo, Protocol,
    SendCounts, Side, Source, Transmit, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Packets, Picos};
use pullnet_wire::{Framed, Mac, Marks, Refused, Route};
use thiserror::Error;

use crate::message::{LONGEST, Message};
use crate::peers::Peers;
use crate::symbols::{Collector, Content, ReadAt, Taken};

/// How late a timer may be handled, or a frame that waits for the link may leave, and still count as on time: pulls and symbols keep
/// their rate although the kernel wakes the driver late. Beyond this they would leave in a burst that overflows every queue.
const CATCH_UP: Picos = Picos::from_micros(500);
/// Most sessions of messages at a time. Those beyond are ignored, and come again.
const MOST_MESSAGES: usize = 1024;
/// Most source symbols of a block that is accepted; decoding takes longer with the square of the block's size.
const MOST_SYMBOLS: u16 = 1000;
/// Session numbers are this far apart: a session with several receivers uses as many numbers as it has receivers.
const STRIDE: u32 = 256;
/// Most receivers of an object: they share the numbers of a session.
pub const MOST_HOSTS: usize = STRIDE as usize;

/// Why a host cannot be set up.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum OptionsError {
    /// Packets are too short for a symbol.
    #[error("an MTU of {0} B leaves no room for symbols; use at least 256 B")]
    Mtu(usize),
    /// The rate cannot be paced.
    #[error("a rate of 0 cannot be paced; use at least 1 Mbps")]
    Rate,
}

/// Addresses and sizes of a host.
#[derive(Clone, PartialEq, Debug)]
pub struct EngineOptions {
    /// Address and UDP port at which the host listens.
    pub local: SocketAddr,
    /// Its Ethernet address; 0 if the backend writes Ethernet headers itself.
    pub mac: Mac,
    /// Rate of its link, at which symbols leave and are pulled.
    pub rate: BitsPerSec,
    /// Longest IP packet.
    pub mtu: usize,
    /// Path labels used towards each host.
    pub paths: u16,
    /// Seed of path choices and session numbers.
    pub seed: u64,
    /// Settings of SCDP; sizes follow from the MTU.
    pub transport: ScdpConfig,
}

impl EngineOptions {
    /// Settings of SCDP that suit processes on real machines: the defaults are for the microseconds of a data centre's
    /// hardware.
    pub fn new(local: SocketAddr, rate: BitsPerSec, mtu: usize, seed: u64) -> Self {
        // 8 ms of the link: a round trip of processes that wait for a processor. No more than the kernel's sockets hold.
        let window = rate.get() / 125 / (8 * mtu.max(1) as u64);
        let pulling = Pulling {
            // A decoder of bytes decides, and its time has passed already.
            failure: 0.0,
            timeout: Picos::from_millis(5),
            guard: Picos::from_millis(5),
            time_wait: Picos::from_millis(200),
            ..Pulling::default()
        };
        let transport = ScdpConfig {
            initial_window: Packets(window.clamp(32, 128) as u32),
            source_window: Packets((window / 2).clamp(16, 64) as u32),
            decode_rate: Some(BitsPerSec::gbps(800)),
            straggler: Picos::from_millis(200),
            pulling,
            ..ScdpConfig::default()
        };
        Self { local, mac: Mac::default(), rate, mtu, paths: 8, seed, transport }
    }

    /// Bytes of a symbol.
    fn symbol(&self) -> usize {
        // Header sizes are counted for IPv4; the Ethernet header is no part of the IP packet.
        let ipv6 = if self.local.is_ipv6() { pullnet_wire::IPV6 - pullnet_wire::IPV4 } else { 0 };
        let headers = <Scdp as Framed>::HEADERS - pullnet_wire::ETHERNET + ipv6;
        self.mtu.saturating_sub(headers).min(60_000)
    }
}

/// A session that was announced: the number that the caller gave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ObjectId(pub u32);

/// An event that concerns the caller.
#[derive(Clone, PartialEq, Debug)]
pub enum Notice {
    /// A message arrived.
    Message {
        /// The sender.
        from: SocketAddr,
        /// The message.
        message: Message,
    },
    /// A host has received everything that was sent to it under the number.
    Sent {
        /// The receiver.
        to: SocketAddr,
        /// The session.
        session: u32,
        /// Packets sent since one of its receivers was last done.
        counts: SendCounts,
    },
    /// A host does not answer, or what is sent to it cannot be read.
    Failed {
        /// The receiver.
        to: SocketAddr,
        /// The session.
        session: u32,
        /// The reason.
        why: String,
    },
    /// A receiver of a group kept the others waiting, and gets symbols of its own from now on.
    Apart {
        /// The receiver.
        to: SocketAddr,
        /// The session of the group.
        session: u32,
    },
    /// A block of an object is decoded.
    Block {
        /// The object.
        id: ObjectId,
        /// Where its bytes belong.
        offset: u64,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// All blocks of an object are decoded.
    Received {
        /// The object.
        id: ObjectId,
    },
    /// The senders of an object were silent for too long.
    Lost {
        /// The object.
        id: ObjectId,
    },
}

/// Key of an incoming session: its sender, or none if several hosts send, and its number.
type Key = (Option<HostAddr>, ConnId);

/// Destination of an incoming session.
enum Sink {
    Message(Vec<u8>),
    Object(ObjectId, u64),
}

struct Incoming {
    sink: Sink,
    /// Made when the first symbol tells the sizes of blocks and symbols.
    collector: Option<(Shape, Collector)>,
    last_heard: Instant,
}

/// Frames and symbols of a host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Symbols sent, messages included. One to a group counts once.
    pub symbols_sent: u64,
    /// Symbols received whole.
    pub symbols_received: u64,
    /// Symbols that arrived trimmed.
    pub trimmed: u64,
    /// Frames to this port that are no valid packets.
    pub refused: u64,
    /// Frames ignored because they belong to no session.
    pub stray: u64,
}

/// All sessions of one host.
pub struct Engine {
    options: EngineOptions,
    endpoint: ScdpEndpoint,
    marks: Marks,
    peers: Peers,
    incoming: BTreeMap<Key, Incoming>,
    /// Incoming sessions by the transport's number.
    slots: BTreeMap<u32, Key>,
    ended: Finished,
    contents: BTreeMap<u32, Content>,
    /// Content of each outgoing session, by receiver and by the number that its packets carry.
    outgoing: BTreeMap<(HostAddr, ConnId), u32>,
    /// Number of a session as its packets carry it, by receiver and by the number in reports.
    reported: BTreeMap<(HostAddr, ConnId), ConnId>,
    /// Receivers that are served by a group, and the sessions of it.
    grouped: BTreeSet<(HostAddr, ConnId)>,
    next_content: u32,
    next_session: u32,
    notices: VecDeque<Notice>,
    /// Time until which the link is busy with frames that were sent.
    busy_until: Instant,
    /// Whether the transport had nothing to send when last asked.
    idle: bool,
    counts: Counts,
    /// Longest IP packet that the interface carries now, and its name.
    carries: Option<(usize, String)>,
}

impl Engine {
    /// A host without sessions.
    ///
    /// # Errors
    /// If the MTU or the rate is too small.
    pub fn new(options: EngineOptions) -> Result<Self, OptionsError> {
        if options.mtu < 256 {
            return Err(OptionsError::Mtu(options.mtu));
        }
        if options.rate.get() == 0 {
            return Err(OptionsError::Rate);
        }
        let mut config = options.transport.clone();
        config.mtu = Bytes(options.symbol() as u64);
        config.header = Bytes(<Scdp as Framed>::HEADERS as u64);
        let info = HostInfo { addr: HostAddr(u32::MAX - 1), rate: options.rate };
        let mut chance = Seed(options.seed).stream("objects", 0);
        let next_session = chance.below(1 << 23) * STRIDE;
        Ok(Self {
            endpoint: Scdp::endpoint(&config, info, chance),
            marks: Marks::default(),
            peers: Peers::default(),
            incoming: BTreeMap::new(),
            slots: BTreeMap::new(),
            ended: Finished::new(config.pulling.give_up.saturating_add(config.pulling.time_wait)),
            contents: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            reported: BTreeMap::new(),
            grouped: BTreeSet::new(),
            next_content: 0,
            next_session,
            notices: VecDeque::new(),
            busy_until: Instant::ZERO,
            idle: true,
            counts: Counts::default(),
            carries: None,
            options: EngineOptions { transport: config, ..options },
        })
    }

    /// The options, with the sizes that follow from them.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// Counters since the start.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Says which interface carries the packets, and which MTU it has now.
    pub fn set_interface(&mut self, name: &str, mtu: usize) {
        self.carries = Some((mtu, name.to_owned()));
    }

    /// The reason with the MTU of the interface, if that was lowered below the packets of this host: they do not cross it.
    pub fn with_mtu(&self, why: String) -> String {
        let needed = self.options.mtu;
        match &self.carries {
            Some((mtu, name)) if *mtu < needed => format!(
                "{why}; the MTU of interface {name} at {} is {mtu} B, and packets have {needed} B: \
                 `ip link set {name} mtu {needed}`, or start again",
                self.options.local.ip()
            ),
            _ => why,
        }
    }

    /// A number for a session that no other session of this host has.
    pub fn new_session(&mut self) -> u32 {
        self.next_session = self.next_session.wrapping_add(STRIDE);
        self.next_session
    }

    /// Says at which Ethernet address a host is.
    pub fn meet(&mut self, now: Instant, address: SocketAddr, mac: Mac) {
        self.peers.host(now, address, mac);
    }

    /// Sends a message to a host that was met, or heard from. Returns the session's number.
    pub fn send_message(&mut self, now: Instant, to: SocketAddr, message: &Message) -> u32 {
        let (session, bytes) = (self.new_session(), message.write());
        self.send(now, to, session, bytes.len() as u64, Box::new(bytes));
        session
    }

    /// Sends `bytes` bytes of `content` to one host.
    pub fn send(&mut self, now: Instant, to: SocketAddr, session: u32, bytes: u64, content: Box<dyn ReadAt>) {
        self.open(now, to, session, bytes, content, None);
    }

    /// Sends a share of an object to one host, which other hosts send under the same number.
    pub fn send_share(
        &mut self,
        now: Instant,
        to: SocketAddr,
        (session, bytes): (u32, u64),
        content: Box<dyn ReadAt>,
        source: Source,
    ) {
        self.open(now, to, session, bytes, content, Some(source));
    }

    fn open(
        &mut self,
        now: Instant,
        to: SocketAddr,
        session: u32,
        bytes: u64,
        content: Box<dyn ReadAt>,
        source: Option<Source>,
    ) {
        let conn = ConnId::new(session);
        let Some(number) = self.peers.number(to) else {
            let why = "its address is not known".to_owned();
            return self.notices.push_back(Notice::Failed { to, session, why });
        };
        self.keep(bytes, content, &[(number, conn)], &[(number, conn, conn)]);
        let (size, paths) = (Some(Bytes(bytes)), self.options.paths);
        let flow = FlowSpec { conn, to: number, size, paths, ..FlowSpec::default() };
        match source {
            Some(source) => self.endpoint.open_source(now, flow, source),
            None => self.endpoint.open(now, flow),
        }
        self.after_input(now, None);
    }

    /// Sends an object to several hosts by a multicast group. Receiver i is reported under the number `session` + i.
    pub fn send_to_group(
        &mut self,
        now: Instant,
        group: (Ipv4Addr, u16),
        to: &[SocketAddr],
        (session, bytes): (u32, u64),
        content: Box<dyn ReadAt>,
    ) {
        let (group, conn, paths) =
            (self.peers.group(group.0, group.1), ConnId::new(session), self.options.paths);
        let numbers: Vec<_> = to.iter().filter_map(|to| self.peers.number(*to)).collect();
        debug_assert_eq!(numbers.len(), to.len(), "receivers of a group were met before");
        let mut carried: Vec<_> = numbers.iter().map(|number| (*number, conn)).collect();
        self.grouped.extend(&carried);
        carried.push((group, conn));
        let reported: Vec<_> =
            (session..).zip(&numbers).map(|(row, number)| (*number, ConnId::new(row), conn)).collect();
        self.keep(bytes, content, &carried, &reported);
        let flow = FlowSpec { conn, to: group, size: Some(Bytes(bytes)), paths, ..FlowSpec::default() };
        let members: Vec<_> = numbers.into_iter().map(|addr| GroupMember { addr, paths }).collect();
        self.endpoint.open_group(now, flow, &members);
        self.after_input(now, None);
    }

    fn keep(
        &mut self,
        bytes: u64,
        content: Box<dyn ReadAt>,
        carried: &[(HostAddr, ConnId)],
        reported: &[(HostAddr, ConnId, ConnId)],
    ) {
        let (symbol, most) = (self.options.symbol() as u16, self.options.transport.block.0 as u16);
        let id = self.next_content;
        self.next_content += 1;
        if let Some(content) = Content::new(Shape { bytes: Some(bytes), symbol, most }, content) {
            self.contents.insert(id, content);
        }
        self.outgoing.extend(carried.iter().map(|key| (*key, id)));
        self.reported.extend(reported.iter().map(|(to, row, conn)| ((*to, *row), *conn)));
    }

    /// Announces an object of `bytes` bytes that `from` sends, or several hosts if there is none.
    pub fn expect(&mut self, now: Instant, from: Option<SocketAddr>, session: u32, id: ObjectId, bytes: u64) {
        let Some(from) = from.map(|from| self.peers.number(from)) else {
            return self.expect_key(now, (None, ConnId::new(session)), id, bytes);
        };
        if from.is_some() {
            self.expect_key(now, (from, ConnId::new(session)), id, bytes);
        }
    }

    fn expect_key(&mut self, now: Instant, key: Key, id: ObjectId, bytes: u64) {
        self.incoming
            .insert(key, Incoming { sink: Sink::Object(id, bytes), collector: None, last_heard: now });
    }

    /// Ignores an object from now on.
    pub fn forget(&mut self, id: ObjectId) {
        self.incoming.retain(|_, incoming| !matches!(incoming.sink, Sink::Object(object, _) if object == id));
    }

    /// Bytes of an outgoing session that a receiver is known to have.
    pub fn acknowledged(&self) -> Vec<(SocketAddr, u32, u64)> {
        let mut all = Vec::new();
        self.endpoint.open_flows(&mut |flow: FlowStatus| {
            if let Some(peer) = self.peers.get(flow.peer).filter(|_| flow.side == Side::Sender) {
                all.push((peer.address, flow.conn.get(), flow.bytes));
            }
        });
        all
    }

    /// Handles a frame.
    pub fn arrive(&mut self, now: Instant, frame: &[u8]) {
        let arrived = match Scdp::parse(frame, &self.marks, self.options.local.port()) {
            Ok(arrived) => arrived,
            Err(Refused::Foreign) => return,
            Err(_) => return self.counts.refused += 1,
        };
        let to = arrived.route.to;
        let ours = to == self.options.local.ip() || to.is_multicast();
        if !ours || arrived.fate == Fate::Returned || arrived.route.from.is_multicast() {
            return self.counts.stray += 1;
        }
        let address = SocketAddr::new(arrived.route.from, arrived.home);
        let Some(from) = self.peers.host(now, address, arrived.route.from_mac) else {
            return self.counts.stray += 1;
        };
        let received = arrived.received(from, self.options.paths);
        // Overdue pulls come first: the arrival of a symbol moves the pacer to the present, and their delay would stay.
        if self.endpoint.poll_timeout().is_some_and(|deadline| deadline.at < now) {
            self.timers(now);
        }
        let ScdpHeader::Symbol { conn, symbol } = arrived.header else {
            self.endpoint.handle(now, received);
            return self.after_input(now, None);
        };
        let key = ((symbol.share.of() == 1).then_some(from), conn);
        let ended = self.ended.contains(ended_peer(key), conn);
        if !ended && !self.admits(now, key, &symbol) {
            return self.counts.stray += 1;
        }
        let taken = match arrived.fate {
            Fate::Whole => self.take(key, &symbol, arrived.payload),
            _ => {
                self.counts.trimmed += 1;
                Taken::Nothing
            }
        };
        self.endpoint.handle_decoded(now, received, taken != Taken::Insufficient);
        self.after_input(now, Some(key));
    }

    /// Whether a symbol belongs to a session that was announced, or to a message.
    fn admits(&mut self, now: Instant, key: Key, symbol: &Symbol) -> bool {
        let Shape { bytes, symbol: size, most } = symbol.shape;
        let Some(bytes) =
            bytes.filter(|_| most <= MOST_SYMBOLS && usize::from(size) <= self.options.symbol())
        else {
            return false;
        };
        if let Some(incoming) = self.incoming.get_mut(&key) {
            incoming.last_heard = now;
            let announced = match incoming.sink {
                Sink::Message(_) => bytes <= LONGEST,
                Sink::Object(_, announced) => bytes == announced,
            };
            return announced && incoming.collector.as_ref().is_none_or(|(shape, _)| *shape == symbol.shape);
        }
        let messages = self.incoming.values().filter(|one| matches!(one.sink, Sink::Message(_))).count();
        let opens = symbol.syn && key.0.is_some() && bytes <= LONGEST && messages < MOST_MESSAGES;
        if opens {
            let sink = Sink::Message(vec![0; bytes as usize]);
            self.incoming.insert(key, Incoming { sink, collector: None, last_heard: now });
        }
        opens
    }

    /// Adds a whole symbol to the session that it belongs to.
    fn take(&mut self, key: Key, symbol: &Symbol, payload: &[u8]) -> Taken {
        self.counts.symbols_received += 1;
        let Some(incoming) = self.incoming.get_mut(&key) else { return Taken::Nothing };
        if incoming.collector.is_none() {
            let collector = Collector::new(symbol.shape, self.options.transport.pulling.spare);
            incoming.collector = collector.map(|collector| (symbol.shape, collector));
        }
        let Some((_, collector)) = &mut incoming.collector else { return Taken::Nothing };
        let taken = collector.take(symbol.block, symbol.esi, payload);
        let Taken::Block(offset, bytes) = taken else { return taken };
        match &mut incoming.sink {
            Sink::Message(message) => {
                let at = offset as usize;
                message[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            Sink::Object(id, _) => self.notices.push_back(Notice::Block { id: *id, offset, bytes }),
        }
        Taken::Nothing
    }

    /// Handles the transport's events. `key`: the session of the packet that was handled.
    fn after_input(&mut self, now: Instant, key: Option<Key>) {
        if self.idle {
            self.busy_until = self.busy_until.max(now);
        }
        self.idle = false;
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Opened { slot, .. } => drop(key.map(|key| self.slots.insert(slot, key))),
                Event::Received { slot } => self.ends(now, slot, true),
                Event::Silent { slot } => self.ends(now, slot, false),
                Event::Completed { to, conn, counts } => self.sent(to, conn, Ok(counts)),
                Event::Failed { to, conn, reason, .. } => self.sent(to, conn, Err(reason)),
                Event::Delivered { .. }
                | Event::Acked { .. }
                | Event::TimedOut { .. }
                | Event::Stray { .. } => {}
            }
        }
    }

    /// An incoming session has ended.
    fn ends(&mut self, now: Instant, slot: u32, complete: bool) {
        let Some(key) = self.slots.remove(&slot) else { return };
        if complete {
            self.ended.note(now, ended_peer(key), key.1);
        }
        let Some(incoming) = self.incoming.remove(&key) else { return };
        let decoded = complete && incoming.collector.as_ref().is_some_and(|(_, all)| all.complete());
        match incoming.sink {
            Sink::Message(bytes) => {
                let from = key.0.and_then(|from| self.peers.get(from)).map(|peer| peer.address);
                let message = Message::read(&bytes).filter(|_| decoded);
                let notice = from.zip(message).map(|(from, message)| Notice::Message { from, message });
                self.notices.extend(notice);
            }
            Sink::Object(id, _) if decoded => self.notices.push_back(Notice::Received { id }),
            Sink::Object(id, _) => self.notices.push_back(Notice::Lost { id }),
        }
    }

    /// An outgoing session, or that of one of its receivers, has ended.
    fn sent(&mut self, to: HostAddr, row: ConnId, result: Result<SendCounts, FailureReason>) {
        let Some(conn) = self.reported.remove(&(to, row)) else { return };
        self.outgoing.remove(&(to, conn));
        self.grouped.remove(&(to, conn));
        let others = self.reported.values().any(|other| *other == conn);
        if !others {
            self.outgoing.retain(|(host, other), _| *other != conn || self.peers.is_host(*host));
        }
        let (outgoing, contents) = (&self.outgoing, &mut self.contents);
        contents.retain(|id, _| outgoing.values().any(|used| used == id));
        let Some(address) = self.peers.get(to).map(|peer| peer.address) else { return };
        let (to, session) = (address, row.get());
        self.notices.push_back(match result {
            Ok(counts) => Notice::Sent { to, session, counts },
            Err(reason) => Notice::Failed { to, session, why: reason.to_string() },
        });
    }

    /// Runs the timers that are due.
    pub fn timers(&mut self, now: Instant) {
        let earliest = on_time(now);
        while let Some(deadline) = self.endpoint.poll_timeout().filter(|deadline| deadline.at <= now) {
            self.endpoint.handle_timeout(deadline.at.max(earliest));
            self.after_input(now, None);
        }
        self.ended.expire(now);
        let silence = self.options.transport.pulling.give_up.saturating_mul(4);
        // A message without any symbol with SYN never becomes a session of the transport.
        self.incoming.retain(|_, incoming| {
            matches!(incoming.sink, Sink::Object(..)) || now.since(incoming.last_heard) < silence
        });
    }

    /// Time from which the link takes the next frame: with a backlog of two frames it never runs dry.
    fn link_free_at(&self) -> Instant {
        let lead = self.options.rate.serialization(Bytes(2 * self.options.mtu as u64));
        Instant(self.busy_until.0.saturating_sub(lead.0))
    }

    /// Writes the next frame and returns its length; 0 if there is none now.
    pub fn poll_frame(&mut self, now: Instant, out: &mut [u8]) -> usize {
        if self.idle || self.link_free_at() > now {
            return 0;
        }
        while let Some(packet) = self.endpoint.poll_transmit(now) {
            if let Some(long) = self.write(&packet, out) {
                let time = self.options.rate.serialization(Bytes(long as u64));
                self.busy_until = self.busy_until.max(on_time(now)).after(time);
                return long;
            }
        }
        self.idle = true;
        0
    }

    /// The frame of a packet; `None` if its symbol cannot be had: then its session is given up.
    fn write(&mut self, packet: &Transmit<ScdpHeader>, out: &mut [u8]) -> Option<usize> {
        let payload = match packet.header {
            ScdpHeader::Symbol { conn, symbol } => {
                if !symbol.group && self.grouped.remove(&(packet.to, conn)) {
                    self.apart(packet.to, conn);
                }
                self.payload(packet.to, conn, &symbol)?
            }
            ScdpHeader::Pull { .. } | ScdpHeader::Done { .. } => Vec::new(),
        };
        let peer = self.peers.get(packet.to)?;
        let local = self.options.local;
        let route = Route {
            from_mac: self.options.mac,
            to_mac: peer.mac,
            from: local.ip(),
            to: peer.address.ip(),
            from_port: Route::port_of(packet.path),
            to_port: peer.address.port(),
        };
        let written = Scdp::emit(out, &route, &self.marks, local.port(), packet, &payload);
        debug_assert!(written.is_ok(), "{written:?}");
        written.ok()
    }

    /// The transport has taken a receiver out of its group.
    fn apart(&mut self, to: HostAddr, conn: ConnId) {
        if let Some(peer) = self.peers.get(to) {
            self.notices.push_back(Notice::Apart { to: peer.address, session: conn.get() });
        }
    }

    fn payload(&mut self, to: HostAddr, conn: ConnId, symbol: &Symbol) -> Option<Vec<u8>> {
        let id = *self.outgoing.get(&(to, conn))?;
        let content = self.contents.get_mut(&id)?;
        match content.symbol(symbol.block, symbol.esi) {
            Ok(payload) => {
                self.counts.symbols_sent += 1;
                Some(payload)
            }
            Err(error) => {
                self.contents.remove(&id);
                self.give_up(id, &error.to_string());
                None
            }
        }
    }

    /// Reports all receivers of a content as failed.
    fn give_up(&mut self, id: u32, why: &str) {
        let sessions: Vec<_> =
            self.outgoing.iter().filter(|(_, used)| **used == id).map(|(key, _)| *key).collect();
        let of_content = |(to, _): &(HostAddr, ConnId), conn: &ConnId| sessions.contains(&(*to, *conn));
        let rows: Vec<_> =
            self.reported.iter().filter(|(key, conn)| of_content(key, conn)).map(|(key, _)| *key).collect();
        for (to, row) in rows {
            self.reported.remove(&(to, row)).map(|conn| self.grouped.remove(&(to, conn)));
            if let Some(peer) = self.peers.get(to) {
                let (to, session, why) = (peer.address, row.get(), why.to_owned());
                self.notices.push_back(Notice::Failed { to, session, why });
            }
        }
        self.outgoing.retain(|_, used| *used != id);
    }

    /// The next notice.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Time of the next action that no frame triggers; [`Instant::NEVER`] if there is none.
    pub fn due(&self) -> Instant {
        let timer = self.endpoint.poll_timeout().map_or(Instant::NEVER, |deadline| deadline.at);
        if self.idle { timer } else { timer.min(self.link_free_at()) }
    }
}

/// Earliest time for which an action at `now` is on time.
fn on_time(now: Instant) -> Instant {
    Instant(now.0.saturating_sub(CATCH_UP.0))
}

/// Key of an ended session in [`Finished`]: no host has the number that stands for several senders.
fn ended_peer((from, _): Key) -> HostAddr {
    from.unwrap_or(HostAddr(u32::MAX))
}
