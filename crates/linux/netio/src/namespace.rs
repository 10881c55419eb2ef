use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::sys;

/// Calls `work` in the network namespace `name` (from `ip netns add`) on a thread of its own. Sockets opened there stay in
/// that namespace, also when other threads use them.
///
/// # Errors
/// If there is no such namespace, the process may not enter it, or `work` fails.
///
/// # Panics
/// If `work` panics.
pub fn in_namespace<T: Send>(name: &str, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let named = |what, source: io::Error| Error::Kernel { what, on: format!(" \"{name}\""), source };
    let file = File::open(format!("/run/netns/{name}"))
        .map_err(|source| named("cannot open the network namespace", source))?;
    let fd = OwnedFd::from(file);
    let inside = || match sys::enter_network(&fd) {
        Ok(()) => work(),
        Err(source) => Err(named("cannot enter the network namespace", source)),
    };
    std::thread::scope(|scope| match scope.spawn(inside).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
