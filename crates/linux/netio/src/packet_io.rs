use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::counters::Counters;
use crate::error::Error;

/// Frames in and out.
pub trait PacketIo {
    /// Longest frame, Ethernet header included and frame check sequence not. Bytes.
    fn frame_room(&self) -> usize;

    /// Passes up to `most` received frames to `each`, oldest first. Never waits. Returns the number of frames.
    ///
    /// # Errors
    /// If the interface is gone, or the kernel reports another error.
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error>;

    /// Lets `fill` write a frame into a buffer of [`PacketIo::frame_room`] bytes and return its length; 0 sends nothing. The
    /// frame leaves at the next [`PacketIo::flush`] at the latest. Returns false, without a call of `fill`, if there is no
    /// room at the moment.
    ///
    /// # Errors
    /// If the interface is gone, or the kernel reports another error.
    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error>;

    /// Transmits all frames queued by `send`. Cheap if there are none.
    ///
    /// # Errors
    /// If the interface is gone, or the kernel reports another error.
    fn flush(&mut self) -> Result<(), Error>;

    /// Waits until a frame may have arrived, `wake` is readable, or `timeout` has passed.
    ///
    /// # Errors
    /// If the kernel reports an error.
    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error>;

    /// Whether the interface was removed, so that no later call can succeed. Worth asking after an error, which otherwise may pass: an
    /// interface that is down comes up again.
    fn is_gone(&self) -> bool;

    /// Totals since the backend was opened.
    fn counters(&self) -> Counters;
}

impl<T: PacketIo + ?Sized> PacketIo for Box<T> {
    fn frame_room(&self) -> usize {
        (**self).frame_room()
    }
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        (**self).receive(most, each)
    }
    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        (**self).send(fill)
    }
    fn flush(&mut self) -> Result<(), Error> {
        (**self).flush()
    }
    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        (**self).wait(wake, timeout)
    }
    fn is_gone(&self) -> bool {
        (**self).is_gone()
    }
    fn counters(&self) -> Counters {
        (**self).counters()
    }
}
