//! The sending half of a session: which symbol leaves next, and what a sender does when it hears nothing.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use pullnet_codes::Share;
use pullnet_pull::PathSet;
use pullnet_rng::Stream;
use pullnet_transport::{Class, ConnId, FlowSpec, GroupMember, HostAddr, SendCounts, Transmit};
use pullnet_units::{Instant, Picos};

use crate::config::{Rules, TOP};
use crate::group::{Group, Word};
use crate::header::{ScdpHeader, Symbol};
use crate::shape::{Cut, Shape};

/// A wait doubles this many times at most.
const MAX_DOUBLINGS: u32 = 6;
/// A sender that was heard of is this many timeouts patient: the receiver's pulls may be those of many sessions.
const PATIENCE: u64 = 16;
/// Symbols that are sent unasked to a silent receiver at least before its sender gives up.
const LEAST_ASKS: u64 = 32;
/// Symbols at most that pulls can be ahead: more is no receiver's.
const MOST_CREDIT: u32 = 1 << 16;

/// Encoding symbol ids from here on are sent only to receivers that left their group, so that they are none of those that
/// the group sends.
const APART: u32 = 1 << 23;

/// A block that symbols may still have to be sent of.
#[derive(Clone, Copy, Default, Debug)]
struct Out {
    /// Symbols sent, by this sender.
    sent: u32,
    /// Symbols beyond its share of the source symbols that the receiver wants.
    extra: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub to: HostAddr,
    pub conn: ConnId,
    pub priority: u8,
    /// Number of the flow in reports is that of the session and this.
    pub row: u32,
    /// The receivers, if there are several.
    pub group: Option<Group>,
    /// Whether its receiver has left a group that goes on.
    apart: bool,
    cut: Cut,
    share: Share,
    paths: PathSet,
    /// Number of the first block in `blocks`: those before it are decodable.
    first: u32,
    /// Blocks from `first` to the one whose source symbols are being sent.
    blocks: VecDeque<Out>,
    /// Symbols of the first window that have not left.
    push: u32,
    pushed: u16,
    /// Symbols that were pulled and have not left.
    credit: u32,
    /// The latest pull's number.
    served: u32,
    /// Whether that pull had FIN.
    fin: bool,
    /// Whether a symbol is to leave unasked.
    ask: bool,
    next_number: u32,
    sent_bytes: u64,
    pub acked_bytes: u64,
    pub counts: SendCounts,
    /// What was reported of them.
    reported: SendCounts,
    pub last_progress: Instant,
    heard: bool,
    last_heard: Instant,
    last_sent: Instant,
    asks: u32,
    /// Whether it stands in line for the link.
    pub queued: bool,
    /// When its timer will be looked at.
    pub armed: Instant,
}

