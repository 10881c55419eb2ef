//! The receiving side of a host.

use pullnet_transport::{ConnId, Event, Fate, HostAddr, Received, Transmit, Transport};
use pullnet_units::{Instant, PacketSeq, WireLen};
use pullnet_window::{Control, LastAnswer, Paths, Ranges, Segment};

use super::{MAX_RANGES, MOST_CONNECTIONS, MOST_SUBFLOWS, MultipathEndpoint, Subflow};
use crate::header::{MultipathHeader, SubflowAck, SubflowData};
use crate::receiver::Receiver;

impl<C: Control> MultipathEndpoint<C> {
    /// `None` if the host has reached its limit of connections.
    fn open_receiver(&mut self, now: Instant, peer: HostAddr, conn: ConnId, paths: u16) -> Option<u32> {
        let paths = paths.max(1);
        let ack_paths = self.multipath.paths(paths, &mut self.chance);
        let receiver = Receiver::open(now, (peer, conn), (paths, ack_paths), self.next_generation());
        let slot = self.receivers.insert(peer, conn, receiver);
        if slot >= MOST_CONNECTIONS {
            self.receivers.remove(peer, conn);
            return None;
        }
        self.events.push(Event::Opened { slot, peer, conn });
        self.watch_silence(now, slot);
        Some(slot)
    }

    /// The check for silence comes after a time-wait, or after as long as the sender has been silent, so that most
    /// connections that end need only one check.
    fn watch_silence(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let step = self.rules.time_wait.max(now.since(receiver.last_heard));
        receiver.due = receiver.last_heard.after(self.silence).min(now.after(step));
        self.silences.insert((receiver.due, slot));
    }

    pub(super) fn check_silence(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        if receiver.last_heard.after(self.silence) > now {
            return self.watch_silence(now, slot);
        }
        let (peer, conn) = (receiver.peer, receiver.conn);
        if let Some(receiver) = self.close_receiver(peer, conn, slot) {
            for index in receiver.open_subflows() {
                self.drop_subflow(slot, &receiver, index);
            }
        }
        self.events.push(Event::Silent { slot });
    }

    fn close_receiver(&mut self, peer: HostAddr, conn: ConnId, slot: u32) -> Option<Receiver> {
        let receiver = self.receivers.remove(peer, conn)?;
        self.silences.remove(&(receiver.due, slot));
        Some(receiver)
    }

    /// Forgets a subflow of a closed connection. Returns its latest answer.
    fn drop_subflow(&mut self, slot: u32, receiver: &Receiver, index: usize) -> Option<LastAnswer> {
        let name = Subflow { slot, generation: receiver.generation, index }.name();
        self.subflows.drop_receiver(receiver.peer, name)
    }

    fn stray(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        if self.received.contains(peer, conn) {
            self.received.note(now, peer, conn);
        }
        self.events.push(Event::Stray { peer, conn });
    }

    /// The SYN of the first subflow opens the connection; other subflows join an open one. A repeated SYN is answered
    /// again.
    pub(super) fn handle_syn(
        &mut self,
        now: Instant,
        packet: &Received<MultipathHeader>,
        conn: ConnId,
        subflow: u32,
    ) {
        let (peer, paths) = (packet.from, packet.paths);
        let slot = match self.receivers.find(peer, conn) {
            _ if subflow >= MOST_SUBFLOWS => None,
            None if subflow == 0 && !self.received.contains(peer, conn) => {
                self.open_receiver(now, peer, conn, paths)
            }
            found => found,
        };
        let Some(slot) = slot else { return self.stray(now, peer, conn) };
        self.hand_on(now, packet, slot, subflow as usize, |conn| Segment::Syn { conn });
    }

    /// Passes a packet to the receiver of its subflow, and opens that if necessary. Returns the payload that is new to
    /// the subflow.
    fn hand_on(
        &mut self,
        now: Instant,
        packet: &Received<MultipathHeader>,
        slot: u32,
        index: usize,
        segment: impl FnOnce(ConnId) -> Segment,
    ) -> Option<u32> {
        let receiver = self.receivers.get_mut(slot)?;
        receiver.last_heard = now;
        receiver.open_subflow(index);
        let name = Subflow { slot, generation: receiver.generation, index }.name();
        let Received { from, paths, wire, fate, ce, .. } = *packet;
        self.subflows.handle(now, Received { from, paths, wire, fate, ce, header: segment(name) });
        let mut new = None;
        while let Some(event) = self.subflows.poll_event() {
            if let Event::Delivered { bytes, .. } = event {
                new = Some(bytes);
            }
        }
        new
    }

    pub(super) fn handle_data(
        &mut self,
        now: Instant,
        packet: &Received<MultipathHeader>,
        data: SubflowData,
    ) {
        if packet.fate == Fate::Trimmed && !self.rules.nack {
            return;
        }
        if let Some(slot) = self.receiver_of(now, packet, data) {
            self.take(now, packet, slot, data);
        }
    }

