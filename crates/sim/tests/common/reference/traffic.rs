//! Flows that start, and flows that start because others have ended.

use std::collections::BTreeMap;

use pullnet_qdisc::Discipline;
use pullnet_scenario::Scenario;
use pullnet_transport::{HostAddr, Side};
use pullnet_units::{FlowId, Id, Instant, Picos};
use pullnet_workload::{After, Completion, Cue, FlowStart, Instruction, Join, Prepared, Workload};

use super::forwarding::Group;
use super::parcel::Parcel;
use super::{Ended, Reference};

/// News of a flow: an end, or the time at which its sender starts it by itself.
#[derive(Clone, Copy)]
enum News {
    Begins(Instant),
    Ends { side: Side, failed: bool },
}

/// A flow that passes on what arrives in another.
pub(super) struct Relay {
    /// The flow in which it arrives.
    pub(super) of: usize,
    pub(super) flow: FlowId,
    /// Payload bytes that are there to be passed on.
    pub(super) bytes: u64,
    /// Once it has begun: its transport and the address of its receiver.
    pub(super) way: Option<(usize, HostAddr)>,
}

/// The traffic patterns of a scenario, and the news that they have not heard.
pub(super) struct Traffic {
    workload: Workload,
    /// When patterns hear of news, and decide what starts until then: at multiples of this time.
    interval: u64,
    /// End of the current interval.
    until: u64,
    news: Vec<(Instant, usize, News)>,
    /// Flows that hosts start by themselves.
    prepared: Vec<Prepared>,
    /// Flows that pass on what arrives in another.
    pub(super) relays: Vec<Relay>,
    /// Flows with several senders: those that have not ended, and whether one of the others succeeded.
    senders: BTreeMap<usize, (u16, bool)>,
}

impl Traffic {
    pub(super) fn new(scenario: &Scenario, interval: Picos) -> Self {
        let (workload, news) = (scenario.workload.start(interval), Vec::new());
        let (prepared, relays, senders) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { workload, interval: interval.0, until: 0, news, prepared, relays, senders }
    }
}

