//! What the daemon may do once its sockets are open: nothing that any other program may not.
//!
//! Frames go in and out by sockets and memory that are open by then, applications come by a socket that is open too, and
//! neither needs a privilege. Kept is what a user without privileges has: to accept, to make memory and pairs of sockets,
//! to remove the socket from a folder of its own. What is no longer possible: to open an interface anew.

use crate::Error;
use crate::process::{self, Account};

/// Who the daemon will be: the user of the file if root starts it, else who starts it.
pub(crate) fn account(user: &str) -> Result<Account, Error> {
    let own = process::own();
    if own.uid == 0 { process::user(user) } else { Ok(own) }
}

/// Becomes `account` and gives up everything else, for this thread and those that it starts.
pub(crate) fn drop_all(account: &Account) -> Result<(), Error> {
    process::empty_bounding_set();
    if process::own() != *account {
        process::become_user(account)?;
    }
    process::drop_capabilities()?;
    process::no_new_privileges()
}