    /// The slot of the connection that `data` belongs to or opens, unless it may not carry `data`.
    fn receiver_of(
        &mut self,
        now: Instant,
        packet: &Received<MultipathHeader>,
        data: SubflowData,
    ) -> Option<u32> {
        let (peer, SubflowData { conn, subflow, seq, data: number, opens, .. }) = (packet.from, data);
        let window = self.rules.receive_window;
        let opens = opens && seq < window;
        let slot = match self.receivers.find(peer, conn) {
            Some(slot) => Some(slot),
            None if self.received.contains(peer, conn) => {
                self.answer_late(now, packet, data);
                return None;
            }
            None if opens && number < window && subflow < MOST_SUBFLOWS => {
                self.open_receiver(now, peer, conn, packet.paths)
            }
            None => None,
        };
        let open = |receiver: &mut Receiver| receiver.has_subflow(subflow as usize);
        let known = slot.and_then(|slot| self.receivers.get_mut(slot)).is_some_and(open);
        if slot.is_none() || !(known || (opens && subflow < MOST_SUBFLOWS)) {
            self.stray(now, peer, conn);
            return None;
        }
        let accepted = self.receivers.get_mut(slot?)?.accepts(window, number);
        self.refused += u64::from(!accepted);
        slot.filter(|_| accepted)
    }

    fn take(&mut self, now: Instant, packet: &Received<MultipathHeader>, slot: u32, data: SubflowData) {
        let (index, SubflowData { seq, data: number, opens, last, .. }) = (data.subflow as usize, data);
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.open_subflow(index);
        receiver.note_arrival(index, seq, number);
        // The last data of the connection need not be the last packet of its subflow.
        let segment = |conn| Segment::Data { conn, seq, opens, last: false };
        let Some(bytes) = self.hand_on(now, packet, slot, index, segment) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        if receiver.take(now, number, bytes, last) {
            self.events.push(Event::Delivered { slot, seq: PacketSeq::new(number), bytes });
        }
        if receiver.complete() {
            self.complete(now, packet, slot, data);
        }
    }

    /// All data has arrived: says so for the last packet, and on every other subflow that delays an ACK. Its packets get
    /// no other answer, and one ACK may be lost.
    fn complete(&mut self, now: Instant, packet: &Received<MultipathHeader>, slot: u32, data: SubflowData) {
        let Some(receiver) = self.close_receiver(packet.from, data.conn, slot) else { return };
        self.received.note(now, packet.from, data.conn);
        self.events.push(Event::Received { slot });
        for index in receiver.open_subflows() {
            let Some(LastAnswer { seq, delayed }) = self.drop_subflow(slot, &receiver, index) else {
                continue;
            };
            let subflow = index as u32;
            if delayed || subflow == data.subflow {
                let answered = SubflowData { subflow, data: receiver.data_of(index, seq), ..data };
                self.finish(packet, answered, receiver.data_ack());
            }
        }
    }

    /// The last ACKs of an ended connection were lost: tells the sender again that all data has arrived.
    fn answer_late(&mut self, now: Instant, packet: &Received<MultipathHeader>, data: SubflowData) {
        self.received.note(now, packet.from, data.conn);
        self.finish(packet, data, data.data.saturating_add(1));
    }

    /// The ACK of all data, on any path.
    fn finish(&mut self, packet: &Received<MultipathHeader>, data: SubflowData, data_ack: u32) {
        let SubflowData { conn, subflow, data: answers, .. } = data;
        let (echo, ranges) = (packet.ce && self.rules.ecn, Ranges::default());
        let header = MultipathHeader::Ack(SubflowAck {
            conn,
            subflow,
            cumulative: 0,
            data_ack,
            answers,
            echo,
            finished: true,
            ranges,
        });
        let path = self.chance.below(packet.paths.max(1).into()) as u16;
        let wire = WireLen::of(self.rules.ack.max(self.rules.header));
        self.replies.push(Transmit::control(packet.from, path, wire, header));
    }

    /// Completes an answer of a subflow's receiver: an ACK gets the connection's DATA_ACK. `None` if the connection has
    /// ended, and its last ACK has acknowledged everything.
    pub(super) fn answer(
        &mut self,
        packet: &Transmit<Segment>,
        subflow: Subflow,
    ) -> Option<Transmit<MultipathHeader>> {
        let same = |receiver: &&mut Receiver| receiver.generation == subflow.generation;
        let receiver = self.receivers.get_mut(subflow.slot).filter(same)?;
        let (conn, index) = (receiver.conn, subflow.index as u32);
        let single = self.rules.paths == Paths::Single;
        let Transmit { to, mut path, mut wire, class, priority, ect, again, .. } = *packet;
        if single {
            path = receiver.ack_path(subflow.index);
        }
        let header = match packet.header {
            Segment::Ack { cumulative, answers, echo, ranges, .. } => {
                let sent: Ranges = ranges.iter().take(MAX_RANGES).collect();
                let shorter = 8 * (ranges.len() - sent.len()) as u32;
                wire = WireLen::of(u32::from(wire).saturating_sub(shorter).max(self.rules.ack));
                MultipathHeader::Ack(SubflowAck {
                    conn,
                    subflow: index,
                    cumulative,
                    data_ack: receiver.data_ack(),
                    answers: receiver.data_of(subflow.index, answers),
                    echo,
                    finished: false,
                    ranges: sent,
                })
            }
            Segment::Nack { seq, .. } => {
                let data = receiver.data_of(subflow.index, seq);
                MultipathHeader::Nack { conn, subflow: index, seq, data }
            }
            _ => {
                // Each ACK takes another path: the first one may be down.
                if single {
                    path = self.chance.below(receiver.paths.into()) as u16;
                }
                MultipathHeader::SynAck { conn, subflow: index }
            }
        };
        Some(Transmit { to, path, wire, class, priority, ect, again, header })
    }
}
