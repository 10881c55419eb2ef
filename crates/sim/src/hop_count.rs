use std::sync::atomic::{AtomicU64, Ordering};

use pullnet_probes::Hops;

/// Rows that all ports and NICs of a run have made so far. Ports of all threads count here, and none keeps rows beyond the
/// limit: the table is then left out, for any number of threads.
#[derive(Default, Debug)]
pub struct HopCount(AtomicU64);

impl HopCount {
    /// Counts a row. Returns whether it is kept.
    pub fn one_more(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) < Hops::MOST_ROWS
    }

    /// Number of rows.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
