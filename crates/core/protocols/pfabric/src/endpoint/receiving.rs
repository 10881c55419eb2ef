//! The receiving side of a host: it acknowledges every packet.

use pullnet_connections::{Flows, Known};
use pullnet_pull::{Noted, ReceivedSet, Sprayer};
use pullnet_transport::{Class, ConnId, Event, HostAddr, Transmit};
use pullnet_units::{Instant, Picos};

use super::PfabricRules;
use crate::header::PfabricHeader;

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    paths: u16,
    path: u16,
    received: ReceivedSet,
    /// Number of packets; `None` until the last one was seen.
    total: Option<u32>,
    pub bytes: u64,
    pub last_progress: Instant,
    last_heard: Instant,
}

impl Receiver {
    /// Notes a packet. `None` if no conforming sender can have sent it.
    fn on_data(&mut self, now: Instant, seq: u32, last: bool) -> Option<Noted> {
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
            self.last_progress = now;
        }
        Some(noted)
    }

    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.received.cumulative() >= total)
    }
}

impl PfabricRules {
    fn acknowledge(
        &mut self,
        flows: &mut Flows<Self>,
        to: HostAddr,
        paths: (u16, u16),
        header: PfabricHeader,
    ) {
        let path = self.sprayer.next(paths, &mut self.chance);
        let wire = self.config.header.0 as u16;
        let (class, priority) = (Class::Control, 0);
        flows.control.push(Transmit { to, path, wire, class, priority, ect: false, again: false, header });
    }

    /// Finds the connection or opens it: any data packet may be the first to arrive. A packet of a finished connection
    /// is answered.
    fn receiver_for(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        paths: u16,
        answers: Option<u32>,
    ) -> Option<u32> {
        match flows.known(now, peer, conn) {
            Known::Open(slot) => return Some(slot),
            Known::Finished => {
                let paths = (paths, Sprayer::own(paths, &mut self.chance));
                let header = PfabricHeader::Ack { conn, cumulative: 0, answers, finished: true };
                self.acknowledge(flows, peer, paths, header);
                return None;
            }
            Known::Dismissed => {
                flows.events.push(Event::Stray { peer, conn });
                return None;
            }
            Known::New => {}
        }
        let path = Sprayer::own(paths, &mut self.chance);
        let receiver = Receiver {
            peer,
            conn,
            paths,
            path,
            received: ReceivedSet::default(),
            total: None,
            bytes: 0,
            last_progress: now,
            last_heard: now,
        };
        let slot = flows.open_receiver(peer, conn, receiver);
        flows.arm_receiver(slot, now.after(self.silence()));
        Some(slot)
    }

    /// Forgets a receiver whose sender has been silent for longer than allowed.
    fn silence(&self) -> Picos {
        self.config.give_up.saturating_mul(2)
    }

    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: (HostAddr, ConnId),
        paths: u16,
        (seq, last): (u32, bool),
        bytes: u32,
    ) {
        let Some(slot) = self.receiver_for(flows, now, from, paths, Some(seq)) else { return };
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let Some(noted) = receiver.on_data(now, seq, last) else { return };
        if noted == Noted::New {
            receiver.bytes += u64::from(bytes);
            flows.events.push(Event::Delivered { slot, seq, bytes });
        }
        let (peer, conn) = from;
        let (finished, cumulative) = (receiver.is_complete(), receiver.received.cumulative());
        let paths = (receiver.paths, receiver.path);
        self.acknowledge(
            flows,
            peer,
            paths,
            PfabricHeader::Ack { conn, cumulative, answers: Some(seq), finished },
        );
        if finished {
            flows.finish(now, slot, peer, conn);
        }
    }

    pub(super) fn on_probe(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: (HostAddr, ConnId),
        paths: u16,
    ) {
        let Some(slot) = self.receiver_for(flows, now, from, paths, None) else { return };
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (cumulative, conn) = (receiver.received.cumulative(), receiver.conn);
        let (peer, paths) = (receiver.peer, (receiver.paths, receiver.path));
        let header = PfabricHeader::Ack { conn, cumulative, answers: None, finished: false };
        self.acknowledge(flows, peer, paths, header);
    }

    pub(super) fn check_receiver(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let (peer, conn) = (receiver.peer, receiver.conn);
        let until = receiver.last_heard.after(self.silence());
        if until > now {
            flows.arm_receiver(slot, until);
        } else {
            flows.dismiss(now, slot, peer, conn);
        }
    }
}
