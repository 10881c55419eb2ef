//! Errors as C sees them: a negative number, and words.

use std::cell::RefCell;
use std::ffi::CString;

use pullnet_host::StreamError;

/// Why a function failed.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// Nobody listens for the service, or the other host has as many streams as it wants.
    Refused = -1,
    /// The other application or the other host ended the stream.
    Reset = -2,
    /// Nothing was heard of the other host for too long.
    Silent = -3,
    /// This host, or this application, has as many streams as it may.
    Full = -4,
    /// The stream was let go, or its writing half is ended.
    Closed = -5,
    /// The service has a listener already.
    ServiceTaken = -6,
    /// The service has no listener.
    NoListener = -7,
    /// One host has an IPv4 address, the other an IPv6 address.
    Family = -8,
    /// Nobody answers for the address on this network.
    Unreachable = -9,
    /// It took longer than the caller allows.
    TimedOut = -10,
    /// The daemon is gone, or goes away.
    Stopped = -11,
    /// An argument cannot be.
    Argument = -12,
    /// A fault of the library's own.
    Fault = -13,
    /// The daemon encrypts its streams, and has no key for the other host.
    NoKey = -14,
}

/// A code with its words.
#[derive(Debug)]
pub(crate) struct Failure(pub Code, pub String);

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        let code = match error {
            StreamError::Refused(_) => Code::Refused,
            StreamError::Reset(_) => Code::Reset,
            StreamError::Silent => Code::Silent,
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

/// Keeps the words of this thread's last failure, and returns its number.
pub(crate) fn keep(Failure(code, text): Failure) -> i32 {
    // Words hold no 0; if they did, what stands before it has to do.
    let words = text.split('\0').next().unwrap_or_default();
    LAST.with(|last| last.replace(CString::new(words).unwrap_or_default()));
    code as i32
}

/// Where the words are until the next failure of this thread.
pub(crate) fn words() -> *const std::ffi::c_char {
    LAST.with(|last| last.borrow().as_ptr())
}
