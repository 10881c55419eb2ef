//! Rights of the daemon once its sockets are open: those of an unprivileged program.
//!
//! Frames go in and out by sockets and memory that are open by then, applications connect to a socket that is open too, and
//! neither needs a privilege. The daemon keeps the rights of an unprivileged user: to accept, to make memory and pairs of
//! sockets, to remove the socket from a folder of its own. It can no longer open an interface.

use crate::error::Error;
use crate::process::{self, Account};

/// Returns the account that the daemon switches to: the user of the file if root starts it, else the user that starts it.
pub(crate) fn account(user: &str) -> Result<Account, Error> {
    let own = process::own();
    if own.uid == 0 { process::user(user) } else { Ok(own) }
}

/// Switches to `account` and gives up all other rights, for this thread and its later child threads.
pub(crate) fn drop_all(account: &Account) -> Result<(), Error> {
    process::empty_bounding_set();
    if process::own() != *account {
        process::become_user(account)?;
    }
    process::drop_capabilities()?;
    process::no_new_privileges()
}
