//! Errors of streams as numbers, for shared memory and messages.

use std::net::{IpAddr, SocketAddr};

use pullnet_host::StreamError;
use pullnet_transport::FailureReason;
use pullnet_wire::Reason;

use crate::error::Error;

const REFUSED: u32 = 0x100;
const RESET: u32 = 0x200;
const SILENT: u32 = 0x300;
const FULL: u32 = 0x400;
const CLOSED: u32 = 0x500;
const TAKEN: u32 = 0x600;
const NO_LISTENER: u32 = 0x700;
const FAMILY: u32 = 0x800;
const UNREACHABLE: u32 = 0x900;
const STOPPED: u32 = 0xa00;
const NO_KEY: u32 = 0xb00;
const FAILED: u32 = 0xc00;

/// The limit that a daemon without file descriptors names.
const DAEMON_DESCRIPTORS: &str =
    "file descriptors of the daemon: raise LimitNOFILE of its unit, or `ulimit -n` where it is started";

/// Limits that a stream may meet, by the names of their settings; the first one stands for any other.
const LIMITS: [&str; 10] = [
    "of the daemon",
    "streams",
    "streams_per_peer",
    "streams_per_application",
    "streams_per_user",
    "memory_per_application",
    "memory_per_user",
    "of shared memory",
    "file descriptors of the application",
    DAEMON_DESCRIPTORS,
];

/// Details that an error's number lacks and that the caller knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The host.
    pub own: IpAddr,
    /// The other host, if any.
    pub peer: Option<SocketAddr>,
    pub service: u16,
}

/// Encodes an error as a number; never 0.
pub(crate) fn encode(error: &StreamError) -> u32 {
    match error {
        StreamError::Refused(reason) => REFUSED | u32::from(reason.0),
        StreamError::Reset(reason) => RESET | u32::from(reason.0),
        StreamError::Silent => SILENT,
        StreamError::Failed(reason) => FAILED | reason.code(),
        StreamError::Full(limit) => {
            FULL | LIMITS.iter().position(|known| known == limit).unwrap_or_default() as u32
        }
        StreamError::Closed => CLOSED,
        StreamError::ServiceTaken(_) => TAKEN,
        StreamError::NoListener(_) => NO_LISTENER,
        StreamError::Family { .. } => FAMILY,
        StreamError::NoKey(_) => NO_KEY,
        StreamError::Unreachable(_) => UNREACHABLE,
        StreamError::Stopped(_) | StreamError::Options(_) | StreamError::TimedOut => STOPPED,
    }
}

/// The error of a daemon without file descriptors.
pub(crate) const NO_DESCRIPTORS: StreamError = StreamError::Full(DAEMON_DESCRIPTORS);

/// The error of an application if the daemon cannot do what it asks.
pub(crate) fn of_daemon(error: &Error) -> StreamError {
    match error {
        Error::Kernel { source, .. } if is_without_descriptors(source) => NO_DESCRIPTORS,
        _ => StreamError::Stopped(error.to_string()),
    }
}

/// Whether the process or the machine has no file descriptor left.
pub(crate) fn is_without_descriptors(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// The text that goes with an error's number: [`decode`] puts the words of the number in front.
pub(crate) fn text(error: &StreamError) -> String {
    match error {
        StreamError::Stopped(why) => why.clone(),
        other => other.to_string(),
    }
}

/// Decodes the error of a number, with the text that may come with it.
pub(crate) fn decode(code: u32, text: &str, asked: &Asked) -> StreamError {
    let reason = Reason(code as u8);
    let stopped =
        || StreamError::Stopped(if text.is_empty() { "the daemon says so" } else { text }.to_owned());
    match (code & !0xff, asked.peer) {
        (REFUSED, _) => StreamError::Refused(reason),
        (RESET, _) => StreamError::Reset(reason),
        (SILENT, _) => StreamError::Silent,
        (FAILED, _) => FailureReason::from_code(code & 0xff).map_or_else(stopped, StreamError::Failed),
        (FULL, _) => StreamError::Full(LIMITS.get(usize::from(reason.0)).copied().unwrap_or(LIMITS[0])),
        (CLOSED, _) => StreamError::Closed,
        (TAKEN, _) => StreamError::ServiceTaken(asked.service),
        (NO_LISTENER, _) => StreamError::NoListener(asked.service),
        (FAMILY, Some(to)) => StreamError::Family { from: asked.own, to },
        (NO_KEY, Some(to)) => StreamError::NoKey(to),
        (UNREACHABLE, Some(to)) => StreamError::Unreachable(to.ip()),
        _ => stopped(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_meaning() {
        let own = IpAddr::from([10, 0, 0, 1]);
        let peer = SocketAddr::from(([10, 0, 0, 2], 9));
        let asked = Asked { own, peer: Some(peer), service: 80 };
        for error in [
            StreamError::Refused(Reason::NO_LISTENER),
            StreamError::Reset(Reason::SHUTDOWN),
            StreamError::Silent,
            StreamError::Failed(FailureReason::EmptyFlow),
            StreamError::Failed(FailureReason::NumbersUsedUp),
            StreamError::Full("of the daemon"),
            StreamError::Full("streams_per_user"),
            StreamError::Closed,
            StreamError::ServiceTaken(80),
            StreamError::NoListener(80),
            StreamError::Family { from: own, to: peer },
            StreamError::NoKey(peer),
            StreamError::Unreachable(peer.ip()),
            StreamError::Stopped("why".to_owned()),
        ] {
            let code = encode(&error);
            assert!(code != 0);
            assert_eq!(decode(code, &text(&error), &asked), error);
        }
        assert!(matches!(decode(77, "", &asked), StreamError::Stopped(_)));
        let own = StreamError::Failed(FailureReason::of_protocol(&"a reason of one protocol"));
        assert!(matches!(decode(encode(&own), "", &asked), StreamError::Stopped(_)));
    }
}
