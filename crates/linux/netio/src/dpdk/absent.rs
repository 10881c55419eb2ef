//! Stand-ins for DPDK in a program that was built without it: types without values.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use pullnet_wire::Mac;

use super::{DpdkDevice, DpdkOptions, EalOptions};
use crate::counters::Counters;
use crate::error::Error;
use crate::packet_io::PacketIo;

/// DPDK's environment, which this program was built without.
#[derive(Clone, Copy, Debug)]
pub enum Dpdk {}

/// A DPDK port, which this program was built without.
#[derive(Debug)]
pub enum DpdkPort {}

impl Dpdk {
    /// Whether this program was built with DPDK.
    pub const IS_BUILT_IN: bool = false;

    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn start(_options: &EalOptions) -> Result<Self, Error> {
        Err(Error::NoDpdk)
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn open(self, _device: &DpdkDevice, _options: &DpdkOptions) -> Result<DpdkPort, Error> {
        match self {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn in_its_thread<T: Send + 'static>(
        self,
        _work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        match self {}
    }
}

impl DpdkPort {
    /// Cannot be called.
    #[must_use]
    pub fn mac(&self) -> Mac {
        match *self {}
    }

    /// Cannot be called.
    #[must_use]
    pub fn mtu(&self) -> usize {
        match *self {}
    }
}

impl PacketIo for DpdkPort {
    fn frame_room(&self) -> usize {
        match *self {}
    }
    fn receive(&mut self, _most: usize, _each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        match *self {}
    }
    fn send(&mut self, _fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        match *self {}
    }
    fn flush(&mut self) -> Result<(), Error> {
        match *self {}
    }
    fn wait(&mut self, _wake: Option<BorrowedFd<'_>>, _timeout: Duration) -> Result<(), Error> {
        match *self {}
    }
    fn is_gone(&self) -> bool {
        match *self {}
    }
    fn counters(&self) -> Counters {
        match *self {}
    }
}
