//! Messages about streams between an application and an engine.

use std::fmt;
use std::net::SocketAddr;

use crate::error::StreamError;
use crate::status::Counts;

/// Identifies one stream of a host; never reused for another stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl StreamId {
    /// The id as a number, for maps and messages.
    #[must_use]
    pub const fn bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The stream with this number from [`StreamId::bits`]. Any other number identifies no stream.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}.{}", self.index, self.generation)
    }
}

/// Result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// Number of bytes read, at least 1.
    Bytes(usize),
    /// No data at the moment.
    Nothing,
    /// Everything was read up to the end.
    End,
}

/// Event that an application may wait for. Each is reported once, until the application acts on it as stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// A stream for the service can be accepted. Reported for each stream.
    Incoming {
        /// The service.
        service: u16,
    },
    /// There are bytes, the end or an error to be read. Reported again after a read that found nothing.
    Readable {
        /// Which stream.
        id: StreamId,
    },
    /// There is room again, or an error. Reported after a write that took fewer bytes than it was given.
    Writable {
        /// Which stream.
        id: StreamId,
    },
    /// Everything that was written and finished is acknowledged, or the stream has failed.
    Settled {
        /// Which stream.
        id: StreamId,
    },
}

/// Status of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamInfo {
    /// The other host: its address and home port.
    pub peer: SocketAddr,
    /// The service that the opener addresses at the other host.
    pub service: u16,
    /// Whether this host opened it.
    pub ours: bool,
    /// Bytes that wait for the reader.
    pub waiting: usize,
    /// Whether everything that was written is acknowledged, with the end if the stream was finished.
    pub settled: bool,
    /// Counts of the stream.
    pub counts: Counts,
    /// The reason why it ended early.
    pub error: Option<StreamError>,
}
