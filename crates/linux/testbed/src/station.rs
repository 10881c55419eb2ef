//! A host with its interface.

use pullnet_netio::PacketIo;
use pullnet_session::flow_of;
use pullnet_transport::{Transmit, Transport};
use pullnet_units::{HostId, Instant};
use pullnet_wire::{Framed, HeaderOf};
use pullnet_workload::Instruction;

use crate::content;
use crate::error::PlayError;
use crate::line::Line;
use crate::site::Site;
use crate::stack::Stack;

/// Most frames received from one interface before the next host is served.
const BURST: usize = 32;

/// The socket of a host.
pub type Socket = Box<dyn PacketIo + Send>;

/// A host with its socket and its link.
pub(crate) struct Station<P: Framed> {
    pub stack: Stack<P>,
    pub io: Socket,
    line: Line,
    /// Buffer of a full payload: the latest packet's identifier, then position-dependent bytes.
    payload: Vec<u8>,
    /// A packet that found no room in the socket.
    unsent: Option<(HostId, Transmit<HeaderOf<P>>)>,
    /// Whether the endpoint had nothing to send when last polled.
    idle: bool,
}

impl<P: Framed> Station<P> {
    /// Creates the idle host `host`.
    pub fn new(site: &Site<P>, host: HostId, io: Socket) -> Result<Self, PlayError> {
        let mtu = site.framing.mtu;
        let (needed, room) = (mtu as usize + P::HEADERS, io.frame_room());
        if needed > room {
            return Err(PlayError::Mtu { mtu: mtu.into(), needed, host: host.get(), room });
        }
        let line = Line::new(site.scenario.topology.hosts[host].link.rate, needed);
        let payload = site.payload_bytes.clone();
        Ok(Self { stack: Stack::new(site, host), io, line, payload, unsent: None, idle: true })
    }

    /// Tells the application what to do.
    pub fn tell(&mut self, now: Instant, site: &Site<P>, instruction: Instruction) {
        self.stack.tell(now, site, instruction);
        self.idle = false;
    }

    /// Expiry of the next timer, mostly for the next pull. [`Instant::NEVER`] if there is none.
    pub fn timer(&self) -> Instant {
        self.stack.endpoint.poll_timeout().map_or(Instant::NEVER, |deadline| deadline.at)
    }

    /// Receives frames, handles due timers, and sends. Returns true if a frame was sent, which takes time.
    pub fn turn(&mut self, now: Instant, site: &Site<P>) -> Result<bool, PlayError> {
        let Self { stack, io, .. } = self;
        let host = stack.host.get();
        let got = io.receive(BURST, &mut |frame| stack.arrive(now, site, frame));
        self.idle &= got.map_err(|error| PlayError::Io { host, error })? == 0;
        let sent = self.depart(now, site)?;
        self.stack.fault.take().map_or(Ok(sent), Err)
    }

    /// Handles due timers and sends. Returns true if a frame was sent.
    pub fn depart(&mut self, now: Instant, site: &Site<P>) -> Result<bool, PlayError> {
        if self.timer() <= now {
            self.stack.timers(now, site);
            self.idle = false;
        }
        if self.stack.next_start() <= now {
            self.stack.report(now, site);
            self.idle = false;
        }
        if self.idle || self.line.free_at() > now {
            return Ok(false);
        }
        self.transmit(now, site)?;
        self.io.flush().map_err(|error| PlayError::Io { host: self.stack.host.get(), error })?;
        Ok(true)
    }

    fn transmit(&mut self, now: Instant, site: &Site<P>) -> Result<(), PlayError> {
        while self.line.free_at() <= now {
            let next = self.unsent.take().or_else(|| {
                let packet = self.stack.endpoint.poll_transmit(now)?;
                Some((site.scenario.topology.host(packet.to)?, packet))
            });
            let Some((peer, packet)) = next else {
                self.idle = true;
                return Ok(());
            };
            let Some(length) = self.send(site, peer, &packet)? else {
                self.unsent = Some((peer, packet));
                return Ok(());
            };
            self.line.send(now, length);
            self.stack.sent(now, peer, &packet);
        }
        Ok(())
    }

    /// Hands a packet to the socket and returns the length of its frame; `None` if there is no room.
    fn send(
        &mut self,
        site: &Site<P>,
        peer: HostId,
        packet: &Transmit<HeaderOf<P>>,
    ) -> Result<Option<usize>, PlayError> {
        let host = self.stack.host;
        let payload = &mut self.payload[..P::payload(packet)];
        if let Some((conn, seq)) = P::data(&packet.header) {
            content::label(flow_of(conn), seq, payload);
        }
        let route = site.route(host, peer, packet.path);
        let mut written = Ok(0);
        let mut fill = |room: &mut [u8]| {
            written = P::emit(room, &route, &site.marks, site.home, packet, payload);
            *written.as_ref().unwrap_or(&0)
        };
        let fits = self.io.send(&mut fill).map_err(|error| PlayError::Io { host: host.get(), error })?;
        let length = written.map_err(|error| PlayError::Emit { host: host.get(), error })?;
        Ok(fits.then_some(length))
    }

    /// Time of the next action that no frame triggers; [`Instant::NEVER`] if none is pending.
    pub fn next_due(&self) -> Instant {
        let own = self.timer().min(self.stack.next_start());
        if self.idle { own } else { own.min(self.line.free_at()) }
    }
}
