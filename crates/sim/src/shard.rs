//! The processes that one thread owns, and how a window is worked off.

use pullnet_qdisc::Discipline;
use pullnet_transport::Transport;
use pullnet_workload::FlowStart;

use crate::agenda::{Agenda, NOT_ARMED};
use crate::clock::Window;
use crate::director::Report;
use crate::host::{Host, HostContext};
use crate::network::Network;
use crate::outbox::{Emission, Outbox};
use crate::packet::Packet;
use crate::port::{Port, PortContext};
use crate::probe::HostLog;

/// Packets that are collected before they are put into the inboxes of their next processes.
const BATCH: usize = 64;
/// The latest of them that wait for the next time, until the memory of their inboxes has come.
const FRESH: usize = 24;

/// How many visits ahead memory is asked for.
const AHEAD: usize = 6;
/// How many packets ahead places in inboxes are asked for.
const BLOCK: usize = 12;
/// Processes whose memory a second-level cache holds beside everything else, at about a kilobyte each.
const FITS_CACHE: usize = 1000;

/// A switch as the unit of work: its ports share state and are worked off together, in order of time.
#[derive(Debug)]
pub struct SharedSwitch<S> {
    /// Its ports, as positions in the shard.
    pub ports: core::ops::Range<u32>,
    /// What they share.
    pub shared: S,
    /// The window that the switch is to be visited in.
    pub armed: u64,
}

/// Processes of one thread: a range of ports and a range of hosts.
#[derive(Debug)]
pub struct Shard<T, Q: Discipline<Packet>> {
    /// Process numbers of its ports.
    pub port_range: core::ops::Range<u32>,
    /// Process numbers of its hosts.
    pub host_range: core::ops::Range<u32>,
    /// Ports in order of their process numbers.
    pub ports: Vec<Port<Q>>,
    /// Hosts in order of their process numbers.
    pub hosts: Vec<Host<T>>,
    /// Switches whose ports share state; empty if the port is the unit of work.
    pub switches: Vec<SharedSwitch<Q::Shared>>,
    /// Position in `switches`, by port; empty if the port is the unit of work.
    pub switch_of_port: Vec<u32>,
    /// What ports share if they share nothing.
    pub nothing_shared: Q::Shared,
    /// Settings of the queues.
    pub rules: Q::Rules,
    /// Ports, or switches, by window.
    pub port_agenda: Agenda,
    /// Hosts by window.
    pub host_agenda: Agenda,
    /// Processes of the current window, kept for its memory.
    pub due: Vec<u32>,
    /// Packets for processes of this shard or others.
    pub out: Outbox,
    /// Packets for processes of other shards.
    pub abroad: Outbox,
    /// News of flows.
    pub reports: Vec<Report>,
    /// Records.
    pub log: HostLog,
    /// Whether somebody waits for news of flows: hosts are then visited as soon as anything happens there.
    pub prompt: bool,
    /// Whether anything was done in the latest window.
    pub worked: bool,
}

impl<T: Transport, Q: Discipline<Packet>> Shard<T, Q> {
    /// Lets everything happen that lies in `window`. Packets for other shards lie in `abroad` afterwards.
    pub fn work(&mut self, net: &Network, window: Window) {
        self.worked = false;
        let mut due = core::mem::take(&mut self.due);
        let hosts = &self.hosts;
        self.host_agenda.take(window.index, &mut due, |host| hosts[host as usize].armed);
        self.worked |= !due.is_empty();
        self.visit_hosts(net, window, &due);
        due.clear();
        let (ports, switches) = (&self.ports, &self.switches);
        self.port_agenda.take(window.index, &mut due, |unit| {
            if Q::SHARES { switches[unit as usize].armed } else { ports[unit as usize].armed }
        });
        self.worked |= !due.is_empty();
        if Q::SHARES {
            due.iter().for_each(|switch| self.visit_switch(net, window, *switch));
        } else {
            self.visit_ports(net, window, &due);
        }
        due.clear();
        self.due = due;
        self.deliver_to_ports(net, window, 0);
        self.deliver_to_hosts(net, window, 0);
    }

    /// Whether the shard is too large for a second-level cache: only then does preparing memory pay.
    #[inline]
    fn large(&self) -> bool {
        self.ports.len() + self.hosts.len() > FITS_CACHE
    }

    /// Visits hosts while the memory of later ones comes into the cache.
    fn visit_hosts(&mut self, net: &Network, window: Window, due: &[u32]) {
        let large = self.large();
        for (index, position) in due.iter().enumerate() {
            if large {
                self.prepare_hosts(due, index);
            }
            self.visit_host(net, window, *position);
        }
    }

