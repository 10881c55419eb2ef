//! The hosts of one shard, compiled for one transport, or for several behind virtual calls (`stack`).

use pullnet_probes::Recorded;
use pullnet_rng::Seed;
use pullnet_session::{HostCounts, HostLog, Report};
use pullnet_topology::LinkRef;
use pullnet_transport::{FlowStatus, HostInfo, Words};
use pullnet_units::{HostId, Instant};
use pullnet_workload::Instruction;

use crate::agenda::{Agenda, NOT_ARMED};
use crate::clock::Window;
use crate::fingerprint::Fingerprint;
use crate::host::{Host, HostContext};
use crate::huge_pages;
use crate::line::Line;
use crate::network::Network;
use crate::outbox::{Emission, Outbox};
use crate::port::Env;
use crate::prefetch::Places;
use crate::process::{ProcessId, Processes};
use crate::side::{Now, Side};
use crate::stack::Stack;

/// Prefetch distance: memory is prefetched this many visits before its use.
const AHEAD: usize = 6;

/// Hosts of a shard, as the rest of the shard sees them.
pub trait Hosts<W: Words>: Side<W> {
    /// Tells the application of the host of `process` what to do, no earlier than in `window`.
    fn tell(&mut self, net: &Network<W>, window: Window, process: ProcessId, instruction: Instruction);
    /// Sets whether any report of a flow may end the run. If so, a host is visited in the window of its next event
    /// rather than as late as its packets allow. `window` is the current one.
    fn set_eager(&mut self, net: &Network<W>, window: Window, eager: bool);
    /// Notes that the host of `process` has one more flow, or one less, that its traffic pattern watches. A host with
    /// watched flows is visited in the window of its next event.
    fn watch(&mut self, process: ProcessId, more: bool);
    /// Reports of flows since the last call.
    fn reports(&mut self) -> &mut Vec<Report>;
    /// Cache lines that an arriving packet touches first, for every host.
    fn inboxes(&self) -> Places<3>;
    /// Whole data packets that have arrived, weighted by the hop counts of their paths.
    fn packet_hops(&self) -> u64;
    /// Ends the run: reports the bytes that unfinished flows have delivered. Returns the records of probes.
    fn finish(&mut self, now: Instant, reports: &mut Vec<Report>) -> HostLog;
    /// Visits every host in the order of processes.
    fn each(&self, visit: &mut dyn FnMut(HostView<'_>));
    /// Visits every open flow, once for each end that knows of it.
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
    pub busy_until: Instant,
    /// Counters of the host's packets.
    pub counts: &'a HostCounts,
    /// Running hash of the host's events.
    pub fingerprint: Fingerprint,
}

/// The hosts of one shard.
pub struct HostSide<W, T> {
    range: Processes,
    hosts: Vec<Host<W, T>>,
    agenda: Agenda,
    /// Hosts of the current window, kept for its memory.
    due: Vec<u32>,
    reports: Vec<Report>,
    log: HostLog,
    eager: bool,
    /// Number of watched flows of each host; empty if there never was one.
    watched: Vec<u32>,
    /// Whether memory is prefetched: only a shard larger than a cache gains by it.
    large: bool,
}

impl<W: Words, T: Stack<W>> HostSide<W, T> {
    /// The hosts with the processes `range`, each with the transports that `stack` makes.
    pub fn new(
        net: &Network<W>,
        stack: impl Fn(HostId, HostInfo) -> T,
        range: Processes,
        large: bool,
    ) -> Self {
        let ids = range.ids().map(|process| net.numbering.host[process]);
        let hosts = huge_pages::collect(ids.map(|id| host(net, &stack, id)));
        Self {
            range,
            agenda: Agenda::new(hosts.len()),
            hosts,
            due: Vec::new(),
            reports: Vec::new(),
            log: HostLog::new(Recorded::new(net.probes())),
            eager: false,
            watched: Vec::new(),
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
        let eager = eager(self.eager, &self.watched, position);
        if let Some(due) = host.visit(&mut HostContext { env, reports, log, eager }) {
            let due = due.max(window.index + 1);
            self.agenda.arm(&mut host.armed, position, due, window.index);
        }
    }
}

impl<W: Words, T: Stack<W>> Side<W> for HostSide<W, T> {
    fn work(&mut self, env: Env<'_, W>, ports: &mut dyn Side<W>) -> bool {
        let Env { net, out, window } = env;
        let mut due = core::mem::take(&mut self.due);
        let hosts = &self.hosts;
        self.agenda.take(window.index, &mut due, |host| hosts[host as usize].armed);
        for (index, position) in due.iter().enumerate() {
            if self.large {
                self.prefetch(&due, index);
            }
            self.visit(net, window, out, *position);
            out.ports_batch(|mail, remote| ports.accept((net, window), mail, remote));
        }
        let worked = !due.is_empty();
        due.clear();
        self.due = due;
        worked
    }

    fn accept(&mut self, (net, window): Now<'_, W>, mail: &[Emission<W>], remote: &mut Vec<Emission<W>>) {
        for emission in mail {
            let position = self.range.position(emission.process);
            let Some(host) = self.hosts.get_mut(position as usize) else {
                remote.push(*emission);
                continue;
            };
            let eager = eager(self.eager, &self.watched, position);
            let due = host.expect(net, window, &emission.packet, eager);
            if due < host.armed {
                self.agenda.arm(&mut host.armed, position, due, window.index);
            }
        }
    }

    fn catch_up(&mut self, Env { net, out, window }: Env<'_, W>) {
        for host in &mut self.hosts {
            let (env, reports, log) = (Env { net, out, window }, &mut self.reports, &mut self.log);
            host.visit(&mut HostContext { env, reports, log, eager: true });
        }
    }

    fn next_busy(&mut self, window: u64) -> u64 {
        self.agenda.next_busy(window)
    }

    fn range(&self) -> Processes {
        self.range
    }

    fn data_in_flight(&self) -> u64 {
        self.hosts.iter().map(Host::data_in_flight).sum()
    }
}

impl<W: Words, T: Stack<W>> Hosts<W> for HostSide<W, T> {
    fn tell(&mut self, net: &Network<W>, window: Window, process: ProcessId, instruction: Instruction) {
        let position = self.range.position(process);
        let host = &mut self.hosts[position as usize];
        let eager = eager(self.eager, &self.watched, position);
        let Some(due) = host.tell(net, window, instruction, (eager, &mut self.reports)) else { return };
        let due = due.max(window.index);
        if due < host.armed {
            self.agenda.arm(&mut host.armed, position, due, window.index);
        }
    }

    fn set_eager(&mut self, net: &Network<W>, window: Window, eager: bool) {
        if eager && !self.eager {
            // Deferred visits happen now; from here on each happens in the window of its event.
            for (position, host) in (0..).zip(&mut self.hosts) {
                let at = host.next_event(window);
                let due = net.grid.index(at).max(window.index);
                if at < Instant::NEVER && due < host.armed {
                    self.agenda.arm(&mut host.armed, position, due, window.index);
                }
            }
        }
        self.eager = eager;
    }

    fn watch(&mut self, process: ProcessId, more: bool) {
        let position = self.range.position(process) as usize;
        self.watched.resize(self.hosts.len(), 0);
        let count = &mut self.watched[position];
        *count = if more { *count + 1 } else { *count - 1 };
    }

    fn reports(&mut self) -> &mut Vec<Report> {
        &mut self.reports
    }

    fn inboxes(&self) -> Places<3> {
        Host::inboxes(&self.hosts, self.range.first())
    }

    fn packet_hops(&self) -> u64 {
        self.hosts.iter().map(|host| host.counts.packet_hops).sum()
    }

    fn finish(&mut self, now: Instant, reports: &mut Vec<Report>) -> HostLog {
        reports.append(&mut self.reports);
        self.hosts.iter_mut().for_each(|host| host.finish(now, reports, &mut self.log));
        core::mem::take(&mut self.log)
    }

    fn each(&self, visit: &mut dyn FnMut(HostView<'_>)) {
        for Host { id, line, busy_until, counts, fingerprint, .. } in &self.hosts {
            visit(HostView { id: *id, line, busy_until: *busy_until, counts, fingerprint: *fingerprint });
        }
    }

    fn open_flows(&self, visit: &mut dyn FnMut(HostId, FlowStatus)) {
        self.hosts.iter().for_each(|host| host.transport().open_flows(&mut |status| visit(host.id, status)));
    }
}

/// Whether the host at `position` is visited as soon as anything happens there.
#[inline(always)]
fn eager(all: bool, watched: &[u32], position: u32) -> bool {
    all || watched.get(position as usize).is_some_and(|count| *count > 0)
}

/// A host at rest.
fn host<W: Words, T: Stack<W>>(
    net: &Network<W>,
    stack: &impl Fn(HostId, HostInfo) -> T,
    id: HostId,
) -> Host<W, T> {
    let chance = Seed(net.scenario.seed).small_stream("host.nic", id.get().into());
    let line = Line::new(net, LinkRef::Nic(id), net.next_of_host(id), chance);
    let info = HostInfo { addr: net.topology().addr(id), rate: net.topology().inbound(id).rate };
    Host::new(id, info.addr, stack(id, info), line)
}
