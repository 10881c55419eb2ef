//! Frames in and out.

use std::net::SocketAddr;

use pullnet_ndp::wire::Label;
use pullnet_transport::{ConnId, HostAddr, Received, Streaming, Transmit, Transport};
use pullnet_units::Instant;
use pullnet_wire::{Arrived, DataFields, Fate, Packet, REPLY, Reason, Route, Shape, is_sealed, parse};

use super::answers::Answer;
use super::lifecycle::Opening;
use super::sealing::Writer;
use super::{Engine, MOST_CONTROL};
use crate::carrier::{Carrier, HeaderOf, Purpose};
use crate::guard::Key;
use crate::stream::{Receiving, Room};
use crate::streams::{Name, Tag};

/// Largest first window that the transport accepts: no host pushes more packets.
const LARGEST_FIRST_WINDOW: u32 = 65_535;

/// Whether the packet comes from the data sender of its connection.
fn from_sender(arrived: &Arrived<'_>) -> bool {
    match arrived.packet.shape {
        // An own packet, returned by a switch.
        Shape::Data(_) => arrived.fate != Fate::Returned,
        Shape::Probe { .. } => true,
        Shape::Reset { by_sender, .. } => by_sender,
        _ => false,
    }
}

/// Address of the other host, and the port at which it listens.
fn peer_of(arrived: &Arrived<'_>) -> SocketAddr {
    let port = match arrived.fate {
        Fate::Returned => arrived.route.from_port,
        _ => arrived.packet.home,
    };
    SocketAddr::new(arrived.route.from, port)
}

impl<C: Carrier> Engine<C> {
    /// Handles a received frame. A frame that is malformed or for another host is counted and changes nothing.
    pub fn receive(&mut self, now: Instant, frame: &[u8]) {
        if is_sealed(frame) {
            return self.receive_sealed(now, frame);
        }
        let arrived = match parse(frame, &self.options.marks, self.options.port) {
            Ok(arrived) if arrived.route.to == self.options.address => arrived,
            Err(refused) if refused.is_malformed() => return self.totals.refused.malformed += 1,
            Ok(_) | Err(_) => return self.totals.refused.foreign += 1,
        };
        self.take_in(now, &arrived, false);
    }

    /// Handles a packet for this host. `sealed`: only the holder of the key can have sent it.
    pub(super) fn take_in(&mut self, now: Instant, arrived: &Arrived<'_>, sealed: bool) {
        let (from, theirs) = (peer_of(arrived), from_sender(arrived));
        let tag = Tag { value: arrived.packet.tag, sealed };
        match (arrived.packet.shape, arrived.fate) {
            (Shape::Hello, Fate::Whole) => return self.on_hello(now, from, tag, arrived.route.from_mac),
            (Shape::Cookie { token, clock }, Fate::Whole) => {
                return self.on_cookie(now, from, tag, token, clock);
            }
            (Shape::Hello | Shape::Cookie { .. }, _) => return self.totals.refused.unknown += 1,
            _ => self.answering = tag,
        }
        let peer = self.peers.find(from);
        let name = peer.map(|peer| Name::of(peer, ConnId::new(arrived.packet.conn), theirs));
        match name.and_then(|name| self.streams.find(&name)) {
            Some(index) => self.take(now, index, arrived),
            None => self.take_unknown(now, from, peer, arrived),
        }
    }

    /// Handles a packet that belongs to a stream.
    fn take(&mut self, now: Instant, index: u32, arrived: &Arrived<'_>) {
        let Some(stream) = self.streams.get_mut(index) else { return };
        if stream.sealed && !self.answering.sealed {
            return self.totals.refused.plain += 1;
        }
        // Only the two hosts know the tag: a third party can neither end the stream nor acknowledge or pull anything.
        if stream.tag != Some(arrived.packet.tag) || stream.sealed != self.answering.sealed {
            return self.totals.refused.forged += 1;
        }
        if arrived.fate != Fate::Returned {
            stream.last_heard = now;
            let peer = stream.peer;
            self.compare(now, peer, arrived.route.from_mac);
        }
        let Some(stream) = self.streams.get_mut(index) else { return };
        let counts = &mut stream.counts;
        match (arrived.packet.shape, arrived.fate) {
            (Shape::Nack { .. }, _) => counts.trimmed_out += 1,
            (_, Fate::Trimmed) if arrived.damaged => counts.damaged += 1,
            (_, Fate::Trimmed) => counts.trimmed_in += 1,
            (_, Fate::Returned) => counts.returned += 1,
            _ => {}
        }
        match arrived.packet.shape {
            Shape::Reset { by_sender, reason } => self.take_reset(now, index, by_sender, reason),
            Shape::Data(_) | Shape::Probe { .. } if arrived.fate != Fate::Returned => {
                self.take_for_receiver(now, index, arrived);
            }
            _ => self.hand_over(now, index, arrived),
        }
    }

