//! Rights of the daemon once its sockets are open: those of an unprivileged program.
//!
//! Frames go in and out by sockets and memory that are open by then, applications connect to a socket that is open too, and
//! neither needs a privilege. The daemon keeps the rights of an unprivileged user: to accept, to make memory and pairs of
//! sockets, to remove the socket from a folder of its own. It can no longer open an interface.

use pullnet_netio::Dpdk;

use crate::error::Error;
use crate::process::{self, Account};

/// Returns the account that the daemon switches to: the user of the file if root starts it, else the user that starts it.
pub(crate) fn account(user: &str) -> Result<Account, Error> {
    let own = process::own();
    if own.uid == 0 { process::user(user) } else { Ok(own) }
}

/// Switches to `account` and gives up all other rights, for this thread and its later child threads, and for the thread of
/// `dpdk`: but for the account, each thread has rights of its own.
pub(crate) fn drop_all(account: &Account, dpdk: Option<Dpdk>) -> Result<(), Error> {
    let everywhere = |work: fn() -> Result<(), Error>| {
        work()?;
        dpdk.map_or(Ok(Ok(())), |dpdk| dpdk.in_its_thread(work))?
    };
    everywhere(|| {
        process::empty_bounding_set();
        Ok(())
    })?;
    if process::own() != *account {
        process::become_user(account)?;
    }
    everywhere(process::drop_capabilities)?;
    everywhere(process::no_new_privileges)
}
