//! Schedules of collective operations: the messages of every step, with sender, receiver and size.
//!
//! Hosts of a group are numbered from 0. The buffer has a piece for each of them; piece `p` is the bytes from `p` to `p + 1` of as many
//! equal parts as there are hosts, so that pieces differ by at most one byte and add up to the buffer.

use super::{Algorithm, Operation};

/// A message: neighbouring pieces of the sender's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    /// Number of the receiver.
    pub to: u32,
    /// The first piece.
    first: u32,
    /// Number of pieces.
    count: u32,
}

/// The steps of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schedule {
    pub operation: Operation,
    pub algorithm: Algorithm,
    /// Hosts of a group, two at least.
    pub hosts: u32,
    /// Buffer of a host. Bytes.
    pub size: u64,
}

/// The algorithms that carry out `operation`.
pub fn algorithms(operation: Operation) -> &'static [Algorithm] {
    match operation {
        Operation::AllReduce => {
            &[Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::Tree, Algorithm::Direct]
        }
        Operation::ReduceScatter | Operation::AllGather => {
            &[Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::Direct]
        }
        Operation::Broadcast => &[Algorithm::Ring, Algorithm::Tree],
        Operation::AllToAll => &[Algorithm::Direct, Algorithm::Pairwise],
    }
}

impl Schedule {
    /// Number of steps.
    pub fn steps(self) -> u32 {
        use Operation::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter};
        let others = self.hosts - 1;
        let once = match self.algorithm {
            Algorithm::Ring | Algorithm::Pairwise => others,
            Algorithm::HalvingDoubling => self.hosts.ilog2(),
            Algorithm::Tree => depth(others),
            Algorithm::Direct => 1,
        };
        match (self.operation, self.algorithm) {
            (AllReduce, _) => 2 * once,
            // The last host gets the last piece as many steps later as there are hosts between it and the first.
            (Broadcast, Algorithm::Ring) => self.hosts + others - 1,
            (Broadcast, _) => self.hosts.next_power_of_two().ilog2(),
            (ReduceScatter | AllGather | AllToAll, _) => once,
        }
    }

    /// Maximum number of messages that a host sends in a step.
    pub fn most_sends(self) -> u32 {
        match self.algorithm {
            Algorithm::Ring | Algorithm::HalvingDoubling | Algorithm::Pairwise => 1,
            Algorithm::Tree => 2,
            Algorithm::Direct => self.hosts - 1,
        }
    }

    /// Number of messages that `host` receives in `step`.
    pub fn receives(self, step: u32, host: u32) -> u32 {
        match (self.operation, self.algorithm) {
            (Operation::Broadcast, Algorithm::Ring) => {
                u32::from(host > 0 && (host - 1..host - 1 + self.hosts).contains(&step))
            }
            (Operation::Broadcast, _) => u32::from(host >> step == 1),
            (_, Algorithm::Tree) if step < self.steps() / 2 => {
                let children = children(host, self.hosts).count() as u32;
                if depth(host) + step + 1 == self.steps() / 2 { children } else { 0 }
            }
            (_, Algorithm::Tree) => u32::from(host > 0 && depth(host) - 1 == step - self.steps() / 2),
            (_, Algorithm::Direct) => self.hosts - 1,
            _ => 1,
        }
    }

    /// The messages of `host` in `step`.
    pub fn sends(self, step: u32, host: u32) -> Vec<Send> {
        match self.algorithm {
            Algorithm::Ring if self.operation == Operation::Broadcast => self.passed_on(step, host),
            Algorithm::Ring => vec![self.around(step, host)],
            Algorithm::HalvingDoubling => vec![self.across(step, host)],
            Algorithm::Tree if self.operation == Operation::Broadcast => self.spread(step, host),
            Algorithm::Tree => self.up_and_down(step, host),
            Algorithm::Direct => self.to_all(step, host),
            Algorithm::Pairwise => {
                let to = (host + step + 1) % self.hosts;
                vec![Send { to, first: to, count: 1 }]
            }
        }
    }

    /// Payload of `message`. Bytes.
    pub fn bytes(self, message: Send) -> u64 {
        let until = |piece: u32| u128::from(self.size) * u128::from(piece) / u128::from(self.hosts);
        (until(message.first + message.count) - until(message.first)) as u64
    }

    /// Ring: in each step a host passes on the piece that it received in the previous step. It begins with its own piece, and ends a
    /// reduce-scatter with that of the next host.
    fn around(self, step: u32, host: u32) -> Send {
        let to = (host + 1) % self.hosts;
        let steps = self.hosts - 1;
        let begins = if step < steps { host } else { host + 1 };
        let piece = (begins + self.hosts - step % steps) % self.hosts;
        Send { to, first: piece, count: 1 }
    }

    /// Broadcast in a chain: host 0 sends a piece in each step, the others the piece of the previous step.
    fn passed_on(self, step: u32, host: u32) -> Vec<Send> {
        let sends = host + 1 < self.hosts && (host..host + self.hosts).contains(&step);
        let send = || Send { to: host + 1, first: step - host, count: 1 };
        sends.then(send).into_iter().collect()
    }

    /// Recursive halving of the block that a host reduces, then doubling of the block that it has.
    fn across(self, step: u32, host: u32) -> Send {
        let levels = self.hosts.ilog2();
        let halves = match self.operation {
            Operation::AllGather => false,
            _ => step < levels,
        };
        // Number of pieces in the message.
        let count = if halves { self.hosts >> (step + 1) } else { 1 << (step % levels) };
        let to = host ^ count;
        // Halving sends the half that the partner keeps, doubling the block of its own.
        let first = if halves { to } else { host } & !(count - 1);
        Send { to, first, count }
    }

    /// Binomial tree: the hosts that have the buffer double in each step.
    fn spread(self, step: u32, host: u32) -> Vec<Send> {
        let to = host + (1 << step);
        let sends = host < 1 << step && to < self.hosts;
        sends.then_some(Send { to, first: 0, count: self.hosts }).into_iter().collect()
    }

    /// Binary tree: sums go up from the lowest level, the result goes down.
    fn up_and_down(self, step: u32, host: u32) -> Vec<Send> {
        let (levels, level) = (self.steps() / 2, depth(host));
        let message = |to| Send { to, first: 0, count: self.hosts };
        if step < levels {
            let up = host > 0 && level + step == levels;
            return up.then(|| message((host - 1) / 2)).into_iter().collect();
        }
        if level + levels == step { children(host, self.hosts).map(message).collect() } else { Vec::new() }
    }

    /// To every other host, the next one first.
    fn to_all(self, step: u32, host: u32) -> Vec<Send> {
        // What is gathered is the sender's piece, what is reduced or exchanged the receiver's.
        let own = self.operation == Operation::AllGather || step == 1;
        let others = (1..self.hosts).map(|distance| (host + distance) % self.hosts);
        others.map(|to| Send { to, first: if own { host } else { to }, count: 1 }).collect()
    }
}

