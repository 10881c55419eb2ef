use pullnet_settings::choice;
use pullnet_units::Picos;

choice! {
    /// How lost packets are retransmitted.
    pub enum Recovery {
        /// The receiver accepts packets in order only; after a NACK the sender continues from the missing packet.
        GoBackN = "go-back-n",
        /// The receiver accepts packets in any order; only missing packets are retransmitted.
        Selective = "selective",
    }
}

choice! {
    /// How a host spreads the packets of a flow over the paths to its peer.
    pub enum Paths {
        /// One random path for the whole flow.
        Single = "single",
        /// An independent random path for each packet.
        Scatter = "scatter",
    }
}

choice! {
    /// How a receiver tells the sender of marked packets.
    pub enum Notification {
        /// By congestion notification packets (CNPs), at a limited rate.
        Cnp = "cnp",
        /// By a bit in the ACK of each marked packet.
        Ack = "ack",
    }
}

/// Settings common to all RoCE hosts, in the form in which flows use them. Rate control has its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameters {
    /// Payload of a full packet, bytes.
    pub mtu: u32,
    /// Bytes on the wire besides the payload.
    pub header: u32,
    /// Bytes on the wire of an ACK, a NACK and a CNP.
    pub ack: u32,
    /// How lost packets are retransmitted.
    pub recovery: Recovery,
    /// Payload bytes that may be outstanding; `None`: no limit.
    pub window: Option<u64>,
    /// Whether the window shrinks with the rate.
    pub window_scales: bool,
    /// Least time between two NACKs for the same missing packet.
    pub nack_interval: Picos,
    /// Time without an ACK, once nothing is left to send, after which packets are retransmitted.
    pub timeout: Picos,
    /// Time without any answer to outstanding packets after which a flow fails.
    pub give_up: Picos,
    /// Priority of data packets at switches.
    pub data_priority: u8,
    /// Priority of ACKs, NACKs and CNPs at switches.
    pub control_priority: u8,
    /// Path of each packet.
    pub paths: Paths,
    /// Whether data packets are ECN-capable.
    pub ecn: bool,
    /// Least time between two CNPs of one flow; `None`: marks are echoed in ACKs.
    pub cnp_interval: Option<Picos>,
}

/// Declares a settings table of RoCE hosts: the common settings, followed by its own.
///
/// It also gets a method `parameters`, which returns the common part as [`Parameters`](crate::Parameters) without ECN.
/// `with` states defaults of common settings that differ from those of RoCE hosts.
#[macro_export]
macro_rules! rdma_settings {
    ($(#[$doc:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $crate::rdma_settings! {
            $(#[$doc])*
            pub struct $name with (header = "48 B", ack = "60 B", window_scales = false) { $($own)* }
        }
    };
    ($(#[$doc:meta])* pub struct $name:ident
        with (header = $header:literal, ack = $ack:literal, window_scales = $scales:literal) { $($own:tt)* }
    ) => {
        pullnet_settings::settings! {
            $(#[$doc])*
            pub struct $name {
                /// Payload of a full packet. Bytes. Source: simulators of RoCE, 1000 B; InfiniBand: 256 B to 4096 B.
                mtu: pullnet_units::Bytes = "1000 B" in "1 B" => "60000 B",
                /// Bytes on the wire of a data packet besides its payload. Source: HPCC simulator, 14 link, 20 IP, 8 UDP, 6
                /// sequence.
                header: pullnet_units::Bytes = $header in "1 B" => "128 B",
                /// Bytes on the wire of an ACK, a NACK and a CNP; not less than `header`. Source: HPCC simulator.
                ack: pullnet_units::Bytes = $ack in "1 B" => "128 B",
                /// How lost packets are retransmitted. Source: go-back-n, DCQCN section 2; selective, IRN (Mittal et al., SIGCOMM
                /// 2018) section 3.1.
                recovery: $crate::Recovery = "go-back-n",
                /// Largest outstanding payload. Bytes; absent: no limit.
                window: Option<pullnet_units::Bytes> = "" in "1 B" => "1 TB",
                /// Whether the window scales with the rate; `window` is its value at the rate of the link. Source: HPCC
                /// simulator, VAR_WIN.
                window_scales: bool = $scales unused if window == "",
                /// Least time between two NACKs for the same missing packet. Source: HPCC simulator, 500 us.
                nack_interval: pullnet_units::Picos = "500 us" in "1 ns" => "1 s" unused if recovery == "selective",
                /// Time since the last departure, once nothing is left to send, after which all packets without an ACK are
                /// retransmitted. ACKs of other packets do not put it off, so that it should exceed the largest
                /// round-trip time, with queues and pauses.
                timeout: pullnet_units::Picos = "4 ms" in "1 us" => "100 s",
                /// Time without any answer to outstanding packets after which a flow fails.
                give_up: pullnet_units::Picos = "1 s" in "10 us" => "10000 s",
                /// Priority of data packets at switches.
                data_priority: u32 = 0 in 0 => 7,
                /// Priority of ACKs, NACKs and CNPs at switches.
                control_priority: u32 = 0 in 0 => 7,
                /// How the packets of a flow are spread over the paths. Go-back-N needs packets in order.
                paths: $crate::Paths = "single",
                $($own)*
            }
        }

        impl $name {
            /// The settings that all RoCE hosts have, without ECN.
            pub fn parameters(&self) -> $crate::Parameters {
                $crate::Parameters {
                    mtu: self.mtu.0 as u32,
                    header: self.header.0 as u32,
                    ack: self.ack.0.max(self.header.0) as u32,
                    recovery: self.recovery,
                    window: self.window.map(|bytes| bytes.0),
                    window_scales: self.window_scales,
                    nack_interval: self.nack_interval,
                    timeout: self.timeout,
                    give_up: self.give_up,
                    data_priority: self.data_priority as u8,
                    control_priority: self.control_priority as u8,
                    paths: self.paths,
                    ecn: false,
                    cnp_interval: None,
                }
            }
        }
    };
}