    /// Prepares memory for the hosts that are visited some time after number `index`.
    #[inline]
    fn prepare_hosts(&self, due: &[u32], index: usize) {
        let host = |ahead: usize| due.get(index + ahead).map(|position| &self.hosts[*position as usize]);
        host(3 * AHEAD).into_iter().for_each(Host::prepare_visit);
        host(2 * AHEAD).into_iter().for_each(|host| host.prepare(0));
        host(AHEAD).into_iter().for_each(|host| host.prepare(1));
        host(1).into_iter().for_each(Host::prepare_near);
    }

    /// Visits ports while the memory of later ones comes into the cache.
    fn visit_ports(&mut self, net: &Network, window: Window, due: &[u32]) {
        let large = self.large();
        for (index, position) in due.iter().enumerate() {
            if large {
                self.prepare_ports(due, index);
            }
            self.visit_port(net, window, *position);
        }
    }

    /// Prepares memory for the ports that are visited some time after number `index`.
    #[inline]
    fn prepare_ports(&self, due: &[u32], index: usize) {
        let port = |ahead: usize| due.get(index + ahead).map(|position| &self.ports[*position as usize]);
        port(2 * AHEAD).into_iter().for_each(Port::prepare);
        port(AHEAD).into_iter().for_each(Port::prepare_packets);
        port(1).into_iter().for_each(Port::prepare_near);
    }

    fn visit_host(&mut self, net: &Network, window: Window, position: u32) {
        let host = &mut self.hosts[position as usize];
        host.armed = NOT_ARMED;
        let (out, reports, log) = (&mut self.out, &mut self.reports, &mut self.log);
        if let Some(due) =
            host.visit(&mut HostContext { net, out, reports, log, window, prompt: self.prompt })
        {
            let due = due.max(window.index + 1);
            self.host_agenda.arm(&mut host.armed, position, due, window.index);
        }
        self.sent(net, window);
    }

    #[inline(always)]
    fn visit_port(&mut self, net: &Network, window: Window, position: u32) {
        let port = &mut self.ports[position as usize];
        let (rules, shared, out) = (&self.rules, &mut self.nothing_shared, &mut self.out);
        let due = port.visit(&mut PortContext { net, rules, shared, out, window });
        port.armed = due.map_or(NOT_ARMED, |due| {
            self.port_agenda.place(position, due.max(window.index + 1), window.index)
        });
        self.sent(net, window);
    }

    fn visit_switch(&mut self, net: &Network, window: Window, position: u32) {
        let next = self.work_off_switch(net, window, position);
        if next != u64::MAX {
            let switch = &mut self.switches[position as usize];
            let due = net.grid.index(next).max(window.index + 1);
            self.port_agenda.arm(&mut switch.armed, position, due, window.index);
        }
        self.sent(net, window);
    }

    /// Ports that share state see each other's events in order of time; at one time the lower port comes first.
    /// Returns when the next thing happens.
    fn work_off_switch(&mut self, net: &Network, window: Window, position: u32) -> u64 {
        let switch = &mut self.switches[position as usize];
        switch.armed = NOT_ARMED;
        let ports = &mut self.ports[switch.ports.start as usize..switch.ports.end as usize];
        let (rules, shared, out) = (&self.rules, &mut switch.shared, &mut self.out);
        let mut cx = PortContext { net, rules, shared, out, window };
        while ports
            .iter_mut()
            .min_by_key(|port| port.next_event(window))
            .is_some_and(|first| first.step(&mut cx))
        {}
        ports.iter().map(|port| port.next_event(window)).min().unwrap_or(u64::MAX)
    }

    /// After a visit.
    #[inline]
    fn sent(&mut self, net: &Network, window: Window) {
        if self.out.ports.len() >= BATCH {
            self.deliver_to_ports(net, window, FRESH);
        }
        if self.out.hosts.len() >= BATCH {
            self.deliver_to_hosts(net, window, FRESH);
        }
    }

    /// Asks for the places that packets will take in the inboxes of their ports.
    #[inline]
    fn prepare_slots(&self, emissions: &[Emission]) {
        if self.large() {
            let position = |emission: &Emission| emission.process.wrapping_sub(self.port_range.start);
            let ports = emissions.iter().filter_map(|emission| self.ports.get(position(emission) as usize));
            ports.for_each(Port::prepare_slot);
        }
    }

