use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Connections in turn: round robin within a priority, higher priorities strictly first.
///
/// It holds each connection at most once per entry, as a number of the owner's choice. A single waiting connection, the
/// usual case, needs no heap memory.
#[derive(Clone, Default, Debug)]
pub struct RoundRobin {
    /// The only waiting connection, with its priority.
    alone: Option<(u8, u32)>,
    /// Connections in `classes`; 0 if one waits alone.
    others: u32,
    /// Sorted by priority, highest first; nearly always of length one.
    classes: Vec<(u8, VecDeque<u32>)>,
}

impl RoundRobin {
    /// Whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.alone.is_none() && self.others == 0
    }

    /// Adds `connection`, behind the others of its priority.
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

    /// Removes the connection that has the turn.
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

    /// Removes `connection`.
    pub fn remove(&mut self, connection: u32) {
        self.alone = self.alone.filter(|(_, alone)| *alone != connection);
        self.classes.iter_mut().for_each(|(_, class)| class.retain(|other| *other != connection));
        self.others = self.classes.iter().map(|(_, class)| class.len() as u32).sum();
    }
}
