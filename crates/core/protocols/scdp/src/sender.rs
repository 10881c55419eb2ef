//! The sending half of a session: choice of the next symbol, and timeouts.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use pullnet_codes::{MAX_ENCODING_SYMBOLS, Share};
use pullnet_pull::PathSet;
use pullnet_rng::RandomStream;
use pullnet_transport::{Awaited, ConnId, FlowSpec, GroupMember, HostAddr, SendCounts, Transmit};
use pullnet_units::{Instant, Picos, WireLen};

use crate::config::{Rules, TOP};
use crate::group::{Group, Member, Word};
use crate::header::{ScdpHeader, Symbol};
use crate::shape::{Cut, Shape};

/// Largest number of times that a wait doubles.
const MAX_DOUBLINGS: u32 = 6;
/// Timeouts that a sender waits once the receiver has answered, since its pull may queue behind those of many sessions.
const PATIENCE: u64 = 16;
/// Least number of probes to a silent receiver before its sender gives up.
const LEAST_ASKS: u64 = 32;
/// Largest credit; no valid pull is further ahead.
const MOST_CREDIT: u32 = 1 << 16;

/// First encoding symbol id for receivers detached from their group, distinct from all ids sent to the group.
const APART: u32 = 1 << 23;

/// A block that may still need symbols.
#[derive(Clone, Copy, Default, Debug)]
struct Out {
    /// Symbols sent, by this sender.
    sent: u32,
    /// Repair symbols that the receiver has pulled from this sender.
    extra: u32,
}

/// The sending half of a connection.
///
/// Long: a rule reads and writes fields of several others, and one connection is one piece of memory; what a single
/// rule keeps is a type of its own.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub to: HostAddr,
    pub conn: ConnId,
    pub priority: u8,
    /// Offset of the flow's number in reports from the session's number.
    pub row: u32,
    /// The receivers, if there are several.
    pub group: Option<Group>,
    /// Whether its receiver was detached from a group.
    apart: bool,
    cut: Cut,
    share: Share,
    paths: PathSet,
    /// Number of the first block in `blocks`: those before it are decodable.
    first: u32,
    /// Blocks from `first` to the one whose source symbols are being sent.
    blocks: VecDeque<Out>,
    /// Symbols of the initial window still to be sent.
    push: u32,
    pushed: u16,
    /// Pulled symbols still to be sent.
    credit: u32,
    /// The latest pull's number.
    served: u32,
    /// Whether that pull had FIN.
    fin: bool,
    /// Whether the next symbol is a probe, sent without a pull.
    ask: bool,
    next_number: u32,
    sent_bytes: u64,
    pub acked_bytes: u64,
    pub counts: SendCounts,
    /// The part of `counts` already reported.
    reported: SendCounts,
    pub last_progress: Instant,
    /// The two latest times between pulls that granted credit.
    intervals: [Picos; 2],
    heard: bool,
    last_heard: Instant,
    last_sent: Instant,
    /// When the latest symbol left that was no probe.
    last_symbol: Instant,
    asks: u32,
    /// Whether it is queued for the link.
    pub queued: bool,
    /// Time of its latest timer entry.
    pub armed: Instant,
}

impl Sender {
    /// `None` for a flow that cannot be cut into symbols.
    pub fn open(
        now: Instant,
        rules: &Rules,
        flow: &FlowSpec,
        share: Share,
        chance: &mut RandomStream,
    ) -> Option<Self> {
        let bytes = flow.size.map(|size| size.0);
        let cut = Cut::new(Shape { bytes, symbol: rules.mtu, most: rules.block as u16 })?;
        let window = if share.of() > 1 { rules.source_window } else { rules.initial_window };
        let push = cut.total.map_or(window, |total| total.div_ceil(share.of().into()).min(window));
        Some(Self {
            to: flow.to,
            conn: flow.conn,
            priority: flow.priority,
            row: 0,
            group: None,
            apart: false,
            cut,
            share,
            paths: PathSet::new(flow.paths, rules.spread, false, chance),
            first: 0,
            blocks: VecDeque::from([Out::default()]),
            push,
            pushed: push as u16,
            credit: 0,
            served: 0,
            fin: false,
            ask: false,
            next_number: 0,
            sent_bytes: 0,
            acked_bytes: 0,
            counts: SendCounts::default(),
            reported: SendCounts::default(),
            last_progress: now,
            intervals: [Picos::ZERO; 2],
            heard: false,
            last_heard: now,
            last_sent: now,
            last_symbol: now,
            asks: 0,
            queued: false,
            armed: Instant::NEVER,
        })
    }

