//! The hosts of one shard, compiled for one transport, or for several behind virtual calls (`stack`).
//!
//! Hosts and ports are compiled apart and meet only through mail, so that P protocols and Q disciplines cost P + Q
//! compilations and not P times Q. A virtual call moves a batch of packets, never one.

use std::ops::Range;

use pullnet_rng::Seed;
use pullnet_session::{HostCounts, HostLog, Report};
use pullnet_topology::LinkRef;
use pullnet_transport::{FlowStatus, HostInfo, Words};
use pullnet_units::HostId;
use pullnet_workload::FlowStart;

use crate::agenda::{Agenda, NOT_ARMED};
use crate::clock::Window;
use crate::fingerprint::Fingerprint;
use crate::host::{Host, HostContext};
use crate::huge;
use crate::line::Line;
use crate::network::Network;
use crate::outbox::{Emission, Outbox};
use crate::packet::Packet;
use crate::port::Env;
use crate::ports::Ports;
use crate::prefetch::Places;
use crate::stack::Stack;

/// Number of visits ahead of which memory is prefetched.
const AHEAD: usize = 6;

/// What the rest of a shard knows of its hosts.
pub trait Hosts<W: Words>: Send {
    /// Lets everything happen that lies in `window`; packets for ports go to `ports` in batches. Returns whether any host was
    /// visited.
    fn work(
        &mut self,
        net: &Network<W>,
        window: Window,
        out: &mut Outbox<W>,
        ports: &mut dyn Ports<W>,
    ) -> bool;
    /// Puts the packets of `mail` into inboxes; those for hosts of other shards into `abroad`.
    fn accept(
        &mut self,
        net: &Network<W>,
        window: Window,
        mail: &[Emission<W>],
        abroad: &mut Vec<Emission<W>>,
    );
    /// An application will open a flow on the host of `process`. `window` is the one before which it may not start.
    fn plan(&mut self, net: &Network<W>, window: Window, process: u32, start: FlowStart);
    /// Lets everything happen that lies before the end of the run.
    fn catch_up(&mut self, net: &Network<W>, window: Window, out: &mut Outbox<W>);
    /// The earliest window from `window` on in which something is to be done; `u64::MAX` for none.
    fn next_busy(&mut self, window: u64) -> u64;
    /// Whether somebody waits for news of flows: hosts are then visited as soon as anything happens there.
    fn set_prompt(&mut self, prompt: bool);
    /// News of flows since the last call.
    fn reports(&mut self) -> &mut Vec<Report>;
    /// The first cache lines that an arriving packet touches, of every host.
    fn inboxes(&self) -> Places<3>;
    /// Process numbers of the hosts.
    fn range(&self) -> Range<u32>;
    /// Whole data packets that have arrived, times the links on their path.
    fn packet_hops(&self) -> u64;
    /// The end of the run: reports what unfinished flows have brought so far. Returns the records of probes.
    fn finish(&mut self, now: u64, reports: &mut Vec<Report>) -> HostLog;
    /// Visits every host in the order of process numbers.
    fn each(&self, visit: &mut dyn FnMut(HostView<'_>));
    /// Visits every packet on its way to a host.
    fn packets(&self, visit: &mut dyn FnMut(&Packet<W>));
    /// Visits every open flow, with the host whose view of it that is.
    fn open_flows(&self, visit: &mut dyn FnMut(HostId, FlowStatus));
}

/// A host as the end of a run sees it.
#[derive(Clone, Copy, Debug)]
pub struct HostView<'a> {
    /// Its number.
    pub id: HostId,
    /// The NIC.
    pub line: &'a Line,
    /// When the NIC is free.
    pub busy_until: u64,
    /// What happened there.
    pub counts: &'a HostCounts,
    /// Hash of it.
    pub fingerprint: Fingerprint,
}

/// The hosts of one shard.
pub struct HostSide<W, T> {
    range: Range<u32>,
    hosts: Vec<Host<W, T>>,
    agenda: Agenda,
    /// Hosts of the current window, kept for its memory.
    due: Vec<u32>,
    reports: Vec<Report>,
    log: HostLog,
    prompt: bool,
    /// Whether memory is prefetched: only a shard that is larger than a cache gains by it.
    large: bool,
}

impl<W: Words, T: Stack<W>> HostSide<W, T> {
    /// The hosts with the process numbers `range`, each with the transports that `stack` makes.
    pub fn new(
        net: &Network<W>,
        stack: impl Fn(HostId, HostInfo) -> T,
        range: Range<u32>,
        large: bool,
    ) -> Self {
        let ids = &net.numbering.host[range.start as usize..range.end as usize];
        let hosts = huge::collect(ids.iter().map(|id| host(net, &stack, *id)));
        Self {
            range,
            agenda: Agenda::new(hosts.len()),
            hosts,
            due: Vec::new(),
            reports: Vec::new(),
            log: HostLog::default(),
            prompt: true,
            large,
        }
    }

