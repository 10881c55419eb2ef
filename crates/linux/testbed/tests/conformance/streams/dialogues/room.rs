//! Readers that do not read, idle streams, and priorities.

use pullnet_settings::{Settings as _, Value};
use pullnet_units::Picos;

use crate::conversation::Conversation as _;
use crate::script::{probe, pull};
use crate::streams::Dialogue;
use crate::streams::dialogue::streams;
use crate::talk::{A, B, FULL};

/// Lets a receiver pull one packet per 20 ms, with timeouts longer than that.
fn slowly(dialogue: Dialogue) -> Dialogue {
    dialogue.with(|options| {
        options.transport.initial_window.0 = 2;
        let spacing = options.transport.set("pull_spacing", Value::Text("20 ms:0, 20 ms:1"));
        assert!(matches!(spacing, Some(Ok(()))));
        options.transport.timeout = Picos::from_secs(1);
    })
}

/// Limits the receive buffer to four packets; the application does not read.
fn narrow(dialogue: Dialogue) -> Dialogue {
    dialogue.with(|options| options.limits.receive_buffer = 4 * FULL as usize)
}

// Long: a table of cases.
pub fn dialogues() -> Vec<Dialogue> {
    vec![
        narrow(streams("an application that does not read holds its sender, and lets it go when it reads"))
            .reads_nothing(B)
            .opens(A)
            .writes(A, 0, 20 * FULL)
            .finishes(A, 0)
            .rests(200)
            .reads_again(B)
            .must_see(
                "A data 0s 1s 2s 3s 4p 5p 6p 7p 8p 9p 10p 11p 12p 13p 14p 15p 16p 17p 18p 19lp
                 A probe 6
                 B ack 0 1 2 3 4 5 6 6 7 8 9 10 11 12 13 14 15 16 17 18 19
                 B pull 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
                 0 at A: 20000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 20000 B read to the end",
            ),
        narrow(streams("a held stream does not hold another"))
            .reads_nothing(B)
            .opens(A)
            .writes(A, 0, 8 * FULL)
            .then()
            .opens(A)
            .writes(A, 1, 3 * FULL)
            .finishes(A, 1)
            .must_see(
                "A data 0s 1s 2s 3s 4p 5p 6p b0s b1s b2sl
                 A probe 6
                 B ack 0 1 2 3 4 5 6 b0 b1 b2 6
                 B pull 1 2 3 b1 b2
                 0 at A: 8000 B written, 0 B read
                 1 at A: 3000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 0 B read
                 1 at B: 0 B written, 0 B read",
            ),
        narrow(streams("a held sender that misses the pull that lets it go asks for it"))
            .with(|options| options.transport.initial_window.0 = 1)
            .reads_nothing(B)
            .opens(A)
            .writes(A, 0, 6 * FULL)
            .finishes(A, 0)
            .then()
            .reads_again(B)
            .loses(pull(4))
            .must_see(
                "A data 0s 1p 2p 3p 4p 5lp
                 A probe 3
                 B ack 0 1 2 3 3 4 5
                 B pull 1 2 3 4 5 6
                 0 at A: 6000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 6000 B read to the end",
            ),
        streams("an idle stream costs nothing and goes on at once")
            .opens(A)
            .writes(A, 0, 10)
            .rests(300)
            .writes(A, 0, 20)
            .must_see(
                "A data 0s:10 1:20
                 B ack 0 1
                 B pull 1 2
                 0 at A: 30 B written acknowledged, 0 B read
                 0 at B: 0 B written, 30 B read",
            ),
        streams("an opener that waits for its answer asks from time to time whether the other host lives")
            .with(|options| options.transport.give_up = Picos::from_millis(400))
            .opens(A)
            .writes(A, 0, 10)
            .finishes(A, 0)
            .loses(probe(0))
            .rests(130)
            .writes(B, 0, 20)
            .finishes(B, 0)
            .must_see(
                "A data 0sl:10
                 A ack b0
                 A probe 0 0
                 B data b0sl:20
                 B ack 0 0
                 0 at A: 10 B written acknowledged, 20 B read to the end
                 0 at B: 20 B written acknowledged, 10 B read to the end",
            ),
        slowly(streams("two streams take turns"))
            .opens(A)
            .writes(A, 0, 5 * FULL)
            .then()
            .opens(A)
            .writes(A, 1, 5 * FULL)
            .rests(200)
            .must_see(
                "A data 0s 1s 2p b0s b1s 3p b2p 4p b3p b4p
                 B ack 0 1 2 b0 b1 3 b2 4 b3 b4
                 B pull 1 2 b1 3 b2 4 b3 5 b4 b5
                 0 at A: 5000 B written acknowledged, 0 B read
                 1 at A: 5000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 5000 B read
                 1 at B: 0 B written, 5000 B read",
            ),
        slowly(streams("an urgent stream goes first"))
            .opens(A)
            .writes(A, 0, 5 * FULL)
            .then()
            .opens_urgently(A)
            .writes(A, 1, 5 * FULL)
            .rests(200)
            .must_see(
                "A data 0s 1s 2p b0s! b1s! b2p! b3p! b4p! 3p 4p
                 B ack 0 1 2 b0 b1 b2 b3 b4 3 4
                 B pull 1 b1 b2 b3 b4 b5 2 3 4 5
                 0 at A: 5000 B written acknowledged, 0 B read
                 1 at A: 5000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 5000 B read
                 1 at B: 0 B written, 5000 B read",
            ),
        slowly(streams("a receiver prefers one of its streams, whatever the sender asked for"))
            .opens(A)
            .opens(A)
            .writes(A, 0, 5 * FULL)
            .writes(A, 1, 5 * FULL)
            .then()
            .prefers(B, 1)
            .rests(200)
            .must_see(
                "A data 0s b0s 1s b1s 2p b2p b3p b4p 3p 4p
                 B ack 0 b0 1 b1 2 b2 b3 b4 3 4
                 B pull 1 b1 b2 b3 b4 b5 2 3 4 5
                 0 at A: 5000 B written acknowledged, 0 B read
                 1 at A: 5000 B written acknowledged, 0 B read
                 0 at B: 0 B written, 5000 B read
                 1 at B: 0 B written, 5000 B read",
            ),
    ]
}
