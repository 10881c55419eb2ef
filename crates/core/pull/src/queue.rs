use pullnet_connections::RoundRobin;

/// The single pull queue of a host: fair round robin over connections, strict over priorities.
///
/// Connections count their own pulls: the number in a pull is set when the pull leaves.
#[derive(Clone, Default, Debug)]
pub struct PullQueue {
    turns: RoundRobin,
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

    /// Adds `pulls`, at least one, for a connection that had none before.
    pub fn join(&mut self, connection: u32, priority: u8, pulls: u32) {
        self.waiting += u64::from(pulls);
        self.turns.push(connection, priority);
    }

    /// Removes `pulls` pulls of a connection, which keeps `keeps` others.
    pub fn remove(&mut self, connection: u32, pulls: u32, keeps: u32) {
        self.waiting -= u64::from(pulls);
        if keeps == 0 && pulls > 0 {
            self.turns.remove(connection);
        }
    }

    /// Removes the connection that has the turn. If it has further pulls, it must be put back with [`PullQueue::keep`].
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        let connection = self.turns.pop()?;
        self.waiting -= 1;
        Some(connection)
    }

    /// Puts `connection` back, whose further pulls are counted already.
    #[inline]
    pub fn keep(&mut self, connection: u32, priority: u8) {
        self.turns.push(connection, priority);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

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
