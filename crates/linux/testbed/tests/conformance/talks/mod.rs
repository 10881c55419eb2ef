//! The conversations, in the order of the rules in the README of `pullnet-ndp`.

mod losses;
mod pulls;
mod receiver;
mod returns;
mod several;
mod start;
mod trims;

use crate::talk::Talk;

/// All of them.
pub fn all() -> Vec<Talk> {
    let parts = [
        start::talks(),
        trims::talks(),
        pulls::talks(),
        returns::talks(),
        losses::talks(),
        receiver::talks(),
        several::talks(),
    ];
    parts.into_iter().flatten().collect()
}
