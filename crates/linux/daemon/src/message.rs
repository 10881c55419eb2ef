//! Messages between application and daemon over the control socket.
//!
//! A message is its length, 4 bytes with the least significant first, and so many bytes of JSON; file descriptors come with
//! its first byte. The daemon answers each request at once and in order, and sends nothing unasked. Waiting is done at a
//! doorbell.

use std::net::SocketAddr;

use pullnet_host::{Counts, StreamInfo};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::failure;

/// Version of these messages and of the shared memory. Both sides must have the same.
pub(crate) const VERSION: u32 = 2;

/// Longest message. Bytes.
pub(crate) const LONGEST: usize = 64 << 10;

/// Requests of an application.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum Request {
    /// The first message.
    Hello { version: u32 },
    /// Opens a stream.
    Connect { to: SocketAddr, service: u16, priority: u8 },
    /// Makes a listener.
    Listen { service: u16 },
    /// Accepts a stream of listener `channel`. Without `new` it stays queued if it needs a new memory: the application has no
    /// file descriptors left.
    Accept { channel: u64, new: bool },
    /// Sets the priority of the pulls of stream `channel`.
    Prefer { channel: u64, priority: u8 },
    /// Resets stream `channel`, or ends the listener: its descriptors did not arrive. No other channel gets its memory.
    Discard { channel: u64 },
    /// Requests the status of stream `channel`.
    Info { channel: u64 },
    /// Requests the status of the daemon.
    Status { form: Form },
}

impl Request {
    /// Whether its answer is a channel.
    pub fn needs_channel(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Listen { .. } | Self::Accept { .. })
    }

    /// Whether it begins a session, a stream or a listener. A stream that is accepted has begun before.
    pub fn begins(&self) -> bool {
        matches!(self, Self::Hello { .. } | Self::Connect { .. } | Self::Listen { .. })
    }
}

/// Format of a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Form {
    Json,
    Prometheus,
}

/// Answers of the daemon.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// Answer to `Hello`, with the memory and the doorbell of a session. The session has this number of channels, whose rings
    /// have `ring` bytes each.
    Welcome { version: u32, address: SocketAddr, channels: usize, ring: usize },
    /// A stream or a listener: its name, unique within the session; the place of its bit; and the number of its memory. A
    /// new memory comes with its descriptor and its doorbells.
    Channel { channel: u64, slot: usize, memory: usize, peer: Option<SocketAddr> },
    /// No stream waits to be accepted.
    Nothing,
    /// The request was carried out.
    Done,
    /// Status of a stream.
    Info {
        peer: SocketAddr,
        service: u16,
        ours: bool,
        /// Bytes that the daemon holds for the reader.
        waiting: usize,
        counts: Counts,
        /// Number and text.
        error: Option<(u32, String)>,
    },
    /// Text of this length, in a file that comes with it.
    Text { long: usize },
    /// The request failed: a number for the reason, and a text.
    Failed { code: u32, text: String },
}

impl Answer {
    pub fn info(info: &StreamInfo) -> Self {
        let StreamInfo { peer, service, ours, waiting, counts, ref error, .. } = *info;
        let error = error.as_ref().map(|error| (failure::encode(error), failure::text(error)));
        Self::Info { peer, service, ours, waiting, counts, error }
    }
}

/// A message cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum Unreadable {
    #[error("a message of {0} B; at most {LONGEST} B can be")]
    TooLong(usize),
    #[error("a message that cannot be read: {0}")]
    Wrong(String),
}

/// The bytes of a message.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message).expect("messages have text as keys");
    let long = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&long.to_le_bytes());
    bytes
}

/// Splits received bytes into messages.
#[derive(Default, Debug)]
pub(crate) struct Decoder(Vec<u8>);

impl Decoder {
    /// Adds bytes that have arrived.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Returns the next message, if it is complete.
    pub fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Unreadable> {
        let Some((front, rest)) = self.0.split_first_chunk::<4>() else { return Ok(None) };
        let long = u32::from_le_bytes(*front) as usize;
        if long > LONGEST {
            return Err(Unreadable::TooLong(long));
        }
        let Some(bytes) = rest.get(..long) else { return Ok(None) };
        let message = serde_json::from_slice(bytes).map_err(|error| Unreadable::Wrong(error.to_string()))?;
        self.0.drain(..4 + long);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_come_in_pieces() {
        let messages = [
            Request::Hello { version: VERSION },
            Request::Connect { to: ([10, 0, 0, 1], 9).into(), service: 80, priority: 3 },
            Request::Status { form: Form::Json },
        ];
        let bytes: Vec<u8> = messages.iter().flat_map(encode).collect();
        let (mut decoder, mut got) = (Decoder::default(), Vec::new());
        for byte in bytes {
            decoder.add(&[byte]);
            got.extend(decoder.next::<Request>().unwrap());
        }
        assert_eq!(got, messages);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::default();
            decoder.add(&bytes);
            while let Ok(Some(_)) = decoder.next::<Request>() {}
            prop_assert!(decoder.0.len() <= bytes.len());
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |bytes: &[u8]| {
            let mut decoder = Decoder::default();
            decoder.add(bytes);
            decoder.next::<Request>().unwrap_err().to_string()
        };
        assert_eq!(said(&[0, 0, 0, 1]), "a message of 16777216 B; at most 65536 B can be");
        let wrong = said(b"\x0c\0\0\0{\"do\":\"fly\"}");
        assert!(wrong.starts_with("a message that cannot be read: unknown variant `fly`"), "{wrong}");
    }
}
