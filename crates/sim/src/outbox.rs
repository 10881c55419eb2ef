//! Packets on their way from one process to the next.

use crate::packet::Packet;
use crate::prefetch::Places;

/// The process that a packet goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A host, by its process number.
    Host(u32),
    /// A port, by its process number.
    Port(u32),
}

/// A packet on its way to a process.
#[derive(Clone, Copy, Debug)]
pub struct Emission {
    /// Number of the process, a port or a host.
    pub process: u32,
    /// The packet, with its arrival time.
    pub packet: Packet,
}

/// Packets that have left a process. Those for ports and those for hosts lie apart: to ask of each which it is goes
/// wrong once in six times.
#[derive(Default, Debug)]
pub struct Outbox {
    /// For ports.
    pub ports: Vec<Emission>,
    /// For hosts.
    pub hosts: Vec<Emission>,
    /// What a packet for a port will touch first there: it is asked for at once.
    pub port_inboxes: Places<1>,
    /// The same of hosts.
    pub host_inboxes: Places<3>,
}

impl Outbox {
    /// `packet` goes to `target`.
    #[inline(always)]
    pub fn push(&mut self, target: Target, packet: Packet) {
        match target {
            Target::Host(process) => {
                self.host_inboxes.prefetch(process);
                self.hosts.push(Emission { process, packet });
            }
            Target::Port(process) => {
                self.port_inboxes.prefetch(process);
                self.ports.push(Emission { process, packet });
            }
        }
    }

    /// Takes everything out of `other`.
    pub fn append(&mut self, other: &mut Self) {
        self.ports.append(&mut other.ports);
        self.hosts.append(&mut other.hosts);
    }

    /// All packets: first those for ports.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.ports.iter().chain(&self.hosts).map(|emission| &emission.packet)
    }
}
