use std::net::{IpAddr, SocketAddr};

use pullnet_units::Instant;
use pullnet_wire::Mac;

use crate::{EngineOptions, Notice, Read, Status, StreamError, StreamId, StreamInfo, StreamOptions};

/// All streams of one host: bytes, buffers, NDP. No I/O and no clock: frames and time come in as arguments.
///
/// After every call the driver asks for frames ([`Engine::transmit`]) until there is none, for notices, and for the next
/// deadline.
pub struct Engine {
    options: EngineOptions,
}

/// The network's side.
impl Engine {
    /// A frame has arrived. One that is not for this host, or wrong, is counted and changes nothing.
    pub fn receive(&mut self, _now: Instant, _frame: &[u8]) {
        todo!()
    }

    /// Writes the next frame into `frame` and says how long it is. 0: nothing to send until the next input. `frame` has
    /// to hold the options' MTU and 14 B.
    pub fn transmit(&mut self, _now: Instant, _frame: &mut [u8]) -> usize {
        todo!()
    }

    /// When [`Engine::timeout`] is to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        todo!()
    }

    /// The deadline has come.
    pub fn timeout(&mut self, _now: Instant) {
        todo!()
    }

    /// An address whose Ethernet address (or that of the next hop to it) is needed; each once.
    pub fn poll_unresolved(&mut self) -> Option<IpAddr> {
        todo!()
    }

    /// The answer to [`Engine::poll_unresolved`]; `None`: nobody answers for it, and its streams fail.
    pub fn resolved(&mut self, _now: Instant, _address: IpAddr, _mac: Option<Mac>) {
        todo!()
    }
}

/// The application's side.
impl Engine {
    /// An engine without streams.
    ///
    /// # Errors
    /// If the options contradict what can be done.
    pub fn new(options: EngineOptions) -> Result<Self, StreamError> {
        options.protocol()?;
        Ok(Self { options })
    }

    /// Takes streams for `service` from now on.
    ///
    /// # Errors
    /// If the service has a listener already.
    pub fn listen(&mut self, _service: u16) -> Result<(), StreamError> {
        todo!()
    }

    /// Takes no more; those that nobody accepted are reset.
    pub fn unlisten(&mut self, _now: Instant, _service: u16) {
        todo!()
    }

    /// The oldest stream for `service` that nobody has accepted.
    pub fn accept(&mut self, _service: u16) -> Option<StreamId> {
        todo!()
    }

    /// A new stream to `service` at the host that listens at `to`. Nothing leaves before something is written or
    /// finished.
    ///
    /// # Errors
    /// If the address is of the wrong family, or the limits allow no more streams.
    pub fn connect(
        &mut self,
        _now: Instant,
        _to: SocketAddr,
        _service: u16,
        _options: StreamOptions,
    ) -> Result<StreamId, StreamError> {
        todo!()
    }

    /// Takes what there is room for and says how much; 0: the send buffer is full. What was taken leaves with the next
    /// [`Engine::transmit`] if nothing of the stream waits to be sent, or else when a packet is full or that is gone.
    ///
    /// # Errors
    /// If the stream is finished, gone, or has failed.
    pub fn write(&mut self, _now: Instant, _id: StreamId, _bytes: &[u8]) -> Result<usize, StreamError> {
        todo!()
    }

    /// Nothing more is written. Before the next [`Engine::transmit`] the end travels with what was written last.
    ///
    /// # Errors
    /// If the stream is gone or has failed.
    pub fn finish(&mut self, _now: Instant, _id: StreamId) -> Result<(), StreamError> {
        todo!()
    }

    /// Reads into `out`.
    ///
    /// # Errors
    /// If the stream is gone or has failed.
    pub fn read(&mut self, _now: Instant, _id: StreamId, _out: &mut [u8]) -> Result<Read, StreamError> {
        todo!()
    }

    /// The application lets go: what was written still arrives, and what still comes is refused. `id` names no stream
    /// from now on.
    pub fn close(&mut self, _now: Instant, _id: StreamId) {
        todo!()
    }

    /// Ends the stream at once, at both ends. `id` names no stream from now on.
    pub fn abort(&mut self, _now: Instant, _id: StreamId) {
        todo!()
    }

    /// Data of this stream is pulled at this priority, whatever its sender asks for.
    pub fn prefer(&mut self, _id: StreamId, _priority: u8) {
        todo!()
    }

    /// How the stream stands; `None` if there is no such stream.
    #[must_use]
    pub fn info(&self, _id: StreamId) -> Option<StreamInfo> {
        todo!()
    }

    /// The next notice, oldest first.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        todo!()
    }

    /// Streams, those included that the application has let go and that still send.
    #[must_use]
    pub fn streams(&self) -> usize {
        todo!()
    }

    /// Ends every stream at once with RESET, reason "the host goes away", and takes no new ones.
    pub fn stop(&mut self, _now: Instant) {
        todo!()
    }

    /// How the host stands.
    #[must_use]
    pub fn status(&self) -> Status {
        todo!()
    }

    /// What the engine was made with.
    #[must_use]
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }
}
