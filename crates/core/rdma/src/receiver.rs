use pullnet_connections::{Noted, ReceivedSet};
use pullnet_transport::{ConnId, DataPacket, HostAddr};
use pullnet_units::Instant;

use crate::parameters::{Parameters, Recovery};

/// Answer of a receiver to a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Ack,
    Nack,
    Nothing,
}

/// The receiving half of a connection.
pub struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    received: ReceivedSet,
    /// Number of packets of the flow; `None` until the last one was accepted.
    total: Option<u32>,
    pub bytes: u64,
    pub last_progress: Instant,
    pub last_heard: Instant,
    /// The missing packet in the latest NACK, and the earliest time of another NACK for it.
    nacked: (u32, Instant),
    /// No CNP leaves before this time.
    next_cnp: Instant,
}

impl Receiver {
    pub fn open(now: Instant, peer: HostAddr, conn: ConnId) -> Self {
        Self {
            peer,
            conn,
            received: ReceivedSet::default(),
            total: None,
            bytes: 0,
            last_progress: now,
            last_heard: now,
            nacked: (u32::MAX, Instant::ZERO),
            next_cnp: Instant::ZERO,
        }
    }

    /// Cumulative point: every packet below this number has arrived.
    pub fn cumulative(&self) -> u32 {
        self.received.cumulative()
    }

    pub fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.cumulative() >= total)
    }

    /// Accepts or discards a packet with `bytes` bytes of payload. Returns the answer, and whether the payload is new.
    pub fn on_data(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        data: DataPacket,
        bytes: u32,
    ) -> (Answer, bool) {
        let expected = self.cumulative();
        if data.seq < expected {
            // The earlier ACK may have been lost.
            return (Answer::Ack, false);
        }
        let noted = match parameters.recovery {
            Recovery::GoBackN if data.seq > expected => return (self.nack(now, parameters), false),
            _ => self.received.insert(data.seq),
        };
        if noted == Noted::TooFar {
            return (Answer::Nothing, false);
        }
        if data.last {
            self.total = Some(data.seq.saturating_add(1));
        }
        if noted == Noted::New {
            self.bytes += u64::from(bytes);
            self.last_progress = now;
        }
        // Selective repeat answers every packet, so that the sender learns of each arrival.
        let answer = if data.seq < self.cumulative() { Answer::Ack } else { Answer::Nack };
        (answer, noted == Noted::New)
    }

    /// A NACK for the oldest missing packet, at most one per `nack_interval`.
    fn nack(&mut self, now: Instant, parameters: &Parameters) -> Answer {
        let (missing, again) = self.nacked;
        if missing == self.cumulative() && now < again {
            return Answer::Nothing;
        }
        self.nacked = (self.cumulative(), now.after(parameters.nack_interval));
        Answer::Nack
    }

    /// Whether a marked packet triggers a CNP now.
    pub fn notifies(&mut self, now: Instant, parameters: &Parameters) -> bool {
        let Some(interval) = parameters.cnp_interval else { return false };
        let notifies = now >= self.next_cnp;
        if notifies {
            self.next_cnp = now.after(interval);
        }
        notifies
    }
}
