//! One stream from its application's view: its writes, its reads, and their evaluation.

use pullnet_host::{Engine, Read, StreamError, StreamId};
use pullnet_rng::Seed;
use pullnet_units::Instant;

use crate::ledger::{Ledger, Partner};
use crate::message::{Head, Sink, Source};

pub(crate) struct Session {
    pub id: StreamId,
    /// The request, if this side sent it.
    pub asked: Option<Head>,
    partner: Partner,
    source: Option<Source>,
    sink: Sink,
    /// Whether the end of the stream was written, and whether it was read.
    finished: bool,
    ended: bool,
}

impl Session {
    /// Creates the requesting side.
    pub fn asking(id: StreamId, partner: Partner, asked: Head, seed: Seed) -> Self {
        let source = Some(Source::new(seed, &asked));
        Self { asked: Some(asked), source, ..Self::answering(id, partner) }
    }

    /// Creates the answering side, for any request.
    pub fn answering(id: StreamId, partner: Partner) -> Self {
        Self { id, asked: None, partner, source: None, sink: Sink::new(), finished: false, ended: false }
    }

    /// Writes and reads as much as possible now. True once the session is over and recorded in the ledger.
    pub fn go_on(&mut self, now: Instant, engine: &mut Engine, ledger: &mut Ledger, room: &mut [u8]) -> bool {
        match self.move_bytes(now, engine, ledger, room) {
            Ok(()) if !(self.finished && self.ended) => return false,
            Ok(()) => engine.close(now, self.id),
            Err(error) => {
                engine.abort(now, self.id);
                ledger.failed(now, self.asked.as_ref(), &self.partner, &error);
            }
        }
        true
    }

    fn move_bytes(
        &mut self,
        now: Instant,
        engine: &mut Engine,
        ledger: &mut Ledger,
        room: &mut [u8],
    ) -> Result<(), StreamError> {
        self.write(now, engine)?;
        if !self.ended && self.read(now, engine, room)? {
            self.ended = true;
            self.judge(now, ledger);
        }
        if self.asked.is_none() && self.source.is_none() {
            self.answer(ledger.seed);
        }
        self.write(now, engine)
    }

    fn write(&mut self, now: Instant, engine: &mut Engine) -> Result<(), StreamError> {
        let Some(source) = self.source.as_mut().filter(|_| !self.finished) else { return Ok(()) };
        loop {
            let piece = source.next();
            if piece.is_empty() {
                break;
            }
            let (long, taken) = (piece.len(), engine.write(now, self.id, piece)?);
            source.take(taken);
            if taken < long {
                return Ok(());
            }
        }
        // The end of an answer tells the requester that the request was carried out, so it waits for the end of the request.
        if self.asked.is_some() || self.ended {
            self.finished = true;
            engine.finish(now, self.id)?;
        }
        Ok(())
    }

    /// True at the end of the stream.
    fn read(&mut self, now: Instant, engine: &mut Engine, room: &mut [u8]) -> Result<bool, StreamError> {
        loop {
            match engine.read(now, self.id, room)? {
                Read::Bytes(long) => self.sink.take(&room[..long]),
                Read::Nothing => return Ok(false),
                Read::End => return Ok(true),
            }
        }
    }

    /// Checks a completely received message.
    fn judge(&self, now: Instant, ledger: &mut Ledger) {
        match (self.sink.end(), &self.asked) {
            (Ok(got), Some(asked)) => ledger.answered(now, asked, &got),
            (Ok(got), None) => ledger.carried_out(&got),
            (Err(wrong), Some(_)) => ledger.complain(&format!("an answer {wrong}")),
            (Err(wrong), None) => ledger.complain(&format!("a request {wrong}")),
        }
    }

    /// Starts the answer, if it is due.
    fn answer(&mut self, seed: Seed) {
        let asked = self.sink.head().filter(|head| head.both_ways || self.ended);
        self.source = asked.map(|head| Source::new(seed, &head.answer()));
    }
}
