//! How streams begin and end.

use std::net::SocketAddr;

use pullnet_transport::{ConnId, HostAddr, Streaming};
use pullnet_units::Instant;
use pullnet_wire::{Reason, Shape};

use super::Engine;
use crate::guard::Key;
use crate::stream::{Owner, Receiving, Sending, Stream};
use crate::streams::Name;
use crate::{Notice, StreamError};

impl Engine {
    /// Whether the limits allow another stream with `peer`.
    pub(super) fn check_room(&self, peer: SocketAddr) -> Result<(), StreamError> {
        let limits = &self.options.limits;
        if self.streams.len() >= limits.connections {
            return Err(StreamError::Full("connections"));
        }
        let with_peer = self.peers.find(peer).and_then(|peer| self.peers.get(peer));
        if with_peer.is_some_and(|peer| peer.streams >= limits.connections_per_peer) {
            return Err(StreamError::Full("connections_per_peer"));
        }
        Ok(())
    }

    pub(super) fn hold_peer(&mut self, address: SocketAddr) -> HostAddr {
        let peer = self.peers.hold(address);
        let proven = self.peers.get(peer).is_some_and(|peer| peer.proven);
        self.unproven += usize::from(!proven);
        peer
    }

    fn release_peer(&mut self, now: Instant, peer: HostAddr) {
        let proven = self.peers.get(peer).is_some_and(|peer| peer.proven);
        self.unproven -= usize::from(!proven);
        self.peers.release(now, peer);
    }

    /// A packet of a first window: opens a stream if somebody listens and the limits allow it. `None`: nobody is told,
    /// and whoever means it sends it again. The error is the reason of a RESET.
    pub(super) fn open_incoming(
        &mut self,
        now: Instant,
        from: SocketAddr,
        conn: ConnId,
        service: u16,
        priority: u8,
    ) -> Result<Option<u32>, Reason> {
        if !self.may_open(now, from) {
            self.totals.refused.too_fast += 1;
            return Ok(None);
        }
        if let Err(reason) = self.check_opening(from, service) {
            self.barred.note(now, Key { peer: from, conn: conn.0 }, reason);
            return Err(reason);
        }
        let peer = self.hold_peer(from);
        let name = Name { peer, number: conn.0, ours: false };
        let index = self.streams.insert(name, |id| {
            let stream = Stream::new(now, id, peer, conn.0, service);
            Stream { ours: false, owner: Owner::Backlog, priority, ..stream }
        });
        self.totals.incoming += 1;
        tracing::debug!(%from, service, number = conn.0, "stream arrived");
        let id = self.streams.get(index).map(|stream| stream.id);
        self.listeners.get_mut(&service).into_iter().for_each(|backlog| backlog.extend(id));
        self.notices.push_back(Notice::Incoming { service });
        Ok(Some(index))
    }

    /// A host that has acknowledged data of ours, and so is where it says, opens as it likes. All others together have a
    /// budget, so that a flood of first packets from invented addresses costs a bounded share of this host.
    fn may_open(&mut self, now: Instant, from: SocketAddr) -> bool {
        let peer = self.peers.find(from).and_then(|peer| self.peers.get(peer));
        peer.is_some_and(|peer| peer.proven) || self.openings.take(now)
    }

    fn check_opening(&mut self, from: SocketAddr, service: u16) -> Result<(), Reason> {
        let Some(backlog) = self.listeners.get(&service) else {
            self.totals.refused.no_listener += 1;
            return Err(Reason::NO_LISTENER);
        };
        let limits = &self.options.limits;
        let proven =
            self.peers.find(from).and_then(|peer| self.peers.get(peer)).is_some_and(|peer| peer.proven);
        // Invented addresses cannot take the places of all.
        let crowded = !proven && self.unproven >= limits.connections / 2;
        if backlog.len() >= limits.backlog || crowded || self.check_room(from).is_err() {
            self.totals.refused.full += 1;
            return Err(Reason::FULL);
        }
        Ok(())
    }

    /// The other host says that a connection of this stream is over.
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
        self.totals.resets_received += 1;
        let refused = matches!(reason, Reason::NO_LISTENER | Reason::FULL);
        let error = if refused { StreamError::Refused(reason) } else { StreamError::Reset(reason) };
        if by_sender || reason != Reason::ABORTED {
            return self.fail(now, index, &error);
        }
        // Its application reads no more, but it may go on to write.
        self.end_sending(now, index, &error);
        self.release_if_over(now, index);
    }

    /// The stream comes to nothing, as far as it is not complete.
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

    /// Ends the receiving half as `how`, unless it is complete and somebody may read it.
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

    /// A stream that nobody has accepted and that has failed is offered to nobody.
    fn withdraw_from_backlog(&mut self, index: u32) {
        let Some(stream) = self.streams.get_mut(index).filter(|stream| stream.owner == Owner::Backlog) else {
            return;
        };
        let (id, service) = (stream.id, stream.service);
        stream.owner = Owner::Nobody;
        self.listeners
            .get_mut(&service)
            .into_iter()
            .for_each(|backlog| backlog.retain(|waiting| *waiting != id));
    }

    /// The application reads no more. If data is still to come, its sender is told.
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
            self.barred.note(now, Key { peer: address, conn: conn.0 }, reason);
        }
    }

    /// Ends both halves at once and tells the other host.
    pub(super) fn drop_both(&mut self, now: Instant, index: u32, reason: Reason) {
        let Some(stream) = self.streams.get(index) else { return };
        let (peer, sending, receiving) = (stream.peer, stream.sending_conn(), stream.receiving_conn());
        // An opener that has sent everything waits for an answer, and is told that none will come.
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

    /// After a shutdown the application may still ask why; else nobody knows the stream any more.
    fn leave(&mut self, now: Instant, index: u32, reason: Reason) {
        self.withdraw_from_backlog(index);
        if reason != Reason::SHUTDOWN {
            self.with(index, |stream, _| stream.owner = Owner::Nobody);
        }
        self.release_if_over(now, index);
    }

    /// Forgets a stream that nobody owns and for which nothing is left to be done.
    pub(super) fn release_if_over(&mut self, now: Instant, index: u32) {
        if self.streams.get(index).is_none_or(|stream| !stream.is_over()) {
            return;
        }
        let Some(mut stream) = self.streams.remove(index) else { return };
        self.waiting -= stream.incoming.memory();
        stream.incoming.clear(&mut self.pool);
        stream.out.clear(&mut self.pool);
        self.gone.add(&stream.counts);
        tracing::debug!(number = stream.number, ours = stream.ours, "stream over");
        self.release_peer(now, stream.peer);
    }
}
