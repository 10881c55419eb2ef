//! Events reported by the transport.

use pullnet_transport::{ConnId, Event, FailureReason, HostAddr, Streaming, Transport};
use pullnet_units::Instant;
use pullnet_wire::{Reason, Shape};

use super::Engine;
use crate::carrier::Carrier;
use crate::error::StreamError;
use crate::stream::{Receiving, Sending};
use crate::streams::Name;

impl<C: Carrier> Engine<C> {
    /// Handles the events of the transport. `arrived`: stream and payload of the packet handled just now, if it was whole.
    pub(super) fn handle_events(&mut self, now: Instant, arrived: Option<(u32, &[u8])>) {
        // An ACK of many packets causes as many events in a row; what they mean for the stream is worked out once.
        let mut acked = None;
        while let Some(event) = self.transport.poll_event() {
            match event {
                Event::Opened { slot, peer, conn } => self.receiving_opened(slot, peer, conn),
                Event::Delivered { seq, .. } => {
                    arrived
                        .into_iter()
                        .for_each(|(index, payload)| self.keep(now, index, seq.get(), payload));
                }
                Event::Received { slot } => self.receiving_complete(now, slot),
                Event::Silent { slot } => {
                    let index = self.streams.by_slot(slot);
                    index.into_iter().for_each(|index| self.sender_silent(now, index));
                }
                Event::Acked { to, conn, .. } => {
                    let others = acked.replace((to, conn)).filter(|others| *others != (to, conn));
                    others.into_iter().for_each(|(to, conn)| self.acked(to, conn));
                }
                Event::Completed { to, conn, .. } => self.sending_complete(now, to, conn),
                Event::Failed { to, conn, reason, .. } => self.sending_failed(now, to, conn, reason),
                Event::TimedOut { to, conn, .. } => {
                    let index = self.streams.find(&Name::of(to, conn, false));
                    index.and_then(|index| self.streams.get_mut(index)).into_iter().for_each(|stream| {
                        stream.counts.timeouts += 1;
                    });
                }
                Event::Stray { peer, conn } => {
                    if self.resets.take(now) {
                        self.say(peer, conn, Shape::Reset { by_sender: false, reason: Reason::UNKNOWN });
                    }
                }
            }
        }
        acked.into_iter().for_each(|(to, conn)| self.acked(to, conn));
    }

    fn receiving_opened(&mut self, slot: u32, peer: HostAddr, conn: ConnId) {
        let Some(index) = self.streams.find(&Name::of(peer, conn, true)) else { return };
        self.streams.set_slot(slot, index);
        let Some(stream) = self.streams.get_mut(index) else { return };
        stream.receiving = Receiving::Open(slot);
        if let Some(priority) = stream.preferred {
            self.transport.prefer(slot, priority);
        }
    }

    /// Stores the payload of the packet handled just now, which is new.
    fn keep(&mut self, now: Instant, index: u32, seq: u32, payload: &[u8]) {
        self.with(index, |stream, pool| {
            stream.counts.received += 1;
            stream.counts.received_bytes += payload.len() as u64;
            stream.incoming.store(seq, payload, pool);
        });
        self.promote(now, index);
        self.balance(now, index);
    }

    /// Holds the sender while the application does not read, and releases it once half of the buffer has been read.
    pub(super) fn balance(&mut self, now: Instant, index: u32) {
        let limit = self.options.limits.receive_buffer;
        let Some(stream) = self.streams.get_mut(index) else { return };
        let Receiving::Open(slot) = stream.receiving else { return };
        // Only readable packets count: packets behind a gap wait for a packet that may need a pull.
        let unread = stream.incoming.readable_memory();
        let held = if stream.held { unread > limit / 2 } else { unread >= limit };
        if held != stream.held {
            stream.held = held;
            self.transport.hold(now, slot, held);
        }
    }

    fn receiving_complete(&mut self, now: Instant, slot: u32) {
        let Some(index) = self.streams.by_slot(slot) else { return };
        self.with(index, |stream, _| {
            stream.receiving = Receiving::Complete;
            stream.held = false;
        });
        self.release_if_over(now, index);
    }

    /// Fails a stream whose sender has been silent for twice a sender's own timeout.
    fn sender_silent(&mut self, now: Instant, index: u32) {
        if let Some(stream) = self.streams.get_mut(index) {
            stream.receiving = Receiving::Failed(StreamError::Silent);
        }
        self.fail(now, index, &StreamError::Silent);
    }

    fn acked(&mut self, to: HostAddr, conn: ConnId) {
        let Some(index) = self.streams.find(&Name::of(to, conn, false)) else { return };
        let Some(until) = self.transport.acknowledged(to, conn) else { return };
        self.with(index, |stream, pool| {
            stream.counts.acknowledged_bytes += stream.out.acknowledge(until, pool) as u64;
        });
    }

    fn sending_complete(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        let Some(index) = self.streams.find(&Name::of(to, conn, false)) else { return };
        self.with(index, |stream, pool| {
            stream.counts.acknowledged_bytes += stream.out.clear(pool) as u64;
            stream.sending = Sending::Done;
        });
        self.watch_for_answer(now, index);
        self.release_if_over(now, index);
    }

    fn sending_failed(&mut self, now: Instant, to: HostAddr, conn: ConnId, reason: FailureReason) {
        let Some(index) = self.streams.find(&Name::of(to, conn, false)) else { return };
        tracing::debug!(conn = conn.get(), %reason, "the transport gave up");
        let error = match reason {
            FailureReason::ReceiverSilent => StreamError::Silent,
            reason => {
                // The peer can be reached, and would wait for the rest.
                self.say(to, conn, Shape::Reset { by_sender: true, reason: Reason::ABORTED });
                StreamError::Failed(reason)
            }
        };
        if let Some(stream) = self.streams.get_mut(index) {
            stream.sending = Sending::Failed(error.clone());
        }
        self.fail(now, index, &error);
    }
}

#[cfg(test)]
mod tests {
    use pullnet_wire::Mac;

    use super::*;
    use crate::options::{EngineOptions, StreamOptions};

    /// The error of a write and of a read after the transport gave up a stream for `reason`, and the RESETs sent.
    fn given_up(reason: FailureReason) -> ([Option<StreamError>; 2], u64) {
        let mut engine = Engine::new(EngineOptions::new([10, 0, 0, 1].into())).unwrap();
        let now = Instant::ZERO;
        let id = engine.connect(now, ([10, 0, 0, 2], 61199).into(), 7, StreamOptions::default()).unwrap();
        engine.write(now, id, &[1; 100]).unwrap();
        engine.resolved(now, [10, 0, 0, 2].into(), Some(Mac([2, 0, 0, 0, 0, 2])));
        let stream = engine.streams.get(id.index).unwrap();
        let (to, conn) = (stream.peer, stream.sending_conn());
        engine.sending_failed(now, to, conn, reason);
        ([engine.write(now, id, &[1]).err(), engine.read(now, id, &mut [0]).err()], engine.totals.resets_sent)
    }

    #[test]
    fn applications_are_told_why_the_transport_gave_up_and_so_is_a_peer_that_can_hear_it() {
        let silent = Some(StreamError::Silent);
        assert_eq!(given_up(FailureReason::ReceiverSilent), ([silent.clone(), silent], 0));
        let ([written, read], resets) = given_up(FailureReason::NumbersUsedUp);
        assert_eq!(resets, 1);
        assert_eq!(written, Some(StreamError::Failed(FailureReason::NumbersUsedUp)));
        assert_eq!(read, written);
        assert_eq!(written.unwrap().to_string(), "the stream failed: the packet numbers are used up");
    }
}
