//! Several flows: one pull queue, both directions, one after the other.

use crate::conversation::Conversation as _;
use crate::script::{data, pull};
use crate::talk::{A, B, FULL, Talk, talk};

/// Pull interval.
const SLOW: &str = "20 ms:0, 20 ms:1";

// Long: a table of cases.
pub fn talks() -> Vec<Talk> {
    vec![
        talk("two flows take turns in the pull queue")
            .window(2)
            .set("transport.timeout", "1 s")
            .set("transport.pull_spacing", SLOW)
            .sends(A, 5 * FULL)
            .sends_at("2 ms", A, 5 * FULL)
            .must_see(
                "A data 0s 1s 2p b0s b1s 3p b2p 4lp b3p b4lp
                 B ack 0 1 2 b0 b1 3 b2 4 b3 b4
                 B pull 1 2 b1 3 b2 b3
                 a: 5000 B received acknowledged, 5 sent, 0 again, 0 timeouts
                 b: 5000 B received acknowledged, 5 sent, 0 again, 0 timeouts",
            ),
        talk("the pulls of an urgent flow go first")
            .window(2)
            .set("transport.timeout", "1 s")
            .set("transport.pull_spacing", SLOW)
            .sends(A, 5 * FULL)
            .sends_at("2 ms", A, 5 * FULL)
            .urgently()
            .must_see(
                "A data 0s 1s 2p b0s! b1s! b2p! b3p! b4lp! 3p 4lp
                 B ack 0 1 2 b0 b1 b2 b3 b4 3 4
                 B pull 1 b1 b2 b3 2 3
                 a: 5000 B received acknowledged, 5 sent, 0 again, 0 timeouts
                 b: 5000 B received acknowledged, 5 sent, 0 again, 0 timeouts",
            ),
        talk("flows in both directions do not disturb each other")
            .sends(A, 6 * FULL)
            .sends(B, 5 * FULL)
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp
             A ack b0 b1 b2 b3 b4
             A pull b1 b2 b3 b4
             B data b0s b1s b2s b3s b4lp
             B ack 0 1 2 3 4 5
             B pull 1 2 3 4 5
             a: 6000 B received acknowledged, 6 sent, 0 again, 0 timeouts
             b: 5000 B received acknowledged, 5 sent, 0 again, 0 timeouts",
            ),
        talk("a trim in one direction and a loss in the other are repaired each by its own rule")
            .sends(A, 2 * FULL)
            .sends(B, 2 * FULL)
            .trims(data(0))
            .loses(data(0).of(1))
            .must_see(
                "A data 0s 1sl 0sp
                 A ack b1 b0
                 A pull b1
                 B data b0s b1sl b0s
                 B ack 1 0
                 B nack 0
                 B pull 1 2
                 a: 2000 B received acknowledged, 3 sent, 1 again, 0 timeouts
                 b: 2000 B received acknowledged, 3 sent, 1 again, 1 timeouts",
            ),
        talk("later data of the same pair is a connection of its own whose first window is pushed")
            .window(2)
            .sends(A, 3 * FULL)
            .sends_at("10 ms", A, 3 * FULL)
            .must_see(
                "A data 0s 1s 2lp b0s b1s b2lp
                 B ack 0 1 2 b0 b1 b2
                 B pull 1 2 b1 b2
                 a: 3000 B received acknowledged, 3 sent, 0 again, 0 timeouts
                 b: 3000 B received acknowledged, 3 sent, 0 again, 0 timeouts",
            ),
        talk("what one flow misses does not hold up another")
            .window(1)
            .sends(A, 2 * FULL)
            .sends_at("10 ms", A, 2 * FULL)
            .loses(pull(1))
            .must_see(
                "A data 0s b0s b1lp 1lp
                 A probe 0
                 B ack 0 b0 b1 0 1
                 B pull 1 b1 2
                 a: 2000 B received acknowledged, 2 sent, 0 again, 0 timeouts
                 b: 2000 B received acknowledged, 2 sent, 0 again, 0 timeouts",
            ),
        talk("the number of a packet is its own connection's")
            .sends(A, FULL)
            .sends_at("10 ms", A, FULL)
            .sends_at("20 ms", B, FULL)
            .trims(data(0).of(1))
            .must_see(
                "A data 0sl b0sl b0slp
                 A ack c0
                 B data c0sl
                 B ack 0 b0
                 B nack b0
                 B pull b1
                 a: 1000 B received acknowledged, 1 sent, 0 again, 0 timeouts
                 b: 1000 B received acknowledged, 2 sent, 1 again, 0 timeouts
                 c: 1000 B received acknowledged, 1 sent, 0 again, 0 timeouts",
            ),
    ]
}