impl<Q: Discipline<Parcel>> Reference<'_, Q> {
    /// Moves on to the interval that the next event, at `next`, lies in. False if that is the current one, or `end` comes first.
    pub(super) fn next_interval(&mut self, next: Instant, end: Instant) -> bool {
        let Traffic { workload, interval, until, news, .. } = &mut self.traffic;
        let next = next.0.min(workload.next_start().map_or(u64::MAX, |start| start.0.max(*until)));
        if next < *until || *until >= end.0 || next >= end.0 && news.is_empty() {
            return false;
        }
        let begin = if news.is_empty() { next / *interval * *interval } else { *until };
        *until = (begin + *interval).min(end.0);
        let mut news = core::mem::take(news);
        news.sort_by_key(|(at, flow, news)| {
            (*at, *flow, matches!(news, News::Ends { side: Side::Sender, .. }))
        });
        for (_, flow, news) in &news {
            if let News::Begins(at) = news
                && *at < end
            {
                self.flows[*flow].start = *at;
                self.traffic.workload.began(FlowId::new(*flow as u32), *at);
            }
        }
        for (at, flow, news) in news {
            if let News::Ends { side, failed } = news {
                let flow = FlowId::new(flow as u32);
                self.traffic.workload.completed(Completion { flow, at, side, failed });
            }
        }
        let mut starts = Vec::new();
        self.traffic.workload.starts_before(Instant(self.traffic.until), &mut starts);
        let mut instructions: Vec<_> = starts.into_iter().map(Instruction::Start).collect();
        instructions.extend(self.traffic.workload.instructions());
        // In the order of their numbers.
        instructions.sort_by_key(|instruction| match instruction {
            Instruction::Start(start) => start.flow,
            Instruction::Prepare(prepared) => prepared.start.flow,
            Instruction::Release { flow, .. } => *flow,
        });
        instructions.into_iter().for_each(|instruction| self.obey(instruction));
        true
    }

    fn obey(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Start(start) => self.begin(start),
            Instruction::Prepare(prepared) => {
                self.flows.push(Ended { start: Instant::NEVER, ..Ended::default() });
                self.sessions.push(prepared.start.session.index());
                self.traffic.prepared.push(prepared);
            }
            Instruction::Release { flow, at, .. } => {
                let found = self.traffic.prepared.iter().position(|other| other.start.flow == flow);
                let prepared = found.map(|found| self.traffic.prepared.swap_remove(found));
                prepared.into_iter().for_each(|prepared| self.start_by_itself(&prepared, at, at));
            }
        }
    }

    /// Something happens to `flow` at `host`, which starts the flow that waits for it.
    pub(super) fn cue(&mut self, host: usize, flow: usize, cue: Cue, now: Instant) {
        let waits = |other: &Prepared| {
            let After { flow: awaited, cue: wanted, .. } = other.after;
            awaited.index() == flow && wanted == cue && other.start.src.index() == host
        };
        let Some(found) = self.traffic.prepared.iter().position(waits) else { return };
        let prepared = self.traffic.prepared.swap_remove(found);
        let at = now.after(prepared.after.pause);
        if at <= prepared.after.latest {
            self.start_by_itself(&prepared, now, at);
            if cue == Cue::FirstPacket {
                let relay = Relay { of: flow, flow: prepared.start.flow, bytes: 0, way: None };
                self.traffic.relays.push(relay);
            }
        }
    }

    fn start_by_itself(&mut self, prepared: &Prepared, now: Instant, at: Instant) {
        let start = prepared.starting(at);
        let starts = &mut self.hosts[start.src.index()].starts;
        starts.push_back(start);
        starts.make_contiguous().sort_by_key(|start| (start.at, start.flow));
        self.traffic.news.push((now, start.flow.index(), News::Begins(at)));
    }

    fn begin(&mut self, start: FlowStart) {
        if !start.is_further_sender() {
            self.flows.push(Ended { start: start.at, ..Ended::default() });
            self.sessions.push(start.session.index());
        }
        if let Some(part) = start.part {
            match (part.join, part.index) {
                (Join::Sources, 0) => {
                    self.traffic.senders.insert(start.flow.get() as usize, (part.of, false));
                }
                (Join::Multicast, 0) => {
                    let (first, source) = (start.flow.get(), start.src);
                    self.groups.push(Group { first, source, receivers: vec![start.dst], trees: 1 });
                }
                (Join::Multicast, _) => self.groups.last_mut().expect("a group").receivers.push(start.dst),
                _ => {}
            }
            if part.join == Join::Multicast && part.index + 1 == part.of {
                let topology = self.topology();
                let group = self.groups.last_mut().expect("a group");
                group.trees = topology.multicast_trees(group.source, &group.receivers);
            }
        }
        let starts = &mut self.hosts[start.src.index()].starts;
        starts.push_back(start);
        starts.make_contiguous().sort_by_key(|start| (start.at, start.flow));
    }

    /// A flow has arrived whole.
    pub(super) fn received(&mut self, flow: usize, at: Instant) {
        self.flows[flow].failed = false;
        self.ended(flow, at, Side::Receiver, false);
    }

    /// A sender of a flow knows that all of it has arrived, or has given up.
    pub(super) fn sender_ended(&mut self, flow: usize, at: Instant, failed: bool) {
        let mut failed = failed;
        if let Some((left, success)) = self.traffic.senders.get_mut(&flow) {
            *left -= 1;
            *success |= !failed;
            if *left > 0 {
                return;
            }
            failed = !*success;
        }
        let row = &mut self.flows[flow];
        if failed {
            row.failed = row.received.is_none();
        } else {
            row.acknowledged = Some(at);
        }
        self.ended(flow, at, Side::Sender, failed);
    }

    fn ended(&mut self, flow: usize, at: Instant, side: Side, failed: bool) {
        self.traffic.news.push((at, flow, News::Ends { side, failed }));
    }
}