    /// Handles data or a probe, depending on the state of the receiving half.
    fn take_for_receiver(&mut self, now: Instant, index: u32, arrived: &Arrived<'_>) {
        let Some(stream) = self.streams.get(index) else { return };
        let peer = stream.peer;
        match &stream.receiving {
            Receiving::Unopened | Receiving::Open(_) => self.hand_over(now, index, arrived),
            Receiving::Complete => self.answer_late(peer, arrived),
            Receiving::Dropped | Receiving::Failed(_) => self.answer_reset(now, arrived, Reason::ABORTED),
        }
    }

    /// Hands a packet of a stream to the transport, one ACK for each packet that it reports.
    fn hand_over(&mut self, now: Instant, index: u32, arrived: &Arrived<'_>) {
        let Some(peer) = self.streams.get(index).map(|stream| stream.peer) else { return };
        for seq in arrived.packet.shape.also() {
            let packet = Packet { shape: Shape::Ack { seq, also: 0, pull: None }, ..arrived.packet };
            let one = C::received(&self.form, &Arrived { packet, ..*arrived }, peer, self.options.paths);
            one.into_iter().for_each(|one| self.transport.handle(now, one));
        }
        self.hand_over_one(now, index, arrived);
    }

    /// Hands a packet of a stream to the transport, and keeps its payload if it is new.
    fn hand_over_one(&mut self, now: Instant, index: u32, arrived: &Arrived<'_>) {
        let Some(stream) = self.streams.get_mut(index) else { return };
        let Some(packet) = C::received(&self.form, arrived, stream.peer, self.options.paths) else { return };
        let limits = &self.options.limits;
        let window = C::first_window(&self.options.transport);
        let memory = limits.memory.saturating_sub(self.waiting);
        let room = Room::new(limits.receive_buffer, window, self.pool.room(), memory);
        let fits = match arrived.packet.shape {
            Shape::Data(DataFields { seq, .. }) => stream.incoming.admits(seq, arrived.payload.len(), room),
            _ => true,
        };
        if fits || arrived.fate != Fate::Whole {
            return self.handle(now, packet, Some((index, arrived.payload)));
        }
        // Treated as trimmed: it is pulled again when there is room.
        stream.counts.no_room += 1;
        self.handle(now, Received { fate: Fate::Trimmed, ..packet }, None);
    }

    /// Acknowledges a late packet of a connection that has received everything.
    fn answer_late(&mut self, peer: HostAddr, arrived: &Arrived<'_>) {
        if let Shape::Data(DataFields { seq, .. }) | Shape::Probe { seq } = arrived.packet.shape {
            self.say(peer, ConnId::new(arrived.packet.conn), Shape::Ack { seq, also: 0, pull: None });
        }
    }

    fn handle(&mut self, now: Instant, packet: Received<HeaderOf<C>>, payload: Option<(u32, &[u8])>) {
        self.transport.handle(now, packet);
        self.handle_events(now, payload);
    }

