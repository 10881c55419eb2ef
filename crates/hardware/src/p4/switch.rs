//! The environment of a program, built like bmv2's `simple_switch`.

use std::collections::VecDeque;

use super::machine::{Machine, Packet};
use super::{WrongEntry, WrongProgram};

/// Number of strict priorities of a port.
const PRIORITIES: usize = 8;
/// Egress port number that drops the packet.
const DROP: u128 = 511;

/// Outcome of a packet's ingress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The packet waits at these ports with this priority.
    Queued {
        /// The ports.
        ports: Vec<u16>,
        /// 7 is served first.
        priority: u8,
    },
    /// The program dropped the packet, or selected a port that does not exist.
    Dropped,
    /// The queue of this port was full: the traffic manager's own limit, invisible to the program.
    NoRoom(u16),
}

/// A switch that runs a program.
#[derive(Debug)]
pub struct Switch {
    /// The program, its tables and registers.
    pub machine: Machine,
    queues: Vec<[VecDeque<Packet>; PRIORITIES]>,
    groups: Vec<(u16, Vec<u16>)>,
    depth: usize,
}

impl Switch {
    /// A switch of `ports` ports; each priority of a port has room for `depth` packets.
    pub fn new(text: &str, ports: u16, depth: usize, seed: u64) -> Result<Self, WrongProgram> {
        let queues = (0..ports).map(|_| Default::default()).collect();
        Ok(Self { machine: Machine::new(text, seed)?, queues, groups: Vec::new(), depth })
    }

    /// Sets the ports of a multicast group; packets are not sent back to their ingress port.
    pub fn group(&mut self, number: u16, ports: &[u16]) -> Result<(), WrongEntry> {
        if number == 0 || ports.iter().any(|port| usize::from(*port) >= self.queues.len()) {
            let what = format!(
                "group {number} with ports {ports:?}: groups count from 1, and there are {} ports",
                self.queues.len()
            );
            return Err(WrongEntry { table: "multicast".into(), what });
        }
        self.groups.retain(|(found, _)| *found != number);
        self.groups.push((number, ports.to_vec()));
        Ok(())
    }

    /// Processes an arriving packet: parser, verification, ingress, queue.
    pub fn arrive(&mut self, port: u16, bytes: &[u8]) -> Result<Outcome, WrongProgram> {
        let standard = [("ingress_port", u128::from(port)), ("packet_length", bytes.len() as u128)];
        let mut packet = self.machine.parse_packet(bytes, &standard)?;
        self.machine.control(1, &mut packet)?;
        self.machine.control(2, &mut packet)?;
        let (spec, group) = (packet.standard("egress_spec"), packet.standard("mcast_grp") as u16);
        let ports = if group != 0 {
            let all =
                self.groups.iter().find(|(number, _)| *number == group).map_or(&[][..], |(_, ports)| ports);
            all.iter().copied().filter(|to| *to != port).collect()
        } else if spec < DROP && spec < self.queues.len() as u128 {
            vec![spec as u16]
        } else {
            Vec::new()
        };
        let priority = packet.standard("priority") as u8;
        let mut full = None;
        for to in &ports {
            let queue = &mut self.queues[usize::from(*to)][usize::from(priority)];
            if queue.len() >= self.depth {
                full = Some(*to);
                continue;
            }
            let mut copy = packet.clone();
            copy.set_standard("egress_port", (*to).into());
            copy.set_standard("enq_qdepth", queue.len() as u128);
            queue.push_back(copy);
        }
        Ok(match full {
            Some(port) => Outcome::NoRoom(port),
            None if ports.is_empty() => Outcome::Dropped,
            None => Outcome::Queued { ports, priority },
        })
    }

    /// Number of packets waiting at a port, by priority.
    pub fn waiting(&self, port: u16) -> [usize; PRIORITIES] {
        self.queues[usize::from(port)].each_ref().map(VecDeque::len)
    }

    /// Processes a port's next departing packet: egress, checksums, deparser. `None` if no packet waits; empty if egress
    /// drops it.
    pub fn serve(&mut self, port: u16) -> Result<Option<Vec<u8>>, WrongProgram> {
        let queues = &mut self.queues[usize::from(port)];
        let Some(queue) = queues.iter_mut().rev().find(|queue| !queue.is_empty()) else { return Ok(None) };
        let Some(mut packet) = queue.pop_front() else { return Ok(None) };
        packet.set_standard("deq_qdepth", queue.len() as u128);
        packet.set_standard("egress_spec", 0);
        self.machine.control(3, &mut packet)?;
        if packet.standard("egress_spec") == DROP {
            return Ok(Some(Vec::new()));
        }
        self.machine.control(4, &mut packet)?;
        Ok(Some(self.machine.deparse(&mut packet)?))
    }
}
