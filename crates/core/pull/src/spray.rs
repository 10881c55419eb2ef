use pullnet_rng::RandomStream;
use pullnet_settings::choice;

choice! {
    /// How a host spreads all its packets over equal-cost paths, without memory of its connections.
    pub enum Spraying {
        /// The paths in turn, over all packets of the host (public pHost code).
        RoundRobin = "round-robin",
        /// An independent uniform path for each packet.
        Random = "random",
        /// One random path per flow and direction.
        Single = "single",
    }
}

/// Chooses the path of each packet of a host.
#[derive(Clone, Copy, Debug)]
pub struct Sprayer {
    spraying: Spraying,
    /// Packets sent to hosts with several paths, counted from a random start.
    sent: u32,
    /// Answers to packets that had arrived before.
    answered_again: u32,
}

impl Sprayer {
    /// Starts with a random path.
    pub fn new(spraying: Spraying, chance: &mut RandomStream) -> Self {
        Self { spraying, sent: chance.below(1 << 16), answered_again: 0 }
    }

    /// The path that a new flow keeps, if each flow keeps a path.
    pub fn own(paths: u16, chance: &mut RandomStream) -> u16 {
        if paths < 2 { 0 } else { chance.below(paths.into()) as u16 }
    }

    /// The path of the next packet, one of `paths`; `own` is the path of the flow. A packet to a host with a single
    /// path takes no turn. Nor does a packet that is sent `again`: its path is random, because repetitions in step with
    /// the turns would come to the same failed path every time.
    #[inline]
    pub fn next(&mut self, (paths, own): (u16, u16), again: bool, chance: &mut RandomStream) -> u16 {
        match self.spraying {
            _ if paths < 2 => 0,
            Spraying::RoundRobin if again => chance.below(paths.into()) as u16,
            Spraying::RoundRobin => {
                self.sent = self.sent.wrapping_add(1);
                (self.sent % u32::from(paths)) as u16
            }
            Spraying::Random => chance.below(paths.into()) as u16,
            Spraying::Single => own,
        }
    }

    /// The path of an answer to a packet that had arrived before: its earlier answer was lost, perhaps to a failed path. Such
    /// answers have a turn of their own. By random paths, all answers of a sender with few attempts left may be lost.
    pub fn answer_again(&mut self, (paths, own): (u16, u16)) -> u16 {
        match self.spraying {
            _ if paths < 2 => 0,
            Spraying::Single => own,
            Spraying::RoundRobin | Spraying::Random => {
                self.answered_again = self.answered_again.wrapping_add(1);
                (self.answered_again % u32::from(paths)) as u16
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use pullnet_rng::Seed;

    #[test]
    fn paths_take_turns_over_all_flows_of_a_host() {
        let mut chance = Seed(1).stream("test.spray", 0);
        let mut sprayer = Sprayer::new(Spraying::RoundRobin, &mut chance);
        let first = sprayer.next((4, 0), false, &mut chance);
        assert_eq!(sprayer.next((1, 0), false, &mut chance), 0);
        let next: Vec<_> = (0..8).map(|flow| sprayer.next((4, flow % 4), false, &mut chance)).collect();
        assert_eq!(next, (1..9).map(|turn| (first + turn) % 4).collect::<Vec<_>>());
        let mut repeated: Vec<_> = (0..64).map(|_| sprayer.next((4, 0), true, &mut chance)).collect();
        repeated.sort_unstable();
        repeated.dedup();
        assert_eq!(repeated, [0, 1, 2, 3]);
        assert_eq!(sprayer.next((4, 0), false, &mut chance), (first + 9) % 4, "repetitions take no turn");
        let mut single = Sprayer::new(Spraying::Single, &mut chance);
        for again in [false, true] {
            assert!((0..4).all(|own| single.next((4, own), again, &mut chance) == own));
        }
        assert!((0..4).all(|own| single.answer_again((4, own)) == own));
    }

    #[test]
    fn repeated_answers_take_all_paths_by_turns_of_their_own() {
        let mut chance = Seed(1).stream("test.spray", 0);
        for spraying in [Spraying::RoundRobin, Spraying::Random] {
            let mut sprayer = Sprayer::new(spraying, &mut chance);
            let answers: Vec<_> = (0..8)
                .map(|_| {
                    sprayer.next((4, 0), false, &mut chance);
                    assert_eq!(sprayer.answer_again((1, 0)), 0);
                    sprayer.answer_again((4, 0))
                })
                .collect();
            assert_eq!(answers, [1, 2, 3, 0, 1, 2, 3, 0], "{spraying:?}");
        }
    }
}