    /// Prefetches memory of the hosts that are visited some time after number `index`.
    #[inline]
    fn prefetch(&self, due: &[u32], index: usize) {
        let host = |ahead: usize| due.get(index + ahead).map(|position| &self.hosts[*position as usize]);
        host(3 * AHEAD).into_iter().for_each(Host::prepare_visit);
        host(2 * AHEAD).into_iter().for_each(|host| host.prepare(0));
        host(AHEAD).into_iter().for_each(|host| host.prepare(1));
        host(1).into_iter().for_each(Host::prepare_near);
    }

    fn visit(&mut self, net: &Network<W>, window: Window, out: &mut Outbox<W>, position: u32) {
        let host = &mut self.hosts[position as usize];
        host.armed = NOT_ARMED;
        let (env, reports, log) = (Env { net, out, window }, &mut self.reports, &mut self.log);
        if let Some(due) = host.visit(&mut HostContext { env, reports, log, prompt: self.prompt }) {
            let due = due.max(window.index + 1);
            self.agenda.arm(&mut host.armed, position, due, window.index);
        }
    }
}

impl<W: Words, T: Stack<W>> Hosts<W> for HostSide<W, T> {
    fn work(
        &mut self,
        net: &Network<W>,
        window: Window,
        out: &mut Outbox<W>,
        ports: &mut dyn Ports<W>,
    ) -> bool {
        let mut due = core::mem::take(&mut self.due);
        let hosts = &self.hosts;
        self.agenda.take(window.index, &mut due, |host| hosts[host as usize].armed);
        for (index, position) in due.iter().enumerate() {
            if self.large {
                self.prefetch(&due, index);
            }
            self.visit(net, window, out, *position);
            out.ports_batch(|mail, abroad| ports.accept(net, window, mail, abroad));
        }
        let worked = !due.is_empty();
        due.clear();
        self.due = due;
        worked
    }

    fn accept(
        &mut self,
        net: &Network<W>,
        window: Window,
        mail: &[Emission<W>],
        abroad: &mut Vec<Emission<W>>,
    ) {
        for emission in mail {
            let position = emission.process.wrapping_sub(self.range.start);
            let Some(host) = self.hosts.get_mut(position as usize) else {
                abroad.push(*emission);
                continue;
            };
            let due = host.expect(net, window, &emission.packet, self.prompt);
            if due < host.armed {
                self.agenda.arm(&mut host.armed, position, due, window.index);
            }
        }
    }

    fn plan(&mut self, net: &Network<W>, window: Window, process: u32, start: FlowStart) {
        let position = process - self.range.start;
        let host = &mut self.hosts[position as usize];
        let due = host.plan(net, start, self.prompt).max(window.index);
        if due < host.armed {
            self.agenda.arm(&mut host.armed, position, due, window.index);
        }
    }

    fn catch_up(&mut self, net: &Network<W>, window: Window, out: &mut Outbox<W>) {
        for host in &mut self.hosts {
            let (env, reports, log) = (Env { net, out, window }, &mut self.reports, &mut self.log);
            host.visit(&mut HostContext { env, reports, log, prompt: self.prompt });
        }
    }

    fn next_busy(&mut self, window: u64) -> u64 {
        self.agenda.next_busy(window)
    }

    fn set_prompt(&mut self, prompt: bool) {
        self.prompt = prompt;
    }

    fn reports(&mut self) -> &mut Vec<Report> {
        &mut self.reports
    }

    fn inboxes(&self) -> Places<3> {
        Host::inboxes(&self.hosts, self.range.start)
    }

    fn range(&self) -> Range<u32> {
        self.range.clone()
    }

    fn packet_hops(&self) -> u64 {
        self.hosts.iter().map(|host| host.counts.packet_hops).sum()
    }

    fn finish(&mut self, now: u64, reports: &mut Vec<Report>) -> HostLog {
        reports.append(&mut self.reports);
        self.hosts.iter_mut().for_each(|host| host.finish(now, reports, &mut self.log));
        core::mem::take(&mut self.log)
    }

    fn each(&self, visit: &mut dyn FnMut(HostView<'_>)) {
        for Host { id, line, busy_until, counts, fingerprint, .. } in &self.hosts {
            visit(HostView { id: *id, line, busy_until: *busy_until, counts, fingerprint: *fingerprint });
        }
    }

    fn packets(&self, visit: &mut dyn FnMut(&Packet<W>)) {
        self.hosts.iter().for_each(|host| host.packets(visit));
    }

    fn open_flows(&self, visit: &mut dyn FnMut(HostId, FlowStatus)) {
        self.hosts.iter().for_each(|host| host.transport().open_flows(&mut |status| visit(host.id, status)));
    }
}

/// A host at rest.
fn host<W: Words, T: Stack<W>>(
    net: &Network<W>,
    stack: &impl Fn(HostId, HostInfo) -> T,
    id: HostId,
) -> Host<W, T> {
    let chance = Seed(net.scenario.seed).small_stream("host.nic", id.0.into());
    let line = Line::new(net, LinkRef::Nic(id), net.next_of_host(id), chance);
    let info = HostInfo { addr: net.topology().addr(id), rate: net.topology().hosts[id].link.rate };
    Host::new(id, info.addr, stack(id, info), line)
}
