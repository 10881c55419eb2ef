//! Calls of applications.

use std::net::SocketAddr;

use pullnet_transport::{FlowSpec, Streaming};
use pullnet_units::Instant;
use pullnet_wire::Reason;

use super::{Backlog, Engine};
use crate::carrier::Carrier;
use crate::copy::{Sink, Source};
use crate::error::StreamError;
use crate::guard::Budget;
use crate::handle::{Notice, Read, StreamId, StreamInfo};
use crate::options::{Limits, StreamOptions};
use crate::status::{Counts, Status, StreamStatus, Totals};
use crate::stream::{Owner, Receiving, Sending, Stream};
use crate::streams::Name;

impl<C: Carrier> Engine<C> {
    /// Accepts streams for `service` from now on.
    ///
    /// # Errors
    /// If the service has a listener already.
    pub fn listen(&mut self, service: u16) -> Result<(), StreamError> {
        if self.listeners.contains_key(&service) {
            return Err(StreamError::ServiceTaken(service));
        }
        let most = self.options.limits.backlog;
        self.listeners.insert(service, Backlog::new(most));
        Ok(())
    }

    /// Replaces the limits. Streams that exceed new ones stay; every backlog takes the new limit of a service.
    pub fn set_limits(&mut self, limits: Limits) {
        self.tokens = Budget::new(limits.tokens_per_second);
        self.resets = Budget::new(limits.resets_per_second);
        self.listeners.values_mut().for_each(|backlog| backlog.most = limits.backlog);
        self.options.limits = limits;
    }

    /// Sets the maximum number of streams for `service` that wait to be accepted; the limits still apply.
    pub fn set_backlog(&mut self, service: u16, most: usize) {
        let most = most.min(self.options.limits.backlog);
        self.listeners.get_mut(&service).into_iter().for_each(|backlog| backlog.most = most);
    }

    /// Stops listening, and resets the streams that have not been accepted.
    pub fn unlisten(&mut self, now: Instant, service: u16) {
        let waiting = self.listeners.remove(&service).map(|backlog| backlog.waiting);
        for (id, _) in waiting.unwrap_or_default() {
            self.drop_both(now, id.index, Reason::NO_LISTENER);
        }
    }

    /// Returns the oldest stream for `service` that is not accepted yet.
    pub fn accept(&mut self, service: u16) -> Option<StreamId> {
        let id = self.listeners.get_mut(&service)?.pop()?;
        self.with(id.index, |stream, _| {
            stream.owner = Owner::Application;
            stream.id
        })
    }

    /// Whether `service` has a listener.
    #[must_use]
    pub fn listens(&self, service: u16) -> bool {
        self.listeners.contains_key(&service)
    }

    /// Opens a stream to `service` at the host that listens at `to`. The first packet leaves when data or the end is
    /// written.
    ///
    /// # Errors
    /// If the address is of the wrong family, or the limits allow no more streams.
    pub fn connect(
        &mut self,
        now: Instant,
        to: SocketAddr,
        service: u16,
        options: StreamOptions,
    ) -> Result<StreamId, StreamError> {
        let from = self.options.address;
        if from.is_ipv4() != to.is_ipv4() {
            return Err(StreamError::Family { from, to });
        }
        if self.stopped {
            return Err(StreamError::Stopped("it was shut down".to_string()));
        }
        self.check_room(to)?;
        let sealed = self.encrypts(service);
        if sealed && !self.has_key(to) {
            return Err(StreamError::NoKey(to));
        }
        let peer = self.hold_peer(now, to);
        let Some(entry) = self.peers.get_mut(peer) else { return Err(StreamError::Closed) };
        let number = entry.numbers.next();
        let name = Name { peer, number, ours: true };
        let index = self.streams.insert(name, |id| {
            let stream = Stream::new(now, id, peer, number, service);
            Stream { priority: options.priority, sealed, ..stream }
        });
        self.totals.opened += 1;
        tracing::debug!(%to, service, number, "stream opened");
        self.ask_for(to.ip(), peer);
        Ok(self.streams.get(index).map_or(StreamId { index, generation: 0 }, |stream| stream.id))
    }

    /// Returns the stream if an application owns it.
    fn owned(&self, id: StreamId) -> Result<&Stream, StreamError> {
        let stream = self.streams.named(id).filter(|stream| stream.owner == Owner::Application);
        stream.ok_or(StreamError::Closed)
    }

