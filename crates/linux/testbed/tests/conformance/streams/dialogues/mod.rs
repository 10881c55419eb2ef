//! The conversations of streams.

mod bytes;
mod ends;
mod room;
mod strangers;

use super::Dialogue;

/// All of them.
pub fn all() -> Vec<Dialogue> {
    let parts = [bytes::dialogues(), ends::dialogues(), room::dialogues(), strangers::dialogues()];
    parts.into_iter().flatten().collect()
}
