//! The common interface of the hosts and the ports of a shard.

use pullnet_transport::Words;

use crate::clock::Window;
use crate::network::Network;
use crate::outbox::Emission;
use crate::port::Env;
use crate::process::Processes;

/// The network, which does not change, and the current window.
pub type Now<'a, W> = (&'a Network<W>, Window);

/// The processes of one kind in a shard, hosts or ports, as the other kind sees them.
///
/// Hosts and ports are compiled separately and exchange only mail, so that P protocols and Q disciplines cost P + Q
/// compilations instead of P times Q. A virtual call moves a batch of packets, never a single one.
pub trait Side<W: Words>: Send {
    /// Processes every event in `window`; packets for the other kind go to `other` in batches. Returns whether any process was
    /// visited.
    fn work(&mut self, env: Env<'_, W>, other: &mut dyn Side<W>) -> bool;
    /// Puts the packets of `mail` into inboxes; those for processes of other shards into `remote`. May be called at any
    /// time within the window: packets arrive in a later window than the one in which they are sent.
    fn accept(&mut self, now: Now<'_, W>, mail: &[Emission<W>], remote: &mut Vec<Emission<W>>);
    /// Processes every event before the end of the run.
    fn catch_up(&mut self, env: Env<'_, W>);
    /// Returns the earliest busy window, `window` or later; `u64::MAX` if there is none.
    fn next_busy(&mut self, window: u64) -> u64;
    /// Its processes.
    fn range(&self) -> Processes;
    /// Packets sent as data that are on their way to a process or wait there.
    fn data_in_flight(&self) -> u64;
}