    /// Copies as many bytes as fit into the send buffer and returns their number; 0: the send buffer is full. The bytes
    /// leave with the next [`Engine::transmit`] if the stream has nothing else to send; otherwise when they fill a packet or
    /// the earlier data has left.
    ///
    /// # Errors
    /// If the stream is finished, gone, or has failed.
    pub fn write(&mut self, now: Instant, id: StreamId, bytes: &[u8]) -> Result<usize, StreamError> {
        self.write_from(now, id, bytes)
    }

    /// As [`Engine::write`], from anything that can be copied into packets.
    ///
    /// # Errors
    /// As there.
    pub fn write_from(
        &mut self,
        _now: Instant,
        id: StreamId,
        from: impl Source,
    ) -> Result<usize, StreamError> {
        let stream = self.writable(id)?;
        let (limit, wanted) = (self.send_room(stream.out.bytes()), from.left());
        let taken = self.with(id.index, |stream, pool| {
            let taken = stream.out.write(from, limit, pool);
            stream.counts.written_bytes += taken as u64;
            stream.told.wants_room = taken < wanted;
            stream.told.settled &= taken == 0;
            taken
        });
        self.queue_offers(id.index);
        Ok(taken.unwrap_or(0))
    }

    /// Returns the stream if more can be written to it.
    fn writable(&self, id: StreamId) -> Result<&Stream, StreamError> {
        let stream = self.owned(id)?;
        match &stream.sending {
            Sending::Failed(error) => Err(error.clone()),
            _ if stream.out.is_finished() || stream.out.is_exhausted() => Err(StreamError::Closed),
            _ => Ok(stream),
        }
    }

    /// Number of bytes that a stream may hold in total if it holds `held` now: bounded by its own limit and that of all
    /// streams, but always at least a packet, so that every stream makes progress.
    fn send_room(&self, held: usize) -> usize {
        let limits = &self.options.limits;
        let left = limits.send_memory.saturating_sub(self.sending);
        limits.send_buffer.min((held + left).max(self.pool.room()))
    }

    /// Writes as many bytes as there is room for. If all were taken and they are the last, adds the end; `None`: there is no
    /// room, or so little beside what waits to be acknowledged that the call would cost more than it moves: then a quarter of
    /// the send buffer has to become free.
    pub(crate) fn put(
        &mut self,
        now: Instant,
        id: StreamId,
        bytes: &[u8],
        last: bool,
    ) -> Option<Result<usize, StreamError>> {
        let buffer = self.options.limits.send_buffer;
        let held = match self.writable(id) {
            Ok(stream) => stream.out.bytes(),
            Err(error) => return Some(Err(error)),
        };
        if held + bytes.len().min(buffer / 4) > buffer {
            self.with(id.index, |stream, _| stream.told.wants_room = true);
            return None;
        }
        match self.write(now, id, bytes) {
            Ok(0) if !bytes.is_empty() => None,
            Ok(taken) if last && taken == bytes.len() => Some(self.finish(now, id).map(|()| taken)),
            result => Some(result),
        }
    }

    /// Ends the writing half. Before the next [`Engine::transmit`] the end travels with the data written last.
    ///
    /// # Errors
    /// If the stream is gone or has failed.
    pub fn finish(&mut self, _now: Instant, id: StreamId) -> Result<(), StreamError> {
        if let Sending::Failed(error) = &self.owned(id)?.sending {
            return Err(error.clone());
        }
        self.finish_sending(id.index);
        Ok(())
    }

    pub(super) fn finish_sending(&mut self, index: u32) {
        self.with(index, |stream, _| {
            stream.told.settled &= stream.out.is_finished();
            stream.out.finish();
        });
        self.queue_offers(index);
    }

    /// Reads into `out`.
    ///
    /// # Errors
    /// If the stream is gone or has failed.
    pub fn read(&mut self, now: Instant, id: StreamId, out: &mut [u8]) -> Result<Read, StreamError> {
        self.read_into(now, id, out)
    }

