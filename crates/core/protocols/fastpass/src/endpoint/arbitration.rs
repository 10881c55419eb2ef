//! Messages between a host and its arbiter, from either side.

use core::cmp::Reverse;

use pullnet_connections::Flows;
use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};

use super::{FastpassRules, Slot};
use crate::arbiter::{Schedule, Slots};
use crate::header::FastpassHeader;
use crate::liaison::Change;

impl FastpassRules {
    /// A control packet between a host and an arbiter.
    pub(super) fn on_word(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (from, paths): (HostAddr, u16),
        header: FastpassHeader,
    ) {
        match header {
            FastpassHeader::Request { .. }
            | FastpassHeader::End { .. }
            | FastpassHeader::Probe { answer: false } => {
                self.answer(flows, now, from, paths, header);
            }
            _ if !self.liaison.knows(from) => {}
            _ => {
                let change = self.liaison.heard(from, paths);
                match header {
                    FastpassHeader::Status { handle, round, left } => {
                        self.on_status(flows, now, handle, round, left)
                    }
                    FastpassHeader::Schedule { epoch, slots } => self.on_schedule(flows, now, epoch, &slots),
                    _ => {}
                }
                self.apply(flows, now, change);
            }
        }
    }

    /// The arbiter's part; hosts that are none do not answer.
    fn answer(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: HostAddr,
        paths: u16,
        header: FastpassHeader,
    ) {
        let Some(arbiter) = &mut self.arbiter else { return };
        let reply = match header {
            FastpassHeader::Request { handle, round, demand } => {
                arbiter.on_request(now, &self.rules, (from, paths), (handle, round), demand)
            }
            FastpassHeader::End { handle } => {
                arbiter.on_end(now, &self.rules, from, handle);
                None
            }
            _ => Some(FastpassHeader::Probe { answer: true }),
        };
        if let Some(reply) = reply {
            let paths = self.link.paths_to(paths);
            self.send_control(flows, from, paths, reply);
        }
    }

    /// The arbiter's epochs.
    pub(super) fn arbitrate(&mut self, flows: &mut Flows<Self>, now: Instant) {
        while let Some(arbiter) = self.arbiter.as_mut().filter(|arbiter| arbiter.due().at <= now) {
            let Some((epoch, schedules)) = arbiter.on_timeout(now, &self.rules) else { continue };
            for Schedule { source, ways, slots } in schedules {
                let paths = self.link.paths_to(ways);
                self.send_control(flows, source, paths, FastpassHeader::Schedule { epoch, slots });
            }
        }
    }

    /// Sends to one of the arbiters.
    fn tell(&mut self, flows: &mut Flows<Self>, arbiter: HostAddr, header: FastpassHeader) {
        let ways = self.liaison.ways(arbiter);
        self.send_control(flows, arbiter, (ways, (self.own.0 % u32::from(ways)) as u16), header);
    }

    /// Rules S1 and S5: asks the current arbiter for slots; without one the flow falls back.
    pub(super) fn ask(&mut self, flows: &mut Flows<Self>, now: Instant, handle: u32) {
        let arbiter = self.liaison.current();
        let Some(sender) = flows.senders.get_mut(handle) else { return };
        match arbiter {
            Some(arbiter) => {
                self.rounds = self.rounds.wrapping_add(1);
                let request = sender.ask(now, &self.rules, handle, self.rounds);
                self.liaison.asked(now);
                self.tell(flows, arbiter, request);
            }
            None => sender.fall_back(now, &self.rules),
        }
        self.link.line_up(flows, handle);
    }

    /// Rule S4: repeats a request, unless the arbiter counts as dead by now. A destination that has waited for long hears that the
    /// flow is alive.
    pub(super) fn repeat(&mut self, flows: &mut Flows<Self>, now: Instant, handle: u32) {
        match self.liaison.check(now, self.rules.arbiter_timeout) {
            Change::None => {}
            change => return self.apply(flows, now, change),
        }
        let Some(sender) = flows.senders.get_mut(handle) else { return };
        let request = sender.request(handle);
        if sender.may_be_forgotten(now, &self.rules) {
            let (to, conn, paths) = (sender.flow.to, sender.flow.conn, sender.flow.paths);
            self.send_control(flows, to, paths, FastpassHeader::Alive { conn });
        }
        if let Some(arbiter) = self.liaison.current() {
            self.liaison.asked(now);
            self.tell(flows, arbiter, request);
        }
        self.link.line_up(flows, handle);
    }

