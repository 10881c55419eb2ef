use pullnet_transport::{ConnId, CumulativeAck, DataPacket, Event, FlowStatus, HostAddr};
use pullnet_units::{Instant, PacketSeq, Picos};

use crate::endpoint::{Flows, Known, Rules};
use crate::received::{Noted, ReceivedSet};

/// The receiving half of a flow whose last packet is marked as such and whose packets may arrive in any order. `T` is the
/// transport's own state of a flow.
#[derive(Clone, Debug)]
pub struct Incoming<T = ()> {
    /// The sender.
    pub peer: HostAddr,
    /// Its number for the flow.
    pub conn: ConnId,
    /// Number of paths back to the sender, and the one of this flow.
    pub paths: (u16, u16),
    received: ReceivedSet,
    /// Number of packets, once the last one has arrived.
    total: Option<u32>,
    bytes: u64,
    last_progress: Instant,
    /// When the sender was last heard.
    pub last_heard: Instant,
    /// State of the transport, for each flow.
    pub kept: T,
}

impl<T: Default> Incoming<T> {
    /// A flow without packets so far.
    pub fn open(now: Instant, (peer, conn): (HostAddr, ConnId), paths: (u16, u16)) -> Self {
        let (received, total) = (ReceivedSet::default(), None);
        let kept = T::default();
        Self { peer, conn, paths, received, total, bytes: 0, last_progress: now, last_heard: now, kept }
    }
}

impl<T> Incoming<T> {
    /// Notes a packet of `bytes` bytes payload. `None`: a sender that follows the rules has not sent it.
    pub fn on_data(&mut self, now: Instant, seq: u32, last: bool, bytes: u32) -> Option<Noted> {
        let beyond = self.total.is_some_and(|total| seq >= total);
        if beyond || seq == u32::MAX {
            return None;
        }
        let noted = self.received.insert(seq);
        if noted == Noted::TooFar {
            return None;
        }
        if last && self.total.is_none() {
            self.total = Some(seq + 1);
        }
        self.last_heard = now;
        if noted == Noted::New {
            self.bytes += u64::from(bytes);
            self.last_progress = now;
        }
        Some(noted)
    }

    /// Every packet below this number has arrived.
    pub fn cumulative(&self) -> u32 {
        self.received.cumulative()
    }

    /// Whether every packet has arrived.
    pub fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.received.cumulative() >= total)
    }

    /// Acknowledges what has arrived, in answer to the data packet `answers`.
    pub fn ack(&self, answers: Option<u32>) -> CumulativeAck {
        let (cumulative, finished) = (self.cumulative(), self.is_complete());
        CumulativeAck { conn: self.conn, cumulative, answers, finished }
    }

    /// State of the flow.
    pub fn status(&self) -> FlowStatus {
        FlowStatus::of_receiver(self.peer, self.conn, self.bytes, self.last_progress)
    }
}

/// The flow of a packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admitted {
    /// It is open: the slot of its receiver.
    Open(u32),
    /// It has ended and its last ACK may be lost: the packet is answered, by these paths.
    Ended((u16, u16)),
    /// It was given up. The packet is reported as a stray one.
    Stray,
}

/// The ACK of a data packet, and its paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// Number of paths to the sender, and the one of this flow.
    pub paths: (u16, u16),
    /// The ACK. If the flow had ended before, its `cumulative` is 0.
    pub ack: CumulativeAck,
    /// The packet had arrived before.
    pub repeated: bool,
}

impl<T: Default, R: Rules<Receiver = Incoming<T>>> Flows<R> {
    /// Finds the flow of a packet or opens it: any packet may be the first to arrive. Its sender may be silent for `silence`;
    /// `paths` draws the number of paths back to it and one of them.
    pub fn admit(
        &mut self,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        silence: Picos,
        paths: impl FnOnce() -> (u16, u16),
    ) -> Admitted {
        match self.known(now, peer, conn) {
            Known::Open(slot) => Admitted::Open(slot),
            Known::Finished => Admitted::Ended(paths()),
            Known::Dismissed => {
                self.events.push(Event::Stray { peer, conn });
                Admitted::Stray
            }
            Known::New => {
                let slot = self.open_receiver(peer, conn, Incoming::open(now, (peer, conn), paths()));
                self.arm_receiver(slot, now.after(silence));
                Admitted::Open(slot)
            }
        }
    }

