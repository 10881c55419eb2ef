//! Streams that have sent everything and wait for an answer that has not begun.
//!
//! In that state no connection of the transport is open that would notice a crash of the other host. So the opener probes
//! its last packet from time to time; a host that knows the stream answers, a restarted one sends RESET.

use std::collections::VecDeque;

use pullnet_units::{Instant, Picos};
use pullnet_wire::Shape;

use super::Engine;
use crate::carrier::Carrier;
use crate::error::StreamError;
use crate::handle::StreamId;

/// Minimum number of unanswered probes before a stream fails.
const QUESTIONS: u64 = 8;

/// Times at which streams are probed. All wait equally long, so the queue is in order of time.
#[derive(Debug)]
pub(super) struct Watch {
    interval: Picos,
    queue: VecDeque<(Instant, StreamId)>,
}

impl Watch {
    pub fn new(give_up: Picos) -> Self {
        Self { interval: Picos(give_up.0 / QUESTIONS), queue: VecDeque::new() }
    }

    pub fn add(&mut self, now: Instant, id: StreamId) {
        self.queue.push_back((now.after(self.interval), id));
    }

    pub fn due(&self) -> Instant {
        self.queue.front().map_or(Instant::NEVER, |(at, _)| *at)
    }

    fn take(&mut self, now: Instant) -> Option<StreamId> {
        self.queue.pop_front_if(|(at, _)| *at <= now).map(|(_, id)| id)
    }
}

impl<C: Carrier> Engine<C> {
    /// Everything that this host sent is acknowledged: probes the stream if an answer is due.
    pub(super) fn watch_for_answer(&mut self, now: Instant, index: u32) {
        if let Some(stream) = self.streams.get(index).filter(|stream| stream.waits_for_answer()) {
            self.watch.add(now, stream.id);
        }
    }

    pub(super) fn look_after_answers(&mut self, now: Instant) {
        while let Some(id) = self.watch.take(now) {
            let Some(stream) = self.streams.named(id).filter(|stream| stream.waits_for_answer()) else {
                continue;
            };
            if now.since(stream.last_heard) > self.give_up() {
                self.fail(now, id.index, &StreamError::Silent);
                continue;
            }
            let (peer, conn, seq) = (stream.peer, stream.sending_conn(), stream.out.newest());
            self.suspect_mac(now, id.index);
            self.say(peer, conn, Shape::Probe { seq });
            self.watch.add(now, id);
        }
    }
}