    /// A session with several receivers.
    pub fn with_group(self, members: &[GroupMember]) -> Self {
        Self { group: Some(Group::new(members)), ..self }
    }

    /// Returns the counts since the last call; the flow of each receiver of a group reports a part.
    pub fn take_counts(&mut self) -> SendCounts {
        let before = core::mem::replace(&mut self.reported, self.counts);
        SendCounts {
            sent: self.counts.sent - before.sent,
            again: self.counts.again - before.again,
            timeouts: self.counts.timeouts - before.timeouts,
        }
    }

    /// Counts not reported yet.
    pub fn unreported(&self) -> SendCounts {
        let (all, before) = (self.counts, self.reported);
        SendCounts {
            sent: all.sent - before.sent,
            again: all.again - before.again,
            timeouts: all.timeouts - before.timeouts,
        }
    }

    /// Handles a pull of one receiver of a group. Symbols that all receivers have pulled may then leave.
    pub fn on_group_pull(&mut self, now: Instant, from: HostAddr, pull: Word, (block, extra): (u32, u32)) {
        let Some(group) = &mut self.group else { return };
        let Some(new) = group.note(now, from, pull, self.served) else { return };
        if new {
            self.asks = 0;
        }
        self.serve_group(now, (block, extra));
    }

    /// Grants credit for the symbols that all receivers of the group have pulled.
    fn serve_group(&mut self, now: Instant, directed: (u32, u32)) {
        let Some(Word { number, first, fin }) = self.group.as_ref().and_then(Group::all) else { return };
        if number != self.served
            && let Some(group) = &mut self.group
        {
            group.asked = false;
        }
        self.on_pull(now, number, first, directed, fin);
    }

    /// Removes the receiver `from`, which has everything. Returns its flow's number, counted from the session's.
    pub fn on_group_done(
        &mut self,
        now: Instant,
        from: HostAddr,
        rules: &Rules,
        chance: &mut RandomStream,
    ) -> Option<u32> {
        let row = self.group.as_mut()?.remove(from)?;
        self.last_heard = now;
        self.go_on(now, rules, chance);
        Some(row)
    }

    /// Switches to unicast if one receiver is left.
    fn without_others(&mut self, rules: &Rules, chance: &mut RandomStream) {
        if let Some([last]) = self.group.as_ref().map(Group::members)
            && self.to != last.addr
        {
            self.to = last.addr;
            self.paths = PathSet::new(last.paths, rules.spread, false, chance);
        }
    }

    /// Detaches the receivers that have kept the others waiting too long; returns a sender for each.
    pub fn detach(&mut self, now: Instant, rules: &Rules, chance: &mut RandomStream) -> Vec<Self> {
        let mut alone = Vec::new();
        for member in self.behind() {
            alone.push(Self {
                to: member.addr,
                row: member.row,
                group: None,
                apart: true,
                paths: PathSet::new(member.paths, rules.spread, false, chance),
                blocks: self.blocks.clone(),
                push: 0,
                credit: 0,
                served: member.pulled.number,
                fin: false,
                // The receiver answers a probe with its latest pull or DONE.
                ask: true,
                counts: SendCounts::default(),
                reported: SendCounts::default(),
                heard: member.heard,
                last_heard: now,
                asks: 0,
                queued: false,
                armed: Instant::NEVER,
                ..*self
            });
        }
        self.go_on(now, rules, chance);
        alone
    }

    /// Removes and returns the receivers that have kept the others waiting too long.
    pub fn leave_behind(&mut self, now: Instant, rules: &Rules, chance: &mut RandomStream) -> Vec<Member> {
        let left = self.behind();
        self.go_on(now, rules, chance);
        left
    }