impl Sender {
    /// `None` for a flow that cannot be cut into symbols.
    pub fn open(
        now: Instant,
        rules: &Rules,
        flow: &FlowSpec,
        share: Share,
        chance: &mut Stream,
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
            heard: false,
            last_heard: now,
            last_sent: now,
            asks: 0,
            queued: false,
            armed: Instant::NEVER,
        })
    }

    /// A session with several receivers.
    pub fn with_group(self, members: &[GroupMember]) -> Self {
        Self { group: Some(Group::new(members)), ..self }
    }

    /// What was counted since the last call: each receiver of a group is told of a part.
    pub fn take_counts(&mut self) -> SendCounts {
        let before = core::mem::replace(&mut self.reported, self.counts);
        SendCounts {
            sent: self.counts.sent - before.sent,
            again: self.counts.again - before.again,
            timeouts: self.counts.timeouts - before.timeouts,
        }
    }

    /// What was counted and not reported yet.
    pub fn unreported(&self) -> SendCounts {
        let (all, before) = (self.counts, self.reported);
        SendCounts {
            sent: all.sent - before.sent,
            again: all.again - before.again,
            timeouts: all.timeouts - before.timeouts,
        }
    }

    /// A pull of one receiver of a group: what all of them have pulled is sent.
    pub fn on_group_pull(&mut self, now: Instant, from: HostAddr, pull: Word, (block, extra): (u32, u32)) {
        let Some(group) = &mut self.group else { return };
        if group.note(from, pull) {
            self.serve_group(now, (block, extra));
        }
    }

    /// Sends what all receivers of the group have pulled.
    fn serve_group(&mut self, now: Instant, directed: (u32, u32)) {
        let Some(Word { number, first, fin }) = self.group.as_ref().and_then(Group::all) else { return };
        if number != self.served
            && let Some(group) = &mut self.group
        {
            group.asked = false;
        }
        self.on_pull(now, number, first, directed, fin);
    }

    /// The receiver `from` has everything. Gives the number of its flow, counted from that of the session.
    pub fn on_group_done(
        &mut self,
        now: Instant,
        from: HostAddr,
        rules: &Rules,
        chance: &mut Stream,
    ) -> Option<u32> {
        let row = self.group.as_mut()?.remove(from)?;
        self.last_heard = now;
        self.without_others(rules, chance);
        self.serve_group(now, (0, 0));
        Some(row)
    }

    /// The only receiver that is left needs no copies.
    fn without_others(&mut self, rules: &Rules, chance: &mut Stream) {
        if let Some([last]) = self.group.as_ref().map(Group::members)
            && self.to != last.addr
        {
            self.to = last.addr;
            self.paths = PathSet::new(last.paths, rules.spread, false, chance);
        }
    }

    /// Receivers of a group for which the others have waited too long: each goes on by itself.
    pub fn detach(&mut self, now: Instant, rules: &Rules, chance: &mut Stream) -> Vec<Self> {
        let Some(group) = &mut self.group else { return Vec::new() };
        let apart: Vec<_> = group.take_behind(self.served);
        let mut alone = Vec::new();
        for member in apart {
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
                // Whatever it knows, it answers.
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
        self.without_others(rules, chance);
        self.serve_group(now, (0, 0));
        alone
    }

    /// When the others have waited long enough for receivers that are behind.
    fn patient_until(&self, wait: Picos) -> Option<Instant> {
        let group = self.group.as_ref().filter(|group| !self.can_send() && group.waits(self.served))?;
        (!group.is_empty()).then(|| self.last_progress.max(self.last_sent).after(wait))
    }

    /// Whether receivers are to go on by themselves now.
    pub fn must_detach(&self, now: Instant, rules: &Rules) -> bool {
        self.patient_until(rules.straggler).is_some_and(|until| until <= now)
    }

    /// Whether it has a symbol for the link.
    pub fn can_send(&self) -> bool {
        self.ask || self.push > 0 || self.credit > 0
    }

    pub fn waiting_for(&self) -> &'static str {
        if self.can_send() { "its turn on the link" } else { "pulls" }
    }

    /// A pull: send as many symbols as its number is ahead; an old one changes nothing but what it says of blocks.
    pub fn on_pull(&mut self, now: Instant, number: u32, first: u32, (block, extra): (u32, u32), fin: bool) {
        (self.heard, self.last_heard, self.asks) = (true, now, 0);
        let ahead = number.wrapping_sub(self.served);
        if ahead > 0 && ahead <= u32::MAX / 2 {
            self.credit = self.credit.saturating_add(ahead).min(MOST_CREDIT);
            (self.served, self.fin, self.last_progress) = (number, fin, now);
        }
        // The block that is being sent is kept, decodable or not: the number of the next symbol is its.
        while self.first < first && self.blocks.len() > 1 {
            self.blocks.pop_front();
            self.acked_bytes += self.cut.bytes(self.first);
            self.first += 1;
        }
        let at = block.checked_sub(self.first).map(|at| at as usize);
        if let Some(out) = at.and_then(|at| self.blocks.get_mut(at)) {
            out.extra = out.extra.max(extra);
        }
    }

    /// Source symbols of a block that this sender sends.
    fn source(&self, block: u32) -> u32 {
        let share = self.share.source(self.cut.symbols(block));
        share.end - share.start
    }

    /// The block of the next symbol: the first one that still lacks symbols, then the next block, and if there is none the
    /// first that the receiver cannot decode. Source symbols go first within a block, and a lost one never comes again.
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

    /// The next symbol.
    pub fn transmit(
        &mut self,
        now: Instant,
        rules: &Rules,
        chance: &mut Stream,
    ) -> Option<Transmit<ScdpHeader>> {
        if !self.can_send() {
            return None;
        }
        let at = self.next_block();
        let block = self.first + at as u32;
        let (symbols, source, index) = (self.cut.symbols(block), self.source(block), self.blocks[at].sent);
        let esi = if self.apart {
            (index < APART).then_some(APART | index)
        } else {
            self.share.esi(symbols, index)
        };
        let Some(esi) = esi else {
            // Every symbol of the block that there is has been sent; the flow ends when its receiver stays silent.
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
        let priority = if fin || unasked { TOP } else { rules.priority(self.sent_bytes) };
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
            // Time in line for the link is not the receiver's silence.
            self.last_heard = now;
        }
        self.next_number = self.next_number.wrapping_add(1);
        self.sent_bytes += u64::from(payload);
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        self.last_sent = now;
        let header = ScdpHeader::Symbol { conn: self.conn, symbol };
        let (to, path, wire) = (self.to, self.paths.next(chance), payload + rules.header);
        Some(Transmit { to, path, wire, class: Class::Data, priority, ect: false, again, header })
    }

    /// When a symbol is due unasked: neither a pull nor the end of the session came in time.
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
        let wait = wait.saturating_mul(1 << self.asks.min(MAX_DOUBLINGS)).min(most);
        let silence = self.last_heard.max(self.last_sent).after(wait);
        let asked = self.group.as_ref().is_some_and(|group| group.asked);
        let patience =
            self.patient_until(if asked { rules.straggler } else { rules.timeout.min(rules.straggler) });
        patience.map_or(silence, |until| until.min(silence))
    }

    /// The wait is over. A symbol leaves unasked: whatever its receiver knows, it answers. `Err` if it was silent for too
    /// long, else the number of the latest symbol.
    pub fn on_timeout(&mut self, now: Instant, rules: &Rules) -> Result<u32, ()> {
        if now.since(self.last_heard) > rules.give_up {
            return Err(());
        }
        self.asks += 1;
        match &mut self.group {
            // A question to all receivers is no timer of one flow.
            Some(group) => group.asked = true,
            None => self.counts.timeouts += 1,
        }
        self.ask = true;
        Ok(self.next_number.wrapping_sub(1))
    }
}
