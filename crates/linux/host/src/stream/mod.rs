//! One stream: two connections under one number, their bytes, and their state.

mod incoming;
mod outgoing;
mod pool;

use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::Instant;
use pullnet_wire::REPLY;

pub(crate) use incoming::{Incoming, Room};
pub(crate) use outgoing::Outgoing;
pub(crate) use pool::Pool;

use crate::error::StreamError;
use crate::handle::StreamId;
use crate::status::Counts;

/// The connection in which this host sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Sending {
    /// No data was written yet.
    Unopened,
    /// The transport sends it.
    Open,
    /// Everything is acknowledged, the end included.
    Done,
    /// It has failed.
    Failed(StreamError),
}

/// The connection in which this host receives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Receiving {
    /// No packet has arrived yet.
    Unopened,
    /// The transport receives it, in this slot.
    Open(u32),
    /// Everything has arrived up to the end.
    Complete,
    /// The application wants no more.
    Dropped,
    /// It has failed.
    Failed(StreamError),
}

/// The owner of a stream on this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// Only headers have arrived: the stream is not announced yet, and gives way to others.
    Nascent,
    /// Not accepted yet.
    Backlog,
    /// An application.
    Application,
    /// No owner any more: data written already is still sent.
    Nobody,
}

/// Notices that the application has received or is due.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Told {
    /// The stream is readable, since the last read that found no data.
    pub readable: bool,
    /// A write found no room, and the application has not been told yet that there is some.
    pub wants_room: bool,
    /// Everything is acknowledged, since the last write.
    pub settled: bool,
}

/// One stream: both halves, and what both share.
///
/// Long: the halves are types of their own; the rest decides when the stream ends, and is read together.
#[derive(Debug)]
pub(crate) struct Stream {
    pub id: StreamId,
    pub peer: HostAddr,
    /// The number that the opener gave the stream.
    pub number: u32,
    /// Whether this host opened it.
    pub ours: bool,
    pub service: u16,
    /// Priority requested from the other host for data sent to it.
    pub priority: u8,
    /// Priority that this host's application set for data that it receives.
    pub preferred: Option<u8>,
    pub owner: Owner,
    /// Tag of all its packets; `None`: waits for a token of the other host.
    pub tag: Option<u64>,
    /// Whether its packets are encrypted.
    pub sealed: bool,
    /// Time of its opening, by the clock of the host that did not open it.
    pub stamp: u32,
    /// The token that the tag was made with, if this host opened it.
    pub token: u64,
    pub sending: Sending,
    pub out: Outgoing,
    pub receiving: Receiving,
    pub incoming: Incoming,
    /// Whether the sender is held because the application does not read.
    pub held: bool,
    /// Whether it is queued as having data to offer.
    pub queued: bool,
    pub told: Told,
    pub last_heard: Instant,
    pub counts: Counts,
}

impl Stream {
    pub fn new(now: Instant, id: StreamId, peer: HostAddr, number: u32, service: u16) -> Self {
        Self {
            id,
            peer,
            number,
            ours: true,
            service,
            priority: 0,
            preferred: None,
            owner: Owner::Application,
            tag: None,
            sealed: false,
            stamp: 0,
            token: 0,
            sending: Sending::Unopened,
            out: Outgoing::default(),
            receiving: Receiving::Unopened,
            incoming: Incoming::default(),
            held: false,
            queued: false,
            told: Told::default(),
            last_heard: now,
            counts: Counts::default(),
        }
    }

    /// The connection in which this host sends.
    pub fn sending_conn(&self) -> ConnId {
        ConnId::new(if self.ours { self.number } else { self.number | REPLY })
    }

    /// The connection in which this host receives.
    pub fn receiving_conn(&self) -> ConnId {
        ConnId::new(if self.ours { self.number | REPLY } else { self.number })
    }

    /// Whether everything that was written is acknowledged, with the end if there is one.
    pub fn is_settled(&self) -> bool {
        match self.sending {
            Sending::Done | Sending::Failed(_) => true,
            Sending::Unopened | Sending::Open => self.out.bytes() == 0 && !self.out.is_finished(),
        }
    }

    /// Whether this host has sent everything, and the answer has not begun.
    pub fn waits_for_answer(&self) -> bool {
        self.ours && self.sending == Sending::Done && self.receiving == Receiving::Unopened
    }

    /// Whether a read would find something: bytes, the end or an error.
    pub fn is_readable(&self) -> bool {
        self.incoming.readable() > 0 || matches!(self.receiving, Receiving::Complete | Receiving::Failed(_))
    }

    /// Whether no work is left for it.
    pub fn is_over(&self) -> bool {
        let sends =
            self.sending == Sending::Open || (self.sending == Sending::Unopened && self.out.is_finished());
        self.owner == Owner::Nobody && !sends && !matches!(self.receiving, Receiving::Open(_))
    }

    /// The error of the stream, or of one of its halves.
    pub fn error(&self) -> Option<&StreamError> {
        match (&self.receiving, &self.sending) {
            (Receiving::Failed(error), _) | (_, Sending::Failed(error)) => Some(error),
            _ => None,
        }
    }

    /// Why the sending half has failed.
    pub fn write_error(&self) -> Option<&StreamError> {
        if let Sending::Failed(error) = &self.sending { Some(error) } else { None }
    }

    /// The state, in words.
    pub fn state(&self) -> &'static str {
        match (&self.sending, &self.receiving) {
            (_, Receiving::Failed(_)) | (Sending::Failed(_), _) => "failed",
            _ if self.owner == Owner::Nascent => "waits for data",
            _ if self.owner == Owner::Backlog => "waits to be accepted",
            _ if self.tag.is_none() && self.out.bytes() > 0 => "waits for a token",
            (_, Receiving::Dropped) => "closing",
            (Sending::Unopened, Receiving::Unopened) => "unused",
            (Sending::Done, Receiving::Unopened) => "waits for an answer",
            (Sending::Done, Receiving::Complete) => "complete",
            (Sending::Done, _) => "receives",
            (_, Receiving::Complete) => "sends",
            _ => "open",
        }
    }
}
