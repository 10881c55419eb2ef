//! Rule 3 of the sender and the receiver: headers, NACKs, and packets that wait for a pull.

use crate::conversation::Conversation as _;
use crate::script::{data, nack, pull};
use crate::talk::{A, FULL, Talk, talk};

// Long: a table of cases.
pub fn talks() -> Vec<Talk> {
    vec![
        talk("a header opens the connection, earns a NACK and a pull, and its packet goes before new ones")
            .sends(A, 6 * FULL)
            .trims(data(0))
            .must_see(
                "A data 0s 1s 2s 3s 0sp 4p 5lp
                 B ack 1 2 3 0 4 5
                 B nack 0
                 B pull 1 2 3 4 5 6
                 a: 6000 B received acknowledged, 7 sent, 1 again, 0 timeouts",
            ),
        talk("trimmed packets are sent again in the order of their NACKs")
            .sends(A, 6 * FULL)
            .trims(data(1))
            .trims(data(2))
            .must_see(
                "A data 0s 1s 2s 3s 4p 1sp 2sp 5lp
             B ack 0 3 4 1 2 5
             B nack 1 2
             B pull 1 2 3 4 5 6 7
             a: 6000 B received acknowledged, 8 sent, 2 again, 0 timeouts",
            ),
        talk("a window that was trimmed whole is pulled packet by packet")
            .sends(A, 6 * FULL)
            .trims(data(0))
            .trims(data(1))
            .trims(data(2))
            .trims(data(3))
            .must_see(
                "A data 0s 1s 2s 3s 0sp 1sp 2sp 3sp 4p 5lp
                 B ack 0 1 2 3 4 5
                 B nack 0 1 2 3
                 B pull 1 2 3 4 5 6 7 8 9
                 a: 6000 B received acknowledged, 10 sent, 4 again, 0 timeouts",
            ),
        talk("the header of the last packet says that it is the last, and no pull too many is sent")
            .sends(A, 4 * FULL)
            .trims(data(3))
            .must_see(
                "A data 0s 1s 2s 3sl 3slp
                 B ack 0 1 2 3
                 B nack 3
                 B pull 1 2 3 4
                 a: 4000 B received acknowledged, 5 sent, 1 again, 0 timeouts",
            ),
        talk("a flow of one packet survives the trim of its packet").sends(A, FULL).trims(data(0)).must_see(
            "A data 0sl 0slp
             B ack 0
             B nack 0
             B pull 1
             a: 1000 B received acknowledged, 2 sent, 1 again, 0 timeouts",
        ),
        talk("a packet can be trimmed again and again")
            .sends(A, FULL)
            .trims(data(0))
            .trims(data(0).copy(2))
            .trims(data(0).copy(3))
            .must_see(
                "A data 0sl 0slp 0slp 0slp
                 B ack 0
                 B nack 0 0 0
                 B pull 1 2 3
                 a: 1000 B received acknowledged, 4 sent, 3 again, 0 timeouts",
            ),
        talk("a packet that was pulled can be trimmed too").sends(A, 6 * FULL).trims(data(4)).must_see(
            "A data 0s 1s 2s 3s 4p 5lp 4p
             B ack 0 1 2 3 5 4
             B nack 4
             B pull 1 2 3 4 5 6
             a: 6000 B received acknowledged, 7 sent, 1 again, 0 timeouts",
        ),
        talk("a damaged payload is as good as none").sends(A, 2 * FULL).damages(data(0)).must_see(
            "A data 0s 1sl 0sp
             B ack 1 0
             B nack 0
             B pull 1 2
             a: 2000 B received acknowledged, 3 sent, 1 again, 0 timeouts",
        ),
        talk("a NACK for a packet that waits already says nothing new")
            .sends(A, 8 * FULL)
            .doubles_trimmed(data(1))
            .delays(pull(2), nack(1).copy(2))
            .must_see(
                "A data 0s 1s 2s 3s 4p 1sp 5p 6p 7lp
                 B ack 0 2 3 4 1 5 6 7
                 B nack 1 1
                 B pull 1 2 3 4 5 6 7 8 9
                 a: 8000 B received acknowledged, 9 sent, 1 again, 0 timeouts",
            ),
        talk("where the pull queue is empty ACKs and NACKs carry the pulls")
            .set("transport.piggyback", "true")
            .sends(A, 6 * FULL)
            .trims(data(1))
            .must_see(
                "A data 0s 1s 2s 3s 4p 1sp 5lp
                 B ack 0+1 2+3 3+4 4+5 1+6 5
                 B nack 1+2
                 a: 6000 B received acknowledged, 7 sent, 1 again, 0 timeouts",
            ),
    ]
}
