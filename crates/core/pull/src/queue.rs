use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Connections in turn: round robin within a priority, higher priorities strictly first.
///
/// It holds each connection at most once per entry, as a number of the owner's choice. One that waits alone, as nearly
/// always, is kept without memory elsewhere.
#[derive(Clone, Default, Debug)]
pub struct Turns {
    /// The only one that waits, with its priority.
    alone: Option<(u8, u32)>,
    /// How many wait in `classes`; 0 if one waits alone.
    others: u32,
    /// Sorted by priority, highest first; nearly always of length one.
    classes: Vec<(u8, VecDeque<u32>)>,
}

impl Turns {
    /// Whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.alone.is_none() && self.others == 0
    }

    /// `connection` waits, behind those of its priority.
    #[inline]
    pub fn push(&mut self, connection: u32, priority: u8) {
        if self.is_empty() {
            self.alone = Some((priority, connection));
        } else {
            self.push_behind(connection, priority);
        }
    }

    fn push_behind(&mut self, connection: u32, priority: u8) {
        if let Some((priority, first)) = self.alone.take() {
            self.enter(first, priority);
        }
        self.enter(connection, priority);
    }

    fn enter(&mut self, connection: u32, priority: u8) {
        let at = match self.classes.iter().position(|(other, _)| *other <= priority) {
            Some(at) if self.classes[at].0 == priority => at,
            found => {
                let at = found.unwrap_or(self.classes.len());
                self.classes.insert(at, (priority, VecDeque::new()));
                at
            }
        };
        self.classes[at].1.push_back(connection);
        self.others += 1;
    }

    /// The connection whose turn it is.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        match self.alone.take() {
            Some((_, connection)) => Some(connection),
            None if self.others == 0 => None,
            None => self.leave(),
        }
    }

    fn leave(&mut self) -> Option<u32> {
        self.others -= 1;
        self.classes.iter_mut().find_map(|(_, class)| class.pop_front())
    }

    /// `connection` waits no more.
    pub fn remove(&mut self, connection: u32) {
        self.alone = self.alone.filter(|(_, alone)| *alone != connection);
        self.classes.iter_mut().for_each(|(_, class)| class.retain(|other| *other != connection));
        self.others = self.classes.iter().map(|(_, class)| class.len() as u32).sum();
    }
}

/// The one pull queue of a host: fair round robin over connections, strict over priorities.
///
/// The connections themselves count their pulls: what a pull says is decided when it leaves.
#[derive(Clone, Default, Debug)]
pub struct PullQueue {
    turns: Turns,
    waiting: u64,
}

impl PullQueue {
    /// Whether no pull waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Number of pulls of all connections.
    pub fn len(&self) -> u64 {
        self.waiting
    }

    /// Adds a pull for `connection`, which had `pending` pulls before.
    #[inline]
    pub fn add(&mut self, connection: u32, priority: u8, pending: u32) {
        self.waiting += 1;
        if pending == 0 {
            self.turns.push(connection, priority);
        }
    }

    /// Adds the `pulls`, at least one, of a connection that had none before.
    pub fn join(&mut self, connection: u32, priority: u8, pulls: u32) {
        self.waiting += u64::from(pulls);
        self.turns.push(connection, priority);
    }

    /// Removes `pulls` of the pulls of a connection, which keeps `keeps` others.
    pub fn remove(&mut self, connection: u32, pulls: u32, keeps: u32) {
        self.waiting -= u64::from(pulls);
        if keeps == 0 && pulls > 0 {
            self.turns.remove(connection);
        }
    }

    /// The connection whose turn it is. It has to be put back with [`PullQueue::keep`] if it has further pulls.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        let connection = self.turns.pop()?;
        self.waiting -= 1;
        Some(connection)
    }

    /// `connection` has further pulls, which are counted already.
    #[inline]
    pub fn keep(&mut self, connection: u32, priority: u8) {
        self.turns.push(connection, priority);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes everything; connection c has `pulls[c]` of priority `priority[c]`.
    fn drain(queue: &mut PullQueue, pulls: &mut [u32], priority: &[u8]) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some(connection) = queue.take() {
            let left = &mut pulls[connection as usize];
            *left -= 1;
            if *left > 0 {
                queue.keep(connection, priority[connection as usize]);
            }
            order.push(connection);
        }
        order
    }

    fn filled(pulls: &[u32], priority: &[u8]) -> PullQueue {
        let mut queue = PullQueue::default();
        for (connection, count) in pulls.iter().enumerate() {
            (0..*count).for_each(|pending| queue.add(connection as u32, priority[connection], pending));
        }
        queue
    }

    #[test]
    fn connections_take_turns() {
        let (mut pulls, priority) = ([3, 2, 1], [0, 0, 0]);
        let mut queue = filled(&pulls, &priority);
        assert_eq!(drain(&mut queue, &mut pulls, &priority), [0, 1, 2, 0, 1, 0]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_higher_priority_goes_first() {
        let (mut pulls, priority) = ([2, 2, 1], [0, 7, 3]);
        let mut queue = filled(&pulls, &priority);
        assert_eq!(drain(&mut queue, &mut pulls, &priority), [1, 1, 2, 0, 0]);
    }

    #[test]
    fn a_connection_that_has_everything_leaves_the_queue() {
        let mut queue = filled(&[2, 1], &[0, 0]);
        queue.remove(0, 2, 0);
        assert_eq!(drain(&mut queue, &mut [0, 1], &[0, 0]), [1]);
        assert_eq!(queue.len(), 0);
    }
}
