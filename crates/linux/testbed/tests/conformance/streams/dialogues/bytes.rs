//! Bytes arrive in order and exactly once, regardless of packet faults.

use crate::conversation::Conversation as _;
use crate::script::{ack, data};
use crate::streams::Dialogue;
use crate::streams::dialogue::streams;
use crate::talk::{A, B, FULL};

// Long: a table of cases.
pub fn dialogues() -> Vec<Dialogue> {
    vec![
        streams("a request and its end are one packet, and so is the answer")
            .opens(A)
            .writes(A, 0, 500)
            .finishes(A, 0)
            .then()
            .writes(B, 0, 700)
            .finishes(B, 0)
            .must_see(
                "A data 0sl:500
                 A ack b0
                 B data b0sl:700
                 B ack 0
                 0 at A: 500 B written acknowledged, 700 B read to the end
                 0 at B: 700 B written acknowledged, 500 B read to the end",
            ),
        streams("what is written leaves as full packets, and what is written later goes on behind it")
            .opens(A)
            .writes(A, 0, 6 * FULL + 1)
            .then()
            .writes(A, 0, 10)
            .writes(A, 0, 20)
            .finishes(A, 0)
            .must_see(
                "A data 0s 1s 2s 3s 4p 5p 6p:1 7lp:30
                 B ack 0 1 2 3 4 5 6 7
                 B pull 1 2 3 4 5 6 7
                 0 at A: 6031 B written acknowledged, 0 B read
                 0 at B: 0 B written, 6031 B read to the end",
            ),
        streams("both ends write at the same time")
            .opens(A)
            .writes(A, 0, 1)
            .then()
            .writes(A, 0, 3 * FULL)
            .writes(B, 0, 3 * FULL)
            .finishes(A, 0)
            .finishes(B, 0)
            .must_see(
                "A data 0s:1 1 2 3l
                 A ack b0 b1 b2
                 A pull b1 b2
                 B data b0s b1s b2sl
                 B ack 0 1 2 3
                 B pull 1 2 3
                 0 at A: 3001 B written acknowledged, 3000 B read to the end
                 0 at B: 3000 B written acknowledged, 3001 B read to the end",
            ),
        streams("a trimmed, a lost and a damaged packet come again, and the reader sees none of it")
            .opens(A)
            .writes(A, 0, 8 * FULL)
            .finishes(A, 0)
            .trims(data(1))
            .damages(data(2))
            .loses(data(5))
            .must_see(
                "A data 0s 1s 2s 3s 4p 1p 2p 5p 6p 7lp 5
                 B ack 0 3 4 1 2 6 7 5
                 B nack 1 2
                 B pull 1 2 3 4 5 6 7 8 9
                 0 at A: 8000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 8000 B read to the end",
            ),
        streams("packets that overtake each other and come twice are read once, in order")
            .opens(A)
            .writes(A, 0, 4 * FULL)
            .finishes(A, 0)
            .delays(data(0), data(2))
            .doubles(data(3))
            .must_see(
                "A data 0s 1s 2s 3sl
                 B ack 1 2 0 3 3
                 B pull 1 2 3
                 0 at A: 4000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 4000 B read to the end",
            ),
        streams("a header that a switch sends back is sent again at once")
            .opens(A)
            .writes(A, 0, 2 * FULL)
            .finishes(A, 0)
            .returns(data(1))
            .must_see(
                "A data 0s 1sl 1sl
                 B ack 0 1
                 B pull 1
                 0 at A: 2000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 2000 B read to the end",
            ),
        streams("a late copy of a packet of a stream that is complete opens no other")
            .opens(A)
            .writes(A, 0, FULL)
            .finishes(A, 0)
            .loses(ack(0))
            .then()
            .writes(B, 0, 3)
            .finishes(B, 0)
            .must_see(
                "A data 0sl 0sl
                 A ack b0
                 B data b0sl:3
                 B ack 0 0
                 0 at A: 1000 B written acknowledged, 3 B read to the end
                 0 at B: 3 B written acknowledged, 1000 B read to the end",
            ),
        streams("streams of one host are kept apart, in both directions")
            .opens(A)
            .opens(A)
            .opens(B)
            .writes(A, 0, 5 * FULL)
            .writes(A, 1, 2 * FULL)
            .writes(B, 2, 3 * FULL)
            .finishes(A, 0)
            .finishes(A, 1)
            .finishes(B, 2)
            .trims(data(0).of(1))
            .must_see(
                "A data 0s b0s 1s b1sl 2s 3s 4lp b0sp
                 A ack c0 c1 c2
                 A pull c1 c2
                 B data c0s c1s c2sl
                 B ack 0 1 b1 2 3 4 b0
                 B nack b0
                 B pull 1 b1 2 b2 3 4
                 0 at A: 5000 B written acknowledged, 0 B read
                 1 at A: 2000 B written acknowledged, 0 B read
                 2 at A: 0 B written, 3000 B read to the end
                 0 at B: 0 B written, 5000 B read to the end
                 1 at B: 0 B written, 2000 B read to the end
                 2 at B: 3000 B written acknowledged, 0 B read",
            ),
    ]
}
