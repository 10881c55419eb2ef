use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::sys;

/// Interval between two looks at the interface. Each takes some microseconds.
const INTERVAL: Duration = Duration::from_millis(50);

/// The kernel interface whose frames a device carries: drivers report neither that it is gone nor that it is down.
#[derive(Debug)]
pub(super) struct Beneath {
    /// Belongs to the network namespace in which the port was opened.
    socket: OwnedFd,
    index: u32,
}

impl Beneath {
    /// The interface with this index in the calling thread's network namespace.
    pub fn of(index: u32) -> Result<Self, Error> {
        let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0, "cannot open a socket")?;
        Ok(Self { socket, index })
    }

    /// Fails if the interface is gone or down.
    pub fn check(&self) -> Result<(), Error> {
        let gone = |_| Error::NoInterface(format!("number {}", self.index));
        let name = sys::interface_name(&self.socket, self.index).map_err(gone)?;
        match sys::interface_is_up(&self.socket, &name)? {
            true => Ok(()),
            false => Err(Error::Kernel {
                what: "no frames",
                on: format!(" on interface \"{name}\""),
                source: std::io::Error::from_raw_os_error(libc::ENETDOWN),
            }),
        }
    }
}

/// Says when it is time for another look.
#[derive(Debug)]
pub(super) struct Pace(Instant);

#[expect(clippy::disallowed_methods, reason = "an interface is looked at by the clock")]
impl Pace {
    pub fn start() -> Self {
        Self(Instant::now() + INTERVAL)
    }

    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.0;
        if due {
            self.0 = now + INTERVAL;
        }
        due
    }
}
