//! Opening and ending of streams.

use std::collections::VecDeque;
use std::net::SocketAddr;

use pullnet_transport::{ConnId, HostAddr, Streaming};
use pullnet_units::Instant;
use pullnet_wire::{Reason, Shape};

use super::Engine;
use crate::carrier::Carrier;
use crate::error::StreamError;
use crate::guard::Key;
use crate::handle::{Notice, StreamId};
use crate::stream::{Owner, Receiving, Sending, Stream};
use crate::streams::{Name, Tag};

/// Divisor of the stream limit: streams that have received headers only may exceed it by one part in this many.
const NASCENT: usize = 4;

/// Fields of a packet that may open a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub from: SocketAddr,
    pub conn: ConnId,
    pub service: u16,
    pub priority: u8,
    pub tag: Tag,
    /// Whether its payload is complete.
    pub whole: bool,
}

impl<C: Carrier> Engine<C> {
    /// Whether the limits allow another stream with `peer`. Streams that have received headers only do not count.
    pub(super) fn check_room(&self, peer: SocketAddr) -> Result<(), StreamError> {
        let limits = &self.options.limits;
        if self.streams.len() - self.nascents >= limits.connections {
            return Err(StreamError::Full("streams"));
        }
        let with_peer = self.peers.find(peer).and_then(|peer| self.peers.get(peer));
        let streams = with_peer.map_or(0, |peer| peer.streams - peer.nascent_streams);
        if streams >= limits.connections_per_peer {
            return Err(StreamError::Full("streams_per_peer"));
        }
        Ok(())
    }

    pub(super) fn hold_peer(&mut self, now: Instant, address: SocketAddr) -> HostAddr {
        let issuer = &self.issuer;
        self.peers.hold(address, || issuer.numbers(now, address))
    }

    /// Handles a packet of a first window with a right tag: opens a stream if the service has a listener and the limits
    /// allow it. `None`: dropped silently; a genuine sender retransmits. The error is the reason of a RESET.
    pub(super) fn open_incoming(&mut self, now: Instant, opening: &Opening) -> Result<Option<u32>, Reason> {
        let Opening { from, conn, service, priority, tag, whole } = *opening;
        // Both ended and open streams are remembered, so both count.
        if C::remembered(&self.transport) + self.streams.len() >= self.options.limits.remembered {
            self.totals.refused.too_fast += 1;
            return Ok(None);
        }
        if !tag.sealed && self.encrypts(service) {
            // Not added to the memory of refused connections: a peer that has the key may have chosen the same number.
            self.totals.refused.plain += 1;
            return Err(Reason::KEYED);
        }
        if let Err(reason) = self.check_opening(from, service) {
            self.denylist.note(now, Key { peer: from, conn: conn.get() }, reason);
            return Err(reason);
        }
        let peer = self.hold_peer(now, from);
        let name = Name { peer, number: conn.get(), ours: false };
        let index = self.streams.insert(name, |id| {
            let stream = Stream::new(now, id, peer, conn.get(), service);
            Stream {
                ours: false,
                owner: Owner::Nascent,
                priority,
                tag: Some(tag.value),
                sealed: tag.sealed,
                ..stream
            }
        });
        self.totals.incoming += 1;
        tracing::debug!(%from, service, number = conn.get(), "stream arrived");
        self.add_nascent(now, index, peer);
        if whole {
            self.promote(now, index);
        }
        self.ask_for(from.ip(), peer);
        Ok(Some(index))
    }

    /// Refuses streams that others open from now on, with the reason that this host is shutting down. Streams that have been opened
    /// go on, also those that are not accepted yet.
    pub fn refuse_new(&mut self) {
        self.closing = true;
    }

    fn check_opening(&mut self, from: SocketAddr, service: u16) -> Result<(), Reason> {
        if self.closing {
            return Err(Reason::SHUTDOWN);
        }
        if !self.listeners.contains_key(&service) {
            self.totals.refused.no_listener += 1;
            return Err(Reason::NO_LISTENER);
        }
        let peer = self.peers.find(from);
        if self.is_crowded(service, peer) || self.check_room(from).is_err() {
            self.totals.refused.full += 1;
            return Err(Reason::FULL);
        }
        Ok(())
    }

    /// Whether the backlog of `service` is full for `peer`.
    fn is_crowded(&self, service: u16, peer: Option<HostAddr>) -> bool {
        self.listeners.get(&service).is_none_or(|backlog| !backlog.has_room(peer))
    }

