//! Frames in and out.

use std::net::{IpAddr, SocketAddr};

use pullnet_ndp::NdpHeader;
use pullnet_transport::{ConnId, HostAddr, Received, Streaming, Transmit, Transport};
use pullnet_units::{Instant, Picos};
use pullnet_wire::{Arrived, Fate, Mac, Packet, REPLY, Reason, Route, Shape, emit, parse};

use super::{Engine, MOST_CONTROL};
use crate::guard::Key;
use crate::stream::{Receiving, Room};
use crate::streams::Name;
use crate::{StreamError, StreamId};

/// No host pushes more packets in its first window: what the transport takes.
const LARGEST_FIRST_WINDOW: u32 = 65_535;
/// So often a silent host is looked for at another Ethernet address that it had, before the stream fails.
const PLACES: u64 = 32;

/// Whether whoever made the packet sends data in its connection.
fn from_sender(arrived: &Arrived<'_>) -> bool {
    match arrived.packet.shape {
        // It is our own that comes back.
        Shape::Data { .. } => arrived.fate != Fate::Returned,
        Shape::Probe { .. } => true,
        Shape::Reset { by_sender, .. } => by_sender,
        Shape::Ack { .. } | Shape::Nack { .. } | Shape::Pull { .. } => false,
    }
}

/// The other host: its address, and the port at which it listens.
fn peer_of(arrived: &Arrived<'_>) -> SocketAddr {
    let port = match arrived.fate {
        Fate::Returned => arrived.route.from_port,
        _ => arrived.packet.home,
    };
    SocketAddr::new(arrived.route.from, port)
}

impl Engine {
    /// A frame has arrived. One that is not for this host, or wrong, is counted and changes nothing.
    pub fn receive(&mut self, now: Instant, frame: &[u8]) {
        let arrived = match parse(frame, &self.options.marks, self.options.port) {
            Ok(arrived) if arrived.route.to == self.options.address => arrived,
            Err(refused) if refused.is_malformed() => return self.totals.refused.malformed += 1,
            Ok(_) | Err(_) => return self.totals.refused.foreign += 1,
        };
        let (from, theirs) = (peer_of(&arrived), from_sender(&arrived));
        let peer = self.peers.find(from);
        let name = peer.map(|peer| Name::of(peer, ConnId(arrived.packet.conn), theirs));
        match name.and_then(|name| self.streams.find(&name)) {
            Some(index) => self.take(now, index, &arrived),
            None => self.take_unknown(now, from, peer, &arrived),
        }
    }

    /// A packet that belongs to a stream.
    fn take(&mut self, now: Instant, index: u32, arrived: &Arrived<'_>) {
        let Some(stream) = self.streams.get_mut(index) else { return };
        if arrived.fate != Fate::Returned {
            stream.last_heard = now;
            self.peers.learn(stream.peer, arrived.route.from_mac);
        }
        let counts = &mut stream.counts;
        match (arrived.packet.shape, arrived.fate) {
            (Shape::Nack { .. }, _) => counts.trimmed_out += 1,
            (_, Fate::Trimmed) => counts.trimmed_in += 1,
            (_, Fate::Damaged) => counts.damaged += 1,
            (_, Fate::Returned) => counts.returned += 1,
            _ => {}
        }
        match arrived.packet.shape {
            Shape::Reset { by_sender, reason } => self.take_reset(now, index, by_sender, reason),
            Shape::Data { .. } | Shape::Probe { .. } if arrived.fate != Fate::Returned => {
                self.take_for_receiver(now, index, arrived);
            }
            _ => self.hand_over(now, index, arrived),
        }
    }

    /// Data or a question: what becomes of it depends on how the receiving half stands.
    fn take_for_receiver(&mut self, now: Instant, index: u32, arrived: &Arrived<'_>) {
        let Some(stream) = self.streams.get(index) else { return };
        let (peer, conn) = (stream.peer, ConnId(arrived.packet.conn));
        match &stream.receiving {
            Receiving::Unopened | Receiving::Open(_) => self.hand_over(now, index, arrived),
            Receiving::Complete if self.transport.remembers(peer, conn) => self.hand_late(now, peer, arrived),
            // The transport has forgotten by now that everything is there; the stream has not.
            Receiving::Complete => {
                if let Shape::Data { seq, .. } | Shape::Probe { seq } = arrived.packet.shape {
                    self.say(peer, conn, Shape::Ack { seq, pull: None });
                }
            }
            Receiving::Dropped | Receiving::Failed(_) => self.answer_reset(now, arrived, Reason::ABORTED),
        }
    }