/// Level of `host` in the binary tree; that of the root is 0.
fn depth(host: u32) -> u32 {
    (host + 1).ilog2()
}

/// Children of `host` in the binary tree.
fn children(host: u32, hosts: u32) -> impl Iterator<Item = u32> {
    [2 * host + 1, 2 * host + 2].into_iter().filter(move |child| *child < hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each host and piece, the hosts whose data is in it, a bit each.
    type Buffers = Vec<Vec<u64>>;

    fn all(operation: Operation) -> impl Iterator<Item = Schedule> {
        let schedule = move |algorithm, hosts| Schedule { operation, algorithm, hosts, size: 1_000_003 };
        let possible = |schedule: &Schedule| {
            schedule.algorithm != Algorithm::HalvingDoubling || schedule.hosts.is_power_of_two()
        };
        let of = move |algorithm: &Algorithm| {
            (2..=33).map({
                let algorithm = *algorithm;
                move |hosts| schedule(algorithm, hosts)
            })
        };
        algorithms(operation).iter().flat_map(of).filter(possible)
    }

    /// Contents of the buffers after all steps, from `buffers` at the start; all hosts take each step together.
    fn carried_out(schedule: Schedule, mut buffers: Buffers) -> Buffers {
        let everyone = (1u64 << schedule.hosts) - 1;
        for step in 0..schedule.steps() {
            let before = buffers.clone();
            let mut received = vec![0; schedule.hosts as usize];
            for host in 0..schedule.hosts {
                let sends = schedule.sends(step, host);
                assert!(sends.len() as u32 <= schedule.most_sends());
                for message in sends {
                    assert_ne!(message.to, host);
                    received[message.to as usize] += 1;
                    for piece in message.first..message.first + message.count {
                        let from = before[host as usize][piece as usize];
                        let into = &mut buffers[message.to as usize][piece as usize];
                        assert_ne!(from, 0, "{schedule:?}: step {step}: host {host} has no piece {piece}");
                        // Nothing may be added twice; what is whole takes the place of what was there.
                        assert!(
                            *into & from == 0 || from == everyone,
                            "{schedule:?}: step {step}: added twice"
                        );
                        *into |= from;
                    }
                }
            }
            let wanted: Vec<_> = (0..schedule.hosts).map(|host| schedule.receives(step, host)).collect();
            assert_eq!(received, wanted, "{schedule:?}: step {step}");
        }
        buffers
    }

    fn buffers(hosts: u32, has: impl Fn(u32, u32) -> u64) -> Buffers {
        (0..hosts).map(|host| (0..hosts).map(|piece| has(host, piece)).collect()).collect()
    }

    #[test]
    fn a_reduction_adds_every_buffer_once() {
        for schedule in all(Operation::AllReduce).chain(all(Operation::ReduceScatter)) {
            let hosts = schedule.hosts;
            let done = carried_out(schedule, buffers(hosts, |host, _| 1 << host));
            let whole = |piece: &u64| *piece == (1 << hosts) - 1;
            if schedule.operation == Operation::AllReduce {
                assert!(done.iter().flatten().all(whole), "{schedule:?}");
                continue;
            }
            let mut pieces: Vec<_> = done.iter().map(|buffer| buffer.iter().position(whole)).collect();
            pieces.sort_unstable();
            assert!(pieces.into_iter().eq((0..hosts as usize).map(Some)), "{schedule:?}");
        }
    }

    #[test]
    fn what_is_gathered_or_broadcast_is_everywhere() {
        for schedule in all(Operation::AllGather) {
            let done = carried_out(schedule, buffers(schedule.hosts, |host, piece| u64::from(host == piece)));
            assert!(done.iter().flatten().all(|piece| *piece == 1), "{schedule:?}");
        }
        for schedule in all(Operation::Broadcast) {
            let done = carried_out(schedule, buffers(schedule.hosts, |host, _| u64::from(host == 0)));
            assert!(done.iter().flatten().all(|piece| *piece == 1), "{schedule:?}");
        }
    }

    #[test]
    fn an_all_to_all_has_every_pair_once() {
        for schedule in all(Operation::AllToAll) {
            let of_host = |host| (0..schedule.steps()).flat_map(move |step| schedule.sends(step, host));
            for host in 0..schedule.hosts {
                let mut to: Vec<_> = of_host(host).map(|message| message.to).collect();
                to.sort_unstable();
                assert!(
                    to.into_iter().eq((0..schedule.hosts).filter(|other| *other != host)),
                    "{schedule:?}"
                );
                assert!(of_host(host).all(|message| (message.first, message.count) == (message.to, 1)));
            }
        }
    }

    #[test]
    fn a_host_sends_no_more_bytes_than_the_bound_of_its_operation() {
        let sent = |schedule: Schedule, host| -> u64 {
            let sends = (0..schedule.steps()).flat_map(|step| schedule.sends(step, host));
            sends.map(|message| schedule.bytes(message)).sum()
        };
        for schedule in all(Operation::AllReduce).filter(|schedule| schedule.algorithm != Algorithm::Tree) {
            let (hosts, size) = (u64::from(schedule.hosts), schedule.size);
            for host in 0..schedule.hosts {
                let most = 2 * (hosts - 1) * size / hosts;
                assert!(sent(schedule, host).abs_diff(most) <= 2 * hosts, "{schedule:?}");
            }
        }
    }
}
