//! Rule 4 of the sender: what pulls allow, in any order and number.

use crate::conversation::Conversation as _;
use crate::script::{data, nack, pull};
use crate::talk::{A, FULL, Talk, talk};

// Long: a table of cases.
pub fn talks() -> Vec<Talk> {
    vec![
        talk("a pull that overtakes its NACK is kept for it")
            .sends(A, FULL)
            .trims(data(0))
            .delays(nack(0), pull(1))
            .must_see(
                "A data 0sl 0slp
                 B ack 0
                 B nack 0
                 B pull 1
                 a: 1000 B received acknowledged, 2 sent, 1 again, 0 timeouts",
            ),
        talk("pulls that overtake all NACKs are all kept")
            .sends(A, 4 * FULL)
            .trims(data(0))
            .trims(data(1))
            .trims(data(2))
            .trims(data(3))
            .delays(nack(0), pull(4))
            .delays(nack(1), pull(4))
            .delays(nack(2), pull(4))
            .delays(nack(3), pull(4))
            .must_see(
                "A data 0s 1s 2s 3sl 0sp 1sp 2sp 3slp
                 B ack 0 1 2 3
                 B nack 0 1 2 3
                 B pull 1 2 3 4 5 6 7
                 a: 4000 B received acknowledged, 8 sent, 4 again, 0 timeouts",
            ),
        talk("a pull stands for those before it that were lost")
            .sends(A, 8 * FULL)
            .loses(pull(1))
            .loses(pull(2))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5p 6p 7lp
                 B ack 0 1 2 3 4 5 6 7
                 B pull 1 2 3 4 5 6 7
                 a: 8000 B received acknowledged, 8 sent, 0 again, 0 timeouts",
            ),
        talk("a pull that was overtaken by a later one says nothing")
            .window(2)
            .sends(A, 6 * FULL)
            .trims(data(2))
            .delays(pull(1), pull(2))
            .must_see(
                "A data 0s 1s 2p 3p 2p 4p 5lp
                 B ack 0 1 3 2 4 5
                 B nack 2
                 B pull 1 2 3 4 5 6
                 a: 6000 B received acknowledged, 7 sent, 1 again, 0 timeouts",
            ),
        talk("a pull that comes twice counts once")
            .sends(A, 8 * FULL)
            .trims(data(1))
            .doubles(pull(1))
            .must_see(
                "A data 0s 1s 2s 3s 4p 1sp 5p 6p 7lp
             B ack 0 2 3 4 1 5 6 7
             B nack 1
             B pull 1 2 3 4 5 6 7 8
             a: 8000 B received acknowledged, 9 sent, 1 again, 0 timeouts",
            ),
    ]
}