    /// Hands a packet of a stream to the transport, and keeps its payload if it is new.
    fn hand_over(&mut self, now: Instant, index: u32, arrived: &Arrived<'_>) {
        let Some(stream) = self.streams.get_mut(index) else { return };
        let Some(packet) = self.carriage.received(arrived, stream.peer, self.options.paths) else { return };
        let limits = &self.options.limits;
        let window = self.options.ndp.initial_window.0;
        let memory = limits.memory.saturating_sub(self.waiting);
        let room = Room::new(limits.receive_buffer, window, self.pool.room(), memory);
        let fits = match arrived.packet.shape {
            Shape::Data { seq, .. } => stream.incoming.admits(seq, arrived.payload.len(), room),
            _ => true,
        };
        if fits || arrived.fate != Fate::Whole {
            return self.handle(now, packet, Some((index, arrived.payload)));
        }
        // Without its payload it is asked for again, when there is room.
        stream.counts.no_room += 1;
        self.handle(now, Received { fate: pullnet_transport::Fate::Trimmed, ..packet }, None);
    }

    /// Hands the transport a packet of a connection that has ended: it answers, and remembers that one longer.
    fn hand_late(&mut self, now: Instant, peer: HostAddr, arrived: &Arrived<'_>) {
        let packet = self.carriage.received(arrived, peer, self.options.paths);
        packet.into_iter().for_each(|packet| self.handle(now, packet, None));
    }

    fn handle(&mut self, now: Instant, packet: Received<NdpHeader>, payload: Option<(u32, &[u8])>) {
        self.transport.handle(now, packet);
        self.handle_events(now, payload);
    }

    /// A packet of a stream that is not here: it may open one, or one has ended not long ago.
    fn take_unknown(
        &mut self,
        now: Instant,
        from: SocketAddr,
        peer: Option<HostAddr>,
        arrived: &Arrived<'_>,
    ) {
        let sends = matches!(arrived.packet.shape, Shape::Data { .. } | Shape::Probe { .. });
        if !sends || arrived.fate == Fate::Returned {
            return self.totals.refused.unknown += 1;
        }
        let conn = ConnId(arrived.packet.conn);
        if let Some(reason) = self.barred.reason(&Key { peer: from, conn: conn.0 }) {
            return self.answer_reset(now, arrived, reason);
        }
        if let Some(peer) = peer.filter(|peer| self.transport.remembers(*peer, conn)) {
            self.peers.touch(now, peer);
            self.peers.learn(peer, arrived.route.from_mac);
            return self.hand_late(now, peer, arrived);
        }
        match arrived.packet.shape {
            Shape::Data { syn: true, seq, again, service, priority, .. }
                if conn.0 & REPLY == 0
                    && seq < LARGEST_FIRST_WINDOW
                    && !(again && now < self.options.careful_until) =>
            {
                match self.open_incoming(now, from, conn, service, priority) {
                    Ok(Some(index)) => self.take(now, index, arrived),
                    Ok(None) => {}
                    Err(reason) => self.answer_reset(now, arrived, reason),
                }
            }
            _ => {
                self.totals.refused.unknown += 1;
                self.answer_reset(now, arrived, Reason::UNKNOWN);
            }
        }
    }

    /// Tells the sender of `arrived` that its data is not wanted. Not more often than the limits allow.
    fn answer_reset(&mut self, now: Instant, arrived: &Arrived<'_>, reason: Reason) {
        if !self.resets.take(now) {
            return;
        }
        let Route { from_mac, to_mac, from, to, .. } = arrived.route;
        let route = Route {
            from_mac: to_mac,
            to_mac: from_mac,
            from: to,
            to: from,
            from_port: Route::port_of(self.path()),
            to_port: arrived.packet.home,
        };
        let shape = Shape::Reset { by_sender: false, reason };
        self.put_control(route, Packet { home: self.options.port, conn: arrived.packet.conn, shape });
    }

    /// Says `shape` of connection `conn` to `peer`.
    pub(super) fn say(&mut self, peer: HostAddr, conn: ConnId, shape: Shape) {
        let path = self.path();
        if let Some(route) = self.route(peer, path) {
            self.put_control(route, Packet { home: self.options.port, conn: conn.0, shape });
        }
    }

    fn put_control(&mut self, route: Route, packet: Packet) {
        if self.control.len() < MOST_CONTROL {
            self.totals.resets_sent += u64::from(matches!(packet.shape, Shape::Reset { .. }));
            self.control.push_back((route, packet));
        }
    }

    /// The way to `peer`; `None` if its Ethernet address is not known.
    fn route(&self, peer: HostAddr, path: u16) -> Option<Route> {
        let peer = self.peers.get(peer)?;
        Some(Route {
            from_mac: self.options.mac,
            to_mac: peer.mac?,
            from: self.options.address,
            to: peer.address.ip(),
            from_port: Route::port_of(path),
            to_port: peer.address.port(),
        })
    }

    /// Writes the next frame into `frame` and says how long it is. 0: nothing to send until the next input. `frame` has
    /// to hold the options' MTU and 14 B.
    pub fn transmit(&mut self, now: Instant, frame: &mut [u8]) -> usize {
        // ACKs that were put aside go before more data: a host that always has data would never send them otherwise.
        match self.transmit_ack(frame) {
            0 => {}
            long => return long,
        }
        match self.transmit_urgent(now, frame) {
            0 => self.transmit_ack(frame),
            long => long,
        }
    }

