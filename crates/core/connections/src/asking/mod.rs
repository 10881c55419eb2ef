//! Transports whose packets carry a question that the switches on their path answer, such as a rate request. The receiver
//! returns the answers with its ACKs. Each flow keeps one path, because the switches on it know the flow.

mod pace;
mod receiving;
mod rules;
mod sending;

use pullnet_transport::{
    Awaited, ConnId, CumulativeAck, DataPacket, FailureReason, FlowSpec, Header, HostAddr, HostInfo,
};
use pullnet_units::Instant;

use crate::limits::Limits;
use crate::sent::SentPackets;

pub use pace::{Pace, link_rate, smoothed, transmission_time, transmission_work};
pub use rules::AskingRules;

/// A packet as the common rules see it, with a question `Q` or the reply `A` to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<Q, A> {
    /// Payload.
    Data {
        /// The packet.
        data: DataPacket,
        /// The question that the packet carries.
        question: Option<Q>,
    },
    /// A question without payload.
    Question {
        /// The sender's connection.
        conn: ConnId,
        /// The sender has given the flow up.
        given_up: bool,
        /// The question.
        question: Q,
    },
    /// From the receiver.
    Ack {
        /// The packets that it acknowledges.
        ack: CumulativeAck,
        /// The reply of the switches.
        reply: Option<A>,
    },
}

/// Result of a timer check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// There is nothing to report.
    Nothing,
    /// This packet was not acknowledged in time.
    Timeout(u32),
    /// The flow fails.
    Failed(FailureReason),
}

/// A packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing<H> {
    /// Its header.
    pub header: H,
    /// Payload. Bytes; 0: a control packet.
    pub payload: u32,
    /// Whether it is a retransmission.
    pub again: bool,
}

/// The part of a sender that the common rules read and write.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The receiver.
    pub to: HostAddr,
    /// The sender's number for the flow.
    pub conn: ConnId,
    /// Priority in the host's transmit queue.
    pub priority: u8,
    /// Path of all packets of the flow.
    pub path: u16,
    /// Its packets.
    pub sent: SentPackets,
    /// Whether the host's transmit queue contains this sender.
    pub in_line: bool,
}

/// The rules of a sender whose flow asks the switches on its path.
pub trait Asking: Sized {
    /// Settings of the transport.
    type Config;
    /// Header of its packets.
    type Header: Header;
    /// Question to the switches, with their answers so far.
    type Question: Copy;
    /// The answers, as the receiver returns them.
    type Reply: Copy;

    /// The settings that the common rules need.
    fn limits(config: &Self::Config) -> Limits;

    /// The message in a header.
    fn read(header: Self::Header) -> Message<Self::Question, Self::Reply>;

    /// The header of an ACK with the reply of the switches.
    fn ack(ack: CumulativeAck, reply: Option<Self::Reply>) -> Self::Header;

    /// Whether the flow ends with this question, which then needs no answer.
    fn ends(question: &Self::Question) -> bool;

    /// The reply that the receiver on `host` returns to the sender.
    fn reply(question: &Self::Question, host: &HostInfo) -> Self::Reply;

    /// Opens a flow from `host`.
    fn open(now: Instant, config: &Self::Config, flow: &FlowSpec, outlook: Outlook, host: &HostInfo) -> Self;

    /// Its common part.
    fn outlook(&self) -> &Outlook;

    /// Its common part.
    fn outlook_mut(&mut self) -> &mut Outlook;

    /// The question that is due as a packet of its own and does not wait for the link.
    fn urgent(&mut self, _now: Instant, _config: &Self::Config) -> Option<Self::Header> {
        None
    }

    /// Earliest departure of the next packet that waits for the link.
    fn ready_at(&self, now: Instant, config: &Self::Config) -> Instant;

    /// When the timer of the flow is due.
    fn due(&self, now: Instant, config: &Self::Config) -> Instant;

    /// The next packet, if one may leave now.
    fn transmit(&mut self, now: Instant, config: &Self::Config) -> Option<Outgoing<Self::Header>>;

    /// Data packets are acknowledged; the last of them left at `departure`.
    fn acknowledged(&mut self, _now: Instant, _departure: Instant) {}

    /// The switches have replied, or an earlier reply of theirs has arrived again.
    fn on_reply(&mut self, now: Instant, config: &Self::Config, reply: Self::Reply);

    /// Handles the expiry of the flow's timer.
    fn on_timer(&mut self, now: Instant, config: &Self::Config) -> Expiry;

    /// The final question, if switches may still keep something for the flow. `given_up`: the receiver is to forget the flow.
    fn farewell(&mut self, now: Instant, config: &Self::Config, given_up: bool) -> Option<Self::Header>;

    /// The flow's current wait, as text for its status.
    fn waiting_for(&self) -> Awaited;
}