    /// Notes that only a header of the stream has arrived so far. If there are too many such streams, of its peer or in
    /// total, the oldest gives way: a host that sends only headers takes no place from others.
    fn add_nascent(&mut self, now: Instant, index: u32, peer: HostAddr) {
        let Some(id) = self.streams.get(index).map(|stream| stream.id) else { return };
        self.nascents += 1;
        self.nascent.push_back(id);
        let limits = self.options.limits;
        let Some(entry) = self.peers.get_mut(peer) else { return };
        entry.nascent_streams += 1;
        entry.nascent.push_back(id);
        if entry.nascent_streams > (limits.connections_per_peer / NASCENT).max(1) {
            self.drop_oldest(now, Some(peer));
        }
        if self.nascents > (limits.connections / NASCENT).max(1) {
            self.drop_oldest(now, None);
        }
        self.tidy_nascent(peer);
    }

    /// Drops the oldest stream without data, of `peer` or of all.
    fn drop_oldest(&mut self, now: Instant, peer: Option<HostAddr>) {
        loop {
            let queue = match peer {
                Some(peer) => self.peers.get_mut(peer).map(|peer| &mut peer.nascent),
                None => Some(&mut self.nascent),
            };
            let Some(id) = queue.and_then(VecDeque::pop_front) else { return };
            if self.streams.named(id).is_some_and(|stream| stream.owner == Owner::Nascent) {
                self.totals.refused.full += 1;
                return self.drop_both(now, id.index, Reason::FULL);
            }
        }
    }

    /// Removes ended and progressed streams from the queues once these are the majority.
    fn tidy_nascent(&mut self, peer: HostAddr) {
        let streams = &self.streams;
        let waits = |id: &StreamId| streams.named(*id).is_some_and(|stream| stream.owner == Owner::Nascent);
        if self.nascent.len() > 2 * self.nascents + 16 {
            self.nascent.retain(waits);
        }
        if let Some(entry) =
            self.peers.get_mut(peer).filter(|peer| peer.nascent.len() > 2 * peer.nascent_streams + 16)
        {
            entry.nascent.retain(waits);
        }
    }

    /// Removes a stream from the list of those that have received headers only.
    fn leave_nascent(&mut self, index: u32) {
        let Some(stream) = self.streams.get_mut(index).filter(|stream| stream.owner == Owner::Nascent) else {
            return;
        };
        stream.owner = Owner::Nobody;
        self.nascents -= 1;
        self.peers.get_mut(stream.peer).into_iter().for_each(|peer| peer.nascent_streams -= 1);
    }

    /// Data of a stream has arrived. If it is the first, announces the stream to the application.
    pub(super) fn promote(&mut self, now: Instant, index: u32) {
        let Some(stream) = self.streams.get(index).filter(|stream| stream.owner == Owner::Nascent) else {
            return;
        };
        let (id, peer, service) = (stream.id, stream.peer, stream.service);
        if !self.listeners.contains_key(&service) {
            return self.drop_both(now, index, Reason::NO_LISTENER);
        }
        if self.is_crowded(service, Some(peer)) {
            self.totals.refused.full += 1;
            return self.drop_both(now, index, Reason::FULL);
        }
        self.leave_nascent(index);
        self.with(index, |stream, _| stream.owner = Owner::Backlog);
        self.listeners.get_mut(&service).into_iter().for_each(|backlog| backlog.push(id, peer));
        self.notices.push_back(Notice::Incoming { service });
    }

    /// Handles a RESET: the other host has ended a connection of this stream.
    pub(super) fn take_reset(&mut self, now: Instant, index: u32, by_sender: bool, reason: Reason) {
        let Some(stream) = self.streams.get(index) else { return };
        let over = if by_sender {
            stream.receiving == Receiving::Complete
        } else {
            matches!(stream.sending, Sending::Done | Sending::Failed(_)) && !stream.waits_for_answer()
        };
        if over {
            return;
        }
        if reason == Reason::STALE && !by_sender && self.opens_anew(now, index) {
            return;
        }
        self.totals.resets_received += 1;
        let refused = matches!(reason, Reason::NO_LISTENER | Reason::FULL | Reason::KEYED);
        let error = if refused { StreamError::Refused(reason) } else { StreamError::Reset(reason) };
        if by_sender || reason != Reason::ABORTED {
            return self.fail(now, index, &error);
        }
        // Its application reads no more, but it may continue to write.
        self.end_sending(now, index, &error);
        self.release_if_over(now, index);
    }

    /// Fails the halves of the stream that are not complete.
    pub(super) fn fail(&mut self, now: Instant, index: u32, error: &StreamError) {
        let Some(stream) = self.streams.get(index) else { return };
        tracing::debug!(stream = ?stream.id, number = stream.number, %error, "stream failed");
        self.totals.failed += 1;
        self.end_sending(now, index, error);
        self.end_receiving(now, index, Receiving::Failed(error.clone()));
        self.withdraw_from_backlog(index);
        self.release_if_over(now, index);
    }

