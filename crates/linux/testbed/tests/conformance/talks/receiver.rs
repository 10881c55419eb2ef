//! Rules 1, 2, 6 and 7 of the receiver: packets arriving in any order and number are delivered once.

use crate::conversation::Conversation as _;
use crate::script::{ack, data, nack, pull};
use crate::talk::{A, FULL, Talk, talk};

// Long: a table of cases.
pub fn talks() -> Vec<Talk> {
    vec![
        talk("any packet of the first window opens the connection")
            .sends(A, 6 * FULL)
            .delays(data(0), data(2))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp
                 B ack 1 2 0 3 4 5
                 B pull 1 2 3 4 5
                 a: 6000 B received acknowledged, 6 sent, 0 again, 0 timeouts",
            ),
        talk("a last packet that comes first ends nothing, and asks for no more than is missing")
            .sends(A, 3 * FULL)
            .delays(data(0), data(2))
            .delays(data(1), data(2))
            .must_see(
                "A data 0s 1s 2sl
                 B ack 2 0 1
                 B pull 1 2
                 a: 3000 B received acknowledged, 3 sent, 0 again, 0 timeouts",
            ),
        talk("ACKs in another order are as good").sends(A, 6 * FULL).delays(ack(0), ack(3)).must_see(
            "A data 0s 1s 2s 3s 4p 5lp
             B ack 0 1 2 3 4 5
             B pull 1 2 3 4 5
             a: 6000 B received acknowledged, 6 sent, 0 again, 0 timeouts",
        ),
        talk("a second copy of a pushed packet is acknowledged, delivers nothing and earns no pull")
            .sends(A, 6 * FULL)
            .doubles(data(1))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp
                 B ack 0 1 1 2 3 4 5
                 B pull 1 2 3 4 5
                 a: 6000 B received acknowledged, 6 sent, 0 again, 0 timeouts",
            ),
        talk("a second copy of a pulled packet is acknowledged and earns a pull")
            .sends(A, 7 * FULL)
            .doubles(data(4))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5p 6lp
                 B ack 0 1 2 3 4 4 5 6
                 B pull 1 2 3 4 5 6 7
                 a: 7000 B received acknowledged, 7 sent, 0 again, 0 timeouts",
            ),
        talk("the header of a packet that is there already is acknowledged")
            .sends(A, 6 * FULL)
            .loses(ack(0))
            .loses(data(5))
            .trims(data(0).copy(2))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp 0s 5l
                 B ack 0 1 2 3 4 0 5
                 B pull 1 2 3 4 5 6
                 a: 6000 B received acknowledged, 8 sent, 2 again, 2 timeouts",
            ),
        talk("an ACK that comes twice says nothing").sends(A, 5 * FULL).doubles(ack(0)).must_see(
            "A data 0s 1s 2s 3s 4lp
             B ack 0 1 2 3 4
             B pull 1 2 3 4
             a: 5000 B received acknowledged, 5 sent, 0 again, 0 timeouts",
        ),
        talk("a NACK behind the ACK of its packet says nothing")
            .sends(A, 3 * FULL)
            .trims(data(0))
            .repeats(nack(0), ack(0))
            .must_see(
                "A data 0s 1s 2sl 0sp
                 B ack 1 2 0
                 B nack 0
                 B pull 1 2 3
                 a: 3000 B received acknowledged, 4 sent, 1 again, 0 timeouts",
            ),
        talk("a late copy of a finished flow is acknowledged and opens nothing")
            .sends(A, FULL)
            .sends_at("10 ms", A, FULL)
            .repeats(data(0), data(0).of(1))
            .must_see(
                "A data 0sl b0sl
                 B ack 0 b0 0
                 a: 1000 B received acknowledged, 1 sent, 0 again, 0 timeouts
                 b: 1000 B received acknowledged, 1 sent, 0 again, 0 timeouts",
            ),
        talk("whoever has everything and has not been heard is asked again and answers")
            .sends(A, 3 * FULL)
            .loses(ack(2))
            .must_see(
                "A data 0s 1s 2sl 2sl
                 B ack 0 1 2 2
                 B pull 1 2
                 a: 3000 B received acknowledged, 4 sent, 1 again, 1 timeouts",
            ),
        talk("a late pull of a finished flow moves nothing")
            .sends(A, 3 * FULL)
            .sends_at("10 ms", A, FULL)
            .delays(pull(2), ack(0).of(1))
            .must_see(
                "A data 0s 1s 2sl b0sl
                 B ack 0 1 2 b0
                 B pull 1 2
                 a: 3000 B received acknowledged, 3 sent, 0 again, 0 timeouts
                 b: 1000 B received acknowledged, 1 sent, 0 again, 0 timeouts",
            ),
    ]
}
