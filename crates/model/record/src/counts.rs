use std::collections::BTreeMap;

use serde::Serialize;

/// Counts of packets over the whole run.
#[derive(Clone, PartialEq, Eq, Serialize, Default, Debug)]
pub struct PacketCounts {
    /// Data packets sent by hosts.
    pub data_sent: u64,
    /// Data packets that arrived untrimmed. A retransmitted packet that arrived twice counts twice.
    pub data_delivered: u64,
    /// Of these, packets that the receiver accepted as new: without duplicates, and without packets discarded because an
    /// earlier one was missing.
    pub data_unique: u64,
    /// Packets marked by switches (ECN, congestion experienced).
    pub marked: u64,
    /// Payloads trimmed by switches.
    pub trimmed: u64,
    /// Headers returned by switches.
    pub returned: u64,
    /// Packets dropped because a queue was full.
    pub dropped: u64,
    /// Packets lost on links: down, lossy or corrupting.
    pub lost: u64,
    /// Data packets retransmitted by hosts.
    pub retransmitted: u64,
    /// Data packets that switches made, beside the packets of hosts: copies for several receivers.
    pub copied: u64,
    /// Data packets (whole or trimmed) still in the network at the end.
    pub in_flight: u64,
    /// Headers of trimmed packets that arrived at the receiver.
    pub headers_delivered: u64,
    /// Headers that arrived back at their sender.
    pub headers_returned: u64,
    /// Of the dropped packets, data packets and headers of data packets.
    pub data_dropped: u64,
    /// Of the dropped packets, returned headers that found no room on their way back.
    pub returned_dropped: u64,
    /// Of the lost packets, data packets and headers of data packets.
    pub data_lost: u64,
    /// Trimmed payloads by the tiers of the two ends of the port's link.
    pub trimmed_by_tier: BTreeMap<String, u64>,
}