    /// As [`Engine::read`], into anything that takes bytes.
    ///
    /// # Errors
    /// As there.
    pub fn read_into(&mut self, now: Instant, id: StreamId, into: impl Sink) -> Result<Read, StreamError> {
        match &self.owned(id)?.receiving {
            Receiving::Failed(error) => return Err(error.clone()),
            Receiving::Dropped => return Err(StreamError::Closed),
            _ => {}
        }
        let read = self.with(id.index, |stream, pool| {
            let got = stream.incoming.read(into, pool);
            stream.counts.read_bytes += got as u64;
            match got {
                0 if stream.is_readable() && stream.incoming.readable() == 0 => Read::End,
                0 => {
                    stream.told.readable = stream.is_readable();
                    Read::Nothing
                }
                got => Read::Bytes(got),
            }
        });
        self.balance(now, id.index);
        read.ok_or(StreamError::Closed)
    }

    /// Releases the stream: data written already is still delivered, and data that arrives is refused. `id` is invalid from
    /// now on.
    pub fn close(&mut self, now: Instant, id: StreamId) {
        let Ok(stream) = self.owned(id) else { return };
        let unused = stream.ours && stream.sending == Sending::Unopened && stream.counts.written_bytes == 0;
        if !unused {
            self.finish_sending(id.index);
        }
        self.with(id.index, |stream, _| stream.owner = Owner::Nobody);
        self.drop_receiving(now, id.index, Reason::ABORTED);
        self.release_if_over(now, id.index);
    }

    /// Ends the stream at once, at both ends. `id` is invalid from now on.
    pub fn abort(&mut self, now: Instant, id: StreamId) {
        if self.owned(id).is_ok() {
            self.drop_both(now, id.index, Reason::ABORTED);
        }
    }

    /// Sets the priority at which data of this stream is pulled; it overrides the sender's request.
    pub fn prefer(&mut self, id: StreamId, priority: u8) {
        if self.owned(id).is_err() {
            return;
        }
        let receiving = self.with(id.index, |stream, _| {
            stream.preferred = Some(priority);
            stream.receiving.clone()
        });
        if let Some(Receiving::Open(slot)) = receiving {
            self.transport.prefer(slot, priority);
        }
    }

    /// Why bytes that were written to the stream do not arrive; `None` if nothing is in their way, or there is no such stream.
    #[must_use]
    pub fn write_error(&self, id: StreamId) -> Option<&StreamError> {
        self.owned(id).ok()?.write_error()
    }

    /// Returns the status of the stream; `None` if there is no such stream.
    #[must_use]
    pub fn info(&self, id: StreamId) -> Option<StreamInfo> {
        let stream = self.owned(id).ok()?;
        Some(StreamInfo {
            peer: self.peers.get(stream.peer)?.address,
            service: stream.service,
            ours: stream.ours,
            waiting: stream.incoming.readable(),
            settled: stream.is_settled(),
            counts: stream.counts,
            error: stream.error().cloned(),
        })
    }

    /// Returns the oldest notice. Its stream may be gone by now.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Number of streams, including released ones that still send.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Ends every stream at once with RESET, reason "the host is shutting down", and refuses new ones.
    pub fn stop(&mut self, now: Instant) {
        self.stopped = true;
        self.listeners.clear();
        for index in self.streams.indices() {
            self.drop_both(now, index, Reason::SHUTDOWN);
        }
    }

    /// Refuses new streams and finishes the existing ones: data written already is still sent.
    pub fn drain(&mut self, now: Instant) {
        self.stopped = true;
        let services: Vec<u16> = self.listeners.keys().copied().collect();
        services.into_iter().for_each(|service| self.unlisten(now, service));
        for index in self.streams.indices() {
            self.finish_sending(index);
        }
    }

    /// Number of streams with unacknowledged data.
    #[must_use]
    pub fn unsettled(&self) -> usize {
        let unsettled = |stream: &&Stream| stream.counts.written_bytes > 0 && !stream.is_settled();
        self.streams.iter().filter(unsettled).count()
    }

