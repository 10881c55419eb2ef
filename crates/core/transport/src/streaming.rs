use pullnet_units::{HostAddr, Instant};

use crate::api::{FlowSpec, Transport};
use crate::conn_id::ConnId;

/// A transport that carries streams: data of an amount unknown at the start, to receivers that may be slow.
///
/// The driver keeps the bytes and cuts them into packets. The transport says which packet leaves when, and where an
/// arrived packet belongs. Packets of a stream are numbered from 0 in the order in which they are offered. A call for a
/// connection that is not open changes nothing.
pub trait Streaming: Transport {
    /// The application begins a stream. No packet leaves before data is offered; `flow.size` is ignored. A number that
    /// may not be used is reported as [`Event::Failed`](crate::api::Event::Failed).
    fn open_stream(&mut self, now: Instant, flow: FlowSpec);

    /// Offers the next packet of stream `conn` to `to`: `payload` bytes, from 0 to the payload of a full packet; `last`
    /// if none follows. An empty packet is sent, acknowledged and retransmitted like any other. No packet may follow
    /// the last one. A stream fails when its packet numbers run out.
    fn offer(&mut self, now: Instant, to: HostAddr, conn: ConnId, payload: u16, last: bool);

    /// The sender abandons the connection: it is forgotten without a report. Its number rests like the number of a
    /// completed connection.
    fn abandon(&mut self, now: Instant, to: HostAddr, conn: ConnId);

    /// Number of packets that the receiver has without a gap: the driver may release their bytes. `None` if there is no
    /// such connection, for instance because it is complete.
    fn acknowledged(&self, to: HostAddr, conn: ConnId) -> Option<u32>;

    /// The receiver abandons the connection in `slot`: the connection is forgotten without a report. Later packets do
    /// not reopen it and are not answered ([`Event::Stray`](crate::api::Event::Stray)). The slot may be used again.
    fn dismiss(&mut self, now: Instant, slot: u32);

    /// Whether a connection from `from` has ended here, received or dismissed, and is still remembered: none of its
    /// packets can reopen it.
    fn remembers(&self, from: HostAddr, conn: ConnId) -> bool;

    /// The receiver's application is slow: while `held`, the connection in `slot` requests no data. Data requested
    /// before still arrives; requests made meanwhile leave after the release.
    fn hold(&mut self, now: Instant, slot: u32, held: bool);

    /// Sets the priority of the connection in `slot` at the receiver, in place of the sender's request: a higher
    /// priority goes first.
    fn prefer(&mut self, slot: u32, priority: u8);
}
