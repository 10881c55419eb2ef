//! Numbers of processes.

use pullnet_topology::TreeHop;
use pullnet_units::{Id, PathLabel, PortId};

/// A process by its number. Hosts and ports are numbered separately, part by part ([`crate::network::Numbering`]); their
/// numbers are neither those of the topology nor positions within a shard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub struct ProcessId(u32);

impl Id for ProcessId {
    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than 2^32 processes"))
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

impl ProcessId {
    /// The process that is `by` numbers behind this one.
    #[inline(always)]
    pub const fn plus(self, by: u32) -> Self {
        Self(self.0 + by)
    }

    /// How many numbers this process is behind `first`; a large number if it comes before `first`.
    #[inline(always)]
    pub const fn behind(self, first: Self) -> u32 {
        self.0.wrapping_sub(first.0)
    }
}

/// The forwarding of a switch of a tree whose ports are numbered as processes.
///
/// Ports of one switch are adjacent in both numberings, so that the arithmetic of [`TreeHop`] holds for processes, too.
#[derive(Clone, Copy, Debug)]
pub struct ProcessHop(TreeHop);

impl ProcessHop {
    /// The switch that forwards like `hop`, where `process` has the numbers of processes.
    pub fn new(hop: TreeHop, process: impl Fn(PortId) -> ProcessId) -> Self {
        let down = PortId::new(process(hop.down).0);
        let up = if hop.ups > 0 { PortId::new(process(hop.up).0) } else { hop.up };
        Self(TreeHop { down, up, ..hop })
    }

    /// The arithmetic.
    pub const fn tree(&self) -> &TreeHop {
        &self.0
    }

    /// The first process on the way down, and on the way up.
    pub const fn firsts(&self) -> [ProcessId; 2] {
        [ProcessId(self.0.down.get()), ProcessId(self.0.up.get())]
    }

    /// The process that a packet to `addr` with `label` goes to.
    pub fn process(&self, addr: u32, label: PathLabel) -> ProcessId {
        ProcessId(self.0.port(addr, label).get())
    }
}

/// Consecutive processes: those of one shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Processes {
    first: ProcessId,
    count: u32,
}

impl Processes {
    /// `count` processes from the one numbered `first` on.
    pub fn new(first: usize, count: usize) -> Self {
        Self { first: ProcessId::from_index(first), count: ProcessId::from_index(count).0 }
    }

    /// The first one.
    pub const fn first(&self) -> ProcessId {
        self.first
    }

    /// The first one beyond them.
    pub const fn end(&self) -> ProcessId {
        self.first.plus(self.count)
    }

    /// Their number.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Position of `process` among them; not below their number if it is none of them.
    #[inline(always)]
    pub const fn position(&self, process: ProcessId) -> u32 {
        process.behind(self.first)
    }

    /// All of them.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ProcessId> + use<> {
        let first = self.first;
        (0..self.count).map(move |by| first.plus(by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_other_shards_have_no_position() {
        let shard = Processes::new(10, 5);
        let positions: Vec<_> = shard.ids().map(|process| shard.position(process)).collect();
        assert_eq!(positions, [0, 1, 2, 3, 4]);
        for other in [Processes::new(0, 10), Processes::new(15, 3)] {
            assert!(other.ids().all(|process| shard.position(process) as usize >= shard.len()));
        }
        assert_eq!(shard.end(), Processes::new(15, 1).first());
    }
}
