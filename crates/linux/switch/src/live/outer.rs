//! A port of a fabric on an interface. If the interface goes down or disappears, the port loses frames until it is back; the
//! switch continues.

use std::collections::VecDeque;

use pullnet_netio::{
    Counters, Dpdk, DpdkOptions, Error, Filter, PacketIo, PacketOptions, PacketSocket, Protocol, XdpOptions,
    XdpSocket,
};
use pullnet_units::{Instant, Picos, PortId};

use super::LiveError;
use crate::config::{Io, Outside, SwitchFile};
use crate::settings::Departure;

/// Receive ring of an interface, in frames: room for what arrives while the loop is busy elsewhere. A larger ring would
/// displace the caches of the processor, at the cost of a tenth of the frame rate.
const RING: usize = 256;
/// Most departures waiting for room in one interface, so that a single port cannot occupy all frames.
const MOST_STUCK: usize = 4096;
/// Pause between attempts to reopen an interface.
const RETRY: Picos = Picos::from_millis(250);
/// Most frames received from one interface before the next one is served.
const BURST: usize = 32;

pub(crate) struct Outer {
    pub port: PortId,
    outside: Outside,
    opener: Opener,
    /// `None` while the interface is unavailable.
    io: Option<Box<dyn PacketIo + Send>>,
    /// Why the interface is unavailable.
    pub trouble: Option<String>,
    retry: Instant,
    /// Counters of sockets that were closed since the start.
    before: Counters,
    /// Departures that have found no room in the interface so far.
    pub stuck: VecDeque<Departure>,
    /// Frames that could not be handed to the interface.
    pub dropped: u64,
}

impl Outer {
    /// Opens every port that is not a line inside the file.
    pub fn open_all(file: &SwitchFile) -> Result<Vec<Self>, LiveError> {
        let named = (0..).zip(&file.ports);
        let outer =
            named.filter_map(|(number, port)| Some((PortId::new(number), port, port.outside.as_ref()?)));
        let opener = Opener::of(file).map_err(LiveError::Dpdk)?;
        outer
            .map(|(number, port, outside)| {
                let io = opener.open(outside);
                let io = io.map_err(|error| LiveError::Port { port: port.name.clone(), error })?;
                Ok(Self {
                    port: number,
                    outside: outside.clone(),
                    opener,
                    io: Some(io),
                    trouble: None,
                    retry: Instant::ZERO,
                    before: Counters::default(),
                    stuck: VecDeque::new(),
                    dropped: 0,
                })
            })
            .collect()
    }

    /// Counters of the interface since the start.
    pub fn counters(&self) -> Counters {
        let now = self.io.as_ref().map(|io| io.counters()).unwrap_or_default();
        let before = &self.before;
        Counters {
            received: before.received + now.received,
            received_bytes: before.received_bytes + now.received_bytes,
            sent: before.sent + now.sent,
            sent_bytes: before.sent_bytes + now.sent_bytes,
            missed: before.missed + now.missed,
            joined: before.joined + now.joined,
            full: before.full + now.full,
            refused: before.refused + now.refused,
            sent_bursts: before.sent_bursts + now.sent_bursts,
            received_bursts: before.received_bursts + now.received_bursts,
        }
    }

    /// Uses the interface; after an error, leaves it closed for [`RETRY`].
    fn with<T>(
        &mut self,
        now: Instant,
        work: impl FnOnce(&mut dyn PacketIo) -> Result<T, Error>,
    ) -> Option<T> {
        self.reopen(now);
        match work(self.io.as_mut()?.as_mut()) {
            Ok(done) => Some(done),
            Err(error) => {
                self.before = self.counters();
                (self.io, self.trouble, self.retry) = (None, Some(error.to_string()), now.after(RETRY));
                None
            }
        }
    }

    fn reopen(&mut self, now: Instant) {
        if self.io.is_some() || now < self.retry {
            return;
        }
        self.retry = now.after(RETRY);
        match self.opener.open(&self.outside) {
            Ok(io) => (self.io, self.trouble) = (Some(io), None),
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    /// Hands received frames to `each`. Returns whether there were any.
    pub fn receive(&mut self, now: Instant, each: &mut dyn FnMut(&[u8])) -> bool {
        self.with(now, |io| io.receive(BURST, each)).is_some_and(|got| got > 0)
    }

    /// Waits for a frame; `false` if the interface cannot be waited on.
    pub fn wait(&mut self, now: Instant, time: std::time::Duration) -> bool {
        self.with(now, |io| io.wait(None, time)).is_some()
    }

    /// Hands a frame to the interface; `None` if that is impossible now or at all.
    pub fn send(&mut self, now: Instant, frame: &[u8]) -> Option<()> {
        let mut fill = |room: &mut [u8]| {
            // The frame exceeds the interface's maximum; a length of 0 sends nothing.
            let Some(room) = room.get_mut(..frame.len()) else { return 0 };
            room.copy_from_slice(frame);
            frame.len()
        };
        self.with(now, |io| io.send(&mut fill)).filter(|sent| *sent).map(|_| ())
    }

    /// Transmits all frames handed over so far.
    pub fn flush(&mut self, now: Instant) {
        self.with(now, |io| io.flush());
    }

    /// Whether waiting departures must be dropped: the interface is unavailable, or too many are waiting.
    pub fn overflows(&self) -> bool {
        !self.stuck.is_empty() && (self.io.is_none() || self.stuck.len() > MOST_STUCK)
    }
}

type Opened = Result<Box<dyn PacketIo + Send>, Error>;

/// Opens what is outside of a port.
#[derive(Clone, Copy)]
enum Opener {
    Packet,
    Xdp,
    Dpdk(Dpdk),
}

impl Opener {
    /// Starts DPDK, if the file is for it.
    fn of(file: &SwitchFile) -> Result<Self, Error> {
        Ok(match (file.io, &file.dpdk) {
            (Io::Dpdk, environment) => Self::Dpdk(Dpdk::start(&environment.clone().unwrap_or_default())?),
            (Io::Packet, _) => Self::Packet,
            (Io::Xdp, _) => Self::Xdp,
        })
    }

    fn open(self, outside: &Outside) -> Opened {
        match (self, outside) {
            (Self::Packet, Outside::Interface(name)) => {
                let options = PacketOptions { protocol: Protocol::All, frames: RING, bursts: false };
                Ok(Box::new(PacketSocket::open(name, &options)?))
            }
            (Self::Xdp, Outside::Interface(name)) => {
                let options = XdpOptions { filter: Filter::Everything, ..XdpOptions::default() };
                Ok(Box::new(XdpSocket::open(name, &options)?))
            }
            (Self::Dpdk(dpdk), Outside::Device { device, mtu }) => {
                let options = DpdkOptions { mtu: *mtu, frames: RING as u16, promiscuous: true };
                Ok(Box::new(dpdk.open(device, &options)?))
            }
            // A file that passed its checks has no such port.
            (_, outside) => Err(Error::Address(format!("\"{outside}\" does not suit the io of the file"))),
        }
    }
}
