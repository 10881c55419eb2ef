use pullnet_settings::settings;
use pullnet_units::{Bytes, Picos};

settings! {
    /// Settings of PDQ hosts.
    pub struct PdqConfig {
        /// Payload of a full packet. Bytes. Source: none stated; with the header a packet of 1500 B.
        mtu: Bytes = "1444 B" in "1 B" => "60000 B",
        /// Bytes on the wire of a packet without payload. Source: 40 B as TCP and IP, and PDQ's scheduling header of 16 B.
        header: Bytes = "56 B" in "1 B" => "512 B",
        /// Whether a flow that can no longer meet its deadline gives up (Early Termination). Source: PDQ section 3 as we know
        /// it, yes.
        early_termination: bool = true,
        /// Shortest and longest interval between the probes of a paused flow. Between these bounds it is one round trip, or what
        /// the switch that pauses the flow demands. Source: none.
        least_probing: Picos = "10 us" in "1 us" => "1 s",
        /// See `least_probing`. Must be shorter than the switches' `forget_paused`.
        most_probing: Picos = "20 ms" in "1 us" => "10 s",
        /// Longest delay of a departure that the next packets make up for, by leaving together: for hosts whose timers are
        /// late. Source: none. Absent: 0 in the simulator, where no timer is late; 1 ms on the testbed, which is what
        /// Linux lets TCP send at once.
        catch_up: Option<Picos> = "" in "0 us" => "1 s",
        /// Round-trip time assumed before the first measurement. Source: none.
        initial_rtt: Picos = "200 us" in "1 us" => "1 s",
        /// Minimum time after which an unanswered packet counts as lost; three round trips if that is longer. Source: none.
        timeout: Picos = "2 ms" in "1 us" => "100 s",
        /// Longest possible round trip of a packet. A connection is remembered for this time beyond `give_up`, within which
        /// its sender may retransmit.
        time_wait: Picos = "50 ms" in "1 us" => "100 s",
        /// Time without a packet from the receiver after which a flow fails.
        give_up: Picos = "5 s" in "1 ms" => "10000 s",
    }
}
