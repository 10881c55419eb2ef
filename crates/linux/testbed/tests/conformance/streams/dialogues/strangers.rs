//! Hosts that do not know a stream, or refuse it.

use pullnet_units::Picos;

use crate::conversation::Conversation as _;
use crate::script::{Kind, reset};
use crate::streams::Dialogue;
use crate::streams::dialogue::streams;
use crate::talk::{A, B};

// Long: a table of cases.
pub fn dialogues() -> Vec<Dialogue> {
    vec![
        streams("a stream for which nobody listens is refused, with the reason")
            .ignores(0)
            .opens(A)
            .writes(A, 0, 10)
            .must_see(
                "A data 0s:10
                 B reset receiver(1)
                 0 at A: 10 B written, 0 B read, refused: no application listens at the service",
            ),
        streams("a refusal that was lost is said again")
            .ignores(0)
            .opens(A)
            .writes(A, 0, 10)
            .loses(reset())
            .must_see(
                "A data 0s:10 0s:10
                 B reset receiver(1) receiver(1)
                 0 at A: 10 B written, 0 B read, refused: no application listens at the service",
            ),
        streams("a host that was started anew does not know the streams of the one before")
            .opens(A)
            .writes(A, 0, 10)
            .then()
            .starts_anew(B)
            .writes(A, 0, 20)
            .must_see(
                "A data 0s:10 1:20
                 B ack 0
                 B pull 1
                 B reset receiver(2)
                 0 at A: 30 B written, 0 B read, reset: the other host does not know the connection",
            ),
        streams("a host that hears nothing gives up, with the reason")
            .with(|options| options.transport.give_up = Picos::from_millis(50))
            .opens(A)
            .writes(A, 0, 10)
            .loses_every(Kind::Ack)
            .must_see(
                "A data 0s:10 0s:10 0s:10
                 B ack 0 0 0
                 B pull 1
                 0 at A: 10 B written, 0 B read, the other host is silent
                 0 at B: 0 B written, 10 B read",
            ),
        streams("a host that is asked by an opener whether it lives, and was started anew, says so")
            .with(|options| options.transport.give_up = Picos::from_millis(400))
            .opens(A)
            .writes(A, 0, 10)
            .finishes(A, 0)
            .then()
            .starts_anew(B)
            .must_see(
                "A data 0sl:10
                 A probe 0
                 B ack 0
                 B reset receiver(2)
                 0 at A: 10 B written, 0 B read, reset: the other host does not know the connection",
            ),
    ]
}