    /// Returns the status of the host.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status_of(usize::MAX)
    }

    /// As [`Engine::status`], with at most `most` streams: its cost does not depend on the number of streams.
    #[must_use]
    pub fn status_of(&self, most: usize) -> Status {
        let listed = self.streams.iter().take(most);
        let streams: Vec<_> = listed.filter_map(|stream| self.stream_status(stream)).collect();
        let left_out = (self.streams.len() - streams.len()) as u64;
        let mut counts = self.gone;
        self.streams.iter().for_each(|stream| counts.add(&stream.counts));
        let totals = Totals { counts, ..self.totals };
        let keys = self.key_status().take(most).collect();
        Status { totals: self.at_the_moment(totals), streams, left_out, keys }
    }

    fn at_the_moment(&self, totals: Totals) -> Totals {
        Totals {
            streams: self.streams.len() as u64,
            waiting_bytes: self.waiting as u64,
            sending_bytes: self.sending as u64,
            remembered: C::remembered(&self.transport) as u64,
            peers: self.peers.len() as u64,
            ..totals
        }
    }

    fn stream_status(&self, stream: &Stream) -> Option<StreamStatus> {
        Some(StreamStatus {
            peer: self.peers.get(stream.peer)?.address,
            service: stream.service,
            number: stream.number,
            ours: stream.ours,
            state: stream.state(),
            encrypted: stream.sealed,
            held: stream.held,
            waiting_bytes: stream.incoming.readable() as u64,
            counts: stream.counts,
        })
    }

    /// Queues a stream that has something to send: it is offered to the transport at the next transmission.
    pub(super) fn queue_offers(&mut self, index: u32) {
        let Some(stream) = self.streams.get_mut(index) else { return };
        if !std::mem::replace(&mut stream.queued, true) {
            self.unoffered.push_back(stream.id);
        }
    }

    /// Offers the data of the queued streams to the transport.
    pub(super) fn offer_everything(&mut self, now: Instant) {
        while let Some(id) = self.unoffered.pop_front() {
            if self.streams.named(id).is_some() {
                self.offer(now, id.index);
            }
        }
        // A transport that cannot carry the stream reports so immediately.
        self.handle_events(now, None);
    }

    fn offer(&mut self, now: Instant, index: u32) {
        let Some(stream) = self.streams.get_mut(index) else { return };
        stream.queued = false;
        if self.peers.get(stream.peer).is_none_or(|peer| peer.mac.is_none()) {
            return;
        }
        let (to, conn) = (stream.peer, stream.sending_conn());
        let wants = stream.out.bytes() > 0 || stream.out.is_finished();
        if wants && stream.tag.is_none() && !self.take_tag(now, index) {
            return;
        }
        let Some(stream) = self.streams.get_mut(index) else { return };
        if stream.sending == Sending::Unopened && wants {
            stream.sending = Sending::Open;
            let (priority, paths) = (stream.priority, self.options.paths);
            self.transport.open_stream(now, FlowSpec { conn, to, priority, paths, ..FlowSpec::default() });
        }
        while stream.sending == Sending::Open
            && let Some(offer) = stream.out.next_offer()
        {
            self.transport.offer(now, to, conn, offer.payload, offer.last);
        }
    }
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.written_bytes += other.written_bytes;
        self.acknowledged_bytes += other.acknowledged_bytes;
        self.received_bytes += other.received_bytes;
        self.read_bytes += other.read_bytes;
        self.sent += other.sent;
        self.repeated += other.repeated;
        self.timeouts += other.timeouts;
        self.received += other.received;
        self.trimmed_out += other.trimmed_out;
        self.trimmed_in += other.trimmed_in;
        self.returned += other.returned;
        self.damaged += other.damaged;
        self.no_room += other.no_room;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::EngineOptions;

    #[test]
    fn a_write_that_would_move_little_waits_for_room() {
        let options = EngineOptions::new([10, 0, 0, 1].into());
        let (buffer, now) = (options.limits.send_buffer, Instant::ZERO);
        let mut engine = Engine::new(options).unwrap();
        let id = engine.connect(now, ([10, 0, 0, 2], 61199).into(), 7, StreamOptions::default()).unwrap();
        let bytes = vec![1; buffer];
        let mut put = |long: usize| engine.put(now, id, &bytes[..long], false);
        assert_eq!(put(buffer - 1000), Some(Ok(buffer - 1000)));
        // There is room for 1000 B: not enough for the beginning of a long write, and enough for all of a short one.
        assert_eq!((put(buffer), put(1001)), (None, None));
        assert_eq!(put(1000), Some(Ok(1000)));
        engine.finish(now, id).unwrap();
        assert_eq!(engine.put(now, id, &bytes[..10], false), Some(Err(StreamError::Closed)));
    }
}
