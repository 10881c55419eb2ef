//! A port of a fabric on an interface. An interface may go down, or away, and come back: the port then loses frames, and
//! the switch goes on.

use std::collections::VecDeque;

use pullnet_netio::{Counters, Error, PacketIo, PacketOptions, PacketSocket, Protocol};
use pullnet_units::{Instant, Picos, PortId};

use super::LiveError;
use crate::config::{Io, SwitchFile};
use crate::settings::Departure;

/// Frames that wait in an interface at most: what arrives while the loop is elsewhere. The memory of more would pass
/// through every cache of the processor, which costs a tenth of the time.
const RING: usize = 256;
/// Departures that wait for room in an interface, at most; so that one port cannot take the frames of all.
const MOST_STUCK: usize = 4096;
/// Time between attempts to use an interface again.
const RETRY: Picos = Picos::from_millis(250);
/// Frames taken from an interface before the next one has its turn.
const BURST: usize = 32;

pub(crate) struct Outer {
    pub port: PortId,
    interface: String,
    kind: Io,
    /// `None` while the interface cannot be used.
    io: Option<Box<dyn PacketIo + Send>>,
    /// What was wrong last.
    pub trouble: Option<String>,
    retry: Instant,
    /// Of the sockets before this one.
    before: Counters,
    /// Departures that found no room in the interface yet.
    pub stuck: VecDeque<Departure>,
    /// Frames that could not be handed to the interface.
    pub dropped: u64,
}

impl Outer {
    /// One for each port on an interface.
    pub fn open_all(file: &SwitchFile) -> Result<Vec<Self>, LiveError> {
        let named = (0..).zip(&file.ports);
        let on_interface =
            named.filter_map(|(number, port)| Some((PortId(number), port, port.interface.as_ref()?)));
        on_interface
            .map(|(number, port, interface)| {
                let io = open(file.io, interface);
                let io = io.map_err(|error| LiveError::Port { port: port.name.clone(), error })?;
                Ok(Self {
                    port: number,
                    interface: interface.clone(),
                    kind: file.io,
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

    /// What the interface has carried.
    pub fn counters(&self) -> Counters {
        let now = self.io.as_ref().map(|io| io.counters()).unwrap_or_default();
        let before = &self.before;
        Counters {
            received: before.received + now.received,
            received_bytes: before.received_bytes + now.received_bytes,
            sent: before.sent + now.sent,
            sent_bytes: before.sent_bytes + now.sent_bytes,
            missed: before.missed + now.missed,
            full: before.full + now.full,
            refused: before.refused + now.refused,
        }
    }

    /// Does something with the interface; where it fails, the interface is left alone for a while.
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
        match open(self.kind, &self.interface) {
            Ok(io) => self.io = Some(io),
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    /// Gives what has arrived to `each`. Whether there was anything.
    pub fn receive(&mut self, now: Instant, each: &mut dyn FnMut(&[u8])) -> bool {
        self.with(now, |io| io.receive(BURST, each)).is_some_and(|got| got > 0)
    }

    /// Waits for what arrives; `false` if the interface cannot be waited at.
    pub fn wait(&mut self, now: Instant, time: std::time::Duration) -> bool {
        self.with(now, |io| io.wait(None, time)).is_some()
    }

    /// Gives a frame to the interface: `None` if that is not possible now or at all.
    pub fn send(&mut self, now: Instant, frame: &[u8]) -> Option<()> {
        let mut fill = |room: &mut [u8]| {
            // Longer than the interface carries: it sends nothing.
            let Some(room) = room.get_mut(..frame.len()) else { return 0 };
            room.copy_from_slice(frame);
            frame.len()
        };
        self.with(now, |io| io.send(&mut fill)).filter(|sent| *sent).map(|_| ())
    }

    /// Lets everything leave that was given.
    pub fn flush(&mut self, now: Instant) {
        self.with(now, |io| io.flush());
    }

    /// Whether departures that wait can only be thrown away: the interface is away, or too many wait.
    pub fn overflows(&self) -> bool {
        !self.stuck.is_empty() && (self.io.is_none() || self.stuck.len() > MOST_STUCK)
    }
}

fn open(io: Io, interface: &str) -> Result<Box<dyn PacketIo + Send>, Error> {
    match io {
        Io::Packet => {
            let options = PacketOptions { protocol: Protocol::All, frames: RING };
            Ok(Box::new(PacketSocket::open(interface, &options)?))
        }
        Io::Xdp => open_xdp(interface),
    }
}

fn open_xdp(interface: &str) -> Result<Box<dyn PacketIo + Send>, Error> {
    use pullnet_netio::{Filter, XdpOptions, XdpSocket};
    let options = XdpOptions { filter: Filter::Everything, ..XdpOptions::default() };
    Ok(Box::new(XdpSocket::open(interface, &options)?))
}