    /// Handles a packet of an unknown stream: it may open one, or one has ended not long ago.
    fn take_unknown(
        &mut self,
        now: Instant,
        from: SocketAddr,
        peer: Option<HostAddr>,
        arrived: &Arrived<'_>,
    ) {
        let sends = matches!(arrived.packet.shape, Shape::Data(_) | Shape::Probe { .. });
        if !sends || arrived.fate == Fate::Returned {
            return self.totals.refused.unknown += 1;
        }
        let conn = ConnId::new(arrived.packet.conn);
        let opening = self.opening(from, arrived);
        if let Some((_, stamp)) = opening
            && !self.is_proven(now, from, &arrived.packet, stamp)
        {
            self.totals.refused.unproven += 1;
            if self.stales.take(now) {
                self.answer_reset(now, arrived, Reason::STALE);
            }
            return;
        }
        if let Some(reason) = self.denylist.reason(&Key { peer: from, conn: conn.get() }) {
            return self.answer_reset(now, arrived, reason);
        }
        if let Some(peer) = peer.filter(|peer| self.transport.remembers(*peer, conn)) {
            self.peers.touch(now, peer);
            if C::has_received(&self.transport, peer, conn) {
                return self.answer_late(peer, arrived);
            }
            return self.answer_reset(now, arrived, Reason::UNKNOWN);
        }
        let Some((opening, _)) = opening else {
            self.totals.refused.unknown += 1;
            return self.answer_reset(now, arrived, Reason::UNKNOWN);
        };
        match self.open_incoming(now, &opening) {
            Ok(Some(index)) => self.take(now, index, arrived),
            Ok(None) => {}
            Err(reason) => self.answer_reset(now, arrived, reason),
        }
    }

    /// Reads the fields of a packet that may open a stream, and the time at which the stream was opened.
    fn opening(&self, from: SocketAddr, arrived: &Arrived<'_>) -> Option<(Opening, u32)> {
        let Packet { conn, shape, .. } = arrived.packet;
        let tag = self.answering;
        match shape {
            Shape::Data(DataFields { syn: true, seq, service, priority, stamp, .. })
                if conn & REPLY == 0 && seq < LARGEST_FIRST_WINDOW =>
            {
                let (conn, whole) = (ConnId::new(conn), arrived.fate == Fate::Whole);
                Some((Opening { from, conn, service, priority, tag, whole }, stamp))
            }
            _ => None,
        }
    }