    /// Takes a data packet from the host `from`. [`Self::admit`] opens its flow if necessary, and the last packet ends it.
    /// Returns what its ACK says; `None` for a stray packet, or one that a sender that follows the rules has not sent.
    pub fn receive(
        &mut self,
        now: Instant,
        from: HostAddr,
        data: DataPacket,
        bytes: u32,
        silence: Picos,
        paths: impl FnOnce() -> (u16, u16),
    ) -> Option<Receipt> {
        let slot = match self.admit(now, (from, data.conn), silence, paths) {
            Admitted::Open(slot) => slot,
            Admitted::Ended(paths) => {
                let ack = CumulativeAck::ended(data.conn, Some(data.seq));
                return Some(Receipt { paths, ack, repeated: true });
            }
            Admitted::Stray => return None,
        };
        let (receiver, noted) = self.take_data(now, slot, data, bytes)?;
        let (paths, ack) = (receiver.paths, receiver.ack(Some(data.seq)));
        if ack.finished {
            self.finish(now, slot, from, data.conn);
        }
        Some(Receipt { paths, ack, repeated: noted != Noted::New })
    }

    /// Notes a packet for the receiver in `slot` and delivers its payload if it is new. Returns both; `None` as by
    /// [`Incoming::on_data`].
    pub fn take_data(
        &mut self,
        now: Instant,
        slot: u32,
        data: DataPacket,
        bytes: u32,
    ) -> Option<(&mut Incoming<T>, Noted)> {
        let receiver = self.receivers.get_mut(slot)?;
        let noted = receiver.on_data(now, data.seq, data.last, bytes)?;
        if noted == Noted::New {
            self.events.push(Event::Delivered { slot, seq: PacketSeq::new(data.seq), bytes });
        }
        Some((receiver, noted))
    }

    /// The timer of the receiver in `slot` is due: a sender that has been silent for `silence` is given up.
    pub fn check_silence(&mut self, now: Instant, slot: u32, silence: Picos) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (peer, conn, until) = (receiver.peer, receiver.conn, receiver.last_heard.after(silence));
        if until > now {
            self.arm_receiver(slot, until);
        } else {
            self.dismiss(now, slot, peer, conn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming() -> Incoming {
        Incoming::open(Instant(5), (HostAddr(1), ConnId::new(2)), (4, 3))
    }

    #[test]
    fn it_is_complete_when_everything_up_to_the_last_packet_has_arrived() {
        let mut flow = incoming();
        assert_eq!(flow.on_data(Instant(10), 2, true, 30), Some(Noted::New));
        assert_eq!(flow.on_data(Instant(11), 0, false, 100), Some(Noted::New));
        assert!(!flow.is_complete() && flow.cumulative() == 1);
        assert_eq!(flow.on_data(Instant(12), 0, false, 100), Some(Noted::Known));
        assert_eq!(flow.on_data(Instant(13), 1, false, 100), Some(Noted::New));
        let status = flow.status();
        assert!(flow.is_complete() && status.bytes == 230 && status.last_progress == Instant(13));
    }

    #[test]
    fn packets_that_no_sender_sends_change_nothing() {
        let mut flow = incoming();
        assert_eq!(flow.on_data(Instant(10), 3, true, 1), Some(Noted::New));
        assert_eq!(flow.on_data(Instant(20), 4, true, 1), None);
        assert_eq!(flow.on_data(Instant(20), u32::MAX, false, 1), None);
        assert!(flow.last_heard == Instant(10) && flow.status().bytes == 1);
    }
}
