//! Packets on their way from one process to the next.

use pullnet_qdisc::{Outcome, Signal};
use pullnet_transport::Words;

use crate::packet::Packet;
use crate::prefetch::Places;
use crate::process::ProcessId;

/// Size at which a batch of packets is put into the inboxes of their next processes.
const BATCH: usize = 64;
/// Latest packets of a batch that wait for the next batch, because the prefetch of their inboxes may not be complete.
const FRESH: usize = 24;

/// The process that a packet goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A host.
    Host(ProcessId),
    /// A port.
    Port(ProcessId),
}

/// A packet on its way to a process.
#[derive(Clone, Copy, Debug)]
pub struct Emission<W> {
    /// The process, a port or a host.
    pub process: ProcessId,
    /// The packet, with its arrival time.
    pub packet: Packet<W>,
}

/// Packets for ports and packets for hosts, in separate lists: a branch on the kind of the next process would be
/// mispredicted once in six times.
#[derive(Debug)]
pub struct Mail<W> {
    /// For ports.
    pub ports: Vec<Emission<W>>,
    /// For hosts.
    pub hosts: Vec<Emission<W>>,
}

impl<W> Default for Mail<W> {
    fn default() -> Self {
        Self { ports: Vec::new(), hosts: Vec::new() }
    }
}

impl<W: Words> Mail<W> {
    /// Moves all packets out of `other`.
    pub fn append(&mut self, other: &mut Self) {
        self.ports.append(&mut other.ports);
        self.hosts.append(&mut other.hosts);
    }

    /// All packets: first those for ports.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<W>> {
        self.ports.iter().chain(&self.hosts).map(|emission| &emission.packet)
    }
}

/// Packets that have left a process.
#[derive(Debug)]
pub struct Outbox<W> {
    /// Packets that are not in an inbox yet.
    pub mail: Mail<W>,
    /// Packets for processes of other shards.
    pub remote: Mail<W>,
    /// Signals that the queues of one switch have just raised, each with the link into the switch whose sender it is for.
    pub signals: Vec<(u16, Signal)>,
    /// Outcomes at queues that their port has not recorded yet; `None` if no probe records packets at hops.
    pub noted: Option<Vec<Outcome<Packet<W>>>>,
    /// Cache line that a packet for a port touches first there; prefetched at once.
    pub port_inboxes: Places<1>,
    /// The same for hosts.
    pub host_inboxes: Places<3>,
}

impl<W> Default for Outbox<W> {
    fn default() -> Self {
        let (port_inboxes, host_inboxes) = (Places::default(), Places::default());
        Self {
            mail: Mail::default(),
            remote: Mail::default(),
            signals: Vec::new(),
            noted: None,
            port_inboxes,
            host_inboxes,
        }
    }
}

/// Passes all packets of `mail` but the latest `fresh` to `accept`.
#[inline(always)]
fn pass_on<W>(
    mail: &mut Vec<Emission<W>>,
    remote: &mut Vec<Emission<W>>,
    fresh: usize,
    accept: impl FnOnce(&[Emission<W>], &mut Vec<Emission<W>>),
) {
    let ready = mail.len() - fresh;
    accept(&mail[..ready], remote);
    mail.drain(..ready);
}

impl<W: Words> Outbox<W> {
    /// Sends `packet` to `target`.
    #[inline(always)]
    pub fn push(&mut self, target: Target, packet: Packet<W>) {
        match target {
            Target::Host(process) => {
                self.host_inboxes.prefetch(process);
                self.mail.hosts.push(Emission { process, packet });
            }
            Target::Port(process) => {
                self.port_inboxes.prefetch(process);
                self.mail.ports.push(Emission { process, packet });
            }
        }
    }

    /// Passes packets for ports to `accept` if there are enough of them.
    #[inline]
    pub fn ports_batch(&mut self, accept: impl FnOnce(&[Emission<W>], &mut Vec<Emission<W>>)) {
        if self.mail.ports.len() >= BATCH {
            pass_on(&mut self.mail.ports, &mut self.remote.ports, FRESH, accept);
        }
    }

    /// The same for hosts.
    #[inline]
    pub fn hosts_batch(&mut self, accept: impl FnOnce(&[Emission<W>], &mut Vec<Emission<W>>)) {
        if self.mail.hosts.len() >= BATCH {
            pass_on(&mut self.mail.hosts, &mut self.remote.hosts, FRESH, accept);
        }
    }

    /// Passes all packets for ports to `accept`.
    pub fn all_ports(&mut self, accept: impl FnOnce(&[Emission<W>], &mut Vec<Emission<W>>)) {
        pass_on(&mut self.mail.ports, &mut self.remote.ports, 0, accept);
    }

    /// The same for hosts.
    pub fn all_hosts(&mut self, accept: impl FnOnce(&[Emission<W>], &mut Vec<Emission<W>>)) {
        pass_on(&mut self.mail.hosts, &mut self.remote.hosts, 0, accept);
    }

    /// All packets that are in no inbox.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<W>> {
        self.mail.packets().chain(self.remote.packets())
    }
}
