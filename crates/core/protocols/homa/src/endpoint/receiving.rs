//! The receiving side of a host: grants and missing packets.

use alloc::vec::Vec;

use pullnet_connections::{Flows, Known};
use pullnet_pull::Noted;
use pullnet_transport::{ConnId, Event, HostAddr, Origin};
use pullnet_units::{Instant, PacketSeq};

use super::HomaRules;
use crate::header::HomaHeader;
use crate::receiver::{Check, Receiver};

impl HomaRules {
    /// Rule R1: finds the message or opens it. A packet of a finished message is answered.
    pub(super) fn receiver_for(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: Origin,
        packets: u32,
    ) -> Option<u32> {
        let Origin { peer, conn, paths } = from;
        match flows.known(now, peer, conn) {
            Known::Open(slot) => return Some(slot),
            Known::New if packets > 0 => return Some(self.open_receiver(flows, now, from, packets)),
            // The ACK was lost.
            Known::Finished => {
                let paths = self.link.paths_to(paths);
                self.send_control(flows, peer, paths, HomaHeader::Ack { conn });
            }
            Known::New | Known::Dismissed => flows.events.push(Event::Stray { peer, conn }),
        }
        None
    }

    fn open_receiver(&mut self, flows: &mut Flows<Self>, now: Instant, from: Origin, packets: u32) -> u32 {
        let Origin { peer, conn, paths } = from;
        let (paths, opened) = (self.link.paths_to(paths), self.link.number());
        let receiver = Receiver::open(now, &self.config, (peer, conn), packets, opened, paths);
        let (waits, standing) = (receiver.needs_grants(), receiver.standing());
        let slot = flows.open_receiver(peer, conn, receiver);
        flows.arm_receiver(slot, now.after(self.config.timeout));
        if waits {
            self.waiting.insert(slot, &standing);
        }
        slot
    }

    pub(super) fn on_data(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32, seq: u32, bytes: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let Some(noted) = receiver.on_data(now, seq) else { return };
        if noted == Noted::New {
            receiver.bytes += u64::from(bytes);
            flows.events.push(Event::Delivered { slot, seq: PacketSeq::new(seq), bytes });
        }
        if receiver.is_complete() {
            self.finish(flows, now, slot);
        } else if receiver.needs_grants() {
            self.waiting.insert(slot, &receiver.standing());
        }
        self.give_grants(flows);
    }

    /// Rule R6: a single ACK tells that all data has arrived.
    fn finish(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let (peer, conn, paths) = (receiver.peer, receiver.conn, (receiver.paths, receiver.path));
        self.waiting.forget(slot);
        flows.finish(now, slot, peer, conn);
        self.send_control(flows, peer, paths, HomaHeader::Ack { conn });
    }

    /// Rules R2 to R4: grants go to the messages with the fewest packets left, to as many at a time as allowed. The
    /// levels used are the lowest ones that suffice; the shortest message has the most urgent of them.
    fn give_grants(&mut self, flows: &mut Flows<Self>) {
        let chosen: Vec<u32> = self.waiting.leading(self.config.degree()).collect();
        let levels = usize::from(self.config.scheduled_levels());
        for (rank, slot) in chosen.iter().enumerate() {
            let Some(receiver) = flows.receivers.get_mut(*slot) else { continue };
            let priority = (chosen.len() - 1 - rank).min(levels - 1) as u8;
            let Some(grant) = receiver.grant(&self.config, priority) else { continue };
            let (to, paths) = (receiver.peer, (receiver.paths, receiver.path));
            if !receiver.needs_grants() {
                self.waiting.remove(*slot);
            }
            self.send_control(flows, to, paths, grant);
        }
    }

    /// Answers a query: the sender's timer has expired, so missing packets are requested without waiting for the timer
    /// here.
    pub(super) fn on_query(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (to, conn, paths) = (receiver.peer, receiver.conn, (receiver.paths, receiver.path));
        let answer = receiver.missing().unwrap_or(HomaHeader::Busy { conn, by_sender: false });
        self.send_control(flows, to, paths, answer);
    }

    /// The sender has not forgotten the message.
    pub(super) fn on_busy(flows: &mut Flows<Self>, now: Instant, (peer, conn): (HostAddr, ConnId)) {
        let Some(slot) = flows.receivers.find(peer, conn) else { return };
        if let Some(receiver) = flows.receivers.get_mut(slot) {
            receiver.last_heard = now;
        }
    }

    pub(super) fn check_receiver(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let (peer, conn, paths) = (receiver.peer, receiver.conn, (receiver.paths, receiver.path));
        match receiver.check(now, &self.config) {
            Check::At(next) => flows.arm_receiver(slot, next),
            Check::Resend(header) => {
                flows.arm_receiver(slot, now.after(self.config.timeout));
                self.send_control(flows, peer, paths, header);
                // Grants go to other messages until data arrives again.
                self.waiting.remove(slot);
                self.give_grants(flows);
            }
            Check::GiveUp => {
                self.waiting.forget(slot);
                flows.dismiss(now, slot, peer, conn);
                self.give_grants(flows);
            }
        }
    }
}
