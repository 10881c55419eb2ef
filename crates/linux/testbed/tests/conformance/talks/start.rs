//! Rules 1 and 7 of the sender: the first window, and the end of the data.

use crate::conversation::Conversation as _;
use crate::talk::{A, FULL, Talk, talk};

pub fn talks() -> Vec<Talk> {
    vec![
        talk("a flow of one byte is one short packet that opens and ends the connection")
            .sends(A, 1)
            .must_see(
                "A data 0sl:1
             B ack 0
             a: 1 B received acknowledged, 1 sent, 0 again, 0 timeouts",
            ),
        talk("a flow shorter than the window is pushed whole").sends(A, 3 * FULL).must_see(
            "A data 0s 1s 2sl
             B ack 0 1 2
             B pull 1 2
             a: 3000 B received acknowledged, 3 sent, 0 again, 0 timeouts",
        ),
        talk("a flow as long as the window ends with it").sends(A, 4 * FULL).must_see(
            "A data 0s 1s 2s 3sl
             B ack 0 1 2 3
             B pull 1 2 3
             a: 4000 B received acknowledged, 4 sent, 0 again, 0 timeouts",
        ),
        talk("behind the first window every packet leaves on a pull and carries no SYN")
            .sends(A, 6 * FULL)
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp
             B ack 0 1 2 3 4 5
             B pull 1 2 3 4 5
             a: 6000 B received acknowledged, 6 sent, 0 again, 0 timeouts",
            ),
        talk("a window of one packet is enough to begin").window(1).sends(A, 3 * FULL).must_see(
            "A data 0s 1p 2lp
             B ack 0 1 2
             B pull 1 2
             a: 3000 B received acknowledged, 3 sent, 0 again, 0 timeouts",
        ),
        talk("a window that is longer than the flow is not filled").window(30).sends(A, 6 * FULL).must_see(
            "A data 0s 1s 2s 3s 4s 5sl
             B ack 0 1 2 3 4 5
             B pull 1 2 3 4 5
             a: 6000 B received acknowledged, 6 sent, 0 again, 0 timeouts",
        ),
        talk("the last packet is as long as what is left").sends(A, 4 * FULL + 5).must_see(
            "A data 0s 1s 2s 3s 4lp:5
             B ack 0 1 2 3 4
             B pull 1 2 3 4
             a: 4005 B received acknowledged, 5 sent, 0 again, 0 timeouts",
        ),
        talk("the priority stands in every packet").sends(A, 5 * FULL).urgently().must_see(
            "A data 0s! 1s! 2s! 3s! 4lp!
             B ack 0 1 2 3 4
             B pull 1 2 3 4
             a: 5000 B received acknowledged, 5 sent, 0 again, 0 timeouts",
        ),
    ]
}
