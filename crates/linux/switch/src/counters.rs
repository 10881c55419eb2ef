macro_rules! counters {
    ($($(#[$doc:meta])+ $name:ident),+ $(,)?) => {
        /// Counters of a port since the start. The names are those of the SAI statistics (`SAI_PORT_STAT_*`,
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
    /// Bytes received, as they count on the line.
    if_in_octets,
    /// Unicast frames received.
    if_in_ucast_pkts,
    /// Group (multicast and broadcast) frames received.
    if_in_non_ucast_pkts,
    /// Received frames that could not be forwarded: unknown address, back to the ingress port, or no buffer.
    if_in_discards,
    /// Frames shorter than an Ethernet header.
    if_in_errors,
    /// Bytes sent, as they count on the line.
    if_out_octets,
    /// Unicast frames sent.
    if_out_ucast_pkts,
    /// Group (multicast and broadcast) frames sent.
    if_out_non_ucast_pkts,
    /// Frames dropped by this port's queue.
    if_out_discards,
    /// Frames marked at this port (ECN).
    ecn_marked_packets,
    /// Data frames trimmed at this port.
    trim_packets,
    /// Of these, headers that found no room in the queue and were not returned to their sender.
    dropped_trim_packets,
    /// Untrimmed frames sent from the data queue.
    tx_data_packets,
    /// Headers sent, whether trimmed here or before.
    tx_trim_packets,
    /// Headers returned to their sender because the control queue had no room.
    returned_packets,
    /// Most data frames in the queue, including the frame in service.
    queue_watermark_data_packets,
    /// Most control frames waiting.
    queue_watermark_control_packets,
    /// Frames lost by a line fault.
    fault_lost_packets,
    /// Frames with a bit flipped by a line fault.
    fault_corrupted_packets,
    /// Frames delivered twice by a line fault.
    fault_duplicated_packets,
    /// Time spent sending. Unit: picoseconds.
    busy_ps,
    // Hardware addresses the counters above by position, so new ones are added at the end.
    /// Pause frames received (PFC or 802.3x).
    pause_rx_pkts,
    /// Pause frames sent.
    pause_tx_pkts,
}
