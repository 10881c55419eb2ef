/// Counters of rare events at a port.
#[derive(Clone, Copy, Default, Debug)]
pub struct PortCounts {
    /// Packets marked here (ECN).
    pub marked: u64,
    /// Data packets that lost their payload here.
    pub trimmed: u64,
    /// Headers sent back from here.
    pub returned: u64,
    /// Packets dropped here.
    pub dropped: u64,
    /// Packets among the dropped ones that were sent as data.
    pub data_dropped: u64,
    /// Headers among the dropped packets that had been sent back before.
    pub returned_dropped: u64,
}
