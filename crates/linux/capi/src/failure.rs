//! Errors in C: a negative number and a message.

use std::cell::RefCell;
use std::ffi::CString;

use pullnet_host::StreamError;

/// Reason of a failure.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The service has no listener, or the other host is at its limit of streams.
    Refused = -1,
    /// The other application or the other host ended the stream.
    Reset = -2,
    /// The other host was silent for too long.
    Silent = -3,
    /// This host or this application is at its limit of streams.
    Full = -4,
    /// The stream was closed, or its writing half was ended.
    Closed = -5,
    /// The service already has a listener.
    ServiceTaken = -6,
    /// The service has no listener.
    NoListener = -7,
    /// One host has an IPv4 address, the other an IPv6 address.
    Family = -8,
    /// No host on this network answers for the address.
    Unreachable = -9,
    /// The timeout has expired.
    TimedOut = -10,
    /// The daemon has stopped or is stopping.
    Stopped = -11,
    /// An argument is invalid.
    Argument = -12,
    /// An internal error of the library.
    Fault = -13,
    /// The daemon encrypts its streams, and has no key for the other host.
    NoKey = -14,
    /// The transport gave up the stream, for instance because it has used up its packet numbers.
    Failed = -15,
}

/// A code with its message.
#[derive(Debug)]
pub(crate) struct Failure(pub Code, pub String);

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        let code = match error {
            StreamError::Refused(_) => Code::Refused,
            StreamError::Reset(_) => Code::Reset,
            StreamError::Silent => Code::Silent,
            StreamError::Failed(_) => Code::Failed,
            StreamError::Full(_) => Code::Full,
            StreamError::Closed => Code::Closed,
            StreamError::ServiceTaken(_) => Code::ServiceTaken,
            StreamError::NoListener(_) => Code::NoListener,
            StreamError::Family { .. } => Code::Family,
            StreamError::NoKey(_) => Code::NoKey,
            StreamError::Unreachable(_) => Code::Unreachable,
            StreamError::TimedOut => Code::TimedOut,
            StreamError::Options(_) => Code::Argument,
            StreamError::Stopped(_) => Code::Stopped,
        };
        Self(code, error.to_string())
    }
}

impl Failure {
    pub fn argument(text: impl Into<String>) -> Self {
        Self(Code::Argument, text.into())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// Stores the message of this thread's last failure, and returns its number.
pub(crate) fn keep(Failure(code, text): Failure) -> i32 {
    // Messages contain no NUL; if one did, the part before it would be used.
    let words = text.split('\0').next().unwrap_or_default();
    LAST.with(|last| last.replace(CString::new(words).unwrap_or_default()));
    code as i32
}

/// Pointer to the message; valid until the next failure of this thread.
pub(crate) fn words() -> *const std::ffi::c_char {
    LAST.with(|last| last.borrow().as_ptr())
}
