//! ACKs and pulls that wait for a frame: those of one connection leave together.

use std::collections::VecDeque;

use pullnet_transport::{ConnId, HostAddr};
use pullnet_wire::Shape;

/// Maximum number of waiting answers that are looked at for one that a new one can join.
const LOOK: usize = 8;

/// Receiver of an answer, connection, and path.
pub(super) type Way = (HostAddr, ConnId, u16);

/// An answer that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub to: HostAddr,
    pub path: u16,
    pub conn: ConnId,
    pub shape: Shape,
}

impl Answer {
    /// Whether the other host waits for it.
    fn is_urgent(&self) -> bool {
        !matches!(self.shape, Shape::Ack { pull: None, .. })
    }
}

/// Answers that wait for a frame, oldest first.
#[derive(Debug, Default)]
pub(super) struct Answers {
    waiting: VecDeque<Answer>,
    /// Number of urgent ones.
    urgent: usize,
}

/// The fields `seq` and `also` of an ACK that also reports packet `new`; `None` if they are too far apart.
fn joined(seq: u32, also: u32, new: u32) -> Option<(u32, u32)> {
    let apart = seq.abs_diff(new);
    match apart {
        0 => Some((seq, also)),
        1..=32 if new < seq => Some((seq, also | 1 << (apart - 1))),
        1..=32 if also.leading_zeros() >= apart => {
            Some((new, also.checked_shl(apart).unwrap_or(0) | 1 << (apart - 1)))
        }
        _ => None,
    }
}

/// The answer that says both; `None` if one packet cannot.
fn both(first: Shape, second: Shape) -> Option<Shape> {
    match (first, second) {
        (Shape::Ack { seq, also, pull: before }, Shape::Ack { seq: new, pull, .. }) => {
            let (seq, also) = joined(seq, also, new)?;
            Some(Shape::Ack { seq, also, pull: pull.or(before) })
        }
        (Shape::Ack { seq, also, .. }, Shape::Pull { number })
        | (Shape::Pull { .. }, Shape::Ack { seq, also, pull: Some(number) }) => {
            Some(Shape::Ack { seq, also, pull: Some(number) })
        }
        (Shape::Pull { number }, Shape::Ack { seq, also, pull: None }) => {
            Some(Shape::Ack { seq, also, pull: Some(number) })
        }
        (Shape::Pull { .. }, Shape::Pull { .. }) => Some(second),
        _ => None,
    }
}

impl Answers {
    /// Packet `seq` has arrived; `pull` is the pull that its ACK carries.
    pub fn acknowledge(&mut self, way: Way, seq: u32, pull: Option<u32>) {
        self.put(way, Shape::Ack { seq, also: 0, pull });
    }

    /// The sender may send what `number` pulls in all allow.
    pub fn pull(&mut self, way: Way, number: u32) {
        self.put(way, Shape::Pull { number });
    }

    fn put(&mut self, (to, conn, path): Way, shape: Shape) {
        let mut newest = self.waiting.iter_mut().rev().take(LOOK);
        // Only the newest of a connection: an older one would leave before what it has been joined with.
        let same = newest.find(|answer| answer.to == to && answer.conn == conn);
        if let Some((answer, shape)) =
            same.and_then(|answer| both(answer.shape, shape).map(|shape| (answer, shape)))
        {
            self.urgent -= usize::from(answer.is_urgent());
            answer.shape = shape;
            self.urgent += usize::from(answer.is_urgent());
            return;
        }
        let answer = Answer { to, path, conn, shape };
        self.urgent += usize::from(answer.is_urgent());
        self.waiting.push_back(answer);
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether another host waits for one of them.
    pub fn is_urgent(&self) -> bool {
        self.urgent > 0
    }

    /// The oldest one.
    pub fn pop(&mut self) -> Option<Answer> {
        let answer = self.waiting.pop_front()?;
        self.urgent -= usize::from(answer.is_urgent());
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Way = (HostAddr(3), ConnId::new(7), 1);

    fn all(answers: &mut Answers) -> Vec<Shape> {
        std::iter::from_fn(|| answers.pop()).map(|answer| answer.shape).collect()
    }

    fn ack(seq: u32, also: u32, pull: Option<u32>) -> Shape {
        Shape::Ack { seq, also, pull }
    }

    #[test]
    fn the_acks_and_pulls_of_a_connection_leave_together() {
        let mut answers = Answers::default();
        for seq in [4, 5, 7, 6] {
            answers.acknowledge(WAY, seq, None);
        }
        assert!(!answers.is_urgent());
        answers.pull(WAY, 11);
        answers.pull(WAY, 12);
        assert!(answers.is_urgent());
        answers.acknowledge(WAY, 8, None);
        let shape = ack(8, 0b1111, Some(12));
        assert_eq!(shape.also().collect::<Vec<_>>(), [4, 5, 6, 7]);
        assert_eq!(all(&mut answers), [shape]);
        assert!(answers.is_empty() && !answers.is_urgent());
    }

    #[test]
    fn a_pull_may_come_before_its_ack_and_alone() {
        let mut answers = Answers::default();
        answers.pull(WAY, 3);
        assert_eq!(all(&mut answers), [Shape::Pull { number: 3 }]);
        answers.pull(WAY, 4);
        answers.acknowledge(WAY, 9, None);
        answers.acknowledge(WAY, 10, Some(5));
        assert_eq!(all(&mut answers), [ack(10, 1, Some(5))]);
    }

    #[test]
    fn no_packet_is_left_out_however_far_apart_they_are() {
        for apart in 1..=33 {
            for (first, second) in [(100, 100 + apart), (100 + apart, 100)] {
                let mut answers = Answers::default();
                [99, first, second].into_iter().for_each(|seq| answers.acknowledge(WAY, seq, None));
                let shapes = all(&mut answers);
                let mut reported: Vec<u32> = shapes
                    .iter()
                    .flat_map(|shape| {
                        let Shape::Ack { seq, .. } = *shape else { panic!("{shape:?}") };
                        shape.also().chain([seq])
                    })
                    .collect();
                reported.sort_unstable();
                assert_eq!(reported, [99, 100, 100 + apart], "{first} and {second}: {shapes:?}");
            }
        }
    }

    #[test]
    fn connections_do_not_mix() {
        let mut answers = Answers::default();
        let other = (HostAddr(3), ConnId::new(8), 2);
        answers.acknowledge(WAY, 1, None);
        answers.acknowledge(other, 2, Some(1));
        answers.acknowledge(WAY, 0, None);
        assert_eq!(all(&mut answers), [ack(1, 1, None), ack(2, 0, Some(1))]);
    }
}
