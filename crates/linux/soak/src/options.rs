use crate::condition::Condition;

/// Options of a soak in virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The injected fault.
    pub condition: Condition,
    /// Number of calls.
    pub rpcs: u64,
    /// Bytes of streams, both directions together.
    pub bytes: u64,
    /// Seed of the soak.
    pub seed: u64,
    /// Whether the hosts share keys, and encrypt all streams.
    pub encrypted: bool,
}
