//! Rule 6 of the sender: timeouts, probes, and giving up.

use crate::conversation::Conversation as _;
use crate::script::{Kind, ack, data, nack, probe, pull};
use crate::talk::{A, FULL, Talk, talk};

pub fn talks() -> Vec<Talk> {
    let mut talks = data_and_answers();
    talks.extend(missing_pulls());
    talks.extend(silence());
    talks
}

// Long: a table of cases.
fn data_and_answers() -> Vec<Talk> {
    vec![
        talk("a lost packet is sent again without a pull when its time is over")
            .sends(A, 6 * FULL)
            .loses(data(1))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp 1s
             B ack 0 2 3 4 5 1
             B pull 1 2 3 4 5
             a: 6000 B received acknowledged, 7 sent, 1 again, 1 timeouts",
            ),
        talk("a flow of one packet survives its loss, twice")
            .sends(A, FULL)
            .loses(data(0))
            .loses(data(0).copy(2))
            .must_see(
                "A data 0sl 0sl 0sl
             B ack 0
             a: 1000 B received acknowledged, 3 sent, 2 again, 2 timeouts",
            ),
        talk("a window that was lost whole is sent again in its order")
            .sends(A, 4 * FULL)
            .loses(data(0))
            .loses(data(1))
            .loses(data(2))
            .loses(data(3))
            .must_see(
                "A data 0s 1s 2s 3sl 0s 1s 2s 3sl
                 B ack 0 1 2 3
                 B pull 1 2 3
                 a: 4000 B received acknowledged, 8 sent, 4 again, 4 timeouts",
            ),
        talk("a packet whose ACK was lost is sent again, and acknowledged again")
            .sends(A, 6 * FULL)
            .loses(ack(1))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp 1s
             B ack 0 1 2 3 4 5 1
             B pull 1 2 3 4 5
             a: 6000 B received acknowledged, 7 sent, 1 again, 1 timeouts",
            ),
        talk("a packet whose NACK was lost is sent again when its time is over")
            .sends(A, 6 * FULL)
            .trims(data(1))
            .loses(nack(1))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp 1s
             B ack 0 2 3 4 5 1
             B nack 1
             B pull 1 2 3 4 5 6
             a: 6000 B received acknowledged, 7 sent, 1 again, 1 timeouts",
            ),
        talk("after a timeout a packet takes another path")
            .four_paths()
            .sends(A, 2 * FULL)
            .loses(data(1))
            .must_see(
                "A data 0s 1sl 1sl
             A other path 1
             B ack 0 1
             B pull 1
             a: 2000 B received acknowledged, 3 sent, 1 again, 1 timeouts",
            ),
        talk("after a trim a packet takes another path").four_paths().sends(A, FULL).trims(data(0)).must_see(
            "A data 0sl 0slp
             A other path 0
             B ack 0
             B nack 0
             B pull 1
             a: 1000 B received acknowledged, 2 sent, 1 again, 0 timeouts",
        ),
    ]
}

fn missing_pulls() -> Vec<Talk> {
    vec![
        talk("a sender that misses its last pull asks for it").window(1).sends(A, 2 * FULL).loses(pull(1)).must_see(
            "A data 0s 1lp
             A probe 0
             B ack 0 0 1
             B pull 1 2
             a: 2000 B received acknowledged, 2 sent, 0 again, 0 timeouts",
        ),
        talk("a sender whose question was lost asks again")
            .window(1)
            .sends(A, 2 * FULL)
            .loses(pull(1))
            .loses(probe(0))
            .must_see(
                "A data 0s 1lp
                 A probe 0 0
                 B ack 0 0 1
                 B pull 1 2
                 a: 2000 B received acknowledged, 2 sent, 0 again, 0 timeouts",
            ),
        talk("a sender whose answer was lost asks again")
            .window(1)
            .sends(A, 2 * FULL)
            .loses(pull(1))
            .loses(pull(2))
            .must_see(
                "A data 0s 1lp
                 A probe 0 0
                 B ack 0 0 0 1
                 B pull 1 2 3
                 a: 2000 B received acknowledged, 2 sent, 0 again, 0 timeouts",
            ),
        talk("a sender that misses the pull for a trimmed packet asks about that packet, and is told that it is missing")
            .sends(A, FULL)
            .trims(data(0))
            .loses(pull(1))
            .must_see(
                "A data 0sl 0slp
                 A probe 0
                 B ack 0
                 B nack 0 0
                 B pull 1 2
                 a: 1000 B received acknowledged, 2 sent, 1 again, 0 timeouts",
            ),
        talk("a pull that was lost with its ACK is made up for by the next one")
            .set("transport.piggyback", "true")
            .sends(A, 6 * FULL)
            .loses(ack(0))
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp 0s
                 B ack 0+1 1+2 2+3 3+4 4+5 5 0
                 a: 6000 B received acknowledged, 7 sent, 1 again, 1 timeouts",
            ),
    ]
}

fn silence() -> Vec<Talk> {
    vec![
        talk("a flow to a host that hears nothing fails with a reason")
            .set("transport.give_up", "50 ms")
            .sends(A, FULL)
            .loses_every(Kind::Data)
            .must_see(
                "A data 0sl 0sl 0sl
                 a: 0 B, 3 sent, 2 again, 2 timeouts, failed: the receiver is silent",
            ),
        talk("a flow whose receiver is not heard is complete since all has arrived")
            .set("transport.give_up", "50 ms")
            .sends(A, FULL)
            .loses_every(Kind::Ack)
            .must_see(
                "A data 0sl 0sl 0sl
                 B ack 0 0 0
                 a: 1000 B received, 3 sent, 2 again, 2 timeouts",
            ),
    ]
}