    /// The same for all frames but ACKs without pulls: those may wait for another frame that they can leave with, as long
    /// as no timeout of the other host is near. They are what is left for [`Engine::transmit`].
    pub fn transmit_urgent(&mut self, now: Instant, frame: &mut [u8]) -> usize {
        if !self.unoffered.is_empty() {
            self.offer_everything(now);
        }
        if let Some((route, packet)) = self.control.pop_front() {
            return emit(frame, &route, &self.options.marks, &packet, &[]).unwrap_or(0);
        }
        loop {
            if let Some(long) = self.transmit_one(now, frame) {
                return long;
            }
        }
    }

    fn transmit_ack(&mut self, frame: &mut [u8]) -> usize {
        while let Some(packet) = self.acks.pop_front() {
            // One to a host that is forgotten by now cannot be sent.
            if let Some(long) = self.emit_packet(&packet, 0, &[], frame) {
                return long;
            }
        }
        0
    }

    /// The transport's next packet but for plain ACKs, which are put aside; `None`: it is not sent now.
    fn transmit_one(&mut self, now: Instant, frame: &mut [u8]) -> Option<usize> {
        let Some(packet) = self.transport.poll_transmit(now) else { return Some(0) };
        let long = match packet.header {
            NdpHeader::Data { conn, seq, .. } => self.emit_data(now, &packet, conn, seq, frame),
            NdpHeader::Probe { conn, .. } => {
                let index = self.streams.find(&Name::of(packet.to, conn, false));
                index.into_iter().for_each(|index| self.doubt(now, index));
                self.emit_packet(&packet, 0, &[], frame)
            }
            NdpHeader::Ack { pull: None, .. } => {
                self.acks.push_back(packet);
                None
            }
            _ => self.emit_packet(&packet, 0, &[], frame),
        };
        long.filter(|long| *long > 0)
    }

    fn emit_data(
        &mut self,
        now: Instant,
        packet: &Transmit<NdpHeader>,
        conn: ConnId,
        seq: u32,
        frame: &mut [u8],
    ) -> Option<usize> {
        let index = self.streams.find(&Name::of(packet.to, conn, false))?;
        let stream = self.streams.get_mut(index)?;
        stream.counts.sent += 1;
        stream.counts.repeated += u64::from(packet.again);
        if !packet.again && stream.out.note_sent(seq) {
            self.queue_offers(index);
        }
        if packet.again {
            self.doubt(now, index);
        }
        let stream = self.streams.get(index)?;
        self.emit_packet(packet, stream.service, stream.out.packet(seq)?, frame)
    }

    fn emit_packet(
        &self,
        packet: &Transmit<NdpHeader>,
        service: u16,
        payload: &[u8],
        frame: &mut [u8],
    ) -> Option<usize> {
        let route = self.route(packet.to, packet.path)?;
        emit(frame, &route, &self.options.marks, &self.carriage.packet(packet, service), payload).ok()
    }
}

/// Ethernet addresses.
impl Engine {
    /// An address whose Ethernet address (or that of the next hop to it) is needed; each once.
    pub fn poll_unresolved(&mut self) -> Option<IpAddr> {
        self.unresolved.pop_front()
    }

    /// The answer to [`Engine::poll_unresolved`]; `None`: nobody answers for it, and its streams fail.
    pub fn resolved(&mut self, now: Instant, address: IpAddr, mac: Option<Mac>) {
        self.asked.remove(&address);
        mac.into_iter().for_each(|mac| self.peers.resolve(address, mac));
        let there = |peer| self.peers.get(peer).is_some_and(|peer| peer.address.ip() == address);
        let streams: Vec<StreamId> =
            self.streams.iter().filter(|stream| there(stream.peer)).map(|stream| stream.id).collect();
        for id in streams {
            let known = self.streams.named(id).and_then(|stream| self.peers.get(stream.peer)?.mac).is_some();
            if known {
                self.queue_offers(id.index);
            } else {
                self.fail(now, id.index, &StreamError::Unreachable(address));
            }
        }
    }

    /// A packet of a stream leaves that repeats one, or asks: if the other host has been silent for long, it may be where
    /// it was before.
    pub(super) fn doubt(&mut self, now: Instant, index: u32) {
        let Some(stream) = self.streams.get(index) else { return };
        let patience = Picos(self.give_up().0 / PLACES);
        if now.since(stream.last_heard) > patience {
            self.peers.doubt(now, stream.peer, patience);
        }
    }

    /// Asks for the Ethernet address of `peer` at `address` if it is not known.
    pub(super) fn ask_for(&mut self, address: IpAddr, peer: HostAddr) {
        let known = self.peers.get(peer).is_some_and(|peer| peer.mac.is_some());
        if !known && self.asked.insert(address) {
            self.unresolved.push_back(address);
        }
    }
}
