//! Messages between hosts that exchange objects. Each is a small object of its own, a JSON object with the key `message`.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// Longest message. A session without announcement that is longer is ignored. Bytes.
pub const LONGEST: u64 = 4096;

/// A message. `ticket` is the number that its first sender gave the exchange.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum Message {
    /// To a store: take an object.
    Put {
        /// Number of the exchange.
        ticket: u32,
        /// Name of the object.
        name: String,
        /// Its size.
        bytes: u64,
        /// BLAKE3 of its content, in hex.
        blake3: String,
        /// Number of the session that carries it.
        session: u32,
        /// The multicast group to which its symbols go, if any.
        group: Option<Ipv4Addr>,
    },
    /// To a store: say what is stored under a name.
    Find {
        /// Number of the exchange.
        ticket: u32,
        /// Name of the object.
        name: String,
    },
    /// To a store: send a share of an object.
    Send {
        /// Number of the exchange.
        ticket: u32,
        /// Name of the object.
        name: String,
        /// BLAKE3 of its content, in hex.
        blake3: String,
        /// Number of the session, the same at all senders.
        session: u32,
        /// Number of this sender, from 0.
        index: u16,
        /// Number of senders.
        of: u16,
    },
    /// To a group, or to a store whose share has arrived: it answers on the level of the session.
    Check {
        /// Number of the exchange.
        ticket: u32,
    },
    /// From a store: it is ready for the object.
    Ready {
        /// Number of the exchange.
        ticket: u32,
    },
    /// From a store: the object is written, its content checked.
    Stored {
        /// Number of the exchange.
        ticket: u32,
    },
    /// From a store: it still reads the object for its hash, and answers later.
    Reading {
        /// Number of the exchange.
        ticket: u32,
    },
    /// From a store: what is stored under the name.
    Found {
        /// Number of the exchange.
        ticket: u32,
        /// Size of the object.
        bytes: u64,
        /// BLAKE3 of its content, in hex.
        blake3: String,
    },
    /// From a store: it does not do what was asked.
    Refused {
        /// Number of the exchange.
        ticket: u32,
        /// The reason.
        why: String,
    },
}

/// The end of a text that was cut.
const CUT: &str = " ... (cut)";

impl Message {
    /// A refusal. A reason that makes the message longer than [`LONGEST`] is cut: a message beyond that is ignored.
    pub fn refused(ticket: u32, why: &str) -> Self {
        let of = |why: String| Self::Refused { ticket, why };
        let (mut message, mut long) = (of(why.to_owned()), why.len());
        loop {
            let excess = (message.write().len() as u64).saturating_sub(LONGEST) as usize;
            if excess == 0 {
                return message;
            }
            // JSON writes a byte of text with up to six.
            long = why.floor_char_boundary(long.saturating_sub(excess.div_ceil(6)));
            message = of(format!("{}{CUT}", &why[..long]));
        }
    }

    /// The bytes of the message.
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The message in these bytes; `None` if there is none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Longest name of an object: a file beside it has a longer one. Bytes.
const LONGEST_NAME: usize = 200;

/// Checks the name of an object, which becomes a file name.
///
/// # Errors
/// If it may not be one.
pub fn check_name(name: &str) -> Result<(), String> {
    let why = match name {
        "" => "is empty",
        _ if name.len() > LONGEST_NAME => "is longer than 200 B",
        _ if name.starts_with('.') => "begins with a dot",
        _ if name.contains('/') => "contains a slash",
        _ if name.chars().any(char::is_control) => "contains a control character",
        _ => return Ok(()),
    };
    Err(format!("the name {name:?} {why}; use the plain name of a file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_are_written() {
        let group = Some(Ipv4Addr::new(239, 1, 0, 1));
        let (name, blake3) = ("a".repeat(LONGEST_NAME), "00".repeat(32));
        let put = Message::Put { ticket: 1, name, bytes: u64::MAX, blake3, session: 2, group };
        let text = put.write();
        assert!(text.len() as u64 <= LONGEST);
        assert_eq!(Message::read(&text), Some(put));
        assert_eq!(
            Message::Ready { ticket: 7 }.write(),
            br#"{"message":"ready","ticket":7}"#,
            "the form that docs/objects.md shows"
        );
        assert_eq!(Message::read(b"{\"message\":\"dance\"}"), None);
        assert_eq!(Message::read(&[0xff; 20]), None);
    }

    #[test]
    fn a_reason_that_is_too_long_is_cut() {
        let short = Message::Refused { ticket: 1, why: "full".to_owned() };
        assert_eq!(Message::refused(1, "full"), short);
        for long in ["a".repeat(5000), "\u{1f4be}".repeat(2000), "\u{1}\"\n".repeat(3000)] {
            let cut = Message::refused(u32::MAX, &long);
            assert!(cut.write().len() as u64 <= LONGEST && cut.write().len() > 4000, "{}", cut.write().len());
            let Message::Refused { why, .. } = &cut else { panic!("{cut:?}") };
            assert!(long.starts_with(why.strip_suffix(CUT).unwrap()));
            assert_eq!(Message::read(&cut.write()).as_ref(), Some(&cut));
        }
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        assert_eq!(check_name("disk.img"), Ok(()));
        for wrong in ["", ".", "..", ".hidden", "a/b", "/etc/passwd", "a\nb", &"a".repeat(201)] {
            assert!(check_name(wrong).is_err(), "{wrong:?}");
        }
    }
}
