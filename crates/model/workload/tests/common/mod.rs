//! A stand-in for the engine: flows take a time that depends on them alone.
#![allow(dead_code)]

use std::collections::BTreeMap;

use pullnet_rng::Seed;
use pullnet_transport::Side;
use pullnet_units::{BitsPerSec, Bytes, FlowId, Instant, Picos};
use pullnet_workload::{
    CheckedWorkload, Completion, Cue, FlowStart, HostLayout, Instruction, Prepared, TrafficSpec, Workload,
    WorkloadSpec,
};

pub const SIGNAL: Picos = Picos::from_micros(1);

pub fn network(hosts: u32) -> HostLayout {
    HostLayout::uniform(hosts, BitsPerSec::gbps(10))
}

pub fn workload(spec: &WorkloadSpec, hosts: u32, seed: u64) -> Workload {
    let checked = CheckedWorkload::new(spec, &network(hosts), Seed(seed));
    checked.unwrap_or_else(|e| panic!("{e:?}")).start(SIGNAL)
}

/// Everything that starts before `until`, with nothing ever ending.
pub fn starts(block: TrafficSpec, hosts: u32, seed: u64, until: Instant) -> Vec<FlowStart> {
    let mut out = Vec::new();
    workload(&WorkloadSpec::of([block]), hosts, seed).starts_before(until, &mut out);
    out
}

/// The error of `block`.
pub fn refusal(block: TrafficSpec, hosts: u32) -> String {
    refusal_of(&WorkloadSpec::of([block]), hosts)
}

pub fn refusal_of(spec: &WorkloadSpec, hosts: u32) -> String {
    let errors = spec.check(&network(hosts));
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// How long a flow takes until all is received; acknowledged 5 us later.
pub fn fct(start: &FlowStart) -> Option<Picos> {
    let Bytes(bytes) = start.size?;
    Some(Picos::from_micros(10 + u64::from(start.src.get() * 7 + start.dst.get()) % 13) + Picos(bytes * 800))
}

/// Flows under way, and the hosts' applications.
#[derive(Default)]
pub struct Hosts {
    /// Everything that has started.
    pub out: Vec<FlowStart>,
    prepared: Vec<Prepared>,
    /// Time, flow, and whether it is the sender's end.
    ends: BTreeMap<(Instant, u32, bool), ()>,
}

impl Hosts {
    fn begin(&mut self, start: FlowStart) {
        self.out.push(start);
        let Some(fct) = fct(&start) else { return };
        let done = start.at + fct;
        self.ends.insert((done, start.flow.get(), false), ());
        self.ends.insert((done + Picos::from_micros(5), start.flow.get(), true), ());
    }

    /// What starts before `now`.
    pub fn starts(&mut self, workload: &mut Workload, now: Instant) {
        let mut starts = Vec::new();
        workload.starts_before(now, &mut starts);
        starts.into_iter().for_each(|start| self.begin(start));
        self.prepared.extend(workload.instructions().map(|instruction| match instruction {
            Instruction::Prepare(prepared) => prepared,
            other => panic!("no flow fails: {other:?}"),
        }));
    }

    /// What ends before `now`, and what hosts start because of it.
    fn ends(&mut self, workload: &mut Workload, now: Instant) {
        let mut completions = Vec::new();
        while let Some(entry) = self.ends.first_entry().filter(|entry| entry.key().0 < now) {
            let (at, flow, sender) = *entry.key();
            entry.remove();
            let (flow, side) = (FlowId::new(flow), if sender { Side::Sender } else { Side::Receiver });
            completions.push(Completion { flow, at, side, failed: false });
            let cue = if sender { Cue::SenderDone } else { Cue::Received };
            let waits = |other: &Prepared| (other.after.flow, other.after.cue) == (flow, cue);
            let Some(found) = self.prepared.iter().position(waits) else { continue };
            let Prepared { after, .. } = self.prepared[found];
            let start = self.prepared.remove(found).starting(at.after(after.pause));
            if start.at <= after.latest {
                workload.began(start.flow, start.at);
                self.begin(start);
            }
        }
        completions.into_iter().for_each(|completion| workload.completed(completion));
    }
}

/// Runs `workload` until `end` in windows whose lengths (at most the signal delay) `windows` gives. Starts are in order of time.
pub fn drive(mut workload: Workload, end: Instant, mut windows: impl FnMut() -> Picos) -> Vec<FlowStart> {
    let (mut hosts, mut now) = (Hosts::default(), Instant::ZERO);
    while now < end && !(workload.exhausted() && hosts.ends.is_empty()) {
        now = now.after(windows()).min(end);
        hosts.starts(&mut workload, now);
        hosts.ends(&mut workload, now);
    }
    // What starts by itself after a pause may do so after the end.
    let mut out = hosts.out;
    out.retain(|start| start.at < end);
    out.sort_by_key(|start| (start.at, start.flow));
    out
}

/// In windows of the signal delay.
pub fn run(spec: &WorkloadSpec, hosts: u32, seed: u64, end: Instant) -> Vec<FlowStart> {
    drive(workload(spec, hosts, seed), end, || SIGNAL)
}

pub fn pairs(starts: &[FlowStart]) -> Vec<(u32, u32)> {
    starts.iter().map(|start| (start.src.get(), start.dst.get())).collect()
}
