macro_rules! counters {
    ($($(#[$doc:meta])+ $name:ident),+ $(,)?) => {
        /// What a port counts since the start. The names are those of the SAI statistics (`SAI_PORT_STAT_*`,
        /// `SAI_QUEUE_STAT_*`) in lower case where SAI has one.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct PortCounters { $($(#[$doc])+ pub $name: u64),+ }

        impl PortCounters {
            /// Every counter with its name.
            pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
        }
    };
}

counters! {
    /// Bytes that arrived, as they count on the line.
    if_in_octets,
    /// Frames to one interface that arrived.
    if_in_ucast_pkts,
    /// Frames to a group that arrived.
    if_in_non_ucast_pkts,
    /// Frames that arrived and had no way on: unknown address, back to where they came from, or no buffer.
    if_in_discards,
    /// Frames shorter than an Ethernet header.
    if_in_errors,
    /// Bytes sent, as they count on the line.
    if_out_octets,
    /// Frames to one interface that were sent.
    if_out_ucast_pkts,
    /// Frames to a group that were sent.
    if_out_non_ucast_pkts,
    /// Frames that this port's queue dropped.
    if_out_discards,
    /// Frames that were marked here (ECN).
    ecn_marked_packets,
    /// Data frames that lost their payload here.
    trim_packets,
    /// Of these, headers that found no room in the queue and did not go back to their sender.
    dropped_trim_packets,
    /// Whole frames sent that had waited with the data.
    tx_data_packets,
    /// Headers sent, trimmed here or before.
    tx_trim_packets,
    /// Headers sent back to their sender for want of room.
    returned_packets,
    /// Most data frames that the queue held, the one in service included.
    queue_watermark_data_packets,
    /// Most control frames that waited.
    queue_watermark_control_packets,
    /// Frames that a fault of the line lost.
    fault_lost_packets,
    /// Frames in which a fault of the line turned a bit.
    fault_corrupted_packets,
    /// Frames that a fault of the line delivered twice.
    fault_duplicated_packets,
    /// Time in service. Unit: picoseconds.
    busy_ps,
    // Hardware knows those above by their numbers: new ones come last.
    /// Pause frames that arrived (PFC or 802.3x).
    pause_rx_pkts,
    /// Pause frames sent.
    pause_tx_pkts,
}