    /// Rules H1 to H3 for all flows of the host.
    fn apply(&mut self, flows: &mut Flows<Self>, now: Instant, change: Change) {
        if change == Change::None {
            return;
        }
        for handle in 0..self.handles {
            if flows.senders.get_mut(handle).is_none() {
                continue;
            }
            if let Change::Ask { leave: Some(other) } = change {
                self.tell(flows, other, FastpassHeader::End { handle });
            }
            self.ask(flows, now, handle);
        }
        self.watch_the_dead(now);
    }

    /// Rule H2: while arbiters count as dead, and flows are open, they are asked from time to time.
    pub(super) fn watch_the_dead(&mut self, now: Instant) {
        if self.sending == 0 {
            self.liaison.rest();
        } else if self.liaison.is_regular() {
            self.liaison.probe_at = Instant::NEVER;
        } else if self.liaison.probe_at == Instant::NEVER {
            self.liaison.probe_at = now.after(self.rules.probe);
        }
    }

    pub(super) fn probe(&mut self, flows: &mut Flows<Self>, now: Instant) {
        if now < self.liaison.probe_at {
            return;
        }
        self.liaison.probe_at = now.after(self.rules.probe);
        for arbiter in self.liaison.dead() {
            self.tell(flows, arbiter, FastpassHeader::Probe { answer: false });
        }
    }

    /// The flow has ended and needs no more slots.
    pub(super) fn leave(&mut self, flows: &mut Flows<Self>, now: Instant, handle: u32) {
        self.sending -= 1;
        if let Some(arbiter) = self.liaison.current() {
            self.tell(flows, arbiter, FastpassHeader::End { handle });
        }
        self.watch_the_dead(now);
    }

    fn on_status(&mut self, flows: &mut Flows<Self>, now: Instant, handle: u32, round: u32, left: u32) {
        if let Some(sender) = flows.senders.get_mut(handle) {
            sender.on_status(now, &self.rules, round, left);
            self.link.line_up(flows, handle);
        }
    }

    /// Rule S2: slots that have come are noted. A slot whose time has passed is used at once.
    fn on_schedule(&mut self, flows: &mut Flows<Self>, now: Instant, epoch: u32, slots: &Slots) {
        let begin = self.begin(now, epoch);
        for (place, slot) in (0..).zip(slots).take(self.rules.slots as usize) {
            let Some((slot, sender)) =
                slot.and_then(|slot| Some((slot, flows.senders.get_mut(slot.handle)?)))
            else {
                continue;
            };
            sender.on_slot(now, &self.rules);
            self.numbers += 1;
            let at = begin.after(self.rules.slot.saturating_mul(place));
            let (number, handle, conn, path) = (self.numbers, slot.handle, sender.flow.conn, slot.path);
            self.slots.push(Reverse(Slot { at, number, handle, conn, path }));
            self.link.line_up(flows, handle);
        }
        self.take_slots(now);
    }

    /// When the first slot of an epoch begins by the clock of this host. An epoch that lies further ahead than schedules are made
    /// is not believed.
    fn begin(&self, now: Instant, epoch: u32) -> Instant {
        if !self.rules.aligned {
            return now;
        }
        let length = self.rules.epoch();
        let current = now.0 / length.0;
        let ahead = i64::from(epoch.wrapping_sub(current as u32) as i32);
        let epoch = current.saturating_add_signed(ahead);
        let meant = Instant(epoch.saturating_mul(length.0)).after(self.rules.lead);
        let latest = now.after(self.rules.lead).after(length);
        Instant(meant.min(latest).0.saturating_add_signed(-self.ahead))
    }

    /// Slots whose time has come.
    pub(super) fn take_slots(&mut self, now: Instant) {
        while let Some(Reverse(slot)) = self.slots.peek().copied().filter(|Reverse(slot)| slot.at <= now) {
            self.slots.pop();
            self.ready.push_back(slot);
        }
    }

    /// A source that has been silent for longer than it may be is forgotten.
    pub(super) fn silence(&self) -> Picos {
        self.rules.limits.silence()
    }
}
