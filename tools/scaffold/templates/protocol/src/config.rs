use pullnet_settings::settings;
use pullnet_units::{Bytes, Picos};

settings! {
    /// Settings of stencil-name hosts.
    pub struct StencilNameConfig {
        /// Payload of a full packet. Bytes.
        mtu: Bytes = "9000 B" in "1 B" => "60000 B",
        /// Bytes on the wire of an ACK, and of the header of a data packet.
        header: Bytes = "64 B" in "1 B" => "128 B",
        /// Time after which a packet without ACK is retransmitted.
        timeout: Picos = "1 ms" in "1 us" => "100 s",
        /// Timeouts in a row after which a flow fails.
        retries: u32 = 100 in 1 => 10000,
    }
}
