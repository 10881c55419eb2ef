//! A stand-in for the engine: flows take a time that depends on them alone.
#![allow(dead_code)]

use std::collections::BTreeMap;

use pullnet_rng::Seed;
use pullnet_transport::Side;
use pullnet_units::{BitsPerSec, Bytes, FlowId, Instant, Picos};
use pullnet_workload::{
    CheckedWorkload, Completion, FlowStart, Network, TrafficSpec, Workload, WorkloadSpec,
};

pub const SIGNAL: Picos = Picos::from_micros(1);

pub fn network(hosts: u32) -> Network {
    Network::uniform(hosts, BitsPerSec::gbps(10))
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

pub type Ends = BTreeMap<(Instant, u32, bool), ()>;

/// Runs `workload` until `end` in windows whose lengths (at most the signal delay) `windows` gives.
pub fn drive(mut workload: Workload, end: Instant, mut windows: impl FnMut() -> Picos) -> Vec<FlowStart> {
    let (mut out, mut ends, mut now) = (Vec::new(), Ends::new(), Instant::ZERO);
    while now < end && !(workload.exhausted() && ends.is_empty()) {
        now = now.after(windows()).min(end);
        let from = out.len();
        workload.starts_before(now, &mut out);
        for start in &out[from..] {
            let Some(fct) = fct(start) else { continue };
            let done = start.at + fct;
            ends.insert((done, start.flow.get(), false), ());
            ends.insert((done + Picos::from_micros(5), start.flow.get(), true), ());
        }
        while let Some(entry) = ends.first_entry().filter(|entry| entry.key().0 < now) {
            let (at, flow, sender) = *entry.key();
            entry.remove();
            let side = if sender { Side::Sender } else { Side::Receiver };
            workload.completed(Completion { flow: FlowId::new(flow), at, side, failed: false });
        }
    }
    out
}

/// In windows of the signal delay.
pub fn run(spec: &WorkloadSpec, hosts: u32, seed: u64, end: Instant) -> Vec<FlowStart> {
    drive(workload(spec, hosts, seed), end, || SIGNAL)
}

pub fn pairs(starts: &[FlowStart]) -> Vec<(u32, u32)> {
    starts.iter().map(|start| (start.src.get(), start.dst.get())).collect()
}
