use pullnet_pull::Spraying;
use pullnet_settings::{choice, settings};
use pullnet_units::{Bytes, Packets, Picos};

choice! {
    /// What the rank of a packet says.
    pub enum RankBy {
        /// Packets that the flow has left when the packet leaves.
        Left = "left",
        /// The flow's deadline in whole microseconds; flows without one come last.
        Deadline = "deadline",
    }
}

settings! {
    /// Settings of pFabric hosts.
    pub struct PfabricConfig {
        /// Payload of a full packet. Bytes. Source: public pHost code, 1460 B.
        mtu: Bytes = "1460 B" in "1 B" => "60000 B",
        /// Bytes on the wire of an ACK, and of the header of a data packet. Source: public pHost code, 40 B.
        header: Bytes = "40 B" in "1 B" => "128 B",
        /// Window of a new flow; should cover one bandwidth-delay product. Source: public pHost code, 12.
        initial_window: Packets = "12 packets" in "1 packets" => "65535 packets",
        /// The window does not grow beyond this. Source: public pHost code, 15.
        largest_window: Packets = "15 packets" in "1 packets" => "65535 packets",
        /// Time without a new ACK after which everything unacknowledged leaves again. It does not adapt. Source: pFabric
        /// section 5.3, three round trips; public pHost code, 45 us.
        timeout: Picos = "45 us" in "1 us" => "100 s",
        /// Timeouts in a row after which a flow sends probes without payload until one is acknowledged; 0 for never. Source:
        /// pFabric section 4.3, 5; public pHost code, never.
        probe_after: u32 = 5 in 0 => 1000000,
        /// What the rank of a packet says. Source: pFabric section 4.1, what is left.
        rank: RankBy = "left",
        /// How packets are spread over the paths. Source: public pHost code, in turn.
        paths: Spraying = "round-robin",
        /// Longest time that a packet can be on its way and back. A connection is remembered that much longer than its
        /// sender may repeat packets (`give_up`).
        time_wait: Picos = "50 ms" in "1 us" => "100 s",
        /// Time without an ACK of a data packet after which a flow fails, also one that shorter flows keep from the link for so
        /// long.
        give_up: Picos = "5 s" in "1 ms" => "10000 s",
    }
}