    /// Takes the receivers that keep the others waiting out of the group.
    fn behind(&mut self) -> Vec<Member> {
        let served = self.served;
        self.group.as_mut().map_or_else(Vec::new, |group| group.take_behind(served))
    }

    /// Serves the receivers that are left.
    fn go_on(&mut self, now: Instant, rules: &Rules, chance: &mut RandomStream) {
        self.without_others(rules, chance);
        self.serve_group(now, (0, 0));
    }

    /// Time until which the group waits for receivers that are behind; `None` if none is.
    fn patient_until(&self, wait: Picos) -> Option<Instant> {
        let group = self.group.as_ref().filter(|group| !self.can_send() && group.waits(self.served))?;
        (!group.is_empty())
            .then(|| self.last_progress.max(self.last_symbol).max(group.waits_since).after(wait))
    }

    /// Whether receivers must be detached now.
    pub fn must_detach(&self, now: Instant, rules: &Rules) -> bool {
        self.patient_until(rules.straggler).is_some_and(|until| until <= now)
    }

    /// Whether a symbol may leave.
    pub fn can_send(&self) -> bool {
        self.ask || self.push > 0 || self.credit > 0
    }

    pub fn waiting_for(&self) -> Awaited {
        if self.can_send() { Awaited::LinkTurn } else { Awaited::of_protocol(&"pulls") }
    }

    /// Handles a pull: the advance of its number is the credit it grants. From an old pull, only the block fields count.
    pub fn on_pull(&mut self, now: Instant, number: u32, first: u32, (block, extra): (u32, u32), fin: bool) {
        (self.heard, self.last_heard) = (true, now);
        let ahead = number.wrapping_sub(self.served);
        if ahead > 0 && ahead <= u32::MAX / 2 {
            self.credit = self.credit.saturating_add(ahead).min(MOST_CREDIT);
            self.intervals = [now.since(self.last_progress), self.intervals[0]];
            (self.served, self.fin, self.last_progress, self.asks) = (number, fin, now, 0);
        }
        self.skip_to(first.min(self.cut.blocks().saturating_sub(1)));
        let at = block.checked_sub(self.first).map(|at| at as usize);
        if let Some(out) = at.and_then(|at| self.blocks.get_mut(at)) {
            out.extra = out.extra.max(extra);
        }
    }

    /// Drops the blocks before `first`, which are decodable. A sender that is slower than others of the same data goes on
    /// with the first block that is still needed, whether or not it has sent its part of those before.
    fn skip_to(&mut self, first: u32) {
        let Some(skipped) = first.checked_sub(self.first) else { return };
        self.blocks.drain(..self.blocks.len().min(skipped as usize));
        self.acked_bytes += self.cut.bytes_before(first) - self.cut.bytes_before(self.first);
        self.first = first;
        if self.blocks.is_empty() {
            self.blocks.push_back(Out::default());
        }
    }

    /// Number of source symbols of a block that this sender sends.
    fn source(&self, block: u32) -> u32 {
        let share = self.share.source(self.cut.symbols(block));
        share.end - share.start
    }

    /// Index of the block of the next symbol: the oldest that lacks symbols, else the next block, else the first that the
    /// receiver cannot decode. Within a block, source symbols leave first; none is sent twice.
    fn next_block(&mut self) -> usize {
        let lacks = |at: usize| {
            let out = self.blocks[at];
            out.sent < self.source(self.first + at as u32).saturating_add(out.extra)
        };
        if let Some(at) = (0..self.blocks.len()).find(|at| lacks(*at)) {
            return at;
        }
        if self.first + (self.blocks.len() as u32) < self.cut.blocks() {
            self.blocks.push_back(Out::default());
            return self.blocks.len() - 1;
        }
        0
    }

    /// Encoding symbol that is sent as number `index` of a block with `symbols` symbols, `source` of them this sender's; `None`
    /// after the last one.
    fn symbol(
        &self,
        rules: &Rules,
        chance: &mut RandomStream,
        (symbols, source, index): (u32, u32, u32),
    ) -> Option<u32> {
        match () {
            () if self.apart => (index < APART).then_some(APART | index),
            () if rules.random_repair && index >= source => {
                Some(symbols + chance.below(MAX_ENCODING_SYMBOLS - symbols))
            }
            () => self.share.esi(symbols, index),
        }
    }

