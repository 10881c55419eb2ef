use pullnet_settings::{choice, settings};
use pullnet_units::{BitsPerSec, Bytes, Picos};

choice! {
    /// How a host spreads the packets of a flow over the paths to its peer.
    pub enum Paths {
        /// One random path for the whole flow.
        Single = "single",
        /// An independent random path for each packet.
        Scatter = "scatter",
    }
}

settings! {
    /// Settings of unresponsive hosts.
    pub struct UnresponsiveConfig {
        /// Payload of a full packet. Bytes. Source: NDP section 6, 9000 B.
        mtu: Bytes = "9000 B" in "1 B" => "60000 B",
        /// Bytes on the wire of an ACK, and of the header of a data packet. Source: NDP section 3.2.4, 64 B.
        header: Bytes = "64 B" in "1 B" => "128 B",
        /// Rate of each flow, on the wire; the rate of the host's link unless stated. Several flows of a host share its link
        /// packet by packet.
        rate: Option<BitsPerSec> = "" in "1 kbps" => "10 Tbps",
        /// Each flow begins a random time up to this after it is opened. Flows of one rate keep their phases, and a queue that
        /// is full at the same point of each period drops the packets of the same flows.
        phase: Picos = "0 ps" in "0 ps" => "1 s",
        /// How the packets of a flow are spread over the paths.
        paths: Paths = "single",
        /// Time after which a packet without an ACK is sent again, once the flow has no new packet to send. Larger than the
        /// largest round-trip time, or packets are repeated needlessly.
        repeat_after: Picos = "10 ms" in "1 us" => "1000 s",
        /// Time without any ACK after which a flow fails.
        give_up: Picos = "1 s" in "10 us" => "10000 s",
    }
}
