use pullnet_settings::settings;
use pullnet_units::{Bytes, Packets, Picos};

settings! {
    /// Settings of go-back-N hosts.
    pub struct GoBackNConfig {
        /// Payload of a full packet. Bytes.
        mtu: Bytes = "9000 B" in "1 B" => "60000 B",
        /// Bytes on the wire of an ACK, and of the header of a data packet.
        header: Bytes = "64 B" in "1 B" => "128 B",
        /// Packets that may be outstanding.
        window: Packets = "16 packets" in "1 packets" => "65535 packets",
        /// Time without progress after which everything outstanding leaves again.
        timeout: Picos = "1 ms" in "1 us" => "100 s",
        /// Timeouts in a row after which a flow fails.
        retries: u32 = 100 in 1 => 10000,
    }
}