    fn end_sending(&mut self, now: Instant, index: u32, error: &StreamError) {
        let Some(stream) = self.streams.get(index) else { return };
        if stream.sending == Sending::Open {
            self.transport.abandon(now, stream.peer, stream.sending_conn());
        }
        self.with(index, |stream, pool| {
            if stream.sending != Sending::Done {
                stream.sending = Sending::Failed(error.clone());
            }
            stream.out.clear(pool);
        });
    }

    /// Ends the receiving half as `how`, unless it is complete and may still be read.
    fn end_receiving(&mut self, now: Instant, index: u32, how: Receiving) {
        let Some(stream) = self.streams.get(index) else { return };
        let complete = stream.receiving == Receiving::Complete;
        if let Receiving::Open(slot) = stream.receiving {
            self.transport.dismiss(now, slot);
        }
        self.with(index, |stream, pool| {
            if !complete || how == Receiving::Dropped {
                stream.incoming.clear(pool);
            }
            if !complete {
                stream.receiving = how;
            }
        });
    }

    /// Removes a failed stream that is not accepted yet from the backlog.
    fn withdraw_from_backlog(&mut self, index: u32) {
        self.leave_nascent(index);
        let Some(stream) = self.streams.get_mut(index).filter(|stream| stream.owner == Owner::Backlog) else {
            return;
        };
        let (id, service, peer) = (stream.id, stream.service, stream.peer);
        stream.owner = Owner::Nobody;
        self.listeners.get_mut(&service).into_iter().for_each(|backlog| backlog.remove(id, peer));
    }

    /// Drops the receiving half. If data is still to come, its sender is told.
    pub(super) fn drop_receiving(&mut self, now: Instant, index: u32, reason: Reason) {
        let Some(stream) = self.streams.get(index) else { return };
        let (peer, conn) = (stream.peer, stream.receiving_conn());
        let comes = matches!(stream.receiving, Receiving::Open(_));
        self.end_receiving(now, index, Receiving::Dropped);
        if comes {
            self.bar(now, peer, conn, reason);
            self.say(peer, conn, Shape::Reset { by_sender: false, reason });
        }
    }

    fn bar(&mut self, now: Instant, peer: HostAddr, conn: ConnId, reason: Reason) {
        if let Some(address) = self.peers.get(peer).map(|peer| peer.address) {
            self.denylist.note(now, Key { peer: address, conn: conn.get() }, reason);
        }
    }

    /// Drops both halves at once and tells the other host.
    pub(super) fn drop_both(&mut self, now: Instant, index: u32, reason: Reason) {
        let Some(stream) = self.streams.get(index) else { return };
        let (peer, sending, receiving) = (stream.peer, stream.sending_conn(), stream.receiving_conn());
        // An opener that has sent everything waits for an answer: tell it that none will come.
        let tells = match stream.sending {
            Sending::Unopened => !stream.ours,
            Sending::Open => true,
            Sending::Done | Sending::Failed(_) => false,
        };
        self.drop_receiving(now, index, reason);
        if tells {
            self.say(peer, sending, Shape::Reset { by_sender: true, reason });
        }
        self.bar(now, peer, receiving, reason);
        let error = match reason {
            Reason::SHUTDOWN => StreamError::Stopped("it was shut down".to_string()),
            _ => StreamError::Closed,
        };
        self.end_sending(now, index, &error);
        self.leave(now, index, reason);
    }

    /// After a shutdown the application may still query the reason; otherwise the stream is forgotten.
    fn leave(&mut self, now: Instant, index: u32, reason: Reason) {
        self.withdraw_from_backlog(index);
        if reason != Reason::SHUTDOWN {
            self.with(index, |stream, _| stream.owner = Owner::Nobody);
        }
        self.release_if_over(now, index);
    }

    /// Forgets a stream that has no owner and no work left.
    pub(super) fn release_if_over(&mut self, now: Instant, index: u32) {
        if self.streams.get(index).is_none_or(|stream| !stream.is_over()) {
            return;
        }
        let Some(mut stream) = self.streams.remove(index) else { return };
        self.waiting -= stream.incoming.memory();
        self.sending -= stream.out.bytes();
        if let Some(value) = stream.tag {
            let tag = Tag { value, sealed: stream.sealed };
            self.past.note(Name { peer: stream.peer, number: stream.number, ours: stream.ours }, tag);
        }
        stream.incoming.clear(&mut self.pool);
        stream.out.clear(&mut self.pool);
        self.gone.add(&stream.counts);
        tracing::debug!(number = stream.number, ours = stream.ours, "stream over");
        self.peers.release(now, stream.peer);
    }
}
