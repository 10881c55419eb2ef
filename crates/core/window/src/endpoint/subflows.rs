//! Access to several connections that carry one flow: a multipath transport keeps its subflows here, and decides itself
//! which data each subflow carries.

use core::hash::BuildHasher;

use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::Instant;

use super::Endpoint;
use crate::control::Control;
use crate::subflow::{LastAnswer, Subflow};

impl<C: Control, S: BuildHasher + Default> Endpoint<C, S> {
    /// State of the sender of a subflow; `None` if it is not open.
    #[inline]
    pub fn subflow(&mut self, to: HostAddr, conn: ConnId) -> Option<Subflow> {
        let slot = self.senders.find(to, conn)?;
        self.senders.get_mut(slot).map(|sender| sender.subflow())
    }

    /// Sets the limit on the numbers of new packets: they stay below `limit`. A limit below packets already sent stops
    /// new ones; retransmissions go on.
    pub fn set_limit(&mut self, now: Instant, to: HostAddr, conn: ConnId, limit: u32) {
        if let Some(slot) = self.senders.find(to, conn) {
            self.with_sender(now, slot, |sender, _| sender.set_limit(limit));
        }
    }

    /// Limits the growth of a connection's window ([`Control::limit_growth`]).
    #[inline]
    pub fn limit_growth(&mut self, to: HostAddr, conn: ConnId, step: f64) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        if let Some(sender) = self.senders.get_mut(slot) {
            sender.limit_growth(step);
        }
    }

    /// Visits the packets of a connection that have left and were neither acknowledged nor SACKed.
    pub fn unacknowledged(&mut self, to: HostAddr, conn: ConnId, visit: &mut impl FnMut(u32)) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        if let Some(sender) = self.senders.get_mut(slot) {
            sender.unacknowledged(visit);
        }
    }

    /// Forgets the sender of a connection; the owner does not reuse its number.
    pub fn drop_sender(&mut self, to: HostAddr, conn: ConnId) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        if self.senders.remove(to, conn).is_some_and(|sender| sender.queued) {
            self.ready.remove(slot);
        }
    }

    /// Forgets the receiver of a connection; the owner does not reuse its number. Returns its latest answer, which the owner
    /// gives if that has not left.
    pub fn drop_receiver(&mut self, peer: HostAddr, conn: ConnId) -> Option<LastAnswer> {
        self.receivers.remove(peer, conn).map(|receiver| receiver.last_answer())
    }
}
