//! Conversations of streams: what applications write, finish and drop at either host, and what must be sent, received and
//! reported.
//!
//! The simulator carries packet numbers and no bytes, so it has no streams. Its switch takes its place: the same disciplines
//! with real frames, in virtual time ([`switched`]). The other two worlds are those of flows.

mod dialogue;
mod dialogues;
mod heard;
mod pair;
pub mod switched;

use crate::frames::Lines;
use crate::script::Which;
use crate::time::Time;

pub use dialogue::Dialogue;
pub use dialogues::all;

use heard::Heard;
use pair::Pair;

/// Runs a conversation as number `number` on lines; returns what was observed, and the script's packets that never came.
pub fn play(lines: &mut Lines, dialogue: &Dialogue, number: u32, time: &impl Time) -> (String, Vec<Which>) {
    let (mut pair, mut heard) = (Pair::new(dialogue, lines.lend(), number), Heard::default());
    let unplayed = lines.hold(&mut pair, &dialogue.outline, &mut heard, time);
    let (ends, sockets) = pair.finish();
    lines.take_back(sockets);
    (heard.text() + &ends, unplayed)
}