    /// Refuses the data of `arrived` with a RESET, at the rate that the limits allow.
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
        let Packet { conn, tag, .. } = arrived.packet;
        let packet = Packet { home: self.options.port, conn, tag, shape };
        self.put_control(route, packet, self.answering.sealed);
    }

    /// Queues the control packet `shape` of connection `conn` to `peer`.
    pub(super) fn say(&mut self, peer: HostAddr, conn: ConnId, shape: Shape) {
        let path = self.path();
        let theirs = !matches!(shape, Shape::Probe { .. } | Shape::Reset { by_sender: true, .. });
        // An answer to a packet of an unknown stream carries the tag of that packet.
        let tag = self.tag(&Name::of(peer, conn, theirs)).unwrap_or(self.answering);
        if let Some(route) = self.route(peer, path) {
            let packet = Packet { home: self.options.port, conn: conn.get(), tag: tag.value, shape };
            self.put_control(route, packet, tag.sealed);
        }
    }

    /// The tag of a stream that is open, or was not long ago.
    fn tag(&self, name: &Name) -> Option<Tag> {
        match self.streams.find(name).and_then(|index| self.streams.get(index)) {
            Some(stream) => stream.tag.map(|value| Tag { value, sealed: stream.sealed }),
            None => self.past.get(name),
        }
    }

    pub(super) fn put_control(&mut self, route: Route, packet: Packet, sealed: bool) {
        if self.control.len() < MOST_CONTROL {
            self.totals.resets_sent += u64::from(matches!(packet.shape, Shape::Reset { .. }));
            self.control.push_back((route, packet, sealed));
        }
    }

    /// The route to `peer`; `None` if its Ethernet address is not known.
    pub(super) fn route(&self, peer: HostAddr, path: u16) -> Option<Route> {
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

    /// Writes the next frame into `frame` and returns its length. 0: nothing to send until the next input. `frame` must hold
    /// the options' MTU and 14 B.
    pub fn transmit(&mut self, now: Instant, frame: &mut [u8]) -> usize {
        // Deferred ACKs go before more data: a host that always has data would never send them otherwise.
        match self.transmit_answer(frame) {
            0 => {}
            long => return long,
        }
        match self.transmit_urgent(now, frame) {
            0 => self.transmit_answer(frame),
            long => long,
        }
    }

    /// As [`Engine::transmit`], without plain ACKs: those may wait for another frame to carry them along, as long as no
    /// timeout of the other host is near.
    pub fn transmit_urgent(&mut self, now: Instant, frame: &mut [u8]) -> usize {
        if !self.unoffered.is_empty() {
            self.offer_everything(now);
        }
        while let Some((route, packet, sealed)) = self.control.pop_front() {
            // Its key may have been removed meanwhile; then it cannot be sent.
            if let Some(long) = self.writer().write(frame, &route, &packet, &[], sealed) {
                return long;
            }
        }
        // The pulls that the transport has ready join an answer before it leaves, but wait for one data packet at most.
        if self.answers.is_urgent()
            && let Some(long) = self.emit_answer(frame)
        {
            return long;
        }
        while let Some(packet) = self.transport.poll_transmit(now) {
            if let Some(long) = self.emit(now, &packet, frame) {
                return long;
            }
        }
        if self.answers.is_urgent() { self.transmit_answer(frame) } else { 0 }
    }

    /// Writes the first of the answers that wait; 0: there is none.
    fn transmit_answer(&mut self, frame: &mut [u8]) -> usize {
        while !self.answers.is_empty() {
            // Its host may be forgotten meanwhile; then it cannot be sent.
            if let Some(long) = self.emit_answer(frame) {
                return long;
            }
        }
        0
    }

    fn emit_answer(&mut self, frame: &mut [u8]) -> Option<usize> {
        let Answer { to, path, conn, shape } = self.answers.pop()?;
        let tag = self.tag(&Name::of(to, conn, true))?;
        let route = self.route(to, path)?;
        let packet = Packet { home: self.options.port, conn: conn.get(), tag: tag.value, shape };
        self.writer().write(frame, &route, &packet, &[], tag.sealed)
    }

    /// Writes a packet of the transport. `None`: nothing leaves now; an answer may leave later.
    fn emit(&mut self, now: Instant, packet: &Transmit<HeaderOf<C>>, frame: &mut [u8]) -> Option<usize> {
        let (conn, purpose) = C::purpose(&packet.header);
        let long = match purpose {
            Purpose::Data(seq) => self.emit_data(now, packet, conn, seq, frame),
            Purpose::Question => {
                let index = self.streams.find(&Name::of(packet.to, conn, false));
                index.into_iter().for_each(|index| self.suspect_mac(now, index));
                self.emit_control(packet, frame)
            }
            Purpose::Ack(seq, pull) => {
                self.answers.acknowledge((packet.to, conn, packet.path), seq, pull);
                None
            }
            Purpose::Pull(number) => {
                self.answers.pull((packet.to, conn, packet.path), number);
                None
            }
            Purpose::Answer => self.emit_control(packet, frame),
        };
        long.filter(|long| *long > 0)
    }

    fn emit_data(
        &mut self,
        now: Instant,
        packet: &Transmit<HeaderOf<C>>,
        conn: ConnId,
        seq: u32,
        frame: &mut [u8],
    ) -> Option<usize> {
        let index = self.streams.find(&Name::of(packet.to, conn, false))?;
        let stream = self.streams.get_mut(index)?;
        // Without a tag the other host would drop it. To the transport the packet has left; its timeout retransmits it.
        let tag = stream.tag?;
        stream.counts.sent += 1;
        stream.counts.repeated += u64::from(packet.again);
        if !packet.again && stream.out.note_sent(seq) {
            self.queue_offers(index);
        }
        if packet.again {
            self.suspect_mac(now, index);
        }
        let route = self.route(packet.to, packet.path)?;
        let stream = self.streams.get(index)?;
        let label = Label { service: stream.service, tag, stamp: stream.stamp };
        let (payload, whole) = (stream.out.packet(seq)?, C::packet(&self.form, packet, &label));
        let mut writer = Writer::of(&self.options.marks, &mut self.vault, &mut self.totals);
        writer.write(frame, &route, &whole, payload, stream.sealed)
    }

    fn emit_control(&mut self, packet: &Transmit<HeaderOf<C>>, frame: &mut [u8]) -> Option<usize> {
        let (conn, purpose) = C::purpose(&packet.header);
        let tag = self.tag(&Name::of(packet.to, conn, purpose.is_answer()))?;
        let route = self.route(packet.to, packet.path)?;
        let whole = C::packet(&self.form, packet, &Label { tag: tag.value, ..Label::default() });
        self.writer().write(frame, &route, &whole, &[], tag.sealed)
    }
}
