//! Rule 5 of the sender: headers returned by a switch.

use crate::conversation::Conversation as _;
use crate::script::{data, pull};
use crate::talk::{A, FULL, Talk, talk};

// Long: a table of cases.
pub fn talks() -> Vec<Talk> {
    vec![
        talk("the only packet of a flow, sent back, leaves again at once and without a pull")
            .sends(A, FULL)
            .returns(data(0))
            .must_see(
                "A data 0sl 0sl
                 B ack 0
                 a: 1000 B received acknowledged, 2 sent, 1 again, 0 timeouts",
            ),
        talk("of a window that comes back whole the last two leave at once, the others on pulls, the latest first")
            .sends(A, 4 * FULL)
            .returns(data(0))
            .returns(data(1))
            .returns(data(2))
            .returns(data(3))
            .must_see(
                "A data 0s 1s 2s 3sl 2s 3sl 1sp 0sp
                 B ack 2 3 1 0
                 B pull 1 2 3
                 a: 4000 B received acknowledged, 8 sent, 4 again, 0 timeouts",
            ),
        talk("a returned packet waits for a pull while others of its window are under way")
            .sends(A, 4 * FULL)
            .returns(data(3))
            .must_see(
                "A data 0s 1s 2s 3sl 3slp
                 B ack 0 1 2 3
                 B pull 1 2 3
                 a: 4000 B received acknowledged, 5 sent, 1 again, 0 timeouts",
            ),
        talk("a returned packet goes before one that was trimmed earlier and before new ones")
            .sends(A, 6 * FULL)
            .trims(data(0))
            .trims(data(1))
            .returns(data(2))
            .must_see(
                "A data 0s 1s 2s 3s 2sp 0sp 1sp 4p 5lp
                 B ack 3 2 0 1 4 5
                 B nack 0 1
                 B pull 1 2 3 4 5 6 7
                 a: 6000 B received acknowledged, 9 sent, 3 again, 0 timeouts",
            ),
        talk("among ACKs a returned packet leaves at once although a pull is expected")
            .sends(A, 8 * FULL)
            .loses(pull(4))
            .returns(data(4))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5p 6p 4 7lp
                 B ack 0 1 2 3 5 6 4 7
                 B pull 1 2 3 4 5 6 7
                 a: 8000 B received acknowledged, 9 sent, 1 again, 0 timeouts",
            ),
        talk("a packet that was sent back may be sent back again")
            .sends(A, FULL)
            .returns(data(0))
            .returns(data(0).copy(2))
            .must_see(
                "A data 0sl 0sl 0sl
                 B ack 0
                 a: 1000 B received acknowledged, 3 sent, 2 again, 0 timeouts",
            ),
        talk("a packet that was sent back and then trimmed takes the usual way")
            .sends(A, FULL)
            .returns(data(0))
            .trims(data(0).copy(2))
            .must_see(
                "A data 0sl 0sl 0slp
                 B ack 0
                 B nack 0
                 B pull 1
                 a: 1000 B received acknowledged, 3 sent, 2 again, 0 timeouts",
            ),
    ]
}
