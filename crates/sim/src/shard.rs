//! The processes of one thread, and how a window is processed.

use pullnet_probes::Watches;
use pullnet_transport::Words;
use pullnet_workload::Instruction;

use crate::clock::Window;
use crate::hosts::Hosts;
use crate::network::Network;
use crate::outbox::Outbox;
use crate::port::Env;
use crate::ports::Ports;
use crate::process::ProcessId;

/// Processes of one thread: a range of hosts and a range of ports.
pub struct Shard<W: Words> {
    /// Its hosts.
    pub hosts: Box<dyn Hosts<W>>,
    /// Its ports.
    pub ports: Box<dyn Ports<W>>,
    /// Packets that have left a process, for processes of this shard or others.
    pub out: Outbox<W>,
    /// Whether anything was done in the latest window.
    pub worked: bool,
}

impl<W: Words> Shard<W> {
    /// A shard at rest.
    pub fn new(net: &Network<W>, hosts: Box<dyn Hosts<W>>, ports: Box<dyn Ports<W>>) -> Self {
        let (port_inboxes, host_inboxes) = (ports.inboxes(), hosts.inboxes());
        let outcomes = net.probes().hops.is_some() || net.watches.any(Watches::INCIDENTS);
        let noted = outcomes.then(Vec::new);
        let out = Outbox { noted, port_inboxes, host_inboxes, ..Outbox::default() };
        Self { hosts, ports, out, worked: false }
    }

    /// Processes every event in `window`. Packets for other shards are in `out.remote` afterwards.
    pub fn work(&mut self, net: &Network<W>, window: Window) {
        let Self { hosts, ports, out, worked } = self;
        *worked = hosts.work(Env { net, out, window }, &mut **ports);
        *worked |= ports.work(Env { net, out, window }, &mut **hosts);
        out.all_ports(|mail, remote| ports.accept((net, window), mail, remote));
        out.all_hosts(|mail, remote| hosts.accept((net, window), mail, remote));
    }

    /// Takes packets from another thread.
    pub fn receive(&mut self, net: &Network<W>, window: Window, mail: &mut Mail<W>) {
        self.ports.accept((net, window), &mail.ports, &mut self.out.remote.ports);
        self.hosts.accept((net, window), &mail.hosts, &mut self.out.remote.hosts);
        mail.ports.clear();
        mail.hosts.clear();
    }

    /// Tells an application of this shard what to do, no earlier than in `window`.
    pub fn tell(&mut self, net: &Network<W>, window: Window, process: ProcessId, instruction: Instruction) {
        self.hosts.tell(net, window, process, instruction);
    }

    /// Processes every event before the end of the run. Visits are usually put off for as long as packets allow; at the
    /// end, every host and port is visited.
    pub fn catch_up(&mut self, net: &Network<W>, window: Window) {
        self.hosts.catch_up(Env { net, out: &mut self.out, window });
        self.ports.catch_up(Env { net, out: &mut self.out, window });
    }

    /// Returns the earliest busy window, `window` or later; `u64::MAX` if there is none.
    pub fn next_busy(&mut self, window: u64) -> u64 {
        self.hosts.next_busy(window).min(self.ports.next_busy(window))
    }
}

pub use crate::outbox::Mail;