    /// Returns the next symbol; `None` if none may leave.
    pub fn transmit(
        &mut self,
        now: Instant,
        rules: &Rules,
        chance: &mut RandomStream,
    ) -> Option<Transmit<ScdpHeader>> {
        if !self.can_send() {
            return None;
        }
        let at = self.next_block();
        let block = self.first + at as u32;
        let (symbols, source, index) = (self.cut.symbols(block), self.source(block), self.blocks[at].sent);
        let Some(esi) = self.symbol(rules, chance, (symbols, source, index)) else {
            // All symbols of the block have been sent; the flow fails if its receiver stays silent.
            (self.ask, self.push, self.credit) = (false, 0, 0);
            return None;
        };
        self.blocks[at].sent += 1;
        let unasked = core::mem::take(&mut self.ask);
        let pushed = !unasked && self.push > 0;
        let pulled = !unasked && !pushed;
        self.push -= u32::from(pushed);
        self.credit -= u32::from(pulled);
        let fin = pulled && self.fin && self.credit == 0;
        let payload = self.cut.payload(block, esi);
        let priority = if fin || !pulled { TOP } else { rules.priority(self.sent_bytes) };
        let symbol = Symbol {
            shape: self.cut.shape,
            block,
            esi,
            number: self.next_number,
            pushed: self.pushed,
            syn: !pulled,
            fin,
            served: self.served,
            priority: self.priority,
            share: self.share,
            group: self.group.is_some(),
        };
        let again = index >= source;
        if self.counts.sent == 0 {
            // The wait for the link does not count as silence of the receiver.
            self.last_heard = now;
        }
        self.next_number = self.next_number.wrapping_add(1);
        self.sent_bytes += u64::from(payload);
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        self.last_sent = now;
        if !unasked {
            self.last_symbol = now;
        }
        let header = ScdpHeader::Symbol { conn: self.conn, symbol };
        let (to, path, wire) = (self.to, self.paths.next(chance), payload + rules.header);
        Some(Transmit { priority, again, ..Transmit::data(to, path, WireLen::new(wire), header) })
    }

    /// Time of the next probe, or of a detachment, if neither a pull nor the end of the session arrives before.
    pub fn due(&self, rules: &Rules) -> Instant {
        if self.can_send() {
            return Instant::NEVER;
        }
        let wait = match () {
            () if self.fin => rules.guard,
            () if !self.heard => rules.timeout,
            () => rules.timeout.saturating_mul(PATIENCE),
        };
        let most = rules.timeout.max(Picos(rules.give_up.0 / LEAST_ASKS));
        let wait = wait.saturating_mul(1 << self.asks.min(MAX_DOUBLINGS));
        let wait = if self.fin { wait } else { wait.max(self.usual_wait()) }.min(most);
        let silence = self.last_heard.max(self.last_sent).after(wait);
        let asked = self.group.as_ref().is_some_and(|group| group.asked);
        let probe = rules.timeout.max(self.usual_wait().min(most)).min(rules.straggler);
        let patience = self.patient_until(if asked { rules.straggler } else { probe });
        patience.map_or(silence, |until| until.min(silence))
    }

    /// Twice the time between pulls. No receiver has pulled the symbol of a probe: probes between pulls that lie far apart
    /// would exceed the rate at which those are paced. A single long time may come of a loss and does not count.
    fn usual_wait(&self) -> Picos {
        let [latest, before] = self.intervals;
        latest.min(before).saturating_mul(2)
    }

    /// Handles a timeout: sends a probe, which the receiver answers. Returns the number of the latest symbol, or `Err` if
    /// the receiver was silent for too long.
    pub fn on_timeout(&mut self, now: Instant, rules: &Rules) -> Result<u32, ()> {
        if now.since(self.last_heard) > rules.give_up {
            return Err(());
        }
        self.asks += 1;
        match &mut self.group {
            // A probe to all receivers does not count as a timeout of one flow.
            Some(group) => group.asked = true,
            None => self.counts.timeouts += 1,
        }
        self.ask = true;
        Ok(self.next_number.wrapping_sub(1))
    }
}