    /// Puts collected packets except the latest `fresh` into the inboxes of their ports. They arrive in a later window, so
    /// that it does not matter when in this window that is done.
    fn deliver_to_ports(&mut self, net: &Network, window: Window, fresh: usize) {
        let mut out = core::mem::take(&mut self.out.ports);
        let ready = out.len() - fresh;
        let mut blocks = out[..ready].chunks(BLOCK);
        let mut soon = blocks.next().unwrap_or_default();
        self.prepare_slots(soon);
        while !soon.is_empty() {
            let later = blocks.next().unwrap_or_default();
            self.prepare_slots(later);
            soon.iter().for_each(|emission| self.accept_at_port(net, window, emission));
            soon = later;
        }
        out.drain(..ready);
        self.out.ports = out;
    }

    /// The same for hosts.
    fn deliver_to_hosts(&mut self, net: &Network, window: Window, fresh: usize) {
        let mut out = core::mem::take(&mut self.out.hosts);
        let ready = out.len() - fresh;
        for emission in out.drain(..ready) {
            self.accept_at_host(net, window, &emission);
        }
        self.out.hosts = out;
    }

    /// Takes packets from another thread.
    pub fn receive(&mut self, net: &Network, window: Window, mail: &mut Outbox) {
        mail.ports.drain(..).for_each(|emission| self.accept_at_port(net, window, &emission));
        mail.hosts.drain(..).for_each(|emission| self.accept_at_host(net, window, &emission));
    }

    /// A packet for a host of this shard or another.
    #[inline(always)]
    fn accept_at_host(&mut self, net: &Network, window: Window, emission: &Emission) {
        let position = emission.process.wrapping_sub(self.host_range.start);
        let Some(host) = self.hosts.get_mut(position as usize) else {
            return self.abroad.hosts.push(*emission);
        };
        let due = host.expect(net, window, &emission.packet, self.prompt);
        if due < host.armed {
            self.host_agenda.arm(&mut host.armed, position, due, window.index);
        }
    }

    /// A packet for a port of this shard or another.
    #[inline(always)]
    fn accept_at_port(&mut self, net: &Network, window: Window, emission: &Emission) {
        let position = emission.process.wrapping_sub(self.port_range.start);
        let Some(port) = self.ports.get_mut(position as usize) else {
            return self.abroad.ports.push(*emission);
        };
        let due = port.expect(net, window, &emission.packet).max(window.index + 1);
        if Q::SHARES {
            self.wake_switch(net.grid.index(emission.packet.time(window)), position, window);
        } else if due < port.armed {
            self.port_agenda.arm(&mut port.armed, position, due, window.index);
        }
    }

    /// The switch of the port at `position` is to be visited in window `due` at the latest.
    fn wake_switch(&mut self, due: u64, position: u32, window: Window) {
        let position = self.switch_of_port[position as usize];
        let switch = &mut self.switches[position as usize];
        if due < switch.armed {
            self.port_agenda.arm(&mut switch.armed, position, due, window.index);
        }
    }

    /// An application of this shard will open a flow. `window` is the one before which it may not start.
    pub fn plan(&mut self, net: &Network, window: Window, process: u32, start: FlowStart) {
        let position = process - self.host_range.start;
        let host = &mut self.hosts[position as usize];
        let due = host.plan(net, start, self.prompt).max(window.index);
        if due < host.armed {
            self.host_agenda.arm(&mut host.armed, position, due, window.index);
        }
    }

    /// Lets everything happen that lies before the end of the run. Hosts and ports are visited as late as their packets
    /// allow; at the end they have to be looked at whatever comes of it.
    pub fn catch_up(&mut self, net: &Network, window: Window) {
        for host in &mut self.hosts {
            let (out, reports, log) = (&mut self.out, &mut self.reports, &mut self.log);
            host.visit(&mut HostContext { net, out, reports, log, window, prompt: self.prompt });
        }
        if Q::SHARES {
            (0..self.switches.len() as u32).for_each(|switch| {
                self.work_off_switch(net, window, switch);
            });
        }
        for port in self.ports.iter_mut().filter(|_| !Q::SHARES) {
            let (rules, shared, out) = (&self.rules, &mut self.nothing_shared, &mut self.out);
            port.visit(&mut PortContext { net, rules, shared, out, window });
        }
    }

    /// The earliest window from `window` on in which something is to be done; `u64::MAX` for none.
    pub fn next_busy(&mut self, window: u64) -> u64 {
        self.host_agenda.next_busy(window).min(self.port_agenda.next_busy(window))
    }
}
