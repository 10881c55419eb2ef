//! Half-close, close and abort, and their effects at the other end.

use crate::conversation::Conversation as _;
use crate::script::reset;
use crate::streams::Dialogue;
use crate::streams::dialogue::streams;
use crate::talk::{A, B, FULL};

// Long: a table of cases.
pub fn dialogues() -> Vec<Dialogue> {
    vec![
        streams("an end without bytes is a packet without bytes").opens(A).finishes(A, 0).must_see(
                "A data 0sl:0
                 B ack 0
                 0 at A: 0 B written, 0 B read
                 0 at B: 0 B written, 0 B read to the end",
            ),
        streams("half close: one direction goes on after the other has ended")
            .opens(A)
            .writes(A, 0, 10)
            .finishes(A, 0)
            .then()
            .writes(B, 0, 20)
            .then()
            .writes(B, 0, 30)
            .then()
            .finishes(B, 0)
            .must_see(
                "A data 0sl:10
                 A ack b0 b1 b2
                 A pull b1 b2
                 B data b0s:20 b1:30 b2l:0
                 B ack 0
                 0 at A: 10 B written acknowledged, 50 B read to the end
                 0 at B: 50 B written acknowledged, 10 B read to the end",
            ),
        streams("an application that aborts ends both directions at both ends")
            .opens(A)
            .writes(A, 0, 10)
            .then()
            .writes(B, 0, 20)
            .then()
            .aborts(B, 0)
            .must_see(
                "A data 0s:10
                 A ack b0
                 A pull b1
                 B data b0s:20
                 B ack 0
                 B pull 1
                 B reset receiver(3) bsender(3)
                 0 at A: 10 B written, 20 B read, reset: the other application dropped the connection
                 0 at B: 20 B written, 10 B read, aborted",
            ),
        streams("an abort whose RESETs are lost is heard of when the next packet is not known")
            .opens(A)
            .writes(A, 0, 10)
            .then()
            .aborts(B, 0)
            .loses(reset())
            .loses(reset().of(1))
            .then()
            .writes(A, 0, 20)
            .must_see(
                "A data 0s:10 1:20
                 B ack 0
                 B pull 1
                 B reset receiver(3) bsender(3) receiver(3)
                 0 at A: 30 B written, 0 B read, reset: the other application dropped the connection
                 0 at B: 0 B written, 10 B read, aborted",
            ),
        streams("an application that closes still sends what it wrote, and takes nothing more")
            .opens(A)
            .writes(A, 0, 10)
            .then()
            .writes(B, 0, 3 * FULL)
            .closes(B, 0)
            .then()
            .writes(A, 0, 20)
            .must_see(
                "A data 0s:10
                 A ack b0 b1 b2
                 A pull b1 b2
                 B data b0s b1s b2sl
                 B ack 0
                 B pull 1
                 B reset receiver(3)
                 0 at A: 10 B written, 3000 B read to the end, reset: the other application dropped the connection
                 0 at B: 3000 B written, 10 B read, closed",
            ),
        streams("an application that closes after writing has everything delivered")
            .opens(A)
            .writes(A, 0, 6 * FULL)
            .closes(A, 0)
            .must_see(
                "A data 0s 1s 2s 3s 4p 5lp
                 B ack 0 1 2 3 4 5
                 B pull 1 2 3 4 5
                 0 at A: 6000 B written, 0 B read, closed
                 0 at B: 0 B written, 6000 B read to the end",
            ),
    ]
}
